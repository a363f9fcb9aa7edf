//! The locks that keep two measuring runs of one machine apart: each would be a disturbance of the other.
//!
//! They hold for the whole machine and not for a data directory, since processors do not know of directories.
//! The system lets go of them when their holder ends, however it ends. One is the user's own; another is of
//! all users, and anybody may hold it or put something else in its place. So the kernel says who holds it. A
//! run has a lock of its own beside them, on its folder: two processes that take it up again never both go
//! on, whatever the first locks are told to do.

use std::fmt;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use nix::fcntl::OFlag;
use nix::sys::stat::{major, minor};
use nix::unistd::geteuid;

use super::StoreError;
use crate::bencher::visible_in_line;

/// The interval at which a waiting run looks whether it may start. Nothing is measured meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The way in which a holder begins to say who it is, before its number.
const SIGNED: &str = "process ";
/// The most that is read of it.
const LONGEST: u64 = 200;

/// A holder that does not say who it is.
const UNNAMED: &str = "another measuring run, which does not say which";

/// The right to measure on this machine, until it is dropped.
#[derive(Debug)]
pub struct MachineLock {
    _file: File,
}

/// The right to go on with one run, until it is dropped.
#[derive(Debug)]
pub struct RunLock {
    _folder: File,
}

impl RunLock {
    /// Takes the lock on a run's folder; `None` where another process goes on with the run.
    ///
    /// # Errors
    /// When the folder cannot be opened or locked.
    pub(super) fn attempt(folder: &Path) -> Result<Option<Self>, StoreError> {
        let file = File::open(folder).map_err(StoreError::io("open", folder))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _folder: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(StoreError::io("lock", folder)(error)),
        }
    }
}

/// The outcome of an attempt to take the lock.
#[derive(Debug)]
pub enum Attempt {
    /// It is ours.
    Taken(MachineLock),
    /// Another holds it.
    Held(LockHolder),
}

/// The process that holds a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockHolder {
    /// Its number, as the kernel tells it.
    process: Option<u32>,
    /// Its user, as the kernel tells.
    user: Option<u32>,
    /// The words that it or another one has left of itself; empty where there are none.
    said: String,
}

impl LockHolder {
    /// Asks the kernel who holds the lock on a file. One in another container, or of a system that does not
    /// say, stays unknown.
    fn of(file: &mut File) -> Self {
        let said = signature(file).unwrap_or_default();
        let process = file.metadata().ok().and_then(|about| {
            let place = format!("{:02x}:{:02x}:{}", major(about.dev()), minor(about.dev()), about.ino());
            holder_among(&fs::read_to_string("/proc/locks").ok()?, &place)
        });
        let user = process.and_then(|process| Some(fs::metadata(format!("/proc/{process}")).ok()?.uid()));
        Self { process, user, said }
    }

    /// One of whom nothing is known.
    #[cfg(test)]
    pub(crate) fn unknown() -> Self {
        Self { process: None, user: None, said: String::new() }
    }

    /// Tells whether it is a process of this user.
    pub fn is_own(&self) -> bool {
        self.user == Some(geteuid().as_raw())
    }
}

/// A holder says of itself what it measures. Another user's file keeps its old text, so the kernel's word
/// comes first.
impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some(process) if !self.said.starts_with(&format!("{SIGNED}{process}: ")) => {
                write!(f, "{SIGNED}{process}")?;
            }
            None if self.said.is_empty() => f.write_str(UNNAMED)?,
            _ => f.write_str(&self.said)?,
        }
        match self.user {
            Some(user) if !self.is_own() => write!(f, " of user {user}"),
            _ => Ok(()),
        }
    }
}

/// The process that has a lock on the file at this place, among those that the kernel lists: `1: FLOCK
/// ADVISORY WRITE 4242 fd:01:1234 0 EOF`.
fn holder_among(locks: &str, place: &str) -> Option<u32> {
    let held = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    held.filter(|words| words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&place))
        .find_map(|words| words[4].parse().ok())
        .filter(|process| *process > 0)
}

