//! The memory of a child and of all below it, looked at now and then.

use std::time::{Duration, Instant};

use crate::device::ProcessTree;

/// At most this often.
const LOOK: Duration = Duration::from_millis(50);

/// To look at the memory of many processes takes the system tens of milliseconds, and whoever asks for memory
/// meanwhile waits. So a look is followed by so many times what it took, but by no more than [`LONGEST_GAP`].
const REST: u32 = 50;

/// The time that memory may go without a look: what grows past its limit must be ended before it takes the
/// machine's.
const LONGEST_GAP: Duration = Duration::from_secs(1);

/// The moment of the next look at the memory of a tree.
#[derive(Debug)]
pub(crate) struct MemoryWatch {
    tree: ProcessTree,
    next: Instant,
}

impl MemoryWatch {
    /// A watch whose first look is due in a moment.
    pub(crate) fn of(tree: ProcessTree) -> Self {
        Self { tree, next: Instant::now() + LOOK }
    }

    /// Resident bytes and the number of processes, if a look is due and the system says; see
    /// [`ProcessTree::memory`].
    pub(crate) fn look(&mut self) -> Option<(u64, usize)> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        let memory = self.tree.memory();
        self.next = Instant::now() + gap(now.elapsed());
        memory
    }
}

/// The time to wait after a look that took so long.
fn gap(took: Duration) -> Duration {
    (took * REST).clamp(LOOK, LONGEST_GAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_at_the_memory_takes_a_fiftieth_of_the_time_at_most_until_memory_would_go_unwatched() {
        assert_eq!(gap(Duration::from_micros(20)), LOOK);
        assert_eq!(gap(Duration::from_millis(4)), Duration::from_millis(200));
        assert_eq!(gap(Duration::from_millis(400)), LONGEST_GAP);
    }
}
