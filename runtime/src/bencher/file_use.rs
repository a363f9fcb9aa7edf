//! Bytes that a subject has read, written and mapped.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::device::IoBytes;

/// Bytes that went between a subject and files, while its pipeline was opened and gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUse {
    /// Bytes that calls read: from files, and from pipes and sockets too.
    pub read: u64,
    /// Bytes that calls wrote.
    pub written: u64,
    /// Bytes of mapped files that are in memory, without programs, libraries and the data set.
    pub mapped: u64,
    /// True if it has processes of its own, with which it may have exchanged them.
    pub shared: bool,
    /// True if it is a worker: then `written` is what it wrote while its pipeline was opened, or what it has
    /// in the folder for what it converts, and `read` what it read while it was measured; nothing is known of
    /// what it maps.
    pub worker: bool,
}

impl AddAssign<IoBytes> for FileUse {
    fn add_assign(&mut self, more: IoBytes) {
        self.read = self.read.saturating_add(more.read);
        self.written = self.written.saturating_add(more.written);
    }
}
