//! What a subject reads from files, writes to them, and has mapped.
//!
//! An epoch that is kept from one process to the next is kept in a file, or in memory that has the name of
//! one.

use std::ops::Range;

use super::{Bencher, FileUse};
use crate::device::{Usage, file_mappings};

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

    /// Notes the resident bytes of mapped files and whether there are child processes, once a stream has been
    /// gone through. The data set, which lies at `input`, does not count.
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
