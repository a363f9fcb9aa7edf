//! Why a launch cannot go on.

use std::io;
use std::path::{Path, PathBuf};

use weighbridge::data::Exit;

/// A launch that cannot go on, or never began.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A line that cannot be meant.
    #[error("{0}")]
    Usage(String),
    /// A file that cannot be written or read.
    #[error("failed to {attempt} `{}`: {source}", path.display())]
    Io {
        /// The verb.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file whose content is not what it should be.
    #[error("failed to read `{}`: {why}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A command of an engine that is not there, says no, or says nothing in time.
    #[error("{command}: {why}")]
    Engine {
        /// The command's name.
        command: String,
        /// The reason.
        why: String,
    },
    /// The engine's own checker refuses the job file.
    #[error("{by} refuses the job file: {why}")]
    Refused {
        /// The checker.
        by: String,
        /// Its words.
        why: String,
    },
    /// The process cannot hear of signals.
    #[error("failed to listen to signals: {0}")]
    Signal(#[from] ctrlc::Error),
}

impl LaunchError {
    /// The exit code that goes with it.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) | Self::Refused { .. } => Exit::Usage,
            _ => Exit::Unexpected,
        }
    }

    pub(crate) fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { attempt, path, source }
    }

    pub(crate) fn engine(command: &str, why: impl Into<String>) -> Self {
        Self::Engine { command: command.to_owned(), why: why.into() }
    }
}

pub(crate) type Result<T, E = LaunchError> = std::result::Result<T, E>;
