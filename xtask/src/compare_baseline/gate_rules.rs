//! The rules of a gate: settings, the list of scenarios, accepted changes. They are those of the commit that
//! is compared with, so that no change is judged by rules that it brings itself; what it says otherwise is
//! told.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use toml::{Table, Value};
use weighbridge::data::{Acceptance, CaseId, Layout, Policy, quantity, read_text};

use crate::lock::{self, Ids};
use crate::place::Place;
use crate::repository::{Repository, short};
use crate::stop;

/// The most lines of one kind; more are counted.
const MOST: usize = 10;

/// The word for the work tree in the place of a revision.
pub(super) const TREE: &str = "tree";

/// The rules of a gate, and whose they are.
pub(crate) struct GateRules {
    /// The gate, with all changes that the rules accept.
    pub(crate) policy: Policy,
    /// Whose they are, where that must be known, and what the work tree says otherwise: a line each.
    pub(crate) told: Vec<String>,
    /// The lists of scenarios that hold: of the rules, and of the work tree.
    listed: [Ids; 2],
}

/// The revision whose rules hold.
pub(crate) struct RulesOf<'a> {
    pub(crate) repository: &'a Repository,
    /// Its commit.
    pub(crate) commit: String,
    /// Its name for people.
    pub(crate) name: String,
}

/// The files of the rules, as they are somewhere.
#[derive(Default)]
struct RuleFiles {
    settings: Option<String>,
    listed: Option<String>,
    accepted: Option<String>,
}

/// The place of the settings below a workspace.
fn settings() -> PathBuf {
    Path::new(".config").join("weighbridge.toml")
}

impl GateRules {
    /// The rules of a revision.
    ///
    /// # Errors
    /// When one of its files is not to be understood.
    pub(crate) fn of_revision(place: &Place, of: &RulesOf<'_>) -> Result<Self> {
        let (there, here) = (RuleFiles::of_commit(of), RuleFiles::of_tree(place)?);
        let name = format!("{} ({})", of.name, short(&of.commit));
        let advice = || {
            format!(
                "in {name}: `--rules {TREE}` judges by the rules of the work tree, `--rules REV` by others"
            )
        };
        let policy = there.policy().with_context(advice)?;
        let listed = [there.ids().with_context(advice)?, here.ids().unwrap_or_default()];
        let told = differences(&there, &here, &name, false);
        Ok(Self { policy, told, listed })
    }

    /// The rules of the work tree, and what they would be without that: `of` is the revision that is compared
    /// with, `why` says why its rules do not hold.
    ///
    /// # Errors
    /// When one of the files is not to be understood.
    pub(crate) fn of_tree(place: &Place, of: Option<&RulesOf<'_>>, why: &str) -> Result<Self> {
        let here = RuleFiles::of_tree(place)?;
        let mut told = Vec::new();
        if !here.is_empty() || of.is_some() {
            told.push(format!("the rules of the gate are those of the work tree: {why}"));
        }
        if let Some(of) = of {
            let name = format!("{} ({})", of.name, short(&of.commit));
            told.extend(differences(&RuleFiles::of_commit(of), &here, &name, true));
        }
        let listed = here.ids()?;
        Ok(Self { policy: here.policy()?, told, listed: [listed.clone(), listed] })
    }

    /// The same gate, with what was accepted since a commit alone: its code has what was accepted before.
    pub(crate) fn since(mut self, repository: &Repository, commit: &str) -> Self {
        let before = repository.file(commit, &Layout::accepted_file(Path::new("")));
        // What cannot be read there accepts nothing there.
        let before = before.and_then(|text| Acceptance::read(&text).ok()).unwrap_or_default();
        self.policy.accepted.retain(|one| !before.contains(one));
        self
    }

    /// The scenarios of a suite that must be there and have none of these cases. One that the work tree's
    /// list has no more may be gone where that is allowed.
    pub(crate) fn missing<'a>(
        &self,
        suite: &str,
        cases: impl IntoIterator<Item = &'a CaseId> + Clone,
    ) -> Vec<String> {
        let [rules, tree] = &self.listed;
        let own = lock::missing_of(tree, suite, cases.clone());
        if self.policy.removed_passes {
            return own;
        }
        let mut all: BTreeSet<String> = own.into_iter().collect();
        all.extend(lock::missing_of(rules, suite, cases));
        all.into_iter().collect()
    }
}

impl RuleFiles {
    fn of_commit(of: &RulesOf<'_>) -> Self {
        let file = |path: &Path| of.repository.file(&of.commit, path);
        Self {
            settings: file(&settings()),
            listed: file(&Layout::lock_file(Path::new(""))),
            accepted: file(&Layout::accepted_file(Path::new(""))),
        }
    }

    fn of_tree(place: &Place) -> Result<Self> {
        let file = |path: PathBuf| match read_text(&path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("failed to read `{}`", path.display())),
        };
        Ok(Self {
            settings: file(place.root.join(settings()))?,
            listed: file(Layout::lock_file(&place.root))?,
            accepted: file(Layout::accepted_file(&place.root))?,
        })
    }

    fn is_empty(&self) -> bool {
        self.settings.is_none() && self.listed.is_none() && self.accepted.is_none()
    }

    fn policy(&self) -> Result<Policy> {
        let stated = self.settings.as_deref().map(Policy::read).transpose();
        let stated = stated.map_err(|why| stop::usage(format!("{}: {why}", settings().display())))?;
        Ok(Policy { accepted: self.acceptances()?, ..stated.unwrap_or_default() })
    }

    fn acceptances(&self) -> Result<Vec<Acceptance>> {
        let file = Layout::accepted_file(Path::new(""));
        let read = self.accepted.as_deref().map(Acceptance::read).transpose();
        let read = read.map_err(|why| stop::usage(format!("{}: {why}", file.display())))?;
        Ok(read.unwrap_or_default())
    }

    fn ids(&self) -> Result<Ids> {
        let file = Layout::lock_file(Path::new(""));
        let read = self.listed.as_deref().map(lock::parse).transpose();
        Ok(read.with_context(|| format!("failed to read `{}`", file.display()))?.unwrap_or_default())
    }
}

