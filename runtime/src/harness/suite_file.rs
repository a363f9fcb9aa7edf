//! `--suite FILE`: benchmarks that a file names instead of the command line.

use super::Error;
use super::args::Args;
use crate::plan::{self, SuiteFile, suite};

/// The suite file that was named: its name, and what it says.
///
/// # Errors
/// A file that cannot be read; what is wrong in it, with its place.
pub(super) fn read(args: &Args) -> Result<Option<(String, SuiteFile)>, Error> {
    let Some(file) = &args.suite else { return Ok(None) };
    let text =
        std::fs::read_to_string(file).map_err(|source| Error::SuiteFile { file: file.clone(), source })?;
    let read = suite::nodes(file, &text).and_then(|root| SuiteFile::read(&root));
    match read {
        Ok(suite) => Ok(Some((file.clone(), suite))),
        Err(mistake) => Err(plan::Error::Suite { file: file.clone(), why: mistake.to_string() }.into()),
    }
}

/// The arguments, with what the file says where nothing was typed.
pub(super) fn args(typed: Args, chosen: Option<&(String, SuiteFile)>) -> Args {
    let Some((_, suite)) = chosen else { return typed };
    let suite = suite.clone();
    Args {
        repeats: typed.repeats.or(suite.repeats),
        profile: typed.profile.or_else(|| suite.profile.filter(|_| !typed.quick)),
        baseline: typed.baseline.or(suite.baseline),
        save_baseline: typed.save_baseline.or(suite.save_baseline),
        ..typed
    }
}
