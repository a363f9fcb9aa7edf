//! `--ranks N`: this many copies of the program on this machine, which measure as one run.

use std::hash::{BuildHasher, RandomState};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::wait::wait_for_machine;
use super::{Context, Exit, TargetError};
use crate::device::ProcessTree;
use crate::process::{end_tree, make_own_folder};
use crate::ranks::RankSeat;
use crate::run::Program;

/// Between two looks at the ranks.
const LOOK: Duration = Duration::from_millis(20);

/// The time that ranks have to end by themselves once one of them has: rank 0 says which one it was.
const GRACE: Duration = Duration::from_mins(1);

/// Starts the ranks and waits for their end. The machine is held for all of them.
pub(super) fn run(context: &Context<'_>, ranks: usize) -> Result<Exit, TargetError> {
    let Some(_locks) = wait_for_machine(context)? else { return Ok(Exit::Interrupted) };
    let folder = std::env::temp_dir().join(format!("weighbridge-ranks-{}", std::process::id()));
    make_own_folder(&folder).map_err(TargetError::Temporary)?;
    let started = start(ranks, &folder);
    let ended = started.map(|children| LocalRanks(children).wait(context));
    let _ = std::fs::remove_dir_all(&folder);
    ended
}

fn start(ranks: usize, folder: &Path) -> Result<Vec<Child>, TargetError> {
    let program = Program::own().map_err(TargetError::Program)?;
    let launch = RankSeat::local_launch(RandomState::new().hash_one(folder));
    let mut children = LocalRanks(Vec::new());
    for rank in 0..ranks {
        let seat = RankSeat {
            launcher: "weighbridge",
            rank,
            ranks,
            local_rank: Some(rank),
            launch: launch.clone(),
            rendezvous: Some(folder.display().to_string()),
        };
        let mut command = program.command().map_err(TargetError::Program)?;
        command.args(std::env::args_os().skip(1)).envs(seat.variables()).stdin(Stdio::null());
        // Ctrl-C is for this process: it ends rank 0, which ends the others in order.
        command.process_group(0);
        children.0.push(command.spawn().map_err(TargetError::Program)?);
    }
    Ok(std::mem::take(&mut children.0))
}

/// The ranks. They are ended, with all that they have started, when this is dropped.
struct LocalRanks(Vec<Child>);

impl LocalRanks {
    /// Waits until rank 0 has ended, and then for the others.
    fn wait(mut self, context: &Context<'_>) -> Exit {
        let mut is_told = false;
        let mut first_end: Option<Instant> = None;
        loop {
            if context.interrupted.load(Ordering::Relaxed) && !std::mem::replace(&mut is_told, true) {
                interrupt(&self.0[0]);
            }
            let ended: Vec<Option<ExitStatus>> =
                self.0.iter_mut().map(|child| child.try_wait().ok().flatten()).collect();
            if ended.iter().all(Option::is_some) {
                return exit(ended[0]);
            }
            let is_over = ended[0].is_some() || ended.iter().flatten().any(|status| !status.success());
            if is_over && first_end.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                let lasting: Vec<String> = (0..ended.len())
                    .filter(|rank| ended[*rank].is_none())
                    .map(|rank| rank.to_string())
                    .collect();
                let why =
                    format!("ranks that did not end by themselves were ended: [{}]", lasting.join(", "));
                context.terminal.error(&why);
                return exit(ended[0]).or(Exit::Failed);
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for LocalRanks {
    fn drop(&mut self) {
        for child in &mut self.0 {
            if child.try_wait().ok().flatten().is_none() {
                let tree = ProcessTree::below(child.id());
                end_tree(&|| tree.processes(), &mut |_| {});
                let _ = child.wait();
            }
        }
    }
}

fn interrupt(child: &Child) {
    let _ = kill(Pid::from_raw(child.id() as i32), Signal::SIGINT); // it may have ended by itself
}

/// The end of all ranks: that of rank 0, which knows of the others.
fn exit(status: Option<ExitStatus>) -> Exit {
    let code = status.and_then(|status| u8::try_from(status.code()?).ok());
    code.and_then(Exit::of_code).unwrap_or(Exit::Unexpected)
}
