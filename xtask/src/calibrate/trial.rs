//! One comparison of a program with itself.

use anyhow::Result;
use weighbridge::data::{Comparison, Row};

use crate::compare_baseline::stated_policy;
use crate::fight::{Fight, fight};
use crate::place::Place;
use crate::programs::BuiltProgram;

/// One comparison of a program with itself, with or without a planted slowdown.
#[derive(Debug)]
pub(super) struct Trial {
    /// The share of the iterations that was repeated on the candidate's side; 0 for none.
    pub(super) share: f64,
    /// The comparison that came of it.
    pub(super) comparison: Comparison,
}

impl Trial {
    /// Measures both sides in turns, as `compare-baseline` does.
    pub(super) fn take(
        program: &BuiltProgram,
        copy: &BuiltProgram,
        place: &Place,
        share: f64,
        flags: &[String],
    ) -> Result<Self> {
        let mut flags = flags.to_vec();
        if share > 0.0 {
            flags.push(format!("--inject={share}"));
        }
        let asked = Fight {
            candidate: program,
            baseline: copy,
            name: "a copy of itself".to_owned(),
            changes: &[],
            policy: &stated_policy(place)?,
            flags: &flags,
            notes: Vec::new(),
            relink: None,
        };
        let comparison = fight(asked, place)?;
        Ok(Self { share, comparison })
    }

    /// The rows that were decided by rounds.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.comparison.rows.iter().filter(|row| row.rounds.is_some())
    }
}
