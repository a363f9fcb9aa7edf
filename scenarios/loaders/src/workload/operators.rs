//! Whose operators do the transforms.

use weighbridge_data::either;

/// Whose operators do the transforms of a pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operators {
    /// Every system does them bit for bit as `scenarios/docs/transforms.md` has them: by operators of its own
    /// where those do, else by one numpy function that all share. What differs then is how a system feeds its
    /// steps.
    #[default]
    Shared,
    /// Every system does them by its own operators, with draws of its own. What is delivered is alike, and
    /// not the same.
    Own,
}

either!(Operators, Shared = "shared", Own = "own");
