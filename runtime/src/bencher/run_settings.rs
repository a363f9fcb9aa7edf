//! What whoever runs has settled for every repeat: one value, handed on from the command line to the process
//! of the body.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::PartialBudget;
use crate::device::Platform;
use crate::metric::Mode;

/// The settings of every repeat, by whoever runs.
///
/// A flag writes here, and whoever measures reads here: the plan, the request to a child and its
/// [`Settings`](super::Settings) have this value whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunSettings {
    /// Limits and repeats that were asked for: nobody who writes a scenario can change them.
    pub asked: PartialBudget,
    /// The longest that a repeat may take, if somebody ends it then.
    pub timeout: Option<Duration>,
    /// The seed of order, data and draws.
    pub seed: u64,
    /// The place where bodies run: what [`Bencher::device`](super::Bencher::device) opens.
    pub platform: Platform,
    /// The way in which bodies are timed on a device, whatever their scenarios say.
    pub mode: Option<Mode>,
    /// True if it is for a profiler: no yardstick runs beside a body.
    pub profiled: bool,
}

impl RunSettings {
    /// The seed where nobody says another: data sets are pinned at it.
    pub const SEED: u64 = 42;

    /// The settings where nothing is asked for.
    pub const DEFAULT: Self = Self {
        asked: PartialBudget::NONE,
        timeout: None,
        seed: Self::SEED,
        platform: Platform::Cpu,
        mode: None,
        profiled: false,
    };
}

impl Default for RunSettings {
    fn default() -> Self {
        Self::DEFAULT
    }
}
