//! What the rules look at.

use super::Agreement;
use crate::bencher::{Evidence, Purpose, Work};
use crate::metric::Observation;
use crate::registry::Equivalence;
use crate::run::{How, Outcome, Repeat};

/// A case with its repeats, as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct ExaminedCase<'a> {
    /// The agreement with the reference that its work must show.
    pub equivalence: Equivalence,
    /// The standing of its unmeasured repeat to the reference's.
    pub agreement: &'a Agreement,
    /// The work of the reference's unmeasured repeat.
    pub reference: Option<&'a Work>,
    /// Its repeats.
    pub repeats: &'a [Repeat],
}

/// A repeat that came to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedRepeat<'a> {
    pub(super) repeat: &'a Repeat,
    pub(super) seen: &'a Observation,
    pub(super) work: Option<&'a Work>,
    pub(super) evidence: &'a Evidence,
}

impl EndedRepeat<'_> {
    pub(super) fn is_measured(&self) -> bool {
        self.repeat.purpose == Purpose::Measure
    }

    /// Nanoseconds of the measured windows for an element; `None` where none was measured.
    pub(super) fn each(&self) -> Option<f64> {
        (self.seen.elements > 0 && self.seen.wall > 0)
            .then(|| self.seen.wall as f64 / self.seen.elements as f64)
    }

    /// Tells whether other processes than the measuring one took part.
    pub(super) fn has_processes(&self) -> bool {
        self.evidence.account.as_ref().is_some_and(|account| account.processes > Some(1))
    }
}

impl<'a> ExaminedCase<'a> {
    /// The repeats that came to their end.
    pub(super) fn ended(&self) -> impl Iterator<Item = EndedRepeat<'a>> + use<'a> {
        self.repeats.iter().filter_map(|repeat| match &repeat.outcome {
            Outcome::Measured { seen, work, evidence } => {
                Some(EndedRepeat { repeat, seen, work: work.as_ref(), evidence })
            }
            Outcome::Failed(_) | Outcome::Skipped { .. } => None,
        })
    }

    /// Tells whether the adapter says itself that its work is not the reference's.
    pub(super) fn is_declared(&self) -> bool {
        matches!(self.agreement, Agreement::Declared(_))
    }

    /// The repeats that failed, with how they did.
    pub(super) fn failed(&self) -> impl Iterator<Item = (&'a Repeat, &'a How)> + use<'a> {
        self.repeats.iter().filter_map(|repeat| match &repeat.outcome {
            Outcome::Failed(failure) => Some((repeat, &failure.how)),
            Outcome::Measured { .. } | Outcome::Skipped { .. } => None,
        })
    }

    /// Tells whether any repeat has evidence: none has where the case was skipped, or failed without numbers
    /// that tell of it.
    pub fn has_evidence(&self) -> bool {
        self.ended().any(|one| *one.evidence != Evidence::default())
            || self.failed().any(|(_, how)| matches!(how, How::Clock(_) | How::Work(_)))
    }
}
