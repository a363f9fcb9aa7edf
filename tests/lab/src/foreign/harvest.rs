//! Building and running the bench targets of one crate.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::command::{CommandEnd, ForeignCopy};

/// Builds take no longer, on a machine that is busy with others.
const BUILD: Duration = Duration::from_mins(20);

/// Runs of one target take no longer.
const RUN: Duration = Duration::from_mins(10);

/// What became of one bench target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HarvestedTarget {
    /// The crate with its version, and the target.
    pub(super) krate: String,
    pub(super) name: String,
    pub(super) compiled: bool,
    /// The cases that ran once, each without a failure.
    pub(super) tested: Option<u64>,
    /// The cases that were measured.
    pub(super) measured: Option<u64>,
    /// The reason of the first failure.
    pub(super) why: Option<String>,
    /// The reason that the list states why it cannot work.
    pub(super) exception: Option<String>,
}

impl HarvestedTarget {
    /// Compiled, went through its cases and measured them.
    pub(super) fn works(&self) -> bool {
        self.why.is_none()
    }
}

/// Builds the targets of a crate and runs each: under `--test`, then quickly. What is measured lies below
/// `data`.
///
/// # Errors
/// When cargo cannot be started.
pub(super) fn harvest(copy: &ForeignCopy<'_>, data: &Path) -> Result<Vec<HarvestedTarget>> {
    let benches: Vec<&str> = copy.of.benches.iter().map(String::as_str).collect();
    // Together they are built faster; one that fails stops the others.
    let all = copy.bench(&benches, &["--no-run"], BUILD)?;
    let mut harvested = Vec::new();
    for bench in benches {
        let target = run(copy, bench, all.is_fine(), data)?;
        eprintln!("{} {}: {}", target.krate, target.name, target.why.as_deref().unwrap_or("works"));
        harvested.push(target);
    }
    Ok(harvested)
}

fn run(copy: &ForeignCopy<'_>, bench: &str, is_built: bool, data: &Path) -> Result<HarvestedTarget> {
    let mut target = HarvestedTarget {
        krate: copy.of.folder(),
        name: bench.to_owned(),
        exception: copy.of.exceptions.get(bench).cloned(),
        ..HarvestedTarget::default()
    };
    if !is_built {
        let built = copy.bench(&[bench], &["--no-run"], BUILD)?;
        if !built.is_fine() {
            target.why = Some(format!("it does not compile: {}", built.why()));
            return Ok(target);
        }
    }
    target.compiled = true;
    let tested = copy.bench(&[bench], &["--", "--test"], RUN)?;
    match cases(&tested, "weighbridge: smoke cases=") {
        Ok(cases) => target.tested = Some(cases),
        Err(why) => {
            target.why = Some(format!("`--test`: {why}"));
            return Ok(target);
        }
    }
    let data = data.join(format!("{}-{bench}", target.krate));
    let data = data.display().to_string();
    // Of what is asked here one repeat says as much as three.
    let quick = ["--", "--quick", "--repeats", "1", "--no-lock", "--data", &data];
    match cases(&copy.bench(&[bench], &quick, RUN)?, " measured=") {
        Ok(cases) => target.measured = Some(cases),
        Err(why) => target.why = Some(format!("`--quick`: {why}")),
    }
    Ok(target)
}

/// The number behind a word of the line that ends a run, if the run is fine and the number above 0.
fn cases(end: &CommandEnd, word: &str) -> Result<u64, String> {
    if !end.is_fine() {
        return Err(end.why());
    }
    let number = |line: &str| {
        let (_, rest) = line.strip_prefix("weighbridge: ").and_then(|_| line.split_once(word))?;
        rest.split_whitespace().next()?.parse().ok()
    };
    match end.said.lines().rev().find_map(number) {
        Some(0) | None => Err("no case was run".to_owned()),
        Some(cases) => Ok(cases),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    fn end(code: i32, said: &str) -> CommandEnd {
        CommandEnd { status: Some(ExitStatus::from_raw(code << 8)), said: said.to_owned() }
    }

    #[test]
    fn a_run_of_no_case_and_a_failed_one_are_no_success() {
        let smoke = "weighbridge: smoke cases=";
        let said = "test a ... ok\nweighbridge: smoke cases=3 failed=0 skipped=0\n";
        assert_eq!(cases(&end(0, said), smoke), Ok(3));
        let none = "weighbridge: smoke cases=0 failed=0 skipped=0\n";
        assert_eq!(cases(&end(0, none), smoke), Err("no case was run".to_owned()));
        let failed = cases(&end(1, "error: a went wrong\nmore\n"), smoke).unwrap_err();
        assert!(failed.ends_with("error: a went wrong"), "{failed}");
        let quick = "weighbridge: run=1 cases=5 measured=4 failed=0 skipped=1 exit=0\n";
        assert_eq!(cases(&end(0, quick), " measured="), Ok(4));
    }
}
