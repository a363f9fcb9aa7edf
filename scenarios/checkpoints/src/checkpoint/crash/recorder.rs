//! The calls of a process that change files, as `strace` tells them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use weighbridge::{Error, Result, skip};

/// The calls that are recorded. The last line has ways to write that are not followed: whoever takes one is
/// declined.
const CALLS: &str = "open,openat,creat,write,pwrite64,writev,pwritev,pwritev2,lseek,ftruncate,\
    truncate,fallocate,\
    rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,\
    fsync,fdatasync,sync_file_range,syncfs,sync,msync,\
    sendfile,splice,copy_file_range,mmap,io_uring_enter,symlink,symlinkat";

/// Records processes from [`Recorder::begin`] to [`Recorder::end`].
pub(in crate::checkpoint) struct Recorder {
    strace: Child,
    /// Kept, since it is full once nobody reads it.
    said: BufReader<ChildStderr>,
    log: PathBuf,
}

impl Recorder {
    /// Records these processes, all their threads and what they start, in a file of this directory.
    ///
    /// # Errors
    /// A skip where there is no `strace`, or where it may not look at them.
    pub(in crate::checkpoint) fn begin(processes: &[u32], directory: &Path) -> Result<Self> {
        let log = directory.join("calls");
        let mut strace = Command::new("strace");
        // Every text in hexadecimal and whole; descriptors with their paths; threads and children too.
        strace.args(["-f", "-xx", "-y", "-s", "1000000000", "-e", "signal=none"]);
        strace.arg(format!("--trace={CALLS}")).arg("-o").arg(&log);
        for process in processes {
            strace.arg("-p").arg(process.to_string());
        }
        let started = strace.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut strace = started.map_err(|error| {
            skip(format!("it needs `strace`, which Debian has as a package of that name: {error}"))
        })?;
        let said = strace.stderr.take().ok_or_else(|| Error::new("strace has no standard error"))?;
        let mut recorder = Self { strace, said: BufReader::new(said), log };
        for _ in processes {
            let mut line = String::new();
            recorder.said.read_line(&mut line)?;
            if !line.contains("attached") {
                return Err(skip(format!("strace may not look at the process: {}", line.trim())));
            }
        }
        Ok(recorder)
    }

    /// Ends the recording and returns its text.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(in crate::checkpoint) fn end(mut self) -> Result<String> {
        self.stop()?;
        let text = fs::read_to_string(&self.log)?;
        fs::remove_file(&self.log)?;
        Ok(text)
    }

    /// Has it let the processes go, and waits for that.
    fn stop(&mut self) -> Result<()> {
        if self.strace.try_wait()?.is_none() {
            let id = Pid::from_raw(self.strace.id().cast_signed());
            kill(id, Signal::SIGTERM)
                .map_err(|error| Error::new(format!("strace cannot be ended: {error}")))?;
            self.strace.wait()?;
        }
        Ok(())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}
