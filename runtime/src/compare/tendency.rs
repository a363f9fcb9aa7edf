//! The way that a metric tends.

use serde::{Deserialize, Serialize};

/// The way that a metric tends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tendency {
    /// Better by more than the tolerance.
    Better,
    /// Worse by more than the tolerance.
    Worse,
    /// Within the tolerance.
    Same,
    /// The repeats do not decide, or one side has no value.
    Unclear,
    /// It has no better or worse.
    Information,
}
