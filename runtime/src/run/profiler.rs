//! `perf record` beside a repeat: attached to the process that measures, and so to all that it starts.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use crate::bencher::{Error, Result};
use crate::process::{Trace, TraceKind};

/// The program.
const PERF: &str = "perf";

/// The time that it may take until it looks, and until it has written all down.
const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks at it.
const PAUSE: Duration = Duration::from_millis(5);

/// A running `perf record`.
#[derive(Debug)]
pub(super) struct Profiler {
    process: Child,
    /// The pipes through which it is spoken to.
    pipes: [PathBuf; 2],
}

impl Profiler {
    /// Attaches it to this process, where the repeat is for that; what this process starts from then on is
    /// looked at as well.
    ///
    /// # Errors
    /// When it cannot be started, or ends at once.
    pub(super) fn from_env() -> Result<Option<Self>> {
        match Trace::from_env() {
            Some(Trace { kind: TraceKind::Perf, folder }) => Self::attach(PERF, &folder).map(Some),
            _ => Ok(None),
        }
    }

    fn attach(program: &str, folder: &Path) -> Result<Self> {
        let failed = |error: io::Error| Error::new(format!("failed to start {program}: {error}"));
        fs::create_dir_all(folder).map_err(failed)?;
        // It is asked whether it looks already, and answers when it does.
        let pipes = ["ask", "answer"].map(|name| folder.join(name));
        for pipe in &pipes {
            mkfifo(pipe, Mode::S_IRUSR | Mode::S_IWUSR).map_err(|error| failed(error.into()))?;
        }
        let open = |pipe: &PathBuf| {
            OpenOptions::new().read(true).write(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(pipe)
        };
        let (mut ask, mut answer) = (open(&pipes[0]).map_err(failed)?, open(&pipes[1]).map_err(failed)?);
        ask.write_all(b"ping\n").map_err(failed)?;
        let mut command = Command::new(program);
        command.args(["record", "-q", "-g", "--control"]);
        command.arg(format!("fifo:{},{}", pipes[0].display(), pipes[1].display()));
        command.arg("-o").arg(folder.join("perf.data")).args(["-p", &std::process::id().to_string()]);
        let process = command.stdin(Stdio::null()).spawn().map_err(failed)?;
        let mut own = Self { process, pipes };
        let begun = Instant::now();
        while answer.read(&mut [0; 64]).is_err() {
            if let Some(status) = own.process.try_wait().map_err(failed)? {
                return Err(Error::new(format!("{PERF} ended before it had begun: {status}")));
            }
            if begun.elapsed() >= PATIENCE {
                return Err(Error::new(format!("{PERF} did not begin within {PATIENCE:?}")));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(own)
    }

    /// Ends it, and waits until it has written what it saw.
    ///
    /// # Errors
    /// When it does not end.
    pub(super) fn end(mut self) -> Result<()> {
        let failed = |error: io::Error| Error::new(format!("{PERF} cannot be waited for: {error}"));
        let _ = kill(Pid::from_raw(self.process.id() as i32), Signal::SIGTERM); // it may have ended
        let begun = Instant::now();
        while self.process.try_wait().map_err(failed)?.is_none() {
            if begun.elapsed() >= PATIENCE {
                return Err(Error::new(format!("{PERF} did not end within {PATIENCE:?} of being asked to")));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        let _ = self.process.kill(); // one that has ended is past that
        let _ = self.process.wait();
        for pipe in &self.pipes {
            let _ = fs::remove_file(pipe); // else it would lie beside the trace
        }
    }
}

/// Tells whether `perf` can record here, tried on a program that does nothing.
///
/// # Errors
/// Why not, in words.
pub fn perf_can_record() -> std::result::Result<(), String> {
    can_record(PERF)
}

fn can_record(program: &str) -> std::result::Result<(), String> {
    let mut command = Command::new(program);
    command.args(["record", "-q", "-o", "/dev/null", "--", "true"]).stdin(Stdio::null());
    match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(format!("there is no program `{program}`: install it (Debian has it as linux-perf)"))
        }
        Err(error) => Err(format!("`{program}` cannot be started: {error}")),
        Ok(ended) if ended.status.success() => Ok(()),
        Ok(ended) => Err(refusal(ended.status, &String::from_utf8_lossy(&ended.stderr))),
    }
}

/// The reason why it does not record, by how it ended and what it said.
fn refusal(status: ExitStatus, said: &str) -> String {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "Error:");
    let first = lines.next().unwrap_or("it says nothing");
    format!("`{PERF} record` does not work here ({status}): {first}")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    /// A program in the place of `perf`, which does this. `$ask` and `$answer` are what it is spoken to
    /// through, `$file` is what it is to write.
    fn fake(place: &Path, does: &str) -> String {
        let program = place.join("perf");
        fs::write(
            &program,
            format!(
                "#!/bin/sh\npipes=${{5#fifo:}}; ask=${{pipes%,*}}; answer=${{pipes#*,}}; file=$7\n{does}\n"
            ),
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        program.display().to_string()
    }

    #[test]
    fn it_is_asked_to_end_and_waited_for_until_it_has_written() {
        let place = tempfile::tempdir().unwrap();
        let waits = "trap 'echo all > \"$file\"; exit 0' TERM\nread ping < \"$ask\"\necho \"ack $ping\" > \
            \"$answer\"\n\
                     while :; do sleep 0.01; done";
        let folder = place.path().join("perf-trace");
        Profiler::attach(&fake(place.path(), waits), &folder).unwrap().end().unwrap();
        assert_eq!(fs::read_to_string(folder.join("perf.data")).unwrap(), "all\n");
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "the trace alone is left");
    }

    #[test]
    fn one_that_ends_before_it_looks_or_that_is_not_there_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let said =
            Profiler::attach(&fake(place.path(), "exit 3"), &place.path().join("a")).unwrap_err().to_string();
        assert!(said.contains("ended before it had begun: exit status: 3"), "{said}");
        let said = Profiler::attach("/nowhere/perf", &place.path().join("b")).unwrap_err().to_string();
        assert!(said.starts_with("failed to start /nowhere/perf"), "{said}");
    }

    #[test]
    fn whether_it_can_record_is_tried_and_the_reason_told() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(can_record(&fake(place.path(), "exit 0")), Ok(()));
        let said = can_record(&fake(place.path(), "echo Error: >&2; echo No permission. >&2; exit 255"))
            .unwrap_err();
        assert_eq!(said, "`perf record` does not work here (exit status: 255): No permission.");
        assert!(can_record("/nowhere/perf").unwrap_err().starts_with("there is no program `/nowhere/perf`"));
    }

    #[test]
    fn the_reason_of_a_refusal_is_what_perf_says_first() {
        let said = "\nError:\nAccess to performance monitoring is limited.\n";
        assert_eq!(
            refusal(ExitStatus::from_raw(255 << 8), said),
            "`perf record` does not work here (exit status: 255): Access to performance monitoring is \
             limited."
        );
        assert!(refusal(ExitStatus::from_raw(9), "").ends_with("it says nothing"));
    }
}
