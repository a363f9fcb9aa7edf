//! Where batches lie in memory, pass after pass.
//!
//! A loader uses memory again, but seldom for the same place of the epoch; one that hands out what it has kept must.

use std::collections::{BTreeMap, BTreeSet};

use super::{Item, Places};

/// Looks at the batches that are copied.
#[derive(Debug, Default)]
pub(super) struct Whereabouts {
    /// Sorted addresses that batches had in the epoch that nobody stopped, before which nothing can have been kept.
    first: Vec<usize>,
    by_place: BTreeMap<u64, usize>,
    found: Places,
}

impl Whereabouts {
    pub(super) fn after(first: Vec<usize>) -> Self {
        debug_assert!(first.is_sorted());
        Self { first, ..Self::default() }
    }

    /// Notes where the batch at this place of its epoch lies.
    pub(super) fn look(&mut self, at: u64, item: &Item<'_>) {
        let Some(address) = item.address() else { return };
        if self.first.binary_search(&address).is_ok() {
            return;
        }
        match self.by_place.insert(at, address) {
            Some(before) => {
                self.found.again += 1;
                self.found.same += u64::from(before == address);
            }
            None => self.found.places += 1,
        }
    }

    /// What was found.
    pub(super) fn found(self) -> Places {
        let addresses: BTreeSet<usize> = self.by_place.into_values().collect();
        Places { addresses: addresses.len() as u64, ..self.found }
    }
}
