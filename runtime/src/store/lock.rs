//! The lock that keeps two measuring runs of one machine apart: each would be a disturbance of the other.
//!
//! It holds for the whole machine and not for a data directory, since processors do not know of directories.
//! The system lets go of it when its holder ends, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::Error;

/// How often a waiting run looks whether it may start. Nothing is measured meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A holder that does not say who it is.
const UNNAMED: &str = "another measuring run, which does not say which";

/// The right to measure on this machine, until it is dropped.
#[derive(Debug)]
pub struct MachineLock {
    _file: File,
}

/// What an attempt to take the lock gave.
#[derive(Debug)]
pub enum Attempt {
    /// It is ours.
    Taken(MachineLock),
    /// Another holds it, and says this of itself.
    Held(String),
}

impl MachineLock {
    /// Takes the lock if it is free. `who` tells the others whom they wait for.
    ///
    /// # Errors
    /// When the lock's file can neither be opened nor made.
    pub fn attempt(path: &Path, who: &str) -> Result<Attempt, Error> {
        let file = open(path).map_err(Error::io("open the lock", path))?;
        match file.try_lock() {
            Ok(()) => {
                // It belongs to whoever made it first, who may be another user; then it keeps its old text.
                drop(fs::write(path, format!("process {}: {who}\n", std::process::id())));
                Ok(Attempt::Taken(Self { _file: file }))
            }
            Err(TryLockError::WouldBlock) => {
                // Between its start and its first word a holder says nothing, and another user's file may be closed to us.
                let said = fs::read_to_string(path).unwrap_or_default();
                Ok(Attempt::Held(if said.trim().is_empty() {
                    UNNAMED.to_owned()
                } else {
                    said.trim().to_owned()
                }))
            }
            Err(TryLockError::Error(error)) => Err(Error::io("lock", path)(error)),
        }
    }

    /// Waits for the lock. `waiting` is called with what its holder says of itself each time it is not free,
    /// and ends the waiting by giving `false`.
    ///
    /// # Errors
    /// As [`MachineLock::attempt`].
    pub fn wait(
        path: &Path,
        who: &str,
        mut waiting: impl FnMut(&str) -> bool,
    ) -> Result<Option<Self>, Error> {
        loop {
            match Self::attempt(path, who)? {
                Attempt::Taken(lock) => return Ok(Some(lock)),
                Attempt::Held(by) if waiting(&by) => thread::sleep(LOOK_EVERY),
                Attempt::Held(_) => return Ok(None),
            }
        }
    }
}

/// Opens the lock's file for reading, which is enough to lock it: another user may have made it, and a sticky
/// directory lets nobody open another's file for writing.
fn open(path: &Path) -> io::Result<File> {
    match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            OpenOptions::new().write(true).create(true).truncate(false).open(path)
        }
        opened => opened,
    }
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
        assert_eq!(by, format!("process {}: first", std::process::id()));

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
    fn a_lock_that_cannot_be_made_is_an_error_that_names_it() {
        let error =
            MachineLock::attempt(Path::new("/nowhere/weighbridge.lock"), "").expect_err("no such place");
        assert!(error.to_string().contains("open the lock `/nowhere/weighbridge.lock`"), "{error}");
    }
}
