//! Files in memory that changes are done to, and what of them survives.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use weighbridge::Result;

use super::LoggedChange;

/// The end of the process or of the machine, which files survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::checkpoint) enum Survives {
    /// The process: what it has changed is there.
    Kill,
    /// The machine. Names are there; of each file what it held when it was synced last. POSIX promises no
    /// more, and file systems that delay writing do that.
    PowerCut,
}

/// The files below a directory, after some changes.
#[derive(Clone, Debug, Default)]
pub(in crate::checkpoint) struct FileTree {
    /// Directories, and files by their number.
    names: BTreeMap<PathBuf, Option<usize>>,
    files: Vec<FileState>,
}

#[derive(Clone, Debug, Default)]
struct FileState {
    bytes: Vec<u8>,
    /// The bytes that were synced last.
    synced: Vec<u8>,
}

impl FileTree {
    /// Does a change.
    pub(in crate::checkpoint) fn change(&mut self, change: &LoggedChange) {
        match change {
            LoggedChange::MakeDirectory(path) => {
                self.names.insert(path.clone(), None);
            }
            LoggedChange::Open { path, cut } => {
                let file = self.file(path);
                if *cut {
                    file.bytes.clear();
                }
            }
            LoggedChange::Write { path, at, bytes } => {
                let (file, at) = (self.file(path), *at as usize);
                let end = at + bytes.len();
                if file.bytes.len() < end {
                    file.bytes.resize(end, 0);
                }
                file.bytes[at..end].copy_from_slice(bytes);
            }
            LoggedChange::Length { path, bytes, at_least } => {
                let (file, bytes) = (self.file(path), *bytes as usize);
                if !at_least || file.bytes.len() < bytes {
                    file.bytes.resize(bytes, 0);
                }
            }
            LoggedChange::Rename { from, to } => {
                let moved: Vec<PathBuf> =
                    self.names.keys().filter(|path| path.starts_with(from)).cloned().collect();
                self.names.retain(|path, _| !path.starts_with(to) || path.starts_with(from));
                for path in moved {
                    let Some(entry) = self.names.remove(&path) else { continue };
                    let rest = path.strip_prefix(from).unwrap_or(Path::new(""));
                    let named = if rest == Path::new("") { to.clone() } else { to.join(rest) };
                    self.names.insert(named, entry);
                }
            }
            LoggedChange::Link { from, to } => {
                if let Some(entry) = self.names.get(from).copied() {
                    self.names.insert(to.clone(), entry);
                }
            }
            LoggedChange::Remove(path) => {
                self.names.remove(path);
            }
            LoggedChange::Sync(Some(path)) => {
                if let Some(Some(number)) = self.names.get(path).copied() {
                    self.files[number].sync();
                }
            }
            LoggedChange::Sync(None) => self.files.iter_mut().for_each(FileState::sync),
        }
    }

    /// The file of this name, which is made where there is none.
    fn file(&mut self, path: &Path) -> &mut FileState {
        let known = self.names.get(path).copied().flatten();
        let number = known.unwrap_or_else(|| {
            self.files.push(FileState::default());
            let number = self.files.len() - 1;
            self.names.insert(path.to_owned(), Some(number));
            number
        });
        &mut self.files[number]
    }

    /// Writes what survives below a directory, which must be empty.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(in crate::checkpoint) fn write(&self, survives: Survives, directory: &Path) -> Result<()> {
        for (path, file) in &self.names {
            let path = directory.join(path);
            match file {
                None => fs::create_dir_all(&path)?,
                Some(number) => {
                    if let Some(folder) = path.parent() {
                        fs::create_dir_all(folder)?;
                    }
                    let file = &self.files[*number];
                    let bytes = if survives == Survives::Kill { &file.bytes } else { &file.synced };
                    fs::write(&path, bytes)?;
                }
            }
        }
        Ok(())
    }
}

impl FileState {
    fn sync(&mut self) {
        self.synced.clone_from(&self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kill_leaves_what_was_written_and_a_power_cut_what_was_synced() {
        let path = |path: &str| PathBuf::from(path);
        let write =
            |name: &str, at, bytes: &str| LoggedChange::Write { path: path(name), at, bytes: bytes.into() };
        let mut tree = FileTree::default();
        for change in [
            LoggedChange::MakeDirectory(path("d")),
            write("d/a", 0, "old"),
            LoggedChange::Sync(Some(path("d/a"))),
            write("d/a", 1, "EWER"),
            write("d/b", 2, "x"),
            write("gone", 0, "x"),
            LoggedChange::Remove(path("gone")),
            LoggedChange::Rename { from: path("d"), to: path("e") },
            write("e/a", 0, "N"),
        ] {
            tree.change(&change);
        }
        let found = |survives| {
            let place = tempfile::tempdir().unwrap();
            tree.write(survives, place.path()).unwrap();
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
            ["e/a", "e/b"].map(|name| fs::read_to_string(place.path().join(name)).unwrap())
        };
        assert_eq!(found(Survives::Kill), ["NEWER", "\0\0x"]);
        assert_eq!(found(Survives::PowerCut), ["old", ""]);
    }
}
