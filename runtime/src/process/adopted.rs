//! Orphans: processes whose parent has ended, and which are children of this one from then on.
//!
//! Whoever leaves the process group and the session, or outlives its parent, stays a descendant all the same. So to look at
//! one's own children finds what a look at the tree below a process that has ended does not, and costs microseconds, where
//! to look at every process of the machine costs milliseconds.

use std::fs;
use std::thread;
use std::time::Duration;

use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::{Pid, getpgrp};

use super::marked::carries;
use super::{ChildPlace, left_behind::ProcessState};
use crate::device::ProcessTree;

/// How often one that is just being replaced by another program is looked at again, and how long between two looks.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// Makes this process the parent of all below it whose parents end. An old kernel refuses: then marks alone find them.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// Whether the system lists the children of a process.
pub(super) fn are_listed() -> bool {
    fs::exists("/proc/thread-self/children").unwrap_or(false)
}

/// The children of this process that come from this place, but `root`.
pub(super) fn from(place: &ChildPlace, root: Option<u32>) -> Vec<u32> {
    let mut children = ProcessTree::below(std::process::id()).children();
    children.retain(|child| Some(*child) != root && is_from(place, *child));
    children
}

/// One that has written over its environment is taken for a stray where it has left this process's group: nobody else's
/// children do both.
fn is_from(place: &ChildPlace, child: u32) -> bool {
    for _ in 0..LOOKS {
        if ProcessState::of(child).is_none_or(ProcessState::has_ended) {
            return false;
        }
        match carries(child, &place.entry()) {
            Some(carries) => return carries,
            None => thread::sleep(PAUSE),
        }
    }
    ProcessState::of(child).is_some_and(|state| state.group != getpgrp().as_raw())
}

/// Waits for orphans that have ended by themselves, so that no process table fills up in a long run. Who leads a group may
/// be somebody's own child, and is left to that.
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
