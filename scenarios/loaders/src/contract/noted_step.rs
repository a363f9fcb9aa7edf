//! Steps of a learner as they were noted while the clock ran.

use crate::workload::Parameters;

/// The steps of an epoch from its beginning, as they were noted while they were timed.
#[derive(Clone, Debug, PartialEq)]
pub struct NotedEpoch {
    /// The number of the epoch.
    pub epoch: u64,
    /// Its steps, in order.
    pub steps: Vec<NotedStep>,
}

/// A step, as it was left.
#[derive(Clone, Debug, PartialEq)]
pub struct NotedStep {
    /// The loss of its batch.
    pub loss: f64,
    /// The parameters after it.
    pub parameters: Parameters,
    /// A place in the gradient to the rows of the batch's first group, drawn, and the number there.
    pub slope: (usize, f32),
}
