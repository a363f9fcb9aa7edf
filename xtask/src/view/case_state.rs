//! The end of a case, for people.

use weighbridge::data::{CaseRecord, CaseStatus};

/// The end of a case, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaseState {
    /// Measured, and its work is what was asked.
    Ranked,
    /// Measured, and its work does not verify, or nobody could verify it.
    Unranked,
    /// A repeat failed.
    Failed,
    /// It was not run.
    Skipped,
    /// The run ended first.
    Incomplete,
}

impl CaseState {
    /// The word.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ranked => "measured",
            Self::Unranked => "not ranked",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Incomplete => "incomplete",
        }
    }

    pub(super) fn of(case: &CaseRecord) -> Self {
        match case.status {
            CaseStatus::Measured if case.ranked() => Self::Ranked,
            CaseStatus::Measured => Self::Unranked,
            CaseStatus::Failed(_) => Self::Failed,
            CaseStatus::Skipped(_) => Self::Skipped,
            CaseStatus::Incomplete => Self::Incomplete,
        }
    }
}
