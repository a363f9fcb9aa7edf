//! The open and the finished `measure` blocks of a repeat.

use std::fmt;
use std::rc::Rc;

use crate::metric::Region;

/// The open and the finished blocks of a repeat.
#[derive(Debug, Default)]
pub(super) struct Regions {
    pub(super) open: Vec<String>,
    pub(super) finished: Vec<Region>,
    pub(super) muted: bool,
}

impl Regions {
    /// Forgets the blocks of a sample that does not count.
    pub(super) fn forget(&mut self) {
        self.finished.clear();
    }

    pub(super) fn into_finished(self) -> Vec<Region> {
        self.finished
    }
}

/// Counts the arrays that live: what one is, only whoever makes them knows.
#[derive(Clone)]
pub(super) struct LiveArrays(pub(super) Rc<dyn Fn() -> u64>);

impl fmt::Debug for LiveArrays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Arrays")
    }
}
