//! Revisions of the workspace's repository: which there are, and checking one out to build it.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use weighbridge::data::visible_in_line;

use crate::beside;
use crate::place::Place;
use crate::stop;

/// The workspace's repository.
pub(crate) struct Repository {
    /// Its top folder.
    top: PathBuf,
    /// The workspace below it.
    workspace: PathBuf,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revision {
    /// Its id, in full.
    pub(crate) id: String,
    /// The first line of its message.
    pub(crate) subject: String,
}

impl Revision {
    /// Its name for people: twelve digits and the first line of the message.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", short(&self.id), visible_in_line(&self.subject))
    }
}

/// An earlier revision, checked out.
pub(crate) struct WorkTree {
    /// The folder of the revision: files that belong to it lie here, beside the checkout.
    pub(crate) folder: PathBuf,
    /// The workspace in it.
    pub(crate) root: PathBuf,
    /// Its own target directory.
    pub(crate) target: PathBuf,
}

impl Repository {
    /// The repository that the workspace lies in.
    ///
    /// # Errors
    /// Where there is none.
    pub(crate) fn find(root: &Path) -> Result<Self> {
        let top = git(root, &["rev-parse", "--show-toplevel"]).map_err(|error| {
            stop::usage(format!("to measure other revisions needs a git repository: {error:#}"))
        })?;
        let top = PathBuf::from(top);
        let root = fs::canonicalize(root).context("failed to find the workspace")?;
        let workspace = root.strip_prefix(fs::canonicalize(&top)?).unwrap_or(Path::new("")).to_owned();
        Ok(Self { top, workspace })
    }

