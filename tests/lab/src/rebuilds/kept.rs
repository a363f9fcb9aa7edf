//! What is kept of the comparisons, and the table that follows from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use weighbridge::data::{Columns, Comparison};

use crate::evidence::{KeptCase, VerdictCount, described, rate, write_whole};

/// All comparisons, with their rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RebuildEvidence {
    /// The machine in words.
    pub(crate) machine: String,
    /// The commit of the programs.
    pub(crate) commit: String,
    /// The compiler.
    pub(crate) compiler: String,
    /// The margin, as a share.
    pub(crate) margin: f64,
    /// The accepted chance of a false alarm among confirmed regressions.
    pub(crate) alpha: f64,
    /// One entry per pair of programs.
    pub(crate) comparisons: Vec<KeptRebuild>,
}

/// A program compared with one that means the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptRebuild {
    /// Which time it was, from 0.
    pub(crate) round: u32,
    /// The package.
    pub(crate) subject: String,
    /// What made the other program another one.
    pub(crate) layout: String,
    /// Its cases.
    pub(crate) cases: Vec<KeptCase>,
}

/// The margin and the chance of a false alarm that a duel has when nobody says anything else.
const MARGIN: f64 = 0.01;
const ALPHA: f64 = 0.05;

impl RebuildEvidence {
    /// None yet, of duels as they are when nobody says anything else.
    pub(crate) fn usual() -> Self {
        Self { margin: MARGIN, alpha: ALPHA, ..Self::default() }
    }

    /// Reads it from a file.
    ///
    /// # Errors
    /// When the file cannot be read or is none of these.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = fs::read(file).with_context(|| format!("failed to read `{}`", file.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("`{}` is no such evidence", file.display()))
    }

    /// Writes it whole or not at all.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write(&self, file: &Path) -> Result<()> {
        write_whole(self, file)
    }

    /// How many rounds are in it.
    pub(crate) fn rounds(&self) -> u32 {
        self.comparisons.iter().map(|kept| kept.round + 1).max().unwrap_or(0)
    }

    pub(crate) fn note(&mut self, comparison: &Comparison, kept: KeptRebuild) {
        if let Some(environment) = &comparison.environment {
            let fact = |name: &str| environment.software.get(name).cloned().unwrap_or_default();
            self.machine = described(&environment.machine);
            (self.commit, self.compiler) = (fact("commit"), fact("rustc"));
        }
        self.comparisons.push(kept);
    }

    /// The counts by a name that is made of each comparison and case.
    fn counts(&self, name: impl Fn(&KeptRebuild, &KeptCase) -> String) -> BTreeMap<String, VerdictCount> {
        let mut counts: BTreeMap<String, VerdictCount> = BTreeMap::new();
        for kept in &self.comparisons {
            for case in &kept.cases {
                counts.entry(name(kept, case)).or_default().add(&case.verdict);
            }
        }
        counts
    }

    /// The tables by body and by kind of layout, and below them the rates.
    pub(crate) fn report(&self) -> String {
        let by_body = self.counts(|kept, case| format!("{} {}", kept.subject, case.case));
        let kind = |layout: &str| layout.split(' ').next().unwrap_or_default().to_owned();
        let by_layout = self.counts(|kept, _| kind(&kept.layout));
        let all = self.counts(|_, _| String::new()).into_values().next().unwrap_or_default();
        format!(
            "{}, {}, commit {}\n\n{}\n{}\nrebuilt code called Regressed: {}\n\
             rebuilt code called Improved: {}\n\
             decided (Unchanged): {} of {}\n",
            self.machine,
            self.compiler,
            self.commit,
            table("body", &by_body),
            table("layout", &by_layout),
            rate(all.regressed, all.tries),
            rate(all.improved, all.tries),
            all.unchanged,
            all.tries,
        )
    }
}

fn table(title: &str, counts: &BTreeMap<String, VerdictCount>) -> String {
    let mut table = Columns::new([title, "tries>", "regressed>", "improved>", "unchanged>", "inconclusive>"]);
    for (name, count) in counts {
        let numbers = [count.tries, count.regressed, count.improved, count.unchanged, count.inconclusive];
        table.row(std::iter::once(name.clone()).chain(numbers.map(|number| number.to_string())));
    }
    table.text()
}
