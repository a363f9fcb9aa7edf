//! Processes that are known by a variable in their environment, whoever their parent is.

use std::fs;
use std::thread;
use std::time::Duration;

use super::state::ProcessState;

/// Holds the mark of a measuring process, and of all that it starts.
pub(super) const MARK: &str = "WEIGHBRIDGE_MARK";

/// Tells whether the environment that a process was started with has this entry, or one that goes on after it
/// with a dot. `None` where it shows none: it has ended, is just being replaced by another program, or has
/// written over it.
pub(super) fn carries(process: u32, entry: &str) -> Option<bool> {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let is_it = |variable: &[u8]| {
        let rest = variable.strip_prefix(entry.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'.')
    };
    (!environment.is_empty()).then(|| environment.split(|byte| *byte == 0).any(is_it))
}

/// Tells whether that environment has a variable of this name, whatever its value is. As [`carries`].
pub(super) fn has_variable(process: u32, name: &str) -> Option<bool> {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let is_it = |variable: &[u8]| {
        variable.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'='))
    };
    (!environment.is_empty()).then(|| environment.split(|byte| *byte == 0).any(is_it))
}

/// The number of times that those that are just being replaced by another program are looked at again, and
/// how long between two looks.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// The processes of this machine that carry the entry, the caller left out. Where the system does not show
/// the environments of others, nobody is found.
pub(super) fn carriers(entry: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut open: Vec<u32> = processes.filter(|process| *process != std::process::id()).collect();
    let mut found = Vec::new();
    for look in 0..LOOKS {
        open.retain(|process| match carries(*process, entry) {
            Some(true) => {
                found.push(*process);
                false
            }
            Some(false) => false,
            None => look > 0 || may_show(*process),
        });
        if open.is_empty() {
            break;
        }
        thread::sleep(PAUSE);
    }
    found
}

/// The processes of a group.
pub(super) fn of_group(group: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    processes
        .filter(|process| ProcessState::of(*process).is_some_and(|state| state.group == group as i32))
        .collect()
}

/// Tells whether a process may show an environment later: it lives, is no thread of the kernel, and is ours
/// to look at.
fn may_show(process: u32) -> bool {
    ProcessState::of(process).is_some_and(|state| !state.has_ended())
        && fs::read_link(format!("/proc/{process}/exe")).is_ok()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn those_who_carry_the_mark_or_one_within_it_are_found_and_nobody_else() {
        let own = std::process::id();
        let start = |mark: String| {
            let mut command = Command::new("cat");
            command.env("WEIGHBRIDGE_TEST_MARKED", mark).stdin(Stdio::piped()).stdout(Stdio::null());
            command.spawn().unwrap() // returns once the program is in its place
        };
        let mut all = [format!("{own}"), format!("{own}.0"), format!("{own}0")].map(start);
        let mut found = carriers(&format!("WEIGHBRIDGE_TEST_MARKED={own}"));
        found.sort_unstable();
        let mut expected = [all[0].id(), all[1].id()];
        expected.sort_unstable();
        assert_eq!(found, expected);
        for child in &mut all {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        assert_eq!(carries(all[0].id(), "X"), None, "it has ended");
    }
}
