//! The reasons for which the doctor stops.

use std::io;

/// A reason to stop without a verdict.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// A mistake on the command line.
    #[error("{0}")]
    Usage(String),
    /// The machine or the store of files refuses something that has to be.
    #[error("failed to {attempt}")]
    Failed {
        /// The thing that was tried.
        attempt: String,
        /// The system's word.
        source: io::Error,
    },
}

/// An error of the system, with what was tried.
pub(crate) fn failed(attempt: impl Into<String>) -> impl FnOnce(io::Error) -> DoctorError {
    let attempt = attempt.into();
    move |source| DoctorError::Failed { attempt, source }
}
