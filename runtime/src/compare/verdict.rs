//! What is said of a case.

use serde::{Deserialize, Serialize};

use super::{IncomparableReason, InconclusiveReason, Tendency};

/// The verdict on a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Better by more than the tolerance, and the whole interval says so.
    Improved,
    /// The whole interval lies within the tolerance.
    Unchanged,
    /// Worse by more than the tolerance, and the whole interval says so.
    Regressed,
    /// The repeats do not decide: why.
    Inconclusive(InconclusiveReason),
    /// The baseline has no such case.
    Added,
    /// The run has no such case any more.
    Removed,
    /// The two do not measure the same, or one of them did not end well: why.
    Incomparable(IncomparableReason),
}

impl Verdict {
    /// The way that a metric of this verdict tends.
    pub(super) fn tendency(&self) -> Tendency {
        match self {
            Self::Improved => Tendency::Better,
            Self::Regressed => Tendency::Worse,
            Self::Unchanged => Tendency::Same,
            _ => Tendency::Unclear,
        }
    }

    /// The word, without the reason.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Improved => "Improved",
            Self::Unchanged => "Unchanged",
            Self::Regressed => "Regressed",
            Self::Inconclusive(_) => "Inconclusive",
            Self::Added => "Added",
            Self::Removed => "Removed",
            Self::Incomparable(_) => "Incomparable",
        }
    }
}