/// Lines for all that the work tree says otherwise than a revision, and whose is used.
fn differences(there: &RuleFiles, here: &RuleFiles, name: &str, of_tree: bool) -> Vec<String> {
    let used = if of_tree { "the work tree's is used".to_owned() } else { format!("that of {name} is used") };
    let mut lines = settings_apart(there, here, name, &used);
    lines.extend(lists_apart(there, here, name, of_tree));
    lines.extend(acceptances_apart(there, here, name, of_tree));
    if !lines.is_empty() && !of_tree {
        lines.push(format!(
            "`--rules {TREE}` judges by the rules of the work tree, `--rules REV` by those of others"
        ));
    }
    lines
}

/// Keys of `[gate]` that have another value.
fn settings_apart(there: &RuleFiles, here: &RuleFiles, name: &str, used: &str) -> Vec<String> {
    let (before, now) = (gate_keys(there.settings.as_deref()), gate_keys(here.settings.as_deref()));
    let (Some(before), Some(now)) = (before, now) else {
        let file = settings();
        return vec![format!("{} is no TOML in the work tree or in {name}: {used}", file.display())];
    };
    let keys: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let value = |of: &BTreeMap<String, String>, key: &String| {
        of.get(key).cloned().unwrap_or_else(|| "not set".to_owned())
    };
    let apart = keys.into_iter().filter(|key| before.get(*key) != now.get(*key));
    let lines = apart.map(|key| {
        format!("{key}: {} in the work tree, {} in {name}: {used}", value(&now, key), value(&before, key))
    });
    counted(lines.collect(), "keys of [gate]")
}

/// The values of `[gate]` by their keys; `None` where the text is no TOML.
fn gate_keys(text: Option<&str>) -> Option<BTreeMap<String, String>> {
    let mut keys = BTreeMap::new();
    let table: Table = text.unwrap_or_default().parse().ok()?;
    if let Some(gate) = table.get("gate") {
        flatten("gate", gate, &mut keys);
    }
    Some(keys)
}

fn flatten(key: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(name, value)| flatten(&format!("{key}.{name}"), value, into));
        }
        value => drop(into.insert(key.to_owned(), value.to_string())),
    }
}

/// Cases that only one of the lists has.
fn lists_apart(there: &RuleFiles, here: &RuleFiles, name: &str, of_tree: bool) -> Vec<String> {
    let file = Layout::lock_file(Path::new(""));
    let file = file.display();
    let (Ok(before), Ok(now)) = (there.ids(), here.ids()) else {
        return vec![format!("{file} of the work tree or of {name} cannot be read")];
    };
    let holds = if of_tree { "it need not be there" } else { "it must be there all the same" };
    let mut lines = counted(
        only_in(&before, &now)
            .into_iter()
            .map(|case| format!("{file}: {case} is not in the work tree's list any more: {holds}"))
            .collect(),
        "cases that are not in the work tree's list any more",
    );
    let new = only_in(&now, &before).len();
    if new > 0 {
        lines.push(format!("{file}: the work tree's list has {new} more cases than that of {name}"));
    }
    lines
}

/// The cases of one list that the other has not, each with its suite.
fn only_in(one: &Ids, other: &Ids) -> Vec<String> {
    let is_there = |suite: &String, id: &String| other.get(suite).is_some_and(|ids| ids.contains(id));
    one.iter()
        .flat_map(|(suite, ids)| ids.iter().map(move |id| (suite, id)))
        .filter(|(suite, id)| !is_there(suite, id))
        .map(|(suite, id)| format!("[{suite}] {id}"))
        .collect()
}

/// Changes that only one of both accepts.
fn acceptances_apart(there: &RuleFiles, here: &RuleFiles, name: &str, of_tree: bool) -> Vec<String> {
    let (Ok(before), Ok(now)) = (there.acceptances(), here.acceptances()) else {
        let file = Layout::accepted_file(Path::new(""));
        return vec![format!("{} of the work tree or of {name} cannot be read", file.display())];
    };
    let told = |one: &Acceptance| {
        format!("{} {} of {}: {}", one.case, one.metric, one.suite, quantity::change(one.slowdown))
    };
    let new = if of_tree { "it is applied" } else { "it is not applied" };
    let new: Vec<String> = now
        .iter()
        .filter(|one| !before.contains(one))
        .map(|one| format!("accepted by the work tree and not by {name}: {}: {new}", told(one)))
        .collect();
    let gone: Vec<String> = before
        .iter()
        .filter(|one| !now.contains(one))
        .map(|one| format!("accepted by {name} and not by the work tree: {}", told(one)))
        .collect();
    [counted(new, "changes that the work tree accepts"), counted(gone, "changes that it does not accept")]
        .concat()
}

/// The first of these lines, and how many more there are.
fn counted(mut lines: Vec<String>, what: &str) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    if more > 0 {
        lines.push(format!("and {more} more {what}"));
    }
    lines
}

#[cfg(test)]
mod tests;
