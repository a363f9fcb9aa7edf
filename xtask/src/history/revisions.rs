//! Bench programs of commits, and duels between them.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use weighbridge::data::{Comparison, Exit, Policy};
use weighbridge_launch::output_within;

use crate::build_options::BuildOptions;
use crate::checkout::Checkout;
use crate::command_output::say;
use crate::compare_baseline::{GateRules, RulesOf};
use crate::fight::{Fight, fight};
use crate::place::Place;
use crate::programs::BuiltProgram;
use crate::repository::{Repository, Revision};
use crate::stop;

/// The repository whose commits are measured, and what is measured of each.
pub(super) struct Revisions<'a> {
    pub(super) repository: &'a Repository,
    pub(super) place: &'a Place,
    /// This suite alone.
    pub(super) suite: Option<&'a str>,
    /// The arguments that the bench programs are given: filters and flags.
    pub(super) flags: &'a [String],
}

/// The result of a duel between two commits.
#[derive(Debug)]
pub(super) enum RevisionDuel {
    /// A comparison for each suite that both have.
    Compared(Vec<Comparison>),
    /// One of them cannot be measured.
    Unusable(String),
}

impl Revisions<'_> {
    /// The bench programs of a commit that have what is measured.
    ///
    /// # Errors
    /// When it cannot be checked out, or does not build.
    fn programs(&self, commit: &Revision) -> Result<Vec<BuiltProgram>> {
        let mut checkout = Checkout::of(self.repository, &commit.id, self.place)?;
        let built = checkout.build(&BuildOptions::default())?;
        for note in &checkout.notes {
            say(&format!("note: {note}"));
        }
        let meant = |program: &BuiltProgram| self.suite.is_none_or(|suite| program.suite == suite);
        Ok(built.into_iter().filter(|program| meant(program) && self.lists(program)).collect())
    }

    /// Returns whether a program has a case that the filters take.
    fn lists(&self, program: &BuiltProgram) -> bool {
        let mut command = Command::new(&program.path);
        command.current_dir(&program.directory).args(["--bench", "--list", "--format", "terse"]);
        let listed = output_within(command.args(self.flags), Duration::from_mins(1));
        listed.is_ok_and(|said| {
            said.status.success() && String::from_utf8_lossy(&said.stdout).contains(": benchmark")
        })
    }

    /// Measures `after` in turns with `before`.
    ///
    /// # Errors
    /// An interrupt, or a mistake in the flags. A commit that does not build or has not the case is an
    /// answer.
    pub(super) fn duel(&self, before: &Revision, after: &Revision, more: &[String]) -> Result<RevisionDuel> {
        let mut sides = Vec::new();
        for commit in [before, after] {
            match self.programs(commit).with_context(|| format!("{} does not build", commit.name())) {
                Ok(programs) if programs.is_empty() => {
                    return Ok(RevisionDuel::Unusable(format!("{} has no such case", commit.name())));
                }
                Ok(programs) => sides.push(programs),
                Err(error) => return Ok(RevisionDuel::Unusable(format!("{error:#}"))),
            }
        }
        let flags = [self.flags, more].concat();
        let (repository, name) = (self.repository, before.name());
        let of = RulesOf { repository, commit: before.id.clone(), name };
        // What the work tree says otherwise is not of these two.
        let rules = GateRules::of_revision(self.place, &of)?;
        let mut all = Vec::new();
        for candidate in &sides[1] {
            let Some(baseline) = sides[0].iter().find(|program| program.suite == candidate.suite) else {
                continue;
            };
            let asked = Fight {
                candidate,
                baseline,
                name: before.name(),
                changes: &[],
                policy: &Policy { accepted: Vec::new(), ..rules.policy.clone() },
                flags: &flags,
                notes: Vec::new(),
                relink: None,
            };
            match fight(asked, self.place) {
                Ok(comparison) => all.push(comparison),
                Err(error) if matches!(stop::exit(&error), Exit::Interrupted | Exit::Usage) => {
                    return Err(error);
                }
                Err(error) => return Ok(RevisionDuel::Unusable(format!("{}: {error:#}", after.name()))),
            }
        }
        Ok(match all.is_empty() {
            true => RevisionDuel::Unusable(format!("{} and {} share no suite", before.name(), after.name())),
            false => RevisionDuel::Compared(all),
        })
    }
}
