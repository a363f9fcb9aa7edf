//! Baselines in a directory that others write into as well.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use sha2::{Digest, Sha256};
use weighbridge::data::{Disk, Files, MachineLock, StoreError, replace_file};

use super::objects::{ObjectVersion, Objects, overtaken, plain};

/// The most looks of a writer for the end of another: ten times a second, so for twenty seconds.
const LOOKS: u32 = 200;

/// A directory. Writers take turns by a lock in it, so that none replaces what it has not seen.
#[derive(Debug)]
pub(super) struct SharedDirectory {
    root: PathBuf,
}

impl SharedDirectory {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// Checks that the directory is there. A missing one is no empty one: a disk that is not mounted would be
    /// one.
    fn is_there(&self) -> io::Result<()> {
        match fs::metadata(&self.root) {
            Ok(found) if found.is_dir() => Ok(()),
            Ok(_) => Err(io::Error::other(format!("`{}` is no directory", self.root.display()))),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(io::Error::other(format!(
                "there is no directory `{}`: make it, or mount the disk that it lies on",
                self.root.display()
            ))),
            Err(error) => Err(plain(error)),
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    /// Does something while no other writer does.
    fn alone<T>(&self, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let mut looks = 0;
        let mut holder = String::new();
        let lock = MachineLock::wait(&self.path(".lock"), "a baseline is written", |by| {
            holder = by.to_string();
            looks += 1;
            looks <= LOOKS
        });
        match lock.map_err(io::Error::other)? {
            Some(_lock) => act(),
            None => Err(io::Error::other(format!("{holder} has written into the directory for 20 s"))),
        }
    }

    /// The version that is there, if any.
    fn version(&self, key: &str) -> io::Result<Option<ObjectVersion>> {
        match Disk.read(&self.path(key)) {
            Ok(content) => Ok(Some(version(&content))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(plain(error)),
        }
    }
}

fn version(content: &[u8]) -> ObjectVersion {
    ObjectVersion(Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Objects for SharedDirectory {
    /// The directory alone: what is above it may be a disk that is not mounted.
    fn make(&self) -> io::Result<()> {
        match fs::create_dir(&self.root) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.is_there(),
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(plain(error)),
            _ => Ok(()),
        }
    }

    fn names(&self, prefix: &str) -> io::Result<Vec<String>> {
        self.is_there()?;
        match Disk.names(&self.path(prefix)) {
            // Removed meanwhile.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) if error.kind() != ErrorKind::NotADirectory => Err(plain(error)),
            names => names,
        }
    }

    fn read(&self, key: &str) -> io::Result<(Vec<u8>, ObjectVersion)> {
        match Disk.read(&self.path(key)) {
            Ok(content) => {
                let version = version(&content);
                Ok((content, version))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Err(self.is_there().err().unwrap_or(error)),
            Err(error) => Err(plain(error)),
        }
    }

    fn put(&self, key: &str, content: &[u8], expected: Option<&ObjectVersion>) -> io::Result<ObjectVersion> {
        self.alone(|| {
            let (new, there) = (version(content), self.version(key)?);
            if there.as_ref() != expected && there.as_ref() != Some(&new) {
                return Err(overtaken());
            }
            match replace_file(&self.path(key), content) {
                Ok(()) => Ok(new),
                Err(StoreError::Io { source, .. }) => Err(plain(source)),
                Err(error) => Err(io::Error::other(error)),
            }
        })
    }

    fn remove(&self, key: &str, expected: &ObjectVersion) -> io::Result<()> {
        self.alone(|| match self.version(key)? {
            Some(there) if there == *expected => Disk.remove(&self.path(key)).map_err(plain),
            _ => Err(overtaken()),
        })
    }
}
