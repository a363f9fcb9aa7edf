//! A process that outlives a doctor which is killed: it ends what the script has started, and removes the
//! scratch folder.
//!
//! The script itself ends with the doctor, by a signal of the kernel; what the script has started does not.
//! The guard holds one end of a pipe whose other end the doctor has, and so hears of the doctor's end however
//! it comes.

use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
use std::{env, fs, io, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::hook::MARK;
use crate::layer;

/// The variable that names the scratch folder to guard.
const VARIABLE: &str = "WEIGHBRIDGE_DOCTOR_GUARD";

/// Looks at all processes, and the pause between two: one that does not end by then never will.
const LOOKS: usize = 1_000;
const PAUSE: Duration = Duration::from_millis(20);

/// The guard of one run, which ends with this.
#[derive(Debug)]
pub(crate) struct Guard(Child);

impl Guard {
    /// Starts this program anew as a guard of a scratch folder.
    ///
    /// # Errors
    /// There can be no process.
    pub(crate) fn start(program: &Path, scratch: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.env(VARIABLE, scratch).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // In a group of its own: what ends the doctor's whole group does not end it.
        command.process_group(0).spawn().map(Self)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait(); // somebody else may have heard of its end
    }
}

/// Becomes a guard, where this program was started for that; `None` where nobody asked for it.
pub(crate) fn guard() -> Option<ExitCode> {
    let scratch = PathBuf::from(env::var_os(VARIABLE)?);
    let _ = io::stdin().read_to_end(&mut Vec::new()); // until the doctor is gone
    for _ in 0..LOOKS {
        let left = started_from(&scratch);
        for process in &left {
            let _ = kill(*process, Signal::SIGKILL); // it may have ended by itself
        }
        if left.is_empty() {
            break;
        }
        thread::sleep(PAUSE);
    }
    layer::remove(&scratch);
    Some(ExitCode::SUCCESS)
}

/// The processes whose environment names a folder below this one as the doctor's.
fn started_from(scratch: &Path) -> Vec<Pid> {
    let mut mark = format!("{MARK}=").into_bytes();
    mark.extend_from_slice(scratch.as_os_str().as_bytes());
    mark.push(b'/');
    let carries = |process: &i32| {
        let variables = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        variables.split(|byte| *byte == 0).any(|variable| variable.starts_with(&mark))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter(carries).map(Pid::from_raw).collect()
}