impl MachineLock {
    /// Takes the lock if it is free. `who` tells the others whom they wait for.
    ///
    /// # Errors
    /// When the lock's file can neither be opened nor made, or is a link or no file at all.
    pub fn attempt(path: &Path, who: &str) -> Result<Attempt, StoreError> {
        let mut file = open(path).map_err(StoreError::lock(path))?;
        match file.try_lock() {
            Ok(()) => {
                sign(&mut file, who);
                Ok(Attempt::Taken(Self { _file: file }))
            }
            Err(TryLockError::WouldBlock) => Ok(Attempt::Held(LockHolder::of(&mut file))),
            Err(TryLockError::Error(error)) => Err(StoreError::lock(path)(error)),
        }
    }

    /// Waits for the lock. `waiting` is called with its holder each time it is not free, and ends the waiting
    /// by giving `false`.
    ///
    /// # Errors
    /// As [`MachineLock::attempt`].
    pub fn wait(
        path: &Path,
        who: &str,
        mut waiting: impl FnMut(&LockHolder) -> bool,
    ) -> Result<Option<Self>, StoreError> {
        loop {
            match Self::attempt(path, who)? {
                Attempt::Taken(lock) => return Ok(Some(lock)),
                Attempt::Held(by) if waiting(&by) => thread::sleep(LOOK_EVERY),
                Attempt::Held(_) => return Ok(None),
            }
        }
    }
}

/// Opens the lock's file. Reading is enough to lock it: another user may have made it, and a sticky directory
/// lets nobody open another's file for writing. A link is not followed, and what is no file is not waited
/// for.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags);
    let file = match options.clone().write(true).open(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => options.open(path)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match options.clone().write(true).create_new(true).open(path) {
                Ok(file) => {
                    // Whatever this user's mask is: others must be able to open it.
                    file.set_permissions(Permissions::from_mode(0o644))?;
                    file
                }
                // Another run was quicker.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => options.open(path)?,
                Err(error) => return Err(error),
            }
        }
        opened => opened?,
    };
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
}

/// Says who holds the lock, in a file that is empty or that a holder has signed before: what else a user
/// keeps there stays.
fn sign(file: &mut File, who: &str) {
    if signature(file).is_none() {
        return;
    }
    let text = format!("{SIGNED}{}: {who}\n", std::process::id());
    // Another user's file cannot be written, and keeps its old text.
    let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes()));
}

