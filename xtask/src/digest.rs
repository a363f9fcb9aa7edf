//! `runs digest`: for whoever edits a stored file on purpose.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use weighbridge::data::redigest;

use crate::command_output::CommandOutput;

/// Arguments of `runs digest`.
#[derive(Debug, Args)]
pub(crate) struct Digest {
    /// Files of runs or baselines, as they were edited.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Works the digest of each file out anew, for an edit on purpose.
pub(crate) fn run(args: &Digest) -> Result<CommandOutput> {
    let mut text = String::new();
    for file in &args.files {
        let said = if redigest(file)? { "its digest was worked out anew" } else { "its digest fits already" };
        text.push_str(&format!("{}: {said}\n", file.display()));
    }
    Ok(CommandOutput::fine(text))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fixtures::{home, plain};

    #[test]
    fn an_edited_baseline_is_refused_until_its_digest_is_worked_out_anew() {
        let home = home();
        let run_record = plain(1_000, 1.0, 1.0);
        home.promote("main", &run_record);
        let baselines = home.place.baselines();
        let path = baselines.list().expect("readable").0[0].path.clone();
        let edited = fs::read_to_string(&path).expect("written").replacen("\"seed\":", "\"seed\":1", 1);
        fs::write(&path, &edited).expect("writable");
        let why = baselines.list().expect("readable").1[0].why.clone();
        assert!(
            why.contains("it was changed since it was written") && why.contains(" runs digest FILE"),
            "{why}"
        );

        let args = Digest { files: vec![path.clone()] };
        assert!(run(&args).expect("sound").text.ends_with(": its digest was worked out anew\n"));
        assert!(run(&args).expect("sound").text.ends_with(": its digest fits already\n"));
        assert_eq!(baselines.list().expect("readable").0.len(), 1);

        // What says what cannot be stays refused, and untouched.
        let broken = fs::read_to_string(&path).expect("written").replacen("\"seed\":", "\"seed\":-", 1);
        fs::write(&path, &broken).expect("writable");
        assert!(run(&args).expect_err("a negative seed").to_string().contains("seed"));
        assert_eq!(fs::read_to_string(&path).expect("untouched"), broken);
    }
}
