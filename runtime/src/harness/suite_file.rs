//! `--suite FILE`: benchmarks that a file names instead of the command line.

use super::TargetError;
use super::args::BenchArgs;
use crate::plan::{self, SuiteFile, suite};
use crate::store;

/// The suite file that was named: its name, and what it says.
///
/// # Errors
/// A file that cannot be read; what is wrong in it, with its place.
pub(super) fn read(args: &BenchArgs) -> Result<Option<(String, SuiteFile)>, TargetError> {
    let Some(file) = &args.suite else { return Ok(None) };
    let text = store::read_text(file.as_ref())
        .map_err(|source| TargetError::SuiteFile { file: file.clone(), source })?;
    let read = suite::nodes(file, &text).and_then(|root| SuiteFile::read(&root));
    match read {
        Ok(suite) => Ok(Some((file.clone(), suite))),
        Err(mistake) => Err(plan::PlanError::Suite { file: file.clone(), why: mistake.to_string() }.into()),
    }
}

/// The arguments, with what the file says where nothing was typed.
pub(super) fn args(typed: BenchArgs, chosen: Option<&(String, SuiteFile)>) -> BenchArgs {
    let Some((_, suite)) = chosen else { return typed };
    let suite = suite.clone();
    let mut args = BenchArgs {
        profile: typed.profile.or_else(|| suite.profile.filter(|_| !typed.quick)),
        baseline: typed.baseline.or(suite.baseline),
        save_baseline: typed.save_baseline.or(suite.save_baseline),
        ..typed
    };
    args.run.asked.repeats = args.run.asked.repeats.or(suite.repeats);
    args
}
