//! The seam between the store and the file system: what it needs of one, and the real one.

use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use super::StoreError;
use crate::record::{self, Document};

/// The operations that the store needs of a file system. Tests put a failing one in place of the [`Disk`].
pub trait Files: fmt::Debug + Send + Sync {
    /// The content of a file.
    ///
    /// # Errors
    /// Those of the file system, as with all that follow.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Writes a file that is not there yet, and waits until the disk has it.
    ///
    /// # Errors
    /// If it is there, or cannot be written.
    fn write_new(&self, path: &Path, content: &[u8]) -> io::Result<()>;

    /// Adds to the end of a file, which is made where it is not there, and waits until the disk has it. Two
    /// that add at once do each other no harm.
    ///
    /// # Errors
    /// If it cannot be written; where nothing can be added to a file, that.
    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let _ = (path, content);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Gives a file or directory another name, in one step. A file in the way is replaced, a directory with
    /// something in it is not.
    ///
    /// # Errors
    /// If it is not there, or a directory is in the way.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Waits until the disk has the names in a directory.
    ///
    /// # Errors
    /// If it is not there.
    fn sync(&self, directory: &Path) -> io::Result<()>;

    /// Makes a directory and those above it.
    ///
    /// # Errors
    /// If one cannot be made.
    fn make_dirs(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory, sorted.
    ///
    /// # Errors
    /// If it is not there or cannot be read.
    fn names(&self, path: &Path) -> io::Result<Vec<String>>;

    /// The kind of what lies at a path, and the time at which it was last written. Of a link it is the link
    /// itself.
    ///
    /// # Errors
    /// If nothing is there.
    fn metadata(&self, path: &Path) -> io::Result<Metadata>;

    /// Removes a file, or a directory with all in it.
    ///
    /// # Errors
    /// If it cannot be removed.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The most bytes that a file of ours may have: what reads it takes several times as much memory.
const LONGEST: u64 = 256 << 20;

/// The content of a file that somebody else may have made: of a file, and of no more than can be read.
///
/// # Errors
/// Those of the file system; a pipe, a device or a folder in its place, and one that is too long.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    // Not to be waited for: a pipe in the place of a record has nothing to say.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut content = Vec::new();
    // One of the kernel's tells no length.
    if about.len() > LONGEST || file.take(LONGEST + 1).read_to_end(&mut content)? as u64 > LONGEST {
        return Err(io::Error::other(format!("it has more than {} MiB", LONGEST >> 20)));
    }
    Ok(content)
}

/// The text of such a file.
///
/// # Errors
/// Those of [`read_file`]; what is no text.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_file(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// The ending of the names of files that are on their way to their place.
const TEMPORARY: &str = ".tmp";

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        read_file(path)
    }

    fn write_new(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut file = File::create_new(path)?;
        file.write_all(content)?;
        file.sync_all() // or a rename that reached the disk may name a file that did not
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        // Neither a link nor a pipe in its place is followed or waited for.
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let mut file = OpenOptions::new().append(true).create(true).custom_flags(flags).open(path)?;
        file.write_all(content)?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }

    fn make_dirs(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<String>> {
        let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<io::Result<Vec<String>>>()?;
        names.sort_unstable();
        Ok(names)
    }

    fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        fs::symlink_metadata(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        // Of a link the link itself goes, never what it leads to.
        if fs::symlink_metadata(path)?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
    }
}

/// Puts `content` into the place of a file: readers see the old content or the new one, never a part, and
/// what was there stays when it cannot be done.
pub(super) fn replace(files: &dyn Files, path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let temporary = temporary(path);
    let written =
        files.write_new(&temporary, content).and_then(|()| rename_for_good(files, &temporary, path));
    written.map_err(|source| {
        // The first error is the one to tell; a leftover is ignored by readers and removed by pruning.
        drop(files.remove(&temporary));
        StoreError::io("write", path)(source)
    })
}

/// Writes a file of the tool's whole or not at all, as records are written; makes the folders above it.
///
/// # Errors
/// Those of the file system. What was there stays then.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    Disk.make_dirs(folder(path)).map_err(StoreError::io("write", path))?;
    replace(&Disk, path, content)
}