/// Returns the signature of a lock's holder; `None` where the file holds something else.
fn signature(file: &mut File) -> Option<String> {
    let mut bytes = Vec::new();
    file.rewind().ok()?;
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let digits =
        text.strip_prefix(SIGNED).map_or(0, |rest| rest.chars().take_while(char::is_ascii_digit).count());
    let signed = digits > 0 && text[SIGNED.len() + digits..].starts_with(": ");
    let said = || text.lines().next().unwrap_or_default().trim();
    // Any user of the machine may have written it.
    (text.is_empty() || signed).then(|| visible_in_line(said()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_the_lock_and_the_others_are_told_who() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("lock");
        let Attempt::Taken(lock) = MachineLock::attempt(&path, "first").expect("lockable") else {
            panic!("nobody holds it");
        };
        let Attempt::Held(by) = MachineLock::attempt(&path, "second").expect("lockable") else {
            panic!("the first holds it");
        };
        assert_eq!(by.to_string(), format!("process {}: first", std::process::id()));
        assert!(by.is_own() || by.process.is_none(), "{by:?}");

        let mut looks = 0;
        let waited = MachineLock::wait(&path, "second", |_| {
            looks += 1;
            false
        });
        assert!(waited.expect("lockable").is_none() && looks == 1, "waiting can be ended");
        drop(lock);
        assert!(MachineLock::wait(&path, "second", |_| false).expect("lockable").is_some());
    }

    #[test]
    fn a_link_is_not_followed_and_what_is_no_file_is_not_waited_for() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (path, theirs) = (directory.path().join("lock"), directory.path().join("theirs"));
        std::fs::write(&theirs, "precious").expect("writable");
        std::os::unix::fs::symlink(&theirs, &path).expect("writable");
        let error = MachineLock::attempt(&path, "first").expect_err("a link").to_string();
        assert!(
            error.contains("it is a link, and none is followed: remove it, or add `--no-lock`"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&theirs).expect("there"), "precious");

        let pipe = directory.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let error = MachineLock::attempt(&pipe, "first").expect_err("a pipe").to_string();
        assert!(error.contains("it is no file"), "{error}");
    }

    #[test]
    fn what_a_user_keeps_in_the_file_stays_and_another_user_may_lock_it() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let theirs = directory.path().join("theirs");
        std::fs::write(&theirs, "precious").expect("writable");
        let Attempt::Taken(_lock) = MachineLock::attempt(&theirs, "first").expect("lockable") else {
            panic!("nobody holds it");
        };
        let Attempt::Held(by) = MachineLock::attempt(&theirs, "second").expect("lockable") else {
            panic!("the first holds it");
        };
        let own = format!("process {}", std::process::id());
        assert!([UNNAMED.to_owned(), own].contains(&by.to_string()), "{by}");
        assert_eq!(std::fs::read_to_string(&theirs).expect("there"), "precious");

        let ours = directory.path().join("ours");
        for who in ["a first with a long name", "second"] {
            let Attempt::Taken(_lock) = MachineLock::attempt(&ours, who).expect("lockable") else {
                panic!("nobody holds it");
            };
            let expected = format!("process {}: {who}\n", std::process::id());
            assert_eq!(std::fs::read_to_string(&ours).expect("there"), expected);
        }
        let mode = std::fs::metadata(&ours).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }

    #[test]
    fn what_a_holder_says_of_itself_moves_no_cursor_and_is_short() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("lock");
        let who = format!("\x1b[31mred\u{202e}::error::{}", "x".repeat(400));
        let Attempt::Taken(_lock) = MachineLock::attempt(&path, &who).expect("lockable") else {
            panic!("nobody holds it");
        };
        let Attempt::Held(by) = MachineLock::attempt(&path, "second").expect("lockable") else {
            panic!("the first holds it");
        };
        assert!(by.to_string().contains("\\u{1b}[31mred\\u{202e}"), "{by}");
        std::fs::write(&path, format!("process 1: {}", "x".repeat(1 << 20))).expect("ours");
        let Attempt::Held(by) = MachineLock::attempt(&path, "second").expect("lockable") else {
            panic!("the first holds it");
        };
        assert!(by.said.len() <= 300, "{}", by.said.len());
    }

    #[test]
    fn the_kernel_says_who_holds_a_lock_and_an_old_word_in_the_file_does_not_count() {
        let locks = "1: POSIX  ADVISORY  WRITE 7 fd:01:1234 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 8 fd:01:12345 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 4242 fd:01:1234 0 EOF\n\
                     3: -> FLOCK  ADVISORY  WRITE 9 fd:01:1234 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 0 fd:01:99 0 EOF\n";
        assert_eq!(holder_among(locks, "fd:01:1234"), Some(4242));
        assert_eq!(holder_among(locks, "fd:01:99"), None, "of another container");
        assert_eq!(holder_among("", "fd:01:1234"), None);

        let other = geteuid().as_raw() + 1;
        let holder =
            |said: &str| LockHolder { process: Some(4242), user: Some(other), said: said.to_owned() };
        assert!(!holder("").is_own());
        assert_eq!(holder("process 7: old").to_string(), format!("process 4242 of user {other}"));
        assert_eq!(
            holder("process 4242: p/suite").to_string(),
            format!("process 4242: p/suite of user {other}")
        );
    }

    #[test]
    fn one_process_goes_on_with_a_run() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let lock = RunLock::attempt(directory.path()).expect("lockable").expect("nobody has it");
        assert!(RunLock::attempt(directory.path()).expect("lockable").is_none());
        drop(lock);
        assert!(RunLock::attempt(directory.path()).expect("lockable").is_some());
    }

    #[test]
    fn a_lock_that_cannot_be_made_is_an_error_that_names_it() {
        let error =
            MachineLock::attempt(Path::new("/nowhere/weighbridge.lock"), "").expect_err("no such place");
        let said = error.to_string();
        assert!(said.contains("open the lock `/nowhere/weighbridge.lock`"), "{said}");
        assert!(
            said.contains("name another in TMPDIR, or add `--no-lock`") && !said.contains("--data"),
            "{said}"
        );
        let refused = |kind: ErrorKind| StoreError::lock(Path::new("/tmp/lock"))(kind.into()).to_string();
        let said = refused(ErrorKind::PermissionDenied);
        assert!(said.contains("`/tmp` cannot be written") && said.contains("--no-lock"), "{said}");
        assert!(!said.contains("--data"), "{said}");
    }
}
