//! Files that are kept of a commit, held against the commit itself: every file is read and hashed again, and
//! the objects are those of the user's own repository. What a kept checkout says of itself is not asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::submodules;
use crate::git::{answered, git};

/// The findings of a look at a checkout.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Found {
    /// True if every file of the commit is there as the commit has it.
    pub(super) is_whole: bool,
    /// The files that are not of the commit. Lock files of cargo are not told.
    pub(super) others: Vec<PathBuf>,
}

/// Looks at what is kept of a commit of a repository, and brings its lock files back to what the commit says:
/// cargo writes those itself.
///
/// # Errors
/// When git cannot tell, or a file cannot be written.
pub(super) fn look(repository: &Path, commit: &str, top: &Path) -> Result<Found> {
    if !is_work_tree_of(repository, top) {
        return Ok(Found::default());
    }
    let mut found = Found { is_whole: true, others: Vec::new() };
    look_in(repository, commit, top, &mut found)?;
    Ok(found)
}

fn look_in(repository: &Path, commit: &str, top: &Path, found: &mut Found) -> Result<()> {
    let index = FreshIndex::of(repository, commit, top)?;
    let status = index.git(&[
        "-c",
        "core.fsmonitor=false",
        "status",
        "--porcelain=v1",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        "--ignored=matching",
        "--ignore-submodules=all",
    ])?;
    for entry in status.split('\0').filter(|entry| entry.len() > 3) {
        let (state, path) = (&entry[..2], Path::new(entry[3..].trim_end_matches('/')));
        let is_lock = path.file_name().is_some_and(|name| name == "Cargo.lock");
        match (state, is_lock) {
            ("??" | "!!", true) => remove(&top.join(path))?,
            ("??" | "!!", false) => found.others.push(top.join(path)),
            // The first letter says in what the commit is not the user's `HEAD`, and nothing of the files.
            (state, _) if state.ends_with(' ') => {}
            (_, true) => index.restore(path)?,
            (_, false) => found.is_whole = false,
        }
    }
    for (path, commit) in submodules::listed(repository, commit)? {
        match submodules::known(repository, &path, &commit) {
            Some(source) if top.join(&path).is_dir() => look_in(&source, &commit, &top.join(&path), found)?,
            // Of what was fetched for this checkout alone nobody else knows what it was.
            _ => found.is_whole = false,
        }
    }
    Ok(())
}

/// Removes a file, a link or a folder with all in it.
pub(super) fn remove(path: &Path) -> Result<()> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|there| there.is_dir());
    let removed = if is_folder { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.with_context(|| format!("failed to remove `{}`", path.display()))
}

/// Returns whether a folder is a work tree of this very repository: git is asked in it later.
fn is_work_tree_of(repository: &Path, top: &Path) -> bool {
    let link = top.join(".git");
    if !fs::symlink_metadata(&link).is_ok_and(|there| there.is_file()) {
        return false;
    }
    let Ok(common) = git(repository, &["rev-parse", "--path-format=absolute", "--git-common-dir"]) else {
        return false;
    };
    let leads = fs::read_to_string(link).unwrap_or_default();
    let leads = leads.trim().strip_prefix("gitdir: ").map(fs::canonicalize);
    let all = fs::canonicalize(Path::new(&common).join("worktrees"));
    matches!((leads, all), (Some(Ok(leads)), Ok(all)) if leads.parent() == Some(&*all))
}

/// An index of a commit that knows nothing of any file: gone when it is dropped.
struct FreshIndex<'a> {
    repository: PathBuf,
    top: &'a Path,
    commit: &'a str,
    file: PathBuf,
}

impl<'a> FreshIndex<'a> {
    fn of(repository: &Path, commit: &'a str, top: &'a Path) -> Result<Self> {
        let repository = PathBuf::from(git(repository, &["rev-parse", "--absolute-git-dir"])?);
        let file = repository.join(format!("weighbridge-{}.index", std::process::id()));
        let index = Self { repository, top, commit, file };
        drop(fs::remove_file(&index.file)); // of a process of the same number that was killed
        index.git(&["read-tree", commit])?;
        Ok(index)
    }

    /// Asks git about the folder, by this index.
    fn git(&self, arguments: &[&str]) -> Result<String> {
        let said = self.said(arguments)?;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    fn said(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let mut asked = Command::new("git");
        asked.current_dir(self.top).env("GIT_DIR", &self.repository).env("GIT_WORK_TREE", self.top);
        Ok(answered(asked.env("GIT_INDEX_FILE", &self.file), arguments)?.stdout)
    }

    /// Writes a file as the commit has it.
    fn restore(&self, path: &Path) -> Result<()> {
        let content = self.said(&["cat-file", "blob", &format!("{}:{}", self.commit, path.display())])?;
        let file = self.top.join(path);
        if fs::symlink_metadata(&file).is_ok() {
            remove(&file)?;
        }
        fs::write(&file, content).with_context(|| format!("failed to write `{}`", file.display()))
    }
}

impl Drop for FreshIndex<'_> {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.file));
    }
}
