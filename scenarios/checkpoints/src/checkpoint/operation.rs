//! What of a checkpoint is timed.

use std::fmt;

/// The operation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A save, until a reader finds it.
    Save,
    /// The same, until its file system was flushed.
    DurableSave,
    /// A load.
    Load,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Save => "save",
            Self::DurableSave => "durable save",
            Self::Load => "load",
        })
    }
}
