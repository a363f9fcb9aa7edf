//! What is said of a case.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What is said of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Better by more than the tolerance, and the whole interval says so.
    Improved,
    /// The whole interval lies within the tolerance.
    Unchanged,
    /// Worse by more than the tolerance, and the whole interval says so.
    Regressed,
    /// The repeats do not decide: why.
    Inconclusive(String),
    /// The baseline has no such case.
    Added,
    /// The run has no such case any more.
    Removed,
    /// The two do not measure the same, or one of them did not end well: why.
    Incomparable(String),
}

impl Verdict {
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

    /// The reason, where there is one to give.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Inconclusive(why) | Self::Incomparable(why) => Some(why),
            Self::Improved | Self::Unchanged | Self::Regressed | Self::Added | Self::Removed => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.why().map_or(Ok(()), |why| write!(f, " ({why})"))
    }
}
