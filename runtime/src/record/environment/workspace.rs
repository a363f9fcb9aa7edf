//! Whose figures these are: two workspaces may share a data directory, and call their bench targets alike.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::ask::{RunningCommand, ask};
use super::fact::{Fact, Facts};

/// The fact of the folder: that of the repository, which all of its worktrees share, else the workspace's.
const FOLDER: &str = "workspace";
/// The fact of the repository that it was cloned from.
const ORIGIN: &str = "origin";

/// Tells whether a fact is one of those that tell workspaces apart.
pub(super) fn is_of_one(fact: &str) -> bool {
    [FOLDER, ORIGIN].contains(&fact)
}

/// A workspace, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceId {
    folder: Option<String>,
    origin: Option<String>,
}

/// Commands that were started and whose answers are read later.
pub(super) struct WorkspaceCommands {
    folder: PathBuf,
    repository: RunningCommand,
    origin: RunningCommand,
}

impl WorkspaceCommands {
    pub(super) fn start(folder: &Path) -> Self {
        let repository = ["rev-parse", "--path-format=absolute", "--git-common-dir", "--show-prefix"];
        Self {
            folder: folder.to_owned(),
            repository: ask("git", &repository, folder),
            origin: ask("git", &["config", "--get", "remote.origin.url"], folder),
        }
    }
}

/// Reads the facts of the workspace.
pub(super) fn read(commands: WorkspaceCommands, facts: &mut Facts<'_>) {
    let WorkspaceCommands { folder, repository, origin } = commands;
    let repository = repository.answer();
    let (shared, below) = match &repository {
        Ok(text) => text.split_once('\n').unwrap_or((text, "")),
        Err(_) => ("", ""),
    };
    let folder = match shared {
        "" => fs::canonicalize(&folder).unwrap_or(folder),
        shared => Path::new(shared).join(below),
    };
    facts.note(FOLDER, Ok(folder.display()));
    let origin: Fact = origin.answer().map(|url| format!("{} {below}", address(&url)).trim_end().to_owned());
    facts.note(ORIGIN, origin);
}

/// The address of a repository, the same by whichever protocol and with whichever key it is reached.
fn address(url: &str) -> String {
    let (is_url, rest) = match url.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, url),
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let text = if path.is_empty() { host.to_owned() } else { format!("{host}/{path}") };
    // `git@host:owner/name` is `ssh://git@host/owner/name`.
    let text = if is_url { text } else { text.replacen(':', "/", 1) };
    text.trim_end_matches('/').trim_end_matches(".git").to_owned()
}

impl WorkspaceId {
    /// The one that these facts are of.
    pub(super) fn among(facts: &BTreeMap<String, String>) -> Self {
        Self { folder: facts.get(FOLDER).cloned(), origin: facts.get(ORIGIN).cloned() }
    }

    /// Tells whether this is another workspace than that one: cloned from elsewhere, or, where one of the two
    /// was cloned from nowhere, in another folder. What is not known of one is no difference.
    pub fn is_other_than(&self, that: &Self) -> bool {
        let differ = |one: &Option<String>, other: &Option<String>| Some(one.as_ref()? != other.as_ref()?);
        differ(&self.origin, &that.origin).or_else(|| differ(&self.folder, &that.folder)).unwrap_or(false)
    }

    /// Its name for people.
    pub fn name(&self) -> String {
        self.folder.clone().or_else(|| self.origin.clone()).unwrap_or_else(|| "unknown".to_owned())
    }

    /// Takes the folder out of the facts of what is kept apart from the data directory: other checkouts are
    /// to be judged by it. What is committed belongs to whoever has the commit, a fork as well.
    pub(super) fn forget(facts: &mut BTreeMap<String, String>, is_committed: bool) {
        facts.remove(FOLDER);
        if is_committed {
            facts.remove(ORIGIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Environment;

    #[test]
    fn an_address_has_neither_protocol_nor_key() {
        for url in [
            "https://github.com/owner/name.git",
            "https://token:secret@github.com/owner/name",
            "git@github.com:owner/name.git",
            "ssh://git@github.com/owner/name/",
        ] {
            assert_eq!(address(url), "github.com/owner/name", "{url}");
        }
        assert_eq!(address("/srv/git/name.git"), "/srv/git/name");
        assert_eq!(address("file:///srv/git/name.git"), "/srv/git/name");
    }

    #[test]
    fn a_workspace_is_another_by_its_origin_or_else_by_its_folder() {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let workspace = |folder, origin| WorkspaceId { folder: some(folder), origin: some(origin) };
        let this = workspace("/a", "host/name");
        assert!(!this.is_other_than(&workspace("/b", "host/name")), "another checkout of it");
        assert!(this.is_other_than(&workspace("/a", "host/other")));
        assert!(!this.is_other_than(&workspace("/a", "")), "before it had an origin");
        assert!(this.is_other_than(&workspace("/b", "")));
        assert!(!this.is_other_than(&WorkspaceId::default()), "nothing is known of it");
    }

    #[test]
    fn a_folder_outside_any_repository_is_a_workspace_by_its_path() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [one, other] =
            [one.path(), other.path()].map(|folder| Environment::of_workspace(folder).workspace());
        assert!(one.is_other_than(&other) && !one.is_other_than(&one.clone()));
        assert!(one.name().starts_with('/'), "{one:?}");
    }
}
