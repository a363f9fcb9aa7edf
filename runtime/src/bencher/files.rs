//! What a subject reads from files, writes to them, and has mapped.
//!
//! An epoch that is kept from one process to the next is kept in a file, or in memory that has the name of one.

use std::ops::{AddAssign, Range};

use serde::{Deserialize, Serialize};

use super::Bencher;
use crate::device::{Moved, Usage, file_mappings};

/// Bytes that went between a subject and files, while its pipeline was opened and gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUse {
    /// Bytes that calls read: from files, and from pipes and sockets too.
    pub read: u64,
    /// Bytes that calls wrote.
    pub written: u64,
    /// Bytes of mapped files that are in memory, without programs, libraries and the data set.
    pub mapped: u64,
    /// Whether it has processes of its own, with which it may have exchanged them.
    pub shared: bool,
    /// Whether it is a worker: then `written` is what it wrote while its pipeline was opened, or what it has in the folder for
    /// what it converts, and `read` what it read while it was measured; nothing is known of what it maps.
    #[serde(default)]
    pub worker: bool,
}

impl AddAssign<Moved> for FileUse {
    fn add_assign(&mut self, more: Moved) {
        self.read = self.read.saturating_add(more.read);
        self.written = self.written.saturating_add(more.written);
    }
}

impl Bencher {
    /// Counts what calls read and write meanwhile as the subject's.
    pub(super) fn count_files<T>(&self, body: impl FnOnce() -> T) -> T {
        let before = Usage::opening();
        let given = body();
        if let Some(moved) = (Usage::closing() - before).moved {
            self.state.borrow_mut().files += moved;
        }
        given
    }

    /// What there was, once a stream has been gone through. `input` is where the data set lies.
    pub(super) fn note_files(&self, input: &[Range<usize>]) {
        let Some(mappings) = file_mappings() else { return };
        let is_input = |mapping: &Range<usize>| {
            input.iter().any(|input| mapping.start < input.end && input.start < mapping.end)
        };
        let state = &mut *self.state.borrow_mut();
        let others = mappings.iter().filter(|mapping| !is_input(&mapping.at));
        state.evidence.files = Some(FileUse {
            mapped: others.map(|mapping| mapping.resident).sum(),
            shared: crate::device::ProcessTree::below(std::process::id()).processes().len() > 1,
            ..state.files
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{Budget, Purpose, Settings};

    #[test]
    fn what_a_subject_writes_and_reads_while_it_is_opened_is_told_and_what_is_done_before_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("epoch");
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        bencher.open(|| std::fs::write(&file, vec![7; 1 << 20]).unwrap());
        let written = bencher.state.borrow().files.written;
        std::fs::write(&file, vec![7; 64 << 20]).unwrap(); // data are made here
        bencher.open(|| std::fs::read(&file).unwrap());
        bencher.note_files(&[]);
        let files = bencher.state.borrow().evidence.files.unwrap();
        // Tests that run beside this one move bytes too.
        assert!(written >= 1 << 20 && files.read >= 64 << 20, "{written} {files:?}");
        assert!(files.written < 65 << 20, "{files:?}");
    }
}
