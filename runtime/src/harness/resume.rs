//! `--resume RUN`: the same run again, without what it has finished.

use std::ffi::OsString;

use super::args::Args;
use super::bench::stated;
use super::{Error, Suite};
use crate::plan::Plan;
use crate::record::{RunManifest, RunStatus};
use crate::store::{Layout, Runs};

/// The arguments of the run that is taken up again, so that it is the same plan; where the data lies and what is shown
/// are today's.
pub(super) fn args(suite: &Suite, today: &Args, run: &str) -> Result<Args, Error> {
    refuse_other_flags()?;
    let id = run.parse().map_err(|error| super::args::UsageError(format!("--resume: {error}")))?;
    let manifest = Runs::new(Layout::new(suite.data(today.data.as_deref()))).manifest(&id)?;
    let line = manifest.command.iter().skip(1).map(OsString::from).collect();
    // The twins of flags are among the variables that the manifest keeps.
    let then = Args::parse(line, &|name| manifest.environment.variables.get(name).cloned())?;
    Ok(Args { seed: Some(manifest.seed), bench: true, test: false, ..of_today(today, then) })
}

/// A resumed run has the plan that it had: a flag that would change it is refused instead of passed over. Variables of
/// the environment are not: they may well be the same as then.
fn refuse_other_flags() -> Result<(), Error> {
    let typed = Args::parse(std::env::args_os().skip(1).collect(), &|_| None)?;
    let allowed = Args { bench: typed.bench, ..of_today(&typed, Args::default()) };
    if typed == allowed {
        return Ok(());
    }
    let why = "--resume takes its plan from the run: what selects or measures cannot be given beside it";
    Err(super::args::UsageError(why.to_owned()).into())
}

/// What is today's in a run that is taken up again: where things lie, how long it may take, how it is judged and shown.
fn of_today(today: &Args, then: Args) -> Args {
    Args {
        resume: today.resume.clone(),
        data: today.data.clone(),
        data_root: today.data_root.clone().or(then.data_root.clone()),
        data_cache: today.data_cache.clone().or(then.data_cache.clone()),
        data_cache_cap: today.data_cache_cap.clone().or(then.data_cache_cap.clone()),
        budget: today.budget,
        no_lock: today.no_lock,
        dry_run: today.dry_run,
        save_baseline: today.save_baseline.clone(),
        baseline: today.baseline.clone(),
        baseline_lenient: today.baseline_lenient.clone(),
        threshold: today.threshold,
        inconclusive_passes: today.inconclusive_passes,
        allow_different_machine: today.allow_different_machine,
        color: today.color,
        quiet: today.quiet,
        show_output: today.show_output,
        verbose: today.verbose,
        ..then
    }
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
        || manifest.planned.stated != stated(plan)
        || manifest.planned.target != plan.target
        || manifest.planned.limits != plan.limits
    {
        return refuse(
            "its plan is another: the scenarios, adapters or settings have changed since".to_owned(),
        );
    }
    Ok(())
}
