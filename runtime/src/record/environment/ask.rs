//! Asking another program for a fact, without waiting until the answer is needed.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::fact::Fact;

/// A program that waits for a lock or for a disk of the network must not hold up a run: from this time on
/// its fact is absent.
const LIMIT: Duration = Duration::from_secs(10);

/// A command that is running, and what it is called.
pub(super) struct RunningCommand {
    name: String,
    started: Instant,
    end: io::Result<(Pid, Receiver<io::Result<Output>>)>,
}

/// Starts a command in a directory. It must be one that ends by itself and asks nothing.
pub(super) fn ask(program: &str, arguments: &[&str], directory: &Path) -> RunningCommand {
    let child = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env("GIT_OPTIONAL_LOCKS", "0") // a question must not write the index of somebody's repository
        .env("LC_ALL", "C")
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let end = child.and_then(|child| listen(child, thread::Builder::new()));
    RunningCommand { name: format!("{program} {}", arguments.join(" ")), started: Instant::now(), end }
}

/// Listens to a program in a thread of this kind. One that nobody can listen to is ended: where there can be
/// no thread, its fact is absent.
fn listen(child: Child, thread: thread::Builder) -> io::Result<(Pid, Receiver<io::Result<Output>>)> {
    let group = Pid::from_raw(child.id() as i32);
    let (tell, end) = mpsc::channel();
    // Who no longer waits for it needs no answer.
    let listening = thread.spawn(move || drop(tell.send(child.wait_with_output())));
    if let Err(error) = listening {
        // It may have ended by itself.
        let _ = killpg(group, Signal::SIGKILL).and_then(|()| waitpid(group, None).map(drop));
        return Err(error);
    }
    Ok((group, end))
}

impl RunningCommand {
    /// Returns its output on stdout, without the space at the end; or the reason why there is no answer.
    pub(super) fn answer(self) -> Fact {
        self.answer_within(LIMIT)
    }

    fn answer_within(self, limit: Duration) -> Fact {
        let Self { name, started, end } = self;
        let unusable = |error: io::Error| format!("`{name}` cannot be run: {error}");
        let (group, end) = end.map_err(unusable)?;
        let output = match end.recv_timeout(limit.saturating_sub(started.elapsed())) {
            Ok(output) => output.map_err(unusable)?,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let _ = killpg(group, Signal::SIGKILL); // it may have ended just now
                return Err(format!("`{name}` gave no answer within {limit:?}"));
            }
        };
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(format!("`{name}` failed: {}", complaint.lines().next().unwrap_or("it did not say why").trim()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_what_was_written_to_stdout() {
        assert_eq!(ask("echo", &["a", "b"], Path::new("/")).answer(), Ok("a b".into()));
    }

    #[test]
    fn a_command_that_fails_or_is_not_there_says_so() {
        let failed = ask("sh", &["-c", "echo broken >&2; exit 3"], Path::new("/")).answer().unwrap_err();
        assert!(failed.ends_with("failed: broken"), "{failed}");
        let missing = ask("weighbridge-no-such-command", &[], Path::new("/")).answer().unwrap_err();
        assert!(missing.contains("cannot be run"), "{missing}");
    }

    #[test]
    fn where_there_can_be_no_thread_the_command_is_ended_and_its_fact_is_absent() {
        let child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let group = Pid::from_raw(child.id() as i32);
        let no_thread = thread::Builder::new().stack_size(1 << 60);
        assert!(listen(child, no_thread).is_err());
        assert!(killpg(group, None).is_err(), "nobody is left of it");
    }

    #[test]
    fn a_command_that_hangs_is_ended_and_its_fact_is_absent() {
        let asked = ask("sleep", &["1000"], Path::new("/"));
        let Ok((group, _)) = &asked.end else { panic!("it is everywhere") };
        let group = *group;
        let told = asked.answer_within(Duration::ZERO).unwrap_err();
        assert_eq!(told, "`sleep 1000` gave no answer within 0ns");
        while killpg(group, None).is_ok() {
            thread::yield_now(); // the kernel takes its time
        }
    }
}
