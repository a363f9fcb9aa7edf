//! Files that Git LFS keeps: without it git checks out a few lines in the place of each.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Result;

use crate::git::git;

/// The beginning of a pointer, by the specification of Git LFS (docs/spec.md there).
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The files of a checkout that are pointers still, by their paths in it.
///
/// # Errors
/// Where git cannot tell which files LFS keeps.
pub(super) fn pointers(top: &Path) -> Result<Vec<String>> {
    let kept = git(top, &["ls-files", "-z", "--", ":(attr:filter=lfs)"])?;
    let paths = kept.split('\0').filter(|path| !path.is_empty());
    Ok(paths.filter(|path| is_pointer(&top.join(path))).map(str::to_owned).collect())
}

fn is_pointer(file: &Path) -> bool {
    let mut begin = [0; POINTER.len()];
    File::open(file).and_then(|mut file| file.read_exact(&mut begin)).is_ok() && begin == POINTER
}
