//! What is generated, and how.

use serde::Serialize;

/// A generation: after a prompt, each time the id of the greatest logit (the first of several that are
/// alike).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Generation {
    /// Ids of the prompt.
    pub prompt: usize,
    /// Ids that follow it.
    pub tokens: usize,
    /// `true` if the keys and values of what came before are kept; else all of it goes through the model
    /// again for each id.
    pub cached: bool,
}
