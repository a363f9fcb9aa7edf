//! Processes that outlive those who started them, found by a variable in their environment.

use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(5);

/// A process that is not gone after so many looks is stuck in the kernel; it ends when that lets it go.
const LOOKS: u32 = 200;

/// Kills every process whose environment has this entry, or one that goes on after it with a dot, until there is none:
/// who is killed may have just started another. The caller itself is spared.
pub(super) fn end(entry: &str) {
    for _ in 0..LOOKS {
        let found = carriers(entry);
        if found.is_empty() {
            return;
        }
        for process in found {
            // It may have ended meanwhile, which is what is wanted.
            let _ = kill(Pid::from_raw(process as i32), Signal::SIGKILL);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The processes whose environment has the entry, the caller left out. A process that has ended has no environment. Where
/// the system does not show the environments of others, nobody is found.
fn carriers(entry: &str) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let carries = |process: &u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| {
            let rest = variable.strip_prefix(entry.as_bytes());
            rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'.')
        })
    };
    processes.filter(|process| *process != std::process::id()).filter(carries).collect()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};

    use super::*;

    fn start(mark: &str) -> std::process::Child {
        let mut command = Command::new("sh");
        command.args(["-c", "read line"]).env("WEIGHBRIDGE_TEST_SURVIVOR", mark).stdin(Stdio::piped());
        command.spawn().unwrap()
    }

    #[test]
    fn those_who_carry_the_mark_or_one_within_it_are_killed_and_nobody_else() {
        let own = std::process::id();
        let (mut one, mut within) = (start(&format!("{own}")), start(&format!("{own}.0")));
        let mut other = start(&format!("{own}0"));
        end(&format!("WEIGHBRIDGE_TEST_SURVIVOR={own}"));
        for child in [&mut one, &mut within] {
            assert_eq!(child.wait().unwrap().signal(), Some(Signal::SIGKILL as i32));
        }
        assert_eq!(other.try_wait().unwrap(), None);
        drop(other.stdin.take());
        assert!(!other.wait().unwrap().success(), "it read the end of its input");
    }
}
