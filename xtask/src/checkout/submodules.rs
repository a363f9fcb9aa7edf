//! Submodules: `git worktree` leaves their folders empty.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::git::git;

/// Checks out the submodules of a checkout, and theirs: out of what the work tree has of them, or else from
/// where the repository says.
///
/// # Errors
/// Where the commit of one is not to be had.
pub(super) fn check_out(work_tree: &Path, top: &Path) -> Result<()> {
    if !top.join(".gitmodules").exists() {
        return Ok(());
    }
    let listed = git(top, &["config", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$"]);
    // A file that names none has none.
    for line in listed.unwrap_or_default().lines() {
        let Some((key, path)) = line.split_once(' ') else { continue };
        let staged = git(top, &["ls-files", "--stage", "--", path])?;
        let Some(commit) = staged.strip_prefix("160000 ").and_then(|rest| rest.split(' ').next()) else {
            continue;
        };
        let name = key.trim_start_matches("submodule.").trim_end_matches(".path");
        let here = work_tree.join(path);
        let place = top.join(path);
        match source(work_tree, &here, name, commit) {
            Some(source) => {
                let [source, place] = [&source, &place].map(|path| path.display().to_string());
                git(top, &["clone", "--quiet", "--shared", "--no-checkout", &source, &place])
                    .and_then(|_| git(Path::new(&place), &["checkout", "--quiet", "--detach", commit]))
            }
            None => git(top, &["submodule", "--quiet", "update", "--init", "--", path]),
        }
        .with_context(|| {
            format!(
                "the submodule `{path}` is not to be had at {}: `git submodule update --init --recursive` \
                 there, or compare with a program that was built elsewhere by --program PATH",
                &commit[..12.min(commit.len())]
            )
        })?;
        check_out(&here, &place)?;
    }
    Ok(())
}

/// The submodules of a commit, by their paths, each with its commit.
///
/// # Errors
/// When git cannot list them.
pub(super) fn listed(repository: &Path, commit: &str) -> Result<Vec<(PathBuf, String)>> {
    let all = git(repository, &["ls-tree", "-r", "-z", "--full-tree", commit])?;
    let of_submodule = |entry: &str| {
        let (about, path) = entry.split_once('\t')?;
        let commit = about.strip_prefix("160000 commit ")?;
        Some((PathBuf::from(path), commit.to_owned()))
    };
    Ok(all.split('\0').filter_map(of_submodule).collect())
}

/// A repository of the user's that has this commit of the submodule at a path.
pub(super) fn known(repository: &Path, path: &Path, commit: &str) -> Option<PathBuf> {
    source(repository, &repository.join(path), &path.display().to_string(), commit)
}

/// A repository here that has this commit of the submodule.
fn source(work_tree: &Path, here: &Path, name: &str, commit: &str) -> Option<PathBuf> {
    let common = git(work_tree, &["rev-parse", "--path-format=absolute", "--git-common-dir"]).ok()?;
    let has = |repository: &PathBuf| {
        repository.is_dir() && git(repository, &["cat-file", "-e", &format!("{commit}^{{commit}}")]).is_ok()
    };
    [here.to_owned(), Path::new(&common).join("modules").join(name)].into_iter().find(has)
}
