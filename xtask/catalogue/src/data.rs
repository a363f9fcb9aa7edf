//! `data`: the real data sets of the catalogue: which there are, whether they are sound, where they belong.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, Subcommand};
use weighbridge::data::Exit;
use weighbridge_data::{REAL_SETS, RealSet, SetStatus};

use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::stop;

/// Arguments of `data`.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// The directory of real data.
    #[arg(long, global = true, value_name = "DIR", env = "WEIGHBRIDGE_DATA_ROOT", hide_env_values = true)]
    pub(crate) data_root: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) action: DataAction,
}

/// The actions on real data sets.
#[derive(Debug, Subcommand)]
pub(crate) enum DataAction {
    /// List all sets: what they are, whether they are there, where they come from.
    List,
    /// Hold the files of a set, or of all that are there, against what is published or was recorded.
    Verify {
        /// The set.
        name: Option<String>,
    },
    /// Print where the files of a set lie, or what to fetch.
    Path {
        /// The set.
        name: String,
    },
}

const FITS: &str = "a String takes all that is written";

pub(crate) fn run(args: &DataArgs) -> Result<CommandOutput> {
    let root = args.data_root.as_deref();
    match &args.action {
        DataAction::List => Ok(list(root)),
        DataAction::Verify { name } => verify(root, name.as_deref()),
        DataAction::Path { name } => path(root, name),
    }
}

fn list(root: Option<&Path>) -> CommandOutput {
    let mut said = CommandOutput::fine("");
    for set in REAL_SETS {
        let state = match root {
            Some(root) if set.is_present(root) => "present",
            Some(_) => "absent",
            None => "no data root is named",
        };
        let pin =
            set.archive.map_or("unpinned: recorded when first verified".to_owned(), |(archive, md5)| {
                format!("{archive} has the published MD5 {md5}; its files are recorded when first verified")
            });
        writeln!(
            said.text,
            "{}: {state}\n  {}\n  used by {}\n  from {}\n  {pin}",
            set.name,
            set.description,
            set.used_by.join(", "),
            set.source
        )
        .expect(FITS);
    }
    said
}

fn verify(root: Option<&Path>, name: Option<&str>) -> Result<CommandOutput> {
    let root = named(root)?;
    let sets: Vec<&RealSet> = match name {
        Some(name) => vec![find(name)?],
        None => REAL_SETS.iter().collect(),
    };
    let mut said = CommandOutput::fine("");
    for set in sets {
        let seen = set.verify(root).map_err(|error| anyhow::anyhow!("{error}"))?;
        let (text, exit) = match seen {
            SetStatus::Same => ("is what was recorded".to_owned(), Exit::Fine),
            SetStatus::Recorded => ("was seen for the first time and is recorded".to_owned(), Exit::Fine),
            // All sets are looked at when none is named: one that nobody fetched is no fault then.
            SetStatus::Absent(why) => {
                (format!("is absent: {why}"), if name.is_some() { Exit::NothingToJudge } else { Exit::Fine })
            }
            SetStatus::Differs(why) => (format!("differs: {why}"), Exit::Failed),
        };
        writeln!(said.text, "{} {text}", set.name).expect(FITS);
        if exit != Exit::Fine {
            said.exit = exit;
        }
    }
    Ok(said)
}

/// Says where the set lies, or where it belongs and what to fetch.
fn path(root: Option<&Path>, name: &str) -> Result<CommandOutput> {
    let (root, set) = (named(root)?, find(name)?);
    let there = set.present(root);
    if set.is_present(root) {
        return Ok(CommandOutput::fine(
            there.iter().map(|path| format!("{}\n", path.display())).collect::<String>(),
        ));
    }
    let text = format!("{name} is absent: {}\n", set.remedy(Some(root)));
    Ok(CommandOutput { exit: Exit::NothingToJudge, ..CommandOutput::fine(text) })
}

fn named(root: Option<&Path>) -> Result<&Path> {
    let why = "no directory of real data is named: name it with --data-root or WEIGHBRIDGE_DATA_ROOT";
    root.ok_or_else(|| stop::usage(why))
}

fn find(name: &str) -> Result<&'static RealSet> {
    let found = REAL_SETS.iter().find(|set| set.name == name);
    found.ok_or_else(|| stop::unknown("real data set", name, REAL_SETS.iter().map(|set| set.name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_is_listed_with_its_source_and_its_pin() {
        let text = list(None).text;
        for name in ["cifar10", "wikitext103", "criteo", "coco"] {
            assert!(text.contains(&format!("{name}: no data root is named")), "{text}");
        }
        assert!(text.contains("c32a1d4ab5d03f1284b67883e8d87530") && text.contains("unpinned"), "{text}");
    }

    #[test]
    fn an_absent_set_says_what_to_fetch_and_is_a_fault_where_it_was_named() {
        let place = tempfile::tempdir().expect("a folder");
        let one = verify(Some(place.path()), Some("coco")).expect("verified");
        assert!(one.exit == Exit::NothingToJudge && one.text.contains("val2017.zip"), "{}", one.text);
        let all = verify(Some(place.path()), None).expect("verified");
        assert!(all.exit == Exit::Fine && all.text.matches("is absent").count() == 4, "{}", all.text);
        let path = path(Some(place.path()), "coco").expect("asked");
        assert!(path.exit == Exit::NothingToJudge && path.text.contains("--data-root"), "{}", path.text);
    }

    #[test]
    fn files_are_recorded_then_the_same_then_different() {
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join("criteo/dac_sample.txt");
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("made");
        std::fs::write(&file, "0\n").expect("written");
        let said = || verify(Some(place.path()), Some("criteo")).expect("verified");
        assert!(said().text.contains("recorded"));
        assert_eq!(said().text, "criteo is what was recorded\n");
        std::fs::write(&file, "1\n").expect("written");
        assert!(said().exit == Exit::Failed);
        assert_eq!(path(Some(place.path()), "criteo").expect("there").text, format!("{}\n", file.display()));
    }

    #[test]
    fn a_misspelt_set_and_a_missing_root_are_usage_errors() {
        assert!(find("cifar").expect_err("misspelt").to_string().contains("did you mean `cifar10`?"));
        assert!(named(None).expect_err("none").to_string().contains("--data-root"));
    }
}
