//! The rounds of a case that a duel was decided by.

use serde::{Deserialize, Serialize};

/// The rounds of a case, condensed: enough to decide again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgedRounds {
    /// One value per round, of the metric that decided: the logarithm of how much worse the candidate is.
    pub shifts: Vec<f64>,
    /// In how many of them the CPU clock decided.
    pub by_cpu: usize,
    /// Pairs of blocks that were not preempted, and all pairs. Without blocks both are 0.
    pub clean_pairs: (usize, usize),
    /// The error of one round for want of pairs: the median over rounds of the standard error of its median
    /// log-ratio. Without blocks 0.
    pub within: f64,
    /// Seconds from the first process to the decision, confirmation apart.
    pub seconds: f64,
    /// True if most whole repeats of a side never got steady, and the metric is of their samples: nothing is
    /// decided then. Blocks run in turns, so that a drift falls on both sides alike.
    pub unsteady: bool,
    /// True if a device's clock explains what changed: nothing is decided then either. Sides that run in
    /// turns share a clock, unless one of them heats the device.
    pub clock: bool,
    /// The rounds with a new seed that a regression was confirmed on, or was not.
    pub confirmation: Vec<f64>,
    /// The layout of both programs in each of those rounds, if they were linked anew for them: rounds of one
    /// layout count as one. Empty if not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<u32>,
    /// The chance of such a confirmation without a regression, by the signed-rank test.
    pub p: Option<f64>,
    /// The same, adjusted for all cases of the comparison that were to be confirmed (Holm).
    pub adjusted: Option<f64>,
}
