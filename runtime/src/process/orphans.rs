//! Orphans: processes whose parent has ended, and which are children of this one from then on.
//!
//! Whoever leaves the process group and the session, or outlives its parent, stays a descendant all the same.
//! So to look at one's own children finds what a look at the tree below a process that has ended does not,
//! and costs microseconds, where to look at every process of the machine costs milliseconds.

use std::fs;
use std::thread;
use std::time::Duration;

use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpgrp};

use super::mark::{MARK, carries, has_variable};
use super::state::ProcessState;
use crate::device::ProcessTree;

/// The number of times that one that is just being replaced by another program is looked at again, and how
/// long between two looks.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// Makes this process the parent of all below it whose parents end. An old kernel refuses: then marks alone
/// find them.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Tells whether the system lists the children of a process.
pub(super) fn are_listed() -> bool {
    fs::exists("/proc/thread-self/children").unwrap_or(false)
}

/// The children of this process that carry this entry in their environment, but `root`; and since the moment
/// that is named, if one is, those that were started with an environment of their own making.
pub(super) fn from(mark: &str, root: Option<u32>, since: Option<u64>) -> Vec<u32> {
    let mut children = ProcessTree::below(std::process::id()).children();
    children.retain(|child| Some(*child) != root && is_from(mark, *child, since));
    children
}

/// One that has written over its environment is taken for a stray where it has left this process's group:
/// nobody else's children do both. So is one that has no mark of any place, has left that group as well, and
/// was started since the measuring process was: this process starts none like it meanwhile.
fn is_from(mark: &str, child: u32, since: Option<u64>) -> bool {
    for _ in 0..LOOKS {
        let Some(state) = ProcessState::of(child).filter(|state| !state.has_ended()) else { return false };
        match carries(child, mark) {
            Some(true) => return true,
            Some(false) => {
                let is_stray =
                    since.is_some_and(|since| state.started >= since) && state.group != getpgrp().as_raw();
                return is_stray && has_variable(child, MARK) == Some(false);
            }
            None => thread::sleep(PAUSE),
        }
    }
    ProcessState::of(child).is_some_and(|state| state.group != getpgrp().as_raw())
}

/// Waits for orphans that have ended by themselves, so that no process table fills up in a long run. Who
/// leads a group may be somebody's own child, and is left to that.
pub(super) fn reap() {
    for child in ProcessTree::below(std::process::id()).children() {
        let is_stray = |state: &ProcessState| {
            state.has_ended() && state.group != getpgrp().as_raw() && state.group != child as i32
        };
        if ProcessState::of(child).is_some_and(|state| is_stray(&state)) {
            let _ = waitpid(Pid::from_raw(child as i32), Some(WaitPidFlag::WNOHANG));
        }
    }
}
