//! `history backfill`: every commit of a range in turns with the one before it. What was measured is kept, so
//! that a second start goes on where the first one ended.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde::{Deserialize, Serialize};
use weighbridge::data::{
    Comparison, Document, DocumentKind, Verdict, quantity, read_document, write_document,
};

use super::revisions::{RevisionDuel, Revisions};
use crate::command_output::{CommandOutput, say};
use crate::place::Place;
use crate::repository::{Repository, Revision, short};
use crate::stop;
use crate::table::Table;

/// Arguments of `history backfill`.
#[derive(Debug, Args)]
pub(crate) struct Backfill {
    /// The commits after FROM up to TO: `v1.0..HEAD`.
    #[arg(value_name = "FROM..TO")]
    pub(crate) range: String,
    /// This suite alone: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// Arguments for the bench programs: filters, `--profile quick`.
    #[arg(last = true, value_name = "BENCH ARGS")]
    pub(crate) bench_args: Vec<String>,
}

/// A commit beside the one before it, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BackfillStep {
    /// The commit before it, in full.
    pub(crate) before: String,
    /// The commit, in full.
    pub(crate) commit: String,
    /// The first line of its message.
    pub(crate) subject: String,
    /// The arguments that the bench programs were given.
    pub(crate) arguments: Vec<String>,
    /// A comparison for each suite.
    pub(crate) comparisons: Vec<Comparison>,
    /// The reason why there is no comparison.
    pub(crate) unusable: Option<String>,
}

impl Document for BackfillStep {
    const KIND: DocumentKind = DocumentKind::Step;

    fn check(&self) -> Result<(), String> {
        self.comparisons.iter().try_for_each(Document::check)
    }
}

pub(crate) fn run(args: &Backfill, place: &Place) -> Result<CommandOutput> {
    let (from, to) = args
        .range
        .split_once("..")
        .filter(|(from, to)| !from.is_empty() && !to.is_empty() && !to.starts_with('.'))
        .ok_or_else(|| stop::usage(format!("`{}` is no range: name it as FROM..TO", args.range)))?;
    let repository = Repository::find(&place.root)?;
    let (from, to) = (repository.commit(from)?, repository.commit(to)?);
    let commits = repository.between(&from, &to)?;
    if commits.is_empty() {
        return Err(stop::usage(format!("there is no commit in {}", args.range)));
    }
    let revisions =
        Revisions { repository: &repository, place, suite: args.suite.as_deref(), flags: &args.bench_args };
    let mut before = Revision { subject: repository.subject(&from)?, id: from };
    let mut steps = Vec::new();
    let mut kept = 0;
    let mut remarks = Vec::new();
    for (at, commit) in commits.iter().enumerate() {
        let file = file(place, &before, commit, args);
        // What cannot be read is measured again.
        let step = match read(&file, &mut remarks) {
            Some(step) => {
                kept += 1;
                step
            }
            None => {
                say(&format!("backfill: [{}/{}] {}", at + 1, commits.len(), commit.name()));
                let (comparisons, unusable) = match revisions.duel(&before, commit, &[])? {
                    RevisionDuel::Compared(comparisons) => (comparisons, None),
                    RevisionDuel::Unusable(why) => (Vec::new(), Some(why)),
                };
                let step = BackfillStep {
                    before: before.id.clone(),
                    commit: commit.id.clone(),
                    subject: commit.subject.clone(),
                    arguments: args.bench_args.clone(),
                    comparisons,
                    unusable,
                };
                write_document(&file, &step)?;
                step
            }
        };
        steps.push(step);
        before = commit.clone();
    }
    let mut said = CommandOutput { remarks, ..CommandOutput::fine(told(&steps)) };
    if kept > 0 {
        said.remarks.push(format!("note: {kept} of {} commits were measured before", commits.len()));
    }
    Ok(said)
}

/// The file that keeps a step: its name has both commits and a hash of what was asked.
fn file(place: &Place, before: &Revision, commit: &Revision, args: &Backfill) -> PathBuf {
    let mut hash = DefaultHasher::new();
    (&args.suite, &args.bench_args).hash(&mut hash);
    let name = format!("{}-{}-{:08x}.json", short(&before.id), short(&commit.id), hash.finish() as u32);
    place.layout.backfill().join(name)
}

/// The step in a file. One that cannot be believed is passed over, with a remark.
fn read(file: &Path, remarks: &mut Vec<String>) -> Option<BackfillStep> {
    read_document(file).unwrap_or_else(|error| {
        remarks.push(format!("warning: passed over a measured commit: {error}"));
        None
    })
}

/// Every step that is kept.
pub(super) fn stored(place: &Place, remarks: &mut Vec<String>) -> Vec<BackfillStep> {
    let Ok(entries) = fs::read_dir(place.layout.backfill()) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
        .iter()
        .filter(|file| file.extension().is_some_and(|end| end == "json"))
        .filter_map(|file| read(file, remarks))
        .collect()
}

/// A line for each change, and for each commit without one.
fn told(steps: &[BackfillStep]) -> String {
    let mut table = Table::new(["commit", "case", "slowdown", "verdict"]);
    for step in steps {
        let name = Revision { id: step.commit.clone(), subject: step.subject.clone() }.name();
        if let Some(why) = &step.unusable {
            table.row([name, "-".to_owned(), "-".to_owned(), why.clone()]);
            continue;
        }
        let rows = || step.comparisons.iter().flat_map(|comparison| &comparison.rows);
        let changed = |verdict: &Verdict| matches!(verdict, Verdict::Regressed | Verdict::Improved);
        let mut none = true;
        for row in rows().filter(|row| changed(&row.verdict)) {
            none = false;
            let worse = row.effect.map_or_else(String::new, |effect| quantity::change(effect.estimate));
            table.row([name.clone(), row.case.to_string(), worse, row.verdict.name().to_owned()]);
        }
        if none {
            let count = |name: &str| rows().filter(|row| row.verdict.name() == name).count();
            let (unchanged, inconclusive) = (count("Unchanged"), count("Inconclusive"));
            table.row([
                name,
                "-".to_owned(),
                "-".to_owned(),
                format!("{unchanged} unchanged, {inconclusive} inconclusive"),
            ]);
        }
    }
    table.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{comparison, home, row};

    #[test]
    fn a_measured_commit_whose_file_was_edited_is_passed_over_by_name() {
        let home = home();
        let file = home.place.layout.backfill().join("a-b-00000000.json");
        let step = BackfillStep {
            before: "a".into(),
            commit: "b".into(),
            subject: "a change".into(),
            arguments: Vec::new(),
            comparisons: vec![comparison(row())],
            unusable: None,
        };
        write_document(&file, &step).expect("writable");
        let stored = || {
            let mut remarks = Vec::new();
            (stored(&home.place, &mut remarks).len(), remarks)
        };
        assert_eq!(stored(), (1, Vec::new()));
        let edited = fs::read_to_string(&file).expect("written").replace("a change", "no change");
        fs::write(&file, edited).expect("writable");
        let (count, remarks) = stored();
        assert_eq!(count, 0);
        assert!(remarks[0].contains(&file.display().to_string()) && remarks[0].contains("it was changed"));
        fs::write(&file, serde_json::to_vec(&step).expect("JSON")).expect("writable");
        assert_eq!(stored().0, 0, "one without a digest is none");
    }
}
