//! What the processes of a checkpointer use: memory, and what they read and write.

use std::cell::Cell;

use weighbridge_data::processes::{forget_peak, sums};

/// The processes of a checkpointer at a moment.
#[derive(Clone, Debug)]
pub(super) struct ProcessWatch {
    processes: Vec<u32>,
    resident: Option<u64>,
    moved: [Option<u64>; MOVED.len()],
}

/// The kernel's counters of a process: calls, the bytes that they asked for, and those of them that came from
/// a disk or went to one.
const MOVED: [&str; 6] = ["syscr:", "syscw:", "rchar:", "wchar:", "read_bytes:", "write_bytes:"];

/// The resources that were used from then on. `None` is what the system does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchedUse {
    /// The most that was resident beyond what was at the beginning, in bytes: the sum over processes.
    pub(super) more_memory: Option<u64>,
    /// The change of resident memory since the beginning, in bytes.
    pub(super) memory_change: Option<i64>,
    /// The number of calls that read files, and of those that wrote them.
    pub(super) calls: [Option<u64>; 2],
    /// The bytes that those calls read and wrote, cached or not.
    pub(super) bytes: [Option<u64>; 2],
    /// Bytes that were read from a disk, and in no cache.
    pub(super) read: Option<u64>,
    /// Bytes that were to go to a disk.
    pub(super) written: Option<u64>,
}

impl ProcessWatch {
    /// Begins to watch: the high-water mark of each process begins anew.
    pub(super) fn begin(processes: Vec<u32>) -> Self {
        for process in &processes {
            forget_peak(*process);
        }
        let [resident] = sums(&processes, "status", ["VmRSS:"]);
        let moved = sums(&processes, "io", MOVED);
        Self { processes, resident, moved }
    }

    /// Returns the resources that were used since.
    pub(super) fn end(&self) -> WatchedUse {
        let since = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        let after = sums(&self.processes, "io", MOVED);
        let moved = |at: usize| since(after[at], self.moved[at]);
        let [peak, resident] = sums(&self.processes, "status", ["VmHWM:", "VmRSS:"]);
        WatchedUse {
            more_memory: since(peak, self.resident),
            memory_change: resident
                .zip(self.resident)
                .map(|(after, before)| after.cast_signed() - before.cast_signed()),
            calls: [moved(0), moved(1)],
            bytes: [moved(2), moved(3)],
            read: moved(4),
            written: moved(5),
        }
    }
}

/// The most memory of processes over several watches, beyond what they had at a beginning: each watch has the
/// high-water mark begin anew.
#[derive(Clone, Debug)]
pub(super) struct MemoryGrowth {
    begun: Option<u64>,
    most: Cell<Option<u64>>,
}

impl MemoryGrowth {
    pub(super) fn begin(processes: &[u32]) -> Self {
        let [begun] = sums(processes, "status", ["VmRSS:"]);
        Self { begun, most: Cell::default() }
    }

    /// Adds a watch and what was used in it.
    pub(super) fn add(&self, watch: &ProcessWatch, used: &WatchedUse) {
        let peak = watch.resident.zip(used.more_memory).map(|(resident, more)| resident + more);
        let grown = peak.zip(self.begun).map(|(peak, begun)| peak.saturating_sub(begun));
        self.most.set(self.most.get().max(grown));
    }

    /// The growth, in bytes; `None` where the system does not tell.
    pub(super) fn most(&self) -> Option<u64> {
        self.most.get()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_this_process_writes_is_counted_by_calls_and_bytes() {
        let place = tempfile::tempdir().unwrap();
        let watched = ProcessWatch::begin(vec![std::process::id()]);
        fs::write(place.path().join("file"), vec![1; 1 << 20]).unwrap();
        let used = watched.end();
        assert!(used.calls[1].unwrap() >= 1 && used.bytes[1].unwrap() >= 1 << 20, "{used:?}");
        assert!(used.memory_change.is_some() && used.read.is_some() && used.written.is_some(), "{used:?}");
    }

    #[test]
    fn of_a_process_that_is_not_there_nothing_is_told() {
        let used = ProcessWatch::begin(vec![std::process::id(), u32::MAX]).end();
        assert_eq!((used.more_memory, used.memory_change, used.read), (None, None, None));
        assert_eq!((used.calls, used.bytes), ([None; 2], [None; 2]));
    }
}
