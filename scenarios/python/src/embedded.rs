//! The worker's package as an installed program carries it, and the folder that it is unpacked to.

use std::path::{Path, PathBuf};
use std::{env, fs, io, process};

use xxhash_rust::xxh3::Xxh3;

/// The name and the text of each file.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The folder of the package, unpacked once for this program's version of it: below the user's cache.
///
/// # Errors
/// That there is no place for it, or that it cannot be written.
pub(crate) fn unpacked() -> io::Result<PathBuf> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    let cache = cache.ok_or_else(|| io::Error::other("neither XDG_CACHE_HOME nor HOME names a folder"))?;
    unpack(&cache.join("weighbridge").join("python"), FILES)
}

/// Puts the files into a folder of their digest's name, whole or not at all; there already, they are left as
/// they are.
fn unpack(home: &Path, files: &[(&str, &str)]) -> io::Result<PathBuf> {
    let mut digest = Xxh3::new();
    for (name, text) in files {
        digest.update(name.as_bytes());
        digest.update(&[0]);
        digest.update(text.as_bytes());
        digest.update(&[0]);
    }
    let folder = home.join(format!("{:032x}", digest.digest128()));
    if folder.is_dir() {
        return Ok(folder);
    }
    let beside = home.join(format!("{}.tmp", process::id()));
    for (name, text) in files {
        let file = beside.join(name);
        fs::create_dir_all(file.parent().unwrap_or(&beside))?;
        fs::write(file, text)?;
    }
    match fs::rename(&beside, &folder) {
        // Another program of this version was quicker.
        Err(_) if folder.is_dir() => fs::remove_dir_all(&beside).map(|()| folder),
        renamed => renamed.map(|()| folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_is_carried_whole_and_without_what_python_compiled() {
        let has = |wanted: &str| FILES.iter().any(|(name, _)| *name == wanted);
        assert!(
            has("weighbridge_worker/__main__.py") && has("requirements/numpy.txt") && has("by_hand/numpy.py")
        );
        assert!(FILES.iter().all(|(name, _)| !name.contains("__pycache__") && !name.contains(".pyc")));
    }

    #[test]
    fn it_is_unpacked_once_for_each_version_whoever_is_quicker() {
        let home = tempfile::tempdir().unwrap();
        let files = |text| [("package/a.py", text), ("package/deep/b.py", "")];
        let first = unpack(home.path(), &files("one")).unwrap();
        assert_eq!(fs::read_to_string(first.join("package/a.py")).unwrap(), "one");
        assert!(first.join("package/deep/b.py").is_file());
        assert_eq!(unpack(home.path(), &files("one")).unwrap(), first);
        assert_ne!(unpack(home.path(), &files("two")).unwrap(), first);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "nothing half is left");
    }
}
