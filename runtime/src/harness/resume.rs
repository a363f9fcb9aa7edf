//! `--resume RUN`: the same run again, without what it has finished.

use std::ffi::OsString;

use super::args::Args;
use super::{Error, Suite};
use crate::plan::Plan;
use crate::record::{RunManifest, RunStatus};
use crate::store::{Layout, Runs};

/// The arguments of the run that is taken up again, so that it is the same plan; where the data lies and what is shown
/// are today's.
pub(super) fn args(suite: &Suite, today: &Args, run: &str) -> Result<Args, Error> {
    let id = run.parse().map_err(|error| super::args::UsageError(format!("--resume: {error}")))?;
    let manifest = Runs::new(Layout::new(suite.data(today.data.as_deref()))).manifest(&id)?;
    let line = manifest.command.iter().skip(1).map(OsString::from);
    // The twins of flags are among the variables that the manifest keeps.
    let then = Args::parse(line, |name| manifest.environment.variables.get(name).cloned())?;
    Ok(Args {
        resume: today.resume.clone(),
        seed: Some(manifest.seed),
        data: today.data.clone(),
        budget: today.budget,
        save_baseline: today.save_baseline.clone(),
        color: today.color,
        quiet: today.quiet,
        verbose: today.verbose,
        no_lock: today.no_lock,
        dry_run: today.dry_run,
        bench: true,
        test: false,
        ..then
    })
}

/// Refuses to go on with a run that is whole, of another suite, or of another plan.
pub(super) fn check(suite: &Suite, manifest: &RunManifest, plan: &Plan) -> Result<(), Error> {
    let refuse = |why: String| Err(Error::Resume { run: manifest.id.clone(), why });
    if manifest.suite != suite.name() {
        return refuse(format!("it is of the suite {}, this is {}", manifest.suite, suite.name()));
    }
    if manifest.status == RunStatus::Complete {
        return refuse("it is complete".to_owned());
    }
    if manifest.planned.cases.len() != plan.cases.len()
        || !manifest.planned.cases.iter().zip(&plan.cases).all(|(then, now)| *then == now.id)
        || manifest.planned.repeats != plan.repeats
        || manifest.planned.limits != plan.limits
    {
        return refuse(
            "its plan is another: the scenarios, adapters or settings have changed since".to_owned(),
        );
    }
    Ok(())
}
