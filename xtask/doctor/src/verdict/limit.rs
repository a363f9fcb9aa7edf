//! The resources that a script can be held up by.

use std::fmt;

use serde::Serialize;

/// A resource that steps wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Limit {
    /// Too few processes make batches, or they begin too late.
    Loader,
    /// The processors that make batches.
    Processor,
    /// The lock of the interpreter that makes batches.
    Interpreter,
    /// The disk, or what is behind it.
    Disk,
    /// The opening of many small files.
    SmallFiles,
    /// Calls in the step that tell of the training.
    Telling,
    /// Calls in the step that save it.
    Saving,
    /// Loops within the loop, or beside it.
    Validation,
    /// The start of each iteration over the loader.
    EpochStart,
    /// The step waits for something that is no processor of this machine.
    StepWaits,
    /// The threads of the framework's operations.
    Threads,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loader => "the loader",
            Self::Processor => "the processor time that batches take",
            Self::Interpreter => "the interpreter's lock, in the loader",
            Self::Disk => "the disk, or what is behind it",
            Self::SmallFiles => "the opening of small files",
            Self::Telling => "logging",
            Self::Saving => "saving",
            Self::Validation => "validation",
            Self::EpochStart => "the start of each epoch",
            Self::StepWaits => "a wait in the step",
            Self::Threads => "the number of threads of its operations",
        })
    }
}
