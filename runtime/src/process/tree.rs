//! Ending many processes that may go on starting others: all are stopped before one is killed.

use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::state::ProcessState;
use crate::device::ProcessTree;

/// The most looks. A process that is stopped starts no other, so two or three are enough, unless one cannot
/// be stopped.
const LOOKS: u32 = 100;

/// The time that those who were told to stop are waited for, and how long between two looks whether they
/// have: one that is in the middle of starting another has that listed when it stops.
const SETTLE: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_micros(200);

/// Ends every process that `members` lists, and those that it lists when it is asked again: each is stopped,
/// until two looks in a row find nobody new, `on_stop` hears of them, and then all are killed, the first of
/// them last. Gives their ids. They may still be ending when it returns.
///
/// Who does this may be killed himself in the middle of it. So the first member should be one that does the
/// rest when it goes on: the kernel lets a stopped process group go on that has lost its last parent.
pub(crate) fn end_tree(members: &dyn Fn() -> Vec<u32>, on_stop: &mut dyn FnMut(&[u32])) -> Vec<u32> {
    let mut stopped: Vec<u32> = Vec::new();
    let mut empty = 0;
    for _ in 0..LOOKS {
        let mut fresh = members();
        fresh.retain(|process| !stopped.contains(process));
        if fresh.is_empty() {
            empty += 1;
            if empty == 2 {
                break;
            }
            continue;
        }
        empty = 0;
        signal(&fresh, Signal::SIGSTOP);
        settle(&fresh);
        stopped.extend(fresh);
    }
    on_stop(&stopped);
    stopped.reverse();
    signal(&stopped, Signal::SIGKILL);
    stopped
}

/// The number of copies of this process that are its children: made by `fork`, without another program.
pub(crate) fn copies() -> usize {
    let is_copy = |child: &u32| ProcessState::of(*child).is_some_and(|state| state.is_copy);
    ProcessTree::below(std::process::id()).children().iter().filter(|child| is_copy(child)).count()
}

fn signal(processes: &[u32], signal: Signal) {
    for process in processes {
        let _ = kill(Pid::from_raw(*process as i32), signal); // it may have ended by itself
    }
}

/// Waits until all have stopped or ended.
fn settle(processes: &[u32]) {
    let begun = Instant::now();
    let runs = |process: &u32| ProcessState::of(*process).is_some_and(|state| !state.stands());
    while processes.iter().any(runs) && begun.elapsed() < SETTLE {
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn processes_that_start_others_all_the_time_are_ended_with_all_of_them() {
        let script = "spawn() { while :; do sleep 1000 & done; }; spawn & spawn";
        let mut root =
            Command::new("sh").args(["-c", script]).env("WEIGHBRIDGE_TEST_TREE", "1").spawn().unwrap();
        let tree = ProcessTree::below(root.id());
        while tree.processes().len() < 20 {
            thread::yield_now();
        }
        let ended = end_tree(&|| tree.processes(), &mut |_| {});
        assert!(ended.len() >= 20 && ended.contains(&root.id()));
        root.wait().unwrap();
        super::super::leftovers::wait_for(&ended);
        for process in ended {
            assert!(ProcessState::of(process).is_none_or(ProcessState::has_ended), "{process} goes on");
        }
    }
}
