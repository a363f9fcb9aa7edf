//! Files that came back from hosts lie where they belong, however deep a copy has put them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{LaunchError, Result};
use crate::folder::LaunchFolder;

/// Lifts what a copy has put a level or two too deep: `scp -r` into a folder that is there does so.
pub(crate) fn normalise(folder: &LaunchFolder) -> Result<()> {
    let root = folder.root();
    for deep in nested(root, 2) {
        lift(&deep, root)?;
    }
    Ok(())
}

/// Folders below this one, but not itself, that hold what a launch's folder holds.
fn nested(root: &Path, depth: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        // Links may lead anywhere, and the ranks' own files are no business of ours.
        let is_own =
            ["bundle", "data", "engine", "rendezvous"].contains(&&*name) || name.starts_with("attempt-");
        if is_own || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if path.join("attempt-0").is_dir() || path.join("spec.json").is_file() {
            found.push(path);
        } else if depth > 1 {
            found.extend(nested(&path, depth - 1));
        }
    }
    found
}

/// Moves what is not there yet; what is there is never written over.
fn lift(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).map_err(LaunchError::io("read", from))?.flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if !target.exists() {
            fs::rename(&source, &target).map_err(LaunchError::io("move", &source))?;
        } else if source.is_dir() && target.is_dir() {
            lift(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_copied_too_deep_are_lifted_and_nothing_is_written_over() {
        let place = tempfile::tempdir().unwrap();
        let folder = LaunchFolder::of(place.path(), "id");
        let root = folder.root();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("spec.json", "ours");
        write("attempt-0/reports/rank-00000.json", "ours");
        write("id/spec.json", "theirs");
        write("id/attempt-0/reports/rank-00000.json", "theirs");
        write("id/attempt-0/reports/rank-00001.json", "theirs");
        write("id/data/full/rank-00001/x", "theirs");
        write("data/other/spec.json", "a subject's own");
        normalise(&folder).unwrap();
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
        assert_eq!(read("spec.json"), "ours");
        assert_eq!(read("attempt-0/reports/rank-00000.json"), "ours");
        assert_eq!(read("attempt-0/reports/rank-00001.json"), "theirs");
        assert_eq!(read("data/full/rank-00001/x"), "theirs");
        assert_eq!(read("data/other/spec.json"), "a subject's own");
    }
}
