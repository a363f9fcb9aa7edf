//! Where the rows of a loader lie that feeds a training.

use std::fmt;

use weighbridge_loaders::workload::Access;

/// The storage that the rows of a loader lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderStorage {
    /// In memory.
    Memory,
    /// In a file that is read whole when an epoch begins.
    Staged,
    /// In a file that is read batch by batch.
    Local,
    /// The same on a file system that another machine serves, which nothing is kept of here from one round to
    /// the next.
    Network,
}

impl LoaderStorage {
    /// Returns the access by which a pipeline takes its rows from there.
    pub(super) fn access(self) -> Access {
        match self {
            Self::Memory => Access::Memory,
            Self::Staged => Access::FileEager,
            Self::Local | Self::Network => Access::FileStreaming,
        }
    }
}

impl fmt::Display for LoaderStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Staged => "staged",
            Self::Local => "local",
            Self::Network => "network",
        })
    }
}
