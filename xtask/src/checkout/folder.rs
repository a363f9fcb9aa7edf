//! The folders of revisions that were checked out: where they lie, what they are called, which are whole.

use std::cmp::Reverse;
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::git::git;
use crate::place::Place;
use crate::stop;

/// The file that is written whenever a checkout is used.
const USED: &str = "used";
/// The file that is written after the last file of a checkout.
const WHOLE: &str = "whole";
/// Files and folders that cargo and rustup look for in all folders above the one that they are called in.
const READ_ABOVE: [&str; 4] = [".cargo", "Cargo.toml", "rust-toolchain", "rust-toolchain.toml"];
/// The file that is written once it was built.
const BUILT: &str = "built";

/// The folder of all checkouts: in the data directory, or, where that lies in the repository, in the user's
/// cache. Cargo would else find the work tree's configuration and workspace above a revision's files, and
/// rustup its toolchain.
///
/// # Errors
/// Where the user's cache lies in the repository as well.
pub(crate) fn rebuilds(place: &Place) -> Result<PathBuf> {
    outside(&place.layout.rebuilds(), &place.root, cache())
}

/// The same for the data directory's folder of rebuilds, a workspace, and the folder of the user's cache.
pub(super) fn outside(in_data: &Path, root: &Path, cache: Option<PathBuf>) -> Result<PathBuf> {
    let top = git(root, &["rev-parse", "--show-toplevel"]).map_or_else(|_| root.to_owned(), PathBuf::from);
    let top = fs::canonicalize(&top).unwrap_or(top);
    let is_outside = |path: &Path| !settled(path).starts_with(&top);
    // Where the folder itself leads is not asked: pruning refuses a link.
    if is_outside(in_data.parent().unwrap_or(in_data)) {
        return Ok(in_data.to_owned());
    }
    let mut hash = DefaultHasher::new();
    hash.write(settled(in_data).as_os_str().as_encoded_bytes());
    let name = top.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = cache.map(|cache| {
        cache.join("weighbridge").join("rebuilds").join(format!("{name}-{:08x}", hash.finish() as u32))
    });
    folder.filter(|folder| is_outside(folder)).ok_or_else(|| {
        stop::usage(
            "to build another revision needs a place outside the repository: name a data directory there \
             with --data",
        )
    })
}

/// The folder of the user's cache.
fn cache() -> Option<PathBuf> {
    let named = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let home = || named(std::env::var_os("HOME")?).map(|home| home.join(".cache"));
    std::env::var_os("XDG_CACHE_HOME").and_then(named).or_else(home)
}

/// A path without links, as far as it exists.
fn settled(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(known) = fs::canonicalize(above) {
            return known.join(path.strip_prefix(above).unwrap_or(Path::new("")));
        }
    }
    path.to_owned()
}

/// The name of a checkout's folder: twelve digits of its commit and eight of its lock file.
pub(super) fn name(commit: &str, lock: &[u8]) -> String {
    let mut hash = DefaultHasher::new();
    hash.write(lock);
    format!("{}-{:08x}", &commit[..12.min(commit.len())], hash.finish() as u32)
}

/// Returns whether this is the name of a checkout's folder.
pub(crate) fn is_checkout(name: &str) -> bool {
    let digits =
        |part: &str, n| part.len() == n && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    name.split_once('-').is_some_and(|(commit, lock)| digits(commit, 12) && digits(lock, 8))
}

/// Returns whether a folder was marked as whole once.
pub(super) fn was_whole(folder: &Path) -> bool {
    folder.join(WHOLE).exists()
}

/// Marks a folder as whole: after the last file.
pub(super) fn mark_whole(folder: &Path) -> Result<()> {
    fs::write(folder.join(WHOLE), b"").context("failed to mark the checkout as whole")
}

/// Refuses what somebody has put above the files of a checkout, where cargo and rustup look for theirs.
///
/// # Errors
/// What lies there.
pub(super) fn refuse_above(folder: &Path) -> Result<()> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let user = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    for above in folder.ancestors().take(3) {
        for name in READ_ABOVE {
            let there = above.join(name);
            let is_own = [&home, &user].into_iter().any(|own| own.as_ref() == Some(&there));
            if fs::symlink_metadata(&there).is_ok() && !is_own {
                return Err(stop::usage(format!(
                    "`{}` lies above the revisions that are rebuilt, and cargo would build them by it: \
                     remove it",
                    there.display()
                )));
            }
        }
    }
    Ok(())
}

/// Returns whether a checkout was built before.
pub(super) fn was_built(folder: &Path) -> bool {
    folder.join(BUILT).exists()
}

/// Marks a checkout as built.
pub(super) fn mark_built(folder: &Path) -> Result<()> {
    fs::write(folder.join(BUILT), b"").context("failed to mark the checkout as built")
}

/// Marks a checkout as used: pruning goes by that.
pub(super) fn mark_used(folder: &Path) -> Result<()> {
    fs::write(folder.join(USED), b"").context("failed to mark the checkout as used")
}

/// Returns the time at which a checkout was last used, by its folder.
pub(crate) fn last_used(folder: &Path) -> SystemTime {
    let written = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
    written(&folder.join(USED)).or_else(|_| written(folder)).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Begins a target directory with a copy of the one that was used last, so that dependencies are not built
/// for each revision. What was just checked out is newer than all of it, so cargo builds that. One directory
/// for all revisions would not do: cargo tells packages of a workspace by their place in it, and takes what
/// it built of one revision for another's. One that is not as it was left gives nothing (`is_sound`).
pub(super) fn take_over(all: &Path, target: &Path, is_sound: impl Fn(&Path) -> bool) {
    let Ok(entries) = fs::read_dir(all) else { return };
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|folder| was_built(folder) && folder.join("target").exists());
    folders.sort_by_key(|folder| Reverse(last_used(folder)));
    let Some(donor) = folders.into_iter().find(|folder| is_sound(folder)) else { return };
    let partial = target.with_extension("partial");
    drop(fs::remove_dir_all(&partial));
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(donor.join("target")).arg(&partial).stdin(Stdio::null()).stderr(Stdio::null());
    // Without a copy everything is built, which takes longer and is no failure.
    if copy.status().is_ok_and(|status| status.success()) {
        drop(fs::rename(&partial, target));
    }
}
