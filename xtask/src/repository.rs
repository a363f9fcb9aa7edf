//! The workspace's repository, and which revisions it has.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weighbridge::data::visible_in_line;

use crate::git::git;
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

impl Repository {
    /// The repository that the workspace lies in.
    ///
    /// # Errors
    /// Where there is none.
    pub(crate) fn find(root: &Path) -> Result<Self> {
        let top = git(root, &["rev-parse", "--show-toplevel"]).map_err(|error| {
            stop::usage(format!("to measure other revisions needs a git repository: {error:#}"))
        })?;
        let top = fs::canonicalize(top).context("failed to find the repository")?;
        let root = fs::canonicalize(root).context("failed to find the workspace")?;
        let workspace = root.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        Ok(Self { top, workspace })
    }

    /// The id of a revision's commit.
    ///
    /// # Errors
    /// Where there is no such revision: with what may bring it here.
    pub(crate) fn commit(&self, revision: &str) -> Result<String> {
        self.known(revision).ok_or_else(|| {
            let what = format!("there is no revision `{revision}` in this repository");
            match self.remedy(revision) {
                Some(remedy) => stop::usage(format!("{what}: {remedy}")),
                None => stop::usage(what),
            }
        })
    }

    /// The id of a revision's commit; `None` where there is none.
    fn known(&self, revision: &str) -> Option<String> {
        let wanted = format!("{revision}^{{commit}}");
        git(&self.top, &["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]).ok()
    }

    /// The command that brings a revision here which a clone has left out; `None` where no clone could have.
    fn remedy(&self, revision: &str) -> Option<String> {
        let remotes = git(&self.top, &["remote"]).ok()?;
        for remote in remotes.lines() {
            let name = format!("{remote}/{revision}");
            if self.known(&name).is_some() {
                return Some(format!("`{name}` is there"));
            }
        }
        let remote = remotes.lines().next()?;
        let is_shallow = git(&self.top, &["rev-parse", "--is-shallow-repository"]).ok()? == "true";
        let (base, steps) = revision.split_at(revision.find(['~', '^', '@']).unwrap_or(revision.len()));
        Some(match is_shallow {
            true if !steps.is_empty() || base == "HEAD" => {
                "this clone is shallow: `git fetch --unshallow` (in CI `fetch-depth: 0`)".to_owned()
            }
            true => format!(
                "this clone is shallow: `git fetch --unshallow {remote} \
                 {base}:refs/remotes/{remote}/{base}` and then `{remote}/{base}` (in CI `fetch-depth: 0`)"
            ),
            false => format!("if `{remote}` has it, `git fetch {remote} {base}` brings it, as `FETCH_HEAD`"),
        })
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

    /// Its top folder, without links.
    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    /// The workspace below the top folder.
    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }
}

/// The first twelve digits of a commit.
pub(crate) fn short(commit: &str) -> &str {
    &commit[..12.min(commit.len())]
}
