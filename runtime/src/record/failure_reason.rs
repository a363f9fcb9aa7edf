//! Why a case failed: facts. `report` has the words.

use serde::{Deserialize, Serialize};

use crate::run::{Failure, How};
use crate::verify::Finding;

/// The reason why a case failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureReason {
    /// A repeat failed.
    Repeat {
        /// Its number: 0 is the verifying one.
        number: u32,
        /// Its failure, without the end of its stderr, which the repeat has.
        failure: Failure,
    },
    /// The record of the case says what no file can hold, in the words of whoever was to write it.
    Unwritable(String),
}

impl FailureReason {
    /// The failure of a repeat, as the reason why its case failed.
    pub fn repeat(number: u32, failure: &Failure) -> Self {
        Self::Repeat { number, failure: failure.without_output() }
    }

    /// Tells whether the failure says already what the finding does: a repeat without a clock or work that
    /// verifies has no other finding.
    pub(crate) fn tells(&self, finding: &Finding) -> bool {
        match self {
            Self::Repeat { number, failure: Failure { how: How::Clock(_) | How::Work(_), .. } } => {
                finding.repeats.contains(number)
            }
            Self::Repeat { .. } | Self::Unwritable(_) => false,
        }
    }
}
