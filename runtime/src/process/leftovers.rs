//! What an ended child has left behind: processes, its temporary folder, shared memory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use nix::unistd::geteuid;

use super::end_tree;
use super::state::ProcessState;
use crate::device::ProcessTree;

/// The folder in which shared memory has its names.
const SHARED: &str = "/dev/shm";

/// The time that killed processes are waited for, and how long between two looks.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);
/// The time that processes that a body has told to end may go on.
const AT_ONCE: Duration = Duration::from_millis(200);

/// The longest that the clock that files are stamped with may be behind.
const STEP: Duration = Duration::from_millis(10);

/// Returns the earliest time that it may be by the clock that files are stamped with.
pub(crate) fn now() -> SystemTime {
    SystemTime::now() - STEP
}

/// Waits until these processes, which were killed, have let go of what they had: a large one goes on ending
/// for a while, and its shared memory is in use until it has.
pub(crate) fn wait_for(killed: &[u32]) {
    let begun = Instant::now();
    while killed.iter().any(|process| is_there(*process)) && begun.elapsed() < PATIENCE {
        thread::sleep(PAUSE);
    }
}

/// Ends what this thread has started and all below, where it does not end by itself at once. How many there
/// were.
pub(crate) fn end_children() -> usize {
    let own = fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
    let children = own.split_whitespace().filter_map(|id| id.parse().ok());
    let mut left: Vec<u32> = children.flat_map(|child| ProcessTree::below(child).processes()).collect();
    let begun = Instant::now();
    while begun.elapsed() < AT_ONCE && left.iter().any(|process| is_there(*process)) {
        thread::sleep(PAUSE);
    }
    left.retain(|process| is_there(*process));
    let ended = end_tree(
        &|| left.iter().flat_map(|process| ProcessTree::below(*process).processes()).collect(),
        &mut |_| {},
    );
    wait_for(&ended);
    left.len()
}

/// Tells whether a process has memory still: one that nobody has reaped yet has none.
fn is_there(process: u32) -> bool {
    ProcessState::of(process).is_some_and(|state| !state.has_ended())
}

/// Removes shared memory that is ours, was made since then, and that no living process has mapped or open:
/// what loaders with workers leave there when they are killed stays until the machine is started anew.
pub(crate) fn remove_shared_memory(since: SystemTime) {
    for path in shared_memory(since) {
        let _ = fs::remove_file(path); // somebody else may have been quicker
    }
}

/// Shared memory that is ours, was made since then, and that no living process has mapped or open.
pub(crate) fn shared_memory(since: SystemTime) -> Vec<PathBuf> {
    abandoned(Path::new(SHARED), since)
}

/// Shared memory that is known to be of these processes, since one of them has it mapped or open: ours, and
/// made since then. To be asked before they are killed; they are listed only where there is any such memory.
pub(crate) fn shared_memory_of(processes: impl FnOnce() -> Vec<u32>, since: SystemTime) -> Vec<PathBuf> {
    held(Path::new(SHARED), processes, since)
}

fn held(folder: &Path, processes: impl FnOnce() -> Vec<u32>, since: SystemTime) -> Vec<PathBuf> {
    let mut found = made(folder, since);
    if !found.is_empty() {
        let processes = processes();
        let held = in_use(folder, |process| processes.contains(&process));
        found.retain(|path| held.contains(path));
    }
    found
}

/// Removes those of the files that no process has mapped or open but this one.
pub(crate) fn remove_unused(files: &[PathBuf]) {
    let Some(folder) = files.first().and_then(|file| file.parent()) else { return };
    let in_use = in_use(folder, |process| process != std::process::id());
    for file in files.iter().filter(|file| !in_use.contains(file)) {
        let _ = fs::remove_file(file); // somebody else may have been quicker
    }
}

fn abandoned(folder: &Path, since: SystemTime) -> Vec<PathBuf> {
    let mut found = made(folder, since);
    if !found.is_empty() {
        let in_use = in_use(folder, |_| true); // looking through all processes costs milliseconds
        found.retain(|path| !in_use.contains(path));
    }
    found
}

