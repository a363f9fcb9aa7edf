//! The note of a build that is kept: the digest of all its files, outside of the folder that they lie in.
//! Whoever could write there may have left anything, down to a library that cargo takes for built.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use weighbridge::data::{read_text, replace_file};

/// Folders of a target directory that no build reads: what benches themselves have left.
const NOT_READ: [&str; 2] = ["tmp", "weighbridge"];

/// The note of one build.
pub(super) struct BuildNote {
    file: PathBuf,
}

impl BuildNote {
    /// The note of the build of a checkout; `None` where the user has no folder for it but among what it is
    /// to vouch for.
    pub(super) fn of(checkout: &Path, data: &Path) -> Option<Self> {
        Self::within(&state_folder()?, checkout, data)
    }

    /// The same in this folder.
    pub(super) fn within(state: &Path, checkout: &Path, data: &Path) -> Option<Self> {
        if [checkout, data].into_iter().any(|folder| state.starts_with(folder)) {
            return None;
        }
        let name = hex(&Sha256::digest(checkout.as_os_str().as_bytes()));
        Some(Self { file: state.join("weighbridge").join("rebuilds").join(&name[..32]) })
    }

    /// Returns whether a build is as it was when the note was made.
    pub(super) fn fits(&self, target: &Path) -> bool {
        let noted = read_text(&self.file).ok();
        noted.is_some() && noted.as_deref().map(str::trim) == digest(target).ok().as_deref()
    }

    /// Makes the note.
    ///
    /// # Errors
    /// When the build cannot be read or the note not be written.
    pub(super) fn make(&self, target: &Path) -> anyhow::Result<()> {
        Ok(replace_file(&self.file, format!("{}\n", digest(target)?).as_bytes())?)
    }
}

/// The folder of what programs keep for the user.
fn state_folder() -> Option<PathBuf> {
    let named = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let home = || named(std::env::var_os("HOME")?).map(|home| home.join(".local/state"));
    std::env::var_os("XDG_STATE_HOME").and_then(named).or_else(home)
}

/// The digest of all files of a build, their names and their content.
fn digest(target: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    add(target, true, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

fn add(folder: &Path, is_top: bool, hash: &mut Sha256) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (name, path) = (entry.file_name(), entry.path());
        let kind = entry.file_type()?;
        if is_top && NOT_READ.iter().any(|other| name == *other) {
            continue;
        }
        let length = |hash: &mut Sha256, bytes: u64| hash.update(bytes.to_le_bytes());
        length(hash, name.len() as u64);
        hash.update(name.as_bytes());
        if kind.is_dir() {
            hash.update(b"folder");
            add(&path, false, hash)?;
            hash.update(b"end");
        } else if kind.is_symlink() {
            let leads = fs::read_link(&path)?;
            hash.update(b"link");
            length(hash, leads.as_os_str().len() as u64);
            hash.update(leads.as_os_str().as_bytes());
        } else if kind.is_file() {
            hash.update(b"file");
            length(hash, entry.metadata()?.len());
            add_content(&path, hash)?;
        } else {
            return Err(io::Error::other("it is neither a file nor a folder nor a link"));
        }
    }
    Ok(())
}

fn add_content(file: &Path, hash: &mut Sha256) -> io::Result<()> {
    let mut file = File::open(file)?;
    let mut part = vec![0; 1 << 20];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(()),
            bytes => hash.update(&part[..bytes]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_of_which_any_file_was_changed_added_or_removed_does_not_fit_its_note() {
        let home = tempfile::tempdir().expect("a folder");
        let (state, checkout) = (home.path().join("state"), home.path().join("data/rebuilds/one"));
        let target = checkout.join("target");
        let library = target.join("release/deps/liba.rlib");
        fs::create_dir_all(library.parent().expect("a folder")).expect("writable");
        fs::write(&library, "good").expect("writable");
        let data = home.path().join("data");
        let note = BuildNote::within(&state, &checkout, &data).expect("a place");
        assert!(!note.fits(&target), "nothing is noted yet");
        note.make(&target).expect("noted");
        assert!(note.fits(&target));
        fs::create_dir_all(target.join("tmp")).expect("writable");
        fs::write(target.join("tmp/left"), "by a bench").expect("writable");
        assert!(note.fits(&target), "no build reads that");
        fs::write(&library, "evil").expect("writable");
        assert!(!note.fits(&target));
        fs::write(&library, "good").expect("writable");
        assert!(note.fits(&target));
        let more = target.join("release/more");
        fs::write(&more, "").expect("writable");
        assert!(!note.fits(&target));
        fs::rename(&library, more).expect("there");
        assert!(!note.fits(&target));
        let other = BuildNote::within(&state, &data.join("rebuilds/two"), &data).expect("a place");
        assert!(!other.fits(&target), "the note is of one checkout");
    }

    #[test]
    fn a_note_never_lies_where_what_it_vouches_for_lies() {
        let data = Path::new("/home/me/data");
        let checkout = data.join("rebuilds/one");
        assert!(BuildNote::within(&data.join("state"), &checkout, data).is_none());
        assert!(BuildNote::within(&checkout.join("x"), &checkout, Path::new("/elsewhere")).is_none());
        assert!(BuildNote::within(Path::new("/home/me/.local/state"), &checkout, data).is_some());
    }
}
