//! Without `--bench`: each case once, on two batches, nothing stored. And `--profile-time`: bodies for a
//! profiler.

use super::{Context, Exit, TargetError};
use crate::bencher::visible_in_line;
use crate::plan::{CaseId, Plan};
use crate::process::make_own_folder;
use crate::run::{Event, Outcome, Program, RunEnding, RunTask, run};

/// Runs each case once and says which work. What a missing adapter would have run is said and is no failure.
pub(super) fn smoke(context: &Context<'_>, plan: &Plan) -> Result<Exit, TargetError> {
    for skip in &plan.skips {
        context.terminal.remark(&format!("skipped: {}: {}", skip.id, skip.why));
    }
    let mut failed = 0;
    let mut ran = 0;
    let ending = go(context, plan, &mut |event| {
        if let Event::NoRoom { case, why } = &event {
            context.terminal.error(&format!("{case}: the disk of its scratch directory: {why}"));
        }
        let Event::RepeatEnded { case, repeat, .. } = event else { return };
        ran += 1;
        let name = case.slug();
        match &repeat.outcome {
            Outcome::Measured { .. } => context.terminal.result(&format!("test {name} ... ok\n")),
            Outcome::Skipped { why } => {
                context.terminal.result(&format!(
                    "test {name} ... ok (skipped: {})\n",
                    visible_in_line(&why.to_string())
                ));
            }
            Outcome::Failed(failure) => {
                failed += 1;
                context.terminal.result(&format!("test {name} ... FAILED\n"));
                context.terminal.error(&format!("{case} {failure}\n{}", failure.stderr));
            }
        }
    })?;
    context
        .terminal
        .result(&format!("weighbridge: smoke cases={ran} failed={failed} skipped={}\n", plan.skips.len()));
    let exit = if failed > 0 { Exit::Failed } else { Exit::Fine };
    Ok(if ending.is_interrupted() { exit.or(Exit::Interrupted) } else { exit })
}

/// Runs each body for as long as was asked, in this process, for a profiler to look at.
pub(super) fn profile(context: &Context<'_>, plan: &Plan) -> Result<Exit, TargetError> {
    if plan.measured() == 0 {
        return Err(TargetError::NothingSelected("no case matches".to_owned()));
    }
    let mut failed = false;
    let ending = go(context, plan, &mut |event| match event {
        Event::RepeatStarted { case, number: 1.., .. } => context.terminal.remark(&format!("running {case}")),
        Event::RepeatEnded { case, repeat, .. } => {
            if let Outcome::Failed(failure) = &repeat.outcome {
                failed = true;
                context.terminal.error(&format!("{case} {failure}"));
            }
        }
        Event::NoRoom { case, why } => context.terminal.error(&format!("{case}: {why}")),
        _ => {}
    })?;
    let exit = if failed { Exit::Failed } else { Exit::Fine };
    Ok(if ending.is_interrupted() { exit.or(Exit::Interrupted) } else { exit })
}

/// Runs a plan whose results nobody keeps.
fn go(context: &Context<'_>, plan: &Plan, see: &mut dyn FnMut(Event<'_>)) -> Result<RunEnding, TargetError> {
    let folder = std::env::temp_dir().join(format!("weighbridge-{}", std::process::id()));
    make_own_folder(&folder).map_err(TargetError::Temporary)?;
    let scratch = |case: &CaseId, number: u32| folder.join(format!("{}.{number}", case.file_name()));
    let task = RunTask {
        plan,
        epoch: 0,
        finished: &[],
        surroundings: 0,
        scratch: &scratch,
        budget: context.args.budget,
        shares: false,
        interrupted: &context.interrupted,
    };
    let program = program(context)?.keeping(&folder.join("kept"));
    let ending = run(&task, program, &mut |event| {
        see(event);
        Ok::<(), TargetError>(())
    });
    let _ = std::fs::remove_dir_all(&folder);
    ending
}

/// This very program, with the variables that children are told.
pub(super) fn program(context: &Context<'_>) -> Result<Program, TargetError> {
    let mut own = Program::own().map_err(TargetError::Program)?;
    let typed = context.args.for_children().into_iter();
    let variables = typed.filter_map(|(name, value)| Some((name.to_owned(), value?.clone())));
    own.variables.extend(variables);
    own.samples = !context.args.no_samples;
    own.variables.extend(context.styled.variables.iter().cloned());
    Ok(own)
}
