//! Cleaning up after a parent that was killed: its child has this done by one more process, since nobody can
//! stop himself and go on looking.

use std::env;
use std::time::{Duration, UNIX_EPOCH};

use nix::unistd::getppid;

use super::mark::carries;
use super::{ChildPlace, end_tree, leftovers};

/// The argument that makes a bench binary a reaper; the mark of the child's place comes after it, and when
/// the child began, in nanoseconds since the Unix epoch.
pub(crate) const FLAG: &str = "--weighbridge-reaper";

/// Starts a reaper, which ends this process and all that it has started since it began, and removes what they
/// have left. Waits for that end; returns only where there can be no such process.
#[cfg(not(target_os = "linux"))]
pub(crate) fn call(place: &ChildPlace, since: std::time::SystemTime) -> std::io::Error {
    use std::io;
    use std::process::{Command, Stdio};

    let mut command = Command::new("/proc/self/exe");
    for (name, _) in place.variables() {
        command.env_remove(name); // it is none of those that it ends
    }
    let since = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
    command
        .args([FLAG, place.mark(), &since])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn().and_then(|mut reaper| reaper.wait()) {
        Ok(status) => io::Error::other(format!("the reaper ended with {status}")),
        Err(error) => error,
    }
}

/// The whole of a reaper's life, if this process is to be one.
pub(crate) fn serve() -> bool {
    let mut arguments = env::args().skip(1);
    if arguments.next().as_deref() != Some(FLAG) {
        return false;
    }
    let Some(mark) = arguments.next().filter(|mark| !mark.is_empty()) else { return true };
    let place = ChildPlace::marked_by(mark);
    // Who has called and ended meanwhile is followed by another parent, which is none of its.
    let root = Some(getppid().as_raw() as u32).filter(|root| carries(*root, &place.entry()) == Some(true));
    let since = arguments.next().and_then(|since| since.parse().ok()).map(Duration::from_nanos);
    let mut held = Vec::new();
    let ended = end_tree(&|| place.members_anywhere(root), &mut |stopped| {
        // Of a child that does not say when it began, nothing is removed that may be another's.
        if let Some(since) = since {
            held = leftovers::shared_memory_of(|| stopped.to_vec(), UNIX_EPOCH + since);
        }
    });
    leftovers::wait_for(&ended);
    leftovers::remove_unused(&held);
    place.remove_temporary();
    true
}
