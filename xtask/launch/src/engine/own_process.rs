//! A job that is a process of this machine, with all that it starts: in a group of its own.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::contract::JobId;
use crate::error::{LaunchError, Result};
use crate::machine::JobState;

/// The time that processes have to end by themselves.
const GRACE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(50);

/// A process that was started, and is waited for by nobody else: its number is not given to another one.
#[derive(Debug, Default)]
pub(super) struct OwnProcess {
    child: Option<Child>,
    ended: Option<ExitStatus>,
}

impl OwnProcess {
    /// Starts a script; what it says goes into a file beside it.
    pub(super) fn start(&mut self, file: &Path) -> Result<JobId> {
        let log = file.with_extension("out");
        let out = File::create(&log).map_err(LaunchError::io("write", &log))?;
        let err = out.try_clone().map_err(LaunchError::io("write", &log))?;
        let mut command = Command::new("sh");
        command.arg(file).stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
        let child = command.spawn().map_err(LaunchError::io("start", file))?;
        let id = JobId(child.id().to_string());
        (self.child, self.ended) = (Some(child), None);
        Ok(id)
    }

    /// Looks at it.
    pub(super) fn state(&mut self) -> Result<JobState> {
        let Some(child) = &mut self.child else { return Ok(JobState::Unknown) };
        if self.ended.is_none() {
            self.ended = child.try_wait().map_err(|error| LaunchError::engine("sh", error.to_string()))?;
        }
        Ok(match self.ended {
            None => JobState::Running { restarts: 0 },
            Some(ended) if matches!(ended.signal(), Some(2 | 15)) => {
                JobState::Cancelled { why: format!("{ended}") }
            }
            Some(ended) => JobState::Done { code: ended.code(), why: format!("{ended}") },
        })
    }

    /// Ends the whole group, and waits until none of it is left.
    pub(super) fn end(&mut self) -> Result<()> {
        let Some(child) = &mut self.child else { return Ok(()) };
        let group = Pid::from_raw(child.id() as i32);
        let killed = |error: Errno| LaunchError::engine("kill", error.to_string());
        for (signal, grace) in [(Signal::SIGTERM, GRACE), (Signal::SIGKILL, GRACE)] {
            let until = Instant::now() + grace;
            match killpg(group, signal) {
                Ok(()) => {}
                Err(Errno::ESRCH) => break,
                Err(error) => return Err(killed(error)),
            }
            while Instant::now() < until {
                // The leader is a zombie of ours until it is waited for, and holds the group's number.
                if self.ended.is_none() {
                    self.ended = child.try_wait().unwrap_or(None);
                }
                if killpg(group, None) == Err(Errno::ESRCH) {
                    return Ok(());
                }
                thread::sleep(LOOK);
            }
        }
        Ok(())
    }
}

impl Drop for OwnProcess {
    /// A launch that fails takes its processes with it.
    fn drop(&mut self) {
        if self.ended.is_none() {
            drop(self.end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_ended_with_all_that_it_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("job.sh");
        std::fs::write(&file, "sleep 600 & echo $! > \"$0.pid\"; wait").unwrap();
        let mut process = OwnProcess::default();
        process.start(&file).unwrap();
        assert_eq!(process.state().unwrap(), JobState::Running { restarts: 0 });
        let note = folder.path().join("job.sh.pid");
        while std::fs::read_to_string(&note).map_or(true, |text| !text.ends_with('\n')) {
            thread::yield_now();
        }
        process.end().unwrap();
        let inner: i32 = std::fs::read_to_string(&note).unwrap().trim().parse().unwrap();
        let is_gone =
            std::fs::read_to_string(format!("/proc/{inner}/stat")).map_or(true, |stat| stat.contains(") Z "));
        assert!(is_gone, "{inner} is left");
        assert!(matches!(process.state().unwrap(), JobState::Cancelled { .. }));
    }
}