/// Renames and waits until the disk has it: a name lives in its directory.
pub(super) fn rename_for_good(files: &dyn Files, from: &Path, to: &Path) -> io::Result<()> {
    files.rename(from, to)?;
    files.sync(folder(to))
}

/// The directory that a file lies in: of a bare name the one where the program runs.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a record in its envelope.
pub(super) fn write_record<R: Document>(
    files: &dyn Files,
    path: &Path,
    record: &R,
) -> Result<(), StoreError> {
    let content = record::write(record);
    let content = content.map_err(|source| StoreError::Unwritable { path: path.to_owned(), source })?;
    replace(files, path, &content)
}

/// Reads a record out of its envelope.
pub(super) fn read_record<R>(files: &dyn Files, path: &Path) -> Result<R, StoreError>
where
    R: Document + serde::de::DeserializeOwned,
{
    let content = files.read(path).map_err(StoreError::io("read", path))?;
    record::read(&content).map_err(|source| StoreError::Record { path: path.to_owned(), source })
}

/// Reads a document of a kind that only the tool keeps out of its envelope; `None` where there is no such
/// file.
///
/// # Errors
/// When it cannot be read, was changed since it was written, or says what cannot be.
pub fn read_document<R: Document + serde::de::DeserializeOwned>(
    path: &Path,
) -> Result<Option<R>, StoreError> {
    match read_record(&Disk, path) {
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Writes a document of a kind that only the tool keeps, in its envelope; makes the folders above it.
///
/// # Errors
/// When it says what cannot be; those of the file system. What was there stays then.
pub fn write_document<R: Document>(path: &Path, document: &R) -> Result<(), StoreError> {
    Disk.make_dirs(folder(path)).map_err(StoreError::io("write", path))?;
    write_record(&Disk, path, document)
}

/// Gives a stored file that was edited on purpose the digest of what it holds now. Whether anything was to be
/// changed: a file that is right is not touched.
///
/// # Errors
/// What is the matter with the file, which then stays as it is, or those of the file system.
pub fn redigest(path: &Path) -> Result<bool, StoreError> {
    let was = Disk.read(path).map_err(StoreError::io("read", path))?;
    let is = record::redigest(&was).map_err(|source| StoreError::Record { path: path.to_owned(), source })?;
    if is == was {
        return Ok(false);
    }
    replace(&Disk, path, &is)?;
    Ok(true)
}

/// The name that a file will have which is on its way to its place, by the name that it has meanwhile; `None`
/// where it is no such file.
pub(super) fn on_its_way_to(name: &str) -> Option<&str> {
    let (name, salt) = name.strip_prefix('.')?.strip_suffix(TEMPORARY)?.rsplit_once('.')?;
    let drawn = salt.len() == 16 && salt.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (drawn && !name.is_empty()).then_some(name)
}

/// A name beside a file that no other process and no other thread uses.
fn temporary(path: &Path) -> PathBuf {
    // Drawn, not counted: process ids come round again, in containers at once, and a leftover would be in the
    // way.
    let salt = RandomState::new().build_hasher().finish();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{salt:016x}{TEMPORARY}"))
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn what_is_no_file_or_has_no_end_is_refused_at_once() {
        let home = tempfile::tempdir().expect("a temporary directory");
        let (pipe, long) = (home.path().join("pipe"), home.path().join("long"));
        mkfifo(&pipe, Mode::S_IRWXU).expect("a pipe");
        File::create(&long).and_then(|file| file.set_len(LONGEST + 1)).expect("a hole");
        for (path, expected) in [
            (&*pipe, "it is no file"),
            (home.path(), "it is no file"),
            (Path::new("/dev/zero"), "it is no file"),
            (&long, "it has more than 256 MiB"),
        ] {
            for refused in [read_file(path).map(drop), read_text(path).map(drop)] {
                assert_eq!(refused.expect_err("refused").to_string(), expected, "{}", path.display());
            }
        }
        fs::write(&long, "text").expect("writable");
        assert_eq!(read_text(&long).expect("a file"), "text");
    }
}