    /// The id of a revision's commit.
    ///
    /// # Errors
    /// Where there is no such revision.
    pub(crate) fn commit(&self, revision: &str) -> Result<String> {
        let wanted = format!("{revision}^{{commit}}");
        git(&self.top, &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
            .map_err(|_| stop::usage(format!("there is no revision `{revision}` in this repository")))
    }

    /// The commits after `from` up to `to`, the oldest first: of a merge the merge alone.
    ///
    /// # Errors
    /// Where git cannot list them.
    pub(crate) fn between(&self, from: &str, to: &str) -> Result<Vec<Revision>> {
        let listed = git(
            &self.top,
            &["log", "--first-parent", "--reverse", "--format=%H%x09%s", &format!("{from}..{to}"), "--"],
        )?;
        let commit = |line: &str| {
            let (id, subject) = line.split_once('\t').unwrap_or((line, ""));
            Revision { id: id.to_owned(), subject: subject.to_owned() }
        };
        Ok(listed.lines().filter(|line| !line.is_empty()).map(commit).collect())
    }

    /// All commits, of whichever branch, the oldest first and none before one that it came from.
    pub(crate) fn order(&self) -> Vec<String> {
        let listed =
            git(&self.top, &["rev-list", "--reverse", "--topo-order", "HEAD", "--all"]).unwrap_or_default();
        listed.lines().map(str::to_owned).collect()
    }

    /// The first line of a commit's message.
    ///
    /// # Errors
    /// Where git cannot tell it.
    pub(crate) fn subject(&self, commit: &str) -> Result<String> {
        git(&self.top, &["log", "-1", "--format=%s", commit, "--"])
    }

    /// Returns whether `from` is an ancestor of `to`.
    pub(crate) fn is_before(&self, from: &str, to: &str) -> bool {
        git(&self.top, &["merge-base", "--is-ancestor", from, to]).is_ok()
    }

    /// A file as a commit has it; `None` where it has none.
    pub(crate) fn file(&self, commit: &str, path: &Path) -> Option<String> {
        git(&self.top, &["show", &format!("{commit}:{}", self.workspace.join(path).display())]).ok()
    }

    /// Returns whether the work tree differs from its commit.
    pub(crate) fn is_dirty(&self) -> Result<bool> {
        Ok(!git(&self.top, &["status", "--porcelain"])?.is_empty())
    }

    /// The revision in a worktree that is kept: one folder per commit and lock file, so that a second
    /// comparison builds nothing.
    pub(crate) fn tree(&self, commit: &str, place: &Place) -> Result<WorkTree> {
        let lock = place.root.join("Cargo.lock");
        let committed = self.file(commit, Path::new("Cargo.lock"));
        let mut hash = DefaultHasher::new();
        match &committed {
            Some(text) => hash.write(text.as_bytes()),
            None => hash.write(&fs::read(&lock).unwrap_or_default()),
        }
        let folder = place.layout.rebuilds().join(format!(
            "{}-{:08x}",
            &commit[..12.min(commit.len())],
            hash.finish() as u32
        ));
        let tree = folder.join("tree");
        let root = tree.join(&self.workspace);
        // The mark comes after the last file: what was checked out in part is no revision.
        if !folder.join(USED).exists() || !root.join("Cargo.toml").exists() {
            drop(fs::remove_dir_all(&tree));
            fs::create_dir_all(&folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
            // A folder that was removed by hand is still on git's list.
            drop(git(&self.top, &["worktree", "prune"]));
            let path = tree.display().to_string();
            git(&self.top, &["worktree", "add", "--force", "--detach", &path, commit])
                .context("failed to check the baseline out")?;
        }
        if committed.is_none() && lock.exists() {
            // The same dependencies on both sides, where the repository does not keep them.
            fs::copy(&lock, root.join("Cargo.lock")).context("failed to copy Cargo.lock")?;
        }
        for name in beside::link(&place.root, &self.top, &tree)? {
            eprintln!("note: `{}` is built as it lies beside the repository now", visible_in_line(&name));
        }
        let target = folder.join("target");
        if !target.exists() {
            take_over(&place.layout.rebuilds(), &target);
        }
        // Which ones are in use is what pruning goes by.
        fs::write(folder.join(USED), b"").context("failed to mark the baseline as used")?;
        Ok(WorkTree { folder, root, target })
    }
}

/// Returns whether a folder's name is that of a rebuilt revision: twelve digits of its commit and eight of
/// its lock file.
pub(crate) fn is_rebuild(name: &str) -> bool {
    let digits =
        |part: &str, n| part.len() == n && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    name.split_once('-').is_some_and(|(commit, lock)| digits(commit, 12) && digits(lock, 8))
}

/// Begins a target directory with a copy of the one that was used last, so that dependencies are not built
/// for each revision. What was just checked out is newer than all of it, so cargo builds that. One directory
/// for all revisions would not do: cargo tells packages of a workspace by their place in it, and takes what
/// it built of one revision for another's.
fn take_over(rebuilds: &Path, target: &Path) {
    let Ok(entries) = fs::read_dir(rebuilds) else { return };
    let folders = entries.flatten().map(|entry| entry.path());
    let donor =
        folders.filter(|folder| folder.join("target").exists()).max_by_key(|folder| last_used(folder));
    let Some(donor) = donor else { return };
    let partial = target.with_extension("partial");
    drop(fs::remove_dir_all(&partial));
    let mut copy = Command::new("cp");
    copy.arg("-a").arg(donor.join("target")).arg(&partial).stdin(Stdio::null()).stderr(Stdio::null());
    // Without a copy everything is built, which takes longer and is no failure.
    if copy.status().is_ok_and(|status| status.success()) {
        drop(fs::rename(&partial, target));
    }
}

/// The file that is written whenever a rebuilt revision is used.
const USED: &str = "used";

/// Returns the time at which a rebuilt revision was last used, by its folder.
pub(crate) fn last_used(folder: &Path) -> SystemTime {
    let written = |path: &Path| fs::metadata(path).and_then(|data| data.modified());
    written(&folder.join(USED)).or_else(|_| written(folder)).unwrap_or(SystemTime::UNIX_EPOCH)
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let asked = Command::new("git").current_dir(folder).args(arguments).stdin(Stdio::null()).output();
    let asked = asked.context("failed to start git")?;
    if !asked.status.success() {
        bail!("git {}: {}", arguments[0], String::from_utf8_lossy(&asked.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&asked.stdout).trim().to_owned())
}

/// The first twelve digits of a commit.
pub(crate) fn short(commit: &str) -> &str {
    &commit[..12.min(commit.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::home;

    #[test]
    fn a_revision_that_was_checked_out_in_part_is_checked_out_again() {
        let home = home();
        let root = &home.place.root;
        fs::create_dir(root.join("src")).expect("writable");
        for file in ["Cargo.toml", "Cargo.lock", "src/lib.rs"] {
            fs::write(root.join(file), "").expect("writable");
        }
        let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        git(root, &["init", "--quiet"]).expect("a repository");
        git(root, &["add", "--all"]).expect("added");
        git(root, &[&who[..], &["commit", "--quiet", "--message", "all"]].concat()).expect("committed");
        let repository = Repository::find(root).expect("found");
        let commit = repository.commit("HEAD").expect("there is one");

        let tree = || repository.tree(&commit, &home.place).expect("checked out");
        let first = tree();
        let last = first.root.join("src/lib.rs");
        fs::write(&last, "whoever has built here knows it").expect("writable");
        tree();
        assert!(!fs::read(&last).expect("there").is_empty(), "a whole one is used as it is");
        // Killed before the last file was there.
        fs::remove_file(&last).expect("it is there");
        fs::remove_file(first.root.parent().expect("a folder").join(USED)).expect("it is there");
        tree();
        assert!(last.exists());
    }
}
