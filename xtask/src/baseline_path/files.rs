//! Objects as a file system: what the baselines of the runtime need of one.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use weighbridge::data::Files;

use super::objects::{ObjectVersion, Objects, overtaken};

/// Objects as files below a root. A file is put by the rename that ends its writing, and replaces what this
/// process has read there last: so a command that looks before it writes never replaces what it has not seen.
#[derive(Debug)]
pub(super) struct ObjectFiles<O> {
    root: PathBuf,
    objects: O,
    known: Mutex<KnownObjects>,
}

/// The objects that this process has read, or has begun to write.
#[derive(Debug, Default)]
struct KnownObjects {
    /// The version that was read last; `None` where nothing was.
    seen: BTreeMap<String, Option<ObjectVersion>>,
    /// Files that have no name yet that others see.
    unnamed: BTreeMap<PathBuf, Vec<u8>>,
}

impl<O: Objects> ObjectFiles<O> {
    pub(super) fn new(root: PathBuf, objects: O) -> Self {
        Self { root, objects, known: Mutex::default() }
    }

    fn known<T>(&self, of: impl FnOnce(&mut KnownObjects) -> T) -> T {
        of(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn key(&self, path: &Path) -> io::Result<String> {
        let below = path.strip_prefix(&self.root).map_err(io::Error::other)?;
        let parts = below.components().map(|part| match part {
            Component::Normal(part) => part.to_str(),
            _ => None,
        });
        let parts: Option<Vec<&str>> = parts.collect();
        Ok(parts.ok_or_else(|| io::Error::other("it is no name of a baseline"))?.join("/"))
    }

    /// Reads an object, and remembers its version or its absence.
    fn look(&self, key: &str) -> io::Result<Option<(Vec<u8>, ObjectVersion)>> {
        let found = match self.objects.read(key) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let version = found.as_ref().map(|(_, version)| version.clone());
        self.known(|known| known.seen.insert(key.to_owned(), version));
        Ok(found)
    }

    /// The version that was read last, or that is there if none was read.
    fn expected(&self, key: &str) -> io::Result<Option<ObjectVersion>> {
        match self.known(|known| known.seen.get(key).cloned()) {
            Some(seen) => Ok(seen),
            None => Ok(self.look(key)?.map(|(_, version)| version)),
        }
    }
}

impl<O: Objects> Files for ObjectFiles<O> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = self.look(&self.key(path)?)?;
        found.map(|(content, _)| content).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write_new(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.known(|known| known.unnamed.insert(path.to_owned(), content.to_owned()));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let key = self.key(to)?;
        let content = self.known(|known| known.unnamed.remove(from)).ok_or(io::ErrorKind::NotFound)?;
        let expected = self.expected(&key)?;
        let put = self.objects.put(&key, &content, expected.as_ref());
        // Whoever tries once more looks first.
        self.known(|known| match &put {
            Ok(version) => known.seen.insert(key, Some(version.clone())),
            Err(_) => known.seen.remove(&key),
        });
        put.map(drop)
    }

    fn sync(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn make_dirs(&self, _: &Path) -> io::Result<()> {
        self.objects.make()
    }

    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        self.objects.names(&self.key(path)?)
    }

    fn metadata(&self, _: &Path) -> io::Result<Metadata> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if self.known(|known| known.unnamed.remove(path)).is_some() {
            return Ok(());
        }
        let key = self.key(path)?;
        let expected = self.expected(&key)?.ok_or(io::ErrorKind::NotFound)?;
        self.known(|known| known.seen.remove(&key));
        match self.objects.remove(&key, &expected) {
            // It was there when this process looked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(overtaken()),
            removed => removed,
        }
    }
}
