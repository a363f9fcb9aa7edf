//! What travels: programs that are built, files that they need, and a lock with the digest of each.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};
use weighbridge::data::Policy;

use crate::error::{LaunchError, Result};
use crate::folder::{LaunchFolder, write_json};
use crate::spec::short_digest;

/// The name of the lock among the files that it is of.
const LOCK: &str = "lock.json";

/// The programs of a launch, as they lie on this machine.
#[derive(Clone, Debug)]
pub struct Programs {
    /// This tool, which starts as a rank on every host.
    pub tool: PathBuf,
    /// The bench program.
    pub program: PathBuf,
    /// The other side of a comparison.
    pub baseline: Option<BaselineProgram>,
    /// Facts of the builds: the commit, the toolchain, by name.
    pub versions: BTreeMap<String, String>,
}

/// The other side of a comparison, and the rules that are judged by.
#[derive(Clone, Debug)]
pub struct BaselineProgram {
    /// The program.
    pub path: PathBuf,
    /// Its name for people.
    pub name: String,
    /// `<package>/<bench target>` of both programs.
    pub suite: String,
    /// The gate: that of the baseline, so that no change is judged by rules of its own.
    pub policy: Policy,
}

/// The lock: each file with the digest of its content, and the facts of the builds.
#[derive(Debug, Serialize)]
struct BundleLock<'a> {
    digest: &'a str,
    versions: &'a BTreeMap<String, String>,
    files: BTreeMap<String, String>,
}

/// Copies all into the launch's folder, and returns the digest of it.
///
/// # Errors
/// When something is not there or does not fit.
pub(crate) fn pack(programs: &Programs, with: &[PathBuf], folder: &LaunchFolder) -> Result<String> {
    let bundle = folder.bundle();
    fs::create_dir_all(&bundle).map_err(LaunchError::io("make", &bundle))?;
    let sides = [(Some(&programs.tool), folder.tool()), (Some(&programs.program), folder.program())];
    let baseline = (programs.baseline.as_ref().map(|baseline| &baseline.path), folder.baseline());
    for (from, to) in sides.into_iter().chain([baseline]) {
        let Some(from) = from else { continue };
        fs::copy(from, &to).map_err(LaunchError::io("copy", from))?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755))
            .map_err(LaunchError::io("make executable", &to))?;
    }
    for from in with {
        let name = from.file_name().ok_or_else(|| {
            LaunchError::Usage(format!("--with {}: it has no name of its own", from.display()))
        })?;
        let to = bundle.join(name);
        if to.exists() {
            return Err(LaunchError::Usage(format!(
                "--with {}: something of this name travels already",
                from.display()
            )));
        }
        copy(from, &to)?;
    }
    let digest = digest(&bundle)?;
    let lock = BundleLock { digest: &digest, versions: &programs.versions, files: digests(&bundle)? };
    write_json(&bundle.join(LOCK), &lock)?;
    Ok(digest)
}

/// Copies a file, or a folder with all that is in it; links are followed, since they may lead out of it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let failed = || LaunchError::io("copy", from);
    if !fs::metadata(from).map_err(failed())?.is_dir() {
        return fs::copy(from, to).map(drop).map_err(failed());
    }
    fs::create_dir_all(to).map_err(failed())?;
    for entry in fs::read_dir(from).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let name = entry.file_name();
        // What an interpreter made of it is made anew, for the host that it runs on.
        if name != "__pycache__" && name != ".git" {
            copy(&entry.path(), &to.join(name))?;
        }
    }
    Ok(())
}

/// The digest of all files of a bundle but its lock.
pub(crate) fn digest(bundle: &Path) -> Result<String> {
    let lines: String = digests(bundle)?.iter().map(|(name, digest)| format!("{digest} {name}\n")).collect();
    Ok(short_digest(lines.as_bytes()))
}

fn digests(bundle: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    walk(bundle, bundle, &mut found).map_err(LaunchError::io("read", bundle))?;
    Ok(found)
}

fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        if path.is_dir() {
            // A program that runs leaves what its interpreter makes.
            if !path.ends_with("__pycache__") {
                walk(root, &path, found)?;
            }
        } else if name != LOCK {
            let digest = Sha256::digest(fs::read(&path)?);
            found.insert(name, digest.iter().map(|byte| format!("{byte:02x}")).collect());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_every_file_and_its_name_and_a_taken_name_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for (name, text) in [("tool", "t"), ("bench", "b"), ("worker/a.py", "a"), ("x/program", "p")] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), text).unwrap();
        }
        let programs =
            Programs { tool: at("tool"), program: at("bench"), baseline: None, versions: BTreeMap::new() };
        let folder = |id: &str| LaunchFolder::of(place.path(), id);
        let packed = pack(&programs, &[at("worker")], &folder("one")).unwrap();
        assert_eq!(digest(&folder("one").bundle()).unwrap(), packed, "the lock is no part of it");
        assert_eq!(pack(&programs, &[at("worker")], &folder("two")).unwrap(), packed);
        assert_ne!(pack(&programs, &[], &folder("three")).unwrap(), packed);
        fs::write(folder("one").bundle().join("worker/a.py"), "A").unwrap();
        assert_ne!(digest(&folder("one").bundle()).unwrap(), packed);
        let error = pack(&programs, &[at("x/program")], &folder("four")).unwrap_err().to_string();
        assert!(error.contains("travels already"), "{error}");
        let error = pack(&programs, &[at("nothing")], &folder("five")).unwrap_err().to_string();
        assert!(error.contains("failed to copy") && error.contains("nothing"), "{error}");
    }
}
