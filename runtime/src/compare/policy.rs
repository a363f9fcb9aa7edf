//! What a gate lets pass.

use serde::{Deserialize, Serialize};

/// The margin where the user sets none: a change below it is not called a regression.
const DEFAULT_MARGIN: f64 = 0.05;

/// What a gate lets pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// The margin as the user set it, as a share: 0.05 for 5 %. `None` is 5 %, widened to what the history of
    /// this machine shows to be noise. A margin that was set is taken as it is.
    pub threshold: Option<f64>,
    /// Whether a comparison that decides nothing passes.
    pub inconclusive_passes: bool,
    /// Metrics that are judged beside the one that stands for each case.
    pub gated: Vec<String>,
    /// Whether figures of another machine are compared all the same.
    pub allow_different_machine: bool,
}

impl Policy {
    /// The margin, set or not.
    pub fn margin(&self) -> f64 {
        self.threshold.unwrap_or(DEFAULT_MARGIN)
    }
}
