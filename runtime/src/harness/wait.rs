//! Waits until no other run measures on this machine: for the user's own as long as they take, and for those
//! of others no longer than [`PATIENCE`], since anybody may hold their lock for ever.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{Context, TargetError};
use crate::ranks::RankSeat;
use crate::store::{Layout, LockHolder, MachineLock};

/// The time that other users' runs are waited for.
const PATIENCE: Duration = Duration::from_hours(1);

/// Waits for other measuring runs on this machine; `None` when interrupted. Without a lock where none is
/// wanted.
///
/// # Errors
/// That the budget was spent on waiting, or that another user's run took too long; those of the user's own
/// lock.
pub(super) fn wait_for_machine(context: &Context<'_>) -> Result<Option<Vec<MachineLock>>, TargetError> {
    // Of the ranks of a machine one holds it for all; of those that a process here has started, that process.
    let is_held = |seat: &RankSeat| seat.is_local() || seat.local_rank != Some(0);
    if context.args.no_lock || context.seat.as_ref().is_some_and(is_held) {
        return Ok(Some(Vec::new()));
    }
    wait_at(context, &Layout::user_lock(), Layout::machine_lock().as_deref())
}

fn wait_at(
    context: &Context<'_>,
    own: &Path,
    of_all: Option<&Path>,
) -> Result<Option<Vec<MachineLock>>, TargetError> {
    let begun = Instant::now();
    // Always in one order, so that no two runs wait for each other.
    let Some(lock) = wait(context, own, begun)? else { return Ok(None) };
    let mut taken = vec![lock];
    match of_all.map(|of_all| wait(context, of_all, begun)) {
        None => {}
        Some(Ok(Some(lock))) => taken.push(lock),
        Some(Ok(None)) => return Ok(None),
        // Anybody may have put something else there: that must keep nobody from measuring.
        Some(Err(TargetError::Store(error))) => {
            context.terminal.remark(&format!("note: {error}. This run goes on beside those of other users"));
        }
        Some(Err(error)) => return Err(error),
    }
    Ok(Some(taken))
}

fn wait(context: &Context<'_>, path: &Path, begun: Instant) -> Result<Option<MachineLock>, TargetError> {
    let budget = context.args.budget;
    let is_over = || budget.is_some_and(|budget| begun.elapsed() >= budget);
    let (mut told, mut held) = (false, None);
    let lock = MachineLock::wait(path, &context.suite.name(), |holder| {
        if !told {
            context.terminal.remark(&waiting(holder));
            told = true;
        }
        if patience(holder).is_some_and(|patience| begun.elapsed() >= patience) {
            held = Some(holder.to_string());
        }
        held.is_none() && !context.interrupted.load(Ordering::Relaxed) && !is_over()
    })?;
    match (lock, budget, held) {
        (None, Some(budget), _) if is_over() => Err(TargetError::Waited { budget }),
        (None, _, Some(holder)) => Err(TargetError::Held { holder, waited: begun.elapsed() }),
        (lock, ..) => Ok(lock),
    }
}

/// The time that a holder is waited for; `None` where it is one's own.
fn patience(holder: &LockHolder) -> Option<Duration> {
    (!holder.is_own()).then_some(PATIENCE)
}

fn waiting(holder: &LockHolder) -> String {
    let until = patience(holder).map_or_else(String::new, |patience| {
        format!("; this run gives up after {} minutes", patience.as_secs() / 60)
    });
    format!("waiting for {holder} (--no-lock does not wait{until})")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::harness::Suite;
    use crate::harness::args::BenchArgs;
    use crate::harness::style::Styled;
    use crate::report::Terminal;

    const SUITE: Suite = Suite {
        target_tmp: None,
        package: "p",
        version: "0",
        target: "t",
        directory: "/nowhere",
        family: None,
    };

    fn context(budget: Option<Duration>) -> Context<'static> {
        Context {
            suite: &SUITE,
            args: BenchArgs { budget, ..BenchArgs::default() },
            terminal: Terminal::detect(Some(false), true),
            settings: None,
            styled: Styled::default(),
            seat: None,
            interrupted: Arc::new(AtomicBool::new(false)),
        }
    }

    #[test]
    fn what_anybody_puts_in_the_place_of_the_lock_of_all_keeps_nobody_from_measuring() {
        let home = tempfile::tempdir().unwrap();
        let (own, folder) = (home.path().join("own"), home.path().join("folder"));
        fs::create_dir(&folder).unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink("/nowhere/at/all", &link).unwrap();
        for of_all in [&folder, &link] {
            let taken = wait_at(&context(None), &own, Some(of_all)).unwrap().unwrap();
            assert_eq!(taken.len(), 1, "the user's own");
        }
        let both = wait_at(&context(None), &own, Some(&home.path().join("of all"))).unwrap().unwrap();
        assert_eq!(both.len(), 2);
        let refused = wait_at(&context(None), &folder, None).unwrap_err().to_string();
        assert!(refused.contains("--no-lock"), "{refused}");
    }

    #[test]
    fn ones_own_runs_are_waited_for_and_those_of_others_for_an_hour_of_which_the_message_tells() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("lock");
        let held = fs::File::create(&path).unwrap();
        held.lock().unwrap();
        let refused = wait_at(&context(Some(Duration::ZERO)), &path, None).unwrap_err();
        assert!(matches!(refused, TargetError::Waited { .. }), "{refused}");

        let others = LockHolder::unknown();
        assert_eq!(patience(&others), Some(PATIENCE));
        assert!(waiting(&others).ends_with("(--no-lock does not wait; this run gives up after 60 minutes)"));
        let error = TargetError::Held { holder: "process 7 of user 8".into(), waited: PATIENCE };
        let said = "process 7 of user 8 has held the machine for 60 minutes: nothing was measured; --no-lock \
                    does not wait for other runs";
        assert_eq!(error.to_string(), said);
    }
}