/// The files of this folder that are ours and were made since then.
fn made(folder: &Path, since: SystemTime) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let ours = |path: &PathBuf| {
        let Ok(entry) = fs::symlink_metadata(path) else { return false };
        let made = entry.created().or_else(|_| entry.modified());
        entry.is_file() && entry.uid() == geteuid().as_raw() && made.is_ok_and(|made| made >= since)
    };
    entries.map(|entry| entry.path()).filter(ours).collect()
}

/// The files of this folder that one of the processes meant has mapped or open, as far as the system shows
/// it.
fn in_use(folder: &Path, is_meant: impl Fn(u32) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let prefix = format!("{}/", folder.display());
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let id = process.file_name().to_str().and_then(|name| name.parse().ok());
        if !id.is_some_and(&is_meant) {
            continue;
        }
        let process = process.path();
        let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
        for line in maps.lines() {
            if let Some(at) = line.find(&prefix) {
                found.push(PathBuf::from(line[at..].trim_end_matches(" (deleted)")));
            }
        }
        for descriptor in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
            found.extend(fs::read_link(descriptor.path()).ok().filter(|path| path.starts_with(folder)));
        }
    }
    found
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_that_was_killed_is_waited_for_until_it_has_let_go_of_its_memory() {
        let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
        let id = sleeper.id();
        assert!(is_there(id));
        sleeper.kill().unwrap();
        wait_for(&[id]);
        assert!(!is_there(id), "nobody has reaped it, and it has nothing any more");
        sleeper.wait().unwrap();
        assert!(!is_there(id));
    }

    #[test]
    fn what_a_thread_has_started_and_left_is_ended() {
        let mut parent = Command::new("sh").args(["-c", "sleep 1000 & sleep 1000"]).spawn().unwrap();
        let below = || ProcessTree::below(parent.id()).processes();
        while below().len() < 3 {
            thread::yield_now();
        }
        let all = below();
        assert_eq!(end_children(), 3);
        assert!(all.iter().all(|process| !is_there(*process)));
        parent.wait().unwrap();
        assert_eq!(end_children(), 0);
    }

    #[test]
    fn what_a_process_had_open_is_removed_when_it_was_killed_and_what_another_one_has_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [theirs, shared, others] = ["theirs", "shared", "others"].map(|name| folder.path().join(name));
        let mut holder = Command::new("sh");
        let script = "exec 3>theirs 4>shared; echo; exec sleep 1000";
        holder.args(["-c", script]).current_dir(folder.path()).stdout(std::process::Stdio::piped());
        let mut holder = holder.spawn().unwrap();
        std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let mut other = Command::new("sh");
        let script = "exec 3>others 4>>shared; echo; exec sleep 1000";
        other.args(["-c", script]).current_dir(folder.path()).stdout(std::process::Stdio::piped());
        let mut other = other.spawn().unwrap();
        std::io::Read::read_exact(other.stdout.as_mut().unwrap(), &mut [0]).unwrap();

        let hour = SystemTime::now() - Duration::from_hours(1);
        let mut known = held(folder.path(), || vec![holder.id()], hour);
        known.sort();
        assert_eq!(known, [shared.clone(), theirs.clone()]);
        assert!(
            held(folder.path(), || vec![holder.id()], SystemTime::now() + Duration::from_hours(1)).is_empty()
        );
        remove_unused(&known);
        assert!(theirs.exists(), "it lives");
        holder.kill().unwrap();
        holder.wait().unwrap();
        remove_unused(&known);
        assert!(!theirs.exists() && shared.exists() && others.exists());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn what_nobody_has_open_and_was_made_since_is_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let (open, closed) = (folder.path().join("open"), folder.path().join("closed"));
        let held = fs::File::create(&open).unwrap();
        fs::write(&closed, "x").unwrap();
        let hour = Duration::from_hours(1);
        assert_eq!(abandoned(folder.path(), SystemTime::now() - hour), std::slice::from_ref(&closed));
        assert!(abandoned(folder.path(), SystemTime::now() + hour).is_empty());
        drop(held);
        let mut both = abandoned(folder.path(), SystemTime::now() - hour);
        both.sort();
        assert_eq!(both, [closed, open]);
    }
}
