//! The call of cargo that runs this bench target and others after it, and what each of them has come to.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::Context;
use super::called_targets::crate_name;
use super::caller::Caller;
use crate::report::TargetEnd;
use crate::store::{self, Layout};

/// The word for a target that had nothing to run.
const PASSED: &str = "passed";

/// A call of cargo for several bench targets, seen from one of them.
#[derive(Debug)]
pub(super) struct Call {
    id: String,
    own: String,
    /// All targets that it runs, each as `package/target`.
    targets: BTreeSet<String>,
    /// The file in which its targets note what they have come to.
    notes: PathBuf,
}

impl Call {
    /// The call that runs this target; `None` where nobody knows of any.
    pub(super) fn of(context: &Context<'_>) -> Option<Self> {
        let suite = context.suite;
        let cargo = Caller::of_this_process()?;
        let targets = cargo.targets(suite.package, Path::new(suite.directory))?;
        let own = format!("{}/{}", suite.package, crate_name(suite.target));
        let notes = Layout::new(suite.data(context.args.data.as_deref())).call();
        Some(Self { id: cargo.id, own, targets, notes })
    }

    /// Notes that this target had nothing to run. Returns false where no target of the call is left that may
    /// have something.
    pub(super) fn passes(&self) -> bool {
        let notes = self.note(PASSED.to_owned());
        self.targets.iter().any(|target| notes.get(target).is_none_or(|said| said != PASSED))
    }

    /// Notes what this target has come to. Returns what all of them have, where this was the last of several.
    pub(super) fn ends(&self, end: &TargetEnd) -> Vec<TargetEnd> {
        let notes = self.note(end.to_note());
        let is_last = self.targets.len() > 1 && self.targets.iter().all(|target| notes.contains_key(target));
        if is_last { ends(notes) } else { Vec::new() }
    }

    /// Adds a note, and returns those of all targets of this call, this one's too.
    fn note(&self, said: String) -> BTreeMap<String, String> {
        let (id, mut notes) = noted(&self.notes);
        if id != self.id {
            notes.clear();
        }
        notes.insert(self.own.clone(), said);
        let lines: String = notes.iter().map(|(target, said)| format!("{target}\t{said}\n")).collect();
        // Without this note the last target only cannot tell what the others have come to.
        let _ = self.notes.parent().map(fs::create_dir_all);
        let _ = fs::write(&self.notes, format!("{}\n{lines}", self.id));
        notes
    }
}

/// The call that the notes in a file are of, and the notes by target.
fn noted(file: &Path) -> (String, BTreeMap<String, String>) {
    let text = store::read_text(file).unwrap_or_default();
    let mut lines = text.lines();
    let id = lines.next().unwrap_or_default().to_owned();
    let notes = lines.filter_map(|line| line.split_once('\t'));
    (id, notes.map(|(target, said)| (target.to_owned(), said.to_owned())).collect())
}

/// The ends of the targets that ran something.
fn ends(notes: BTreeMap<String, String>) -> Vec<TargetEnd> {
    notes.into_iter().filter_map(|(target, said)| TargetEnd::of_note(target, &said)).collect()
}

/// The ends of the targets of the last call that have noted theirs in this file.
pub(super) fn ends_of(file: &Path) -> Vec<TargetEnd> {
    ends(noted(file).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(target: &str, failed: usize) -> TargetEnd {
        TargetEnd { target: target.to_owned(), cases: 3, measured: 3 - failed, failed, regressed: 0, exit: 0 }
    }

    #[test]
    fn the_last_target_of_a_call_has_what_all_have_come_to_and_an_earlier_call_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let targets: BTreeSet<String> = ["p/a", "p/b", "q/c"].map(str::to_owned).into();
        let call = |id: &str, own: &str| Call {
            id: id.to_owned(),
            own: own.to_owned(),
            targets: targets.clone(),
            notes: folder.path().join("new/call"),
        };
        assert!(call("0 1", "p/a").ends(&end("p/a", 2)).is_empty());
        assert!(call("1 2", "p/b").ends(&end("p/b", 0)).is_empty());
        assert!(call("1 2", "p/a").passes(), "another has run");
        assert_eq!(call("1 2", "q/c").ends(&end("q/c", 1)), [end("p/b", 0), end("q/c", 1)]);
        let alone = Call { targets: ["p/a".to_owned()].into(), ..call("2 3", "p/a") };
        assert!(alone.ends(&end("p/a", 0)).is_empty(), "its own summary says it");
        for (own, others_may) in [("p/a", true), ("p/b", true), ("q/c", false)] {
            assert_eq!(call("3 4", own).passes(), others_may, "{own}");
        }
    }
}
