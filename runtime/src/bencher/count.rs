//! Counting what items hold: by the specification, where there is one, and not by what a subject says.

use super::{Count, ExpectedEpoch, Item, Miscount};

/// Follows a cursor through an epoch.
#[derive(Debug)]
pub(super) struct ItemCounter {
    expected: Option<ExpectedEpoch>,
    /// Items since the epoch was begun.
    at: u64,
    miscounted: Option<Miscount>,
}

impl ItemCounter {
    pub(super) fn new(expected: Option<ExpectedEpoch>) -> Self {
        Self { expected, at: 0, miscounted: None }
    }

    /// The epoch is begun.
    pub(super) fn rewind(&mut self) {
        self.at = 0;
    }

    /// The place of the next item.
    #[inline]
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Takes in an item, whole: what it holds. One that does not hold what it must is noted, and counts for
    /// no more than it must hold.
    #[inline]
    pub(super) fn see(&mut self, item: &Item<'_>) -> Count {
        let at = self.at;
        let bytes = item.touch(at);
        self.at += 1;
        let is_due = self.expected.is_none_or(|expected| expected.allows(at, item.elements));
        if is_due && item.holds(item.elements) {
            return Count { elements: item.elements, bytes };
        }
        self.note(at, item, bytes)
    }

    #[cold]
    fn note(&mut self, at: u64, item: &Item<'_>, bytes: u64) -> Count {
        let expected = self.expected.map_or(0, |expected| expected.elements_of(at));
        let first = Miscount { batches: 0, at, said: item.elements, expected };
        self.miscounted.get_or_insert(first).batches += 1;
        Count { elements: item.elements.min(expected), bytes }
    }

    /// The number of items that did not hold what they must, with the first of them; `None` if all did.
    pub(super) fn miscounted(&self) -> Option<Miscount> {
        self.miscounted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{Dtype, Field, FieldKind, ItemBytes};

    const EPOCH: ExpectedEpoch = ExpectedEpoch {
        elements: 10,
        batch: 4,
        bytes: 40,
        source: 40,
        transforms: true,
        in_order: true,
        in_memory: true,
        makers: 1,
        keeps: false,
    };

    fn see(counter: &mut ItemCounter, said: u64, rows: usize) -> Count {
        let kind = FieldKind { name: "x".into(), dtype: Dtype::F32, shape: vec![] };
        let bytes = vec![0; 4 * rows];
        counter.see(&Item { elements: said, bytes: ItemBytes::Here(&[Field { kind: &kind, bytes: &bytes }]) })
    }

    #[test]
    fn elements_are_counted_by_the_specification() {
        let mut counter = ItemCounter::new(Some(EPOCH));
        for rows in [4, 4, 2] {
            assert_eq!(see(&mut counter, rows, rows as usize).elements, rows);
        }
        assert_eq!(counter.miscounted(), None);
        assert_eq!(see(&mut counter, 4, 4).elements, 0, "the epoch has ended");
        counter.rewind();
        assert_eq!(see(&mut counter, 5, 5).elements, 4);
        assert_eq!(see(&mut counter, 4000, 4).elements, 4, "what it says and what it holds are two things");
        let noted = counter.miscounted().unwrap();
        assert_eq!(noted, Miscount { batches: 3, at: 3, said: 4, expected: 0 });
    }

    #[test]
    fn where_the_order_is_lost_the_short_batch_may_be_anywhere() {
        let mut counter = ItemCounter::new(Some(ExpectedEpoch { in_order: false, ..EPOCH }));
        for rows in [2, 4, 4] {
            see(&mut counter, rows, rows as usize);
        }
        assert_eq!(counter.miscounted(), None);
        see(&mut counter, 3, 3);
        assert!(counter.miscounted().is_some());
        let mut by_two = ItemCounter::new(Some(ExpectedEpoch { in_order: false, makers: 2, ..EPOCH }));
        for rows in [4, 1, 4, 1] {
            see(&mut by_two, rows, rows as usize);
        }
        assert_eq!(by_two.miscounted(), None, "each of two has a last batch of its own");
    }

    #[test]
    fn without_a_specification_an_item_holds_what_its_bytes_say() {
        let mut counter = ItemCounter::new(None);
        assert_eq!(see(&mut counter, 7, 7).elements, 7);
        assert_eq!(see(&mut counter, 1 << 62, 7).elements, 0);
        assert_eq!(counter.miscounted().unwrap().batches, 1);
    }
}
