//! Why something is not run here: facts that code can go by. `report` has the words.

use serde::{Deserialize, Serialize};

/// The reason why a case is not run here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// A reason that a scenario, a filter or an adapter states.
    Stated(String),
    /// Real data is not on this machine: what would put it there.
    NoData(String),
    /// The system behind the adapter is not installed.
    NotInstalled {
        /// The reason, which names the missing part.
        reason: String,
        /// The command that installs it.
        install: String,
    },
    /// It needs more memory than it may have.
    Memory {
        /// Memory that it needs, in bytes.
        needs: u64,
        /// Memory that the profile allows here, in bytes.
        limit: u64,
        /// The profile.
        profile: String,
    },
    /// Its batches are larger than the profile allows.
    BatchSize {
        /// The size of its batches.
        size: u64,
        /// The largest size that the profile allows.
        most: u64,
        /// The profile.
        profile: String,
    },
    /// No adapter is registered for this contract.
    NoAdapter(String),
    /// The run was ended before it.
    Ended,
    /// The time of the run did not suffice for it.
    OutOfTime {
        /// Seconds that the run had.
        had: u64,
        /// About how many seconds the whole of it takes.
        needs: u64,
    },
}

impl SkipReason {
    /// Tells whether it says something of this machine alone, and nothing of the scenario or the adapter.
    pub fn is_of_the_machine(&self) -> bool {
        matches!(
            self,
            Self::NoData(_)
                | Self::NotInstalled { .. }
                | Self::Memory { .. }
                | Self::Ended
                | Self::OutOfTime { .. }
        )
    }
}

impl From<String> for SkipReason {
    fn from(why: String) -> Self {
        Self::Stated(why)
    }
}

impl From<&str> for SkipReason {
    fn from(why: &str) -> Self {
        Self::Stated(why.to_owned())
    }
}
