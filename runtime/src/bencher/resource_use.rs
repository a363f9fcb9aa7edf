//! Resources that processes other than this one have used.

use serde::{Deserialize, Serialize};

/// Resources that processes used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// Time on a processor, in nanoseconds.
    pub cpu: Option<u64>,
    /// Time ready to run without one, in nanoseconds.
    pub wait: Option<u64>,
    /// Page faults served without the disk.
    pub minor_faults: u64,
    /// Page faults that read the disk.
    pub major_faults: u64,
    /// Times a thread gave its processor up.
    #[serde(rename = "voluntary")]
    pub voluntary_switches: u64,
    /// Times a thread was taken off its processor.
    #[serde(rename = "involuntary")]
    pub involuntary_switches: u64,
}

impl ResourceUse {
    /// The sum. What one of both cannot tell, the sum cannot.
    #[must_use]
    pub fn with(self, more: Self) -> Self {
        self.each(more, |one, other| one + other)
    }

    /// The use from `earlier` on. A counter that a process has taken along counts as if it had stood.
    #[must_use]
    pub(super) fn since(self, earlier: Self) -> Self {
        self.each(earlier, u64::saturating_sub)
    }

    fn each(self, other: Self, join: fn(u64, u64) -> u64) -> Self {
        let known = |one: Option<u64>, other: Option<u64>| Some(join(one?, other?));
        Self {
            cpu: known(self.cpu, other.cpu),
            wait: known(self.wait, other.wait),
            minor_faults: join(self.minor_faults, other.minor_faults),
            major_faults: join(self.major_faults, other.major_faults),
            voluntary_switches: join(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: join(self.involuntary_switches, other.involuntary_switches),
        }
    }
}
