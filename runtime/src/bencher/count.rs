//! Counting what items hold: by the specification, where there is one, and not by what a subject says.

use super::copied_item::SpotPlace;
use super::{Count, ExpectedEpoch, Item, Miscount};

/// Follows a cursor through an epoch.
#[derive(Debug)]
pub(super) struct ItemCounter {
    expected: Option<ExpectedEpoch>,
    /// Items since the epoch was begun.
    at: u64,
    /// Epochs that were begun.
    epoch: u64,
    miscounted: Option<Miscount>,
}

impl ItemCounter {
    pub(super) fn new(expected: Option<ExpectedEpoch>) -> Self {
        Self { expected, at: 0, epoch: 0, miscounted: None }
    }

    /// The epoch is begun.
    pub(super) fn rewind(&mut self) {
        self.at = 0;
        self.epoch += 1;
    }

    /// The place of the next item in its epoch.
    #[inline]
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// The same, with the epoch.
    #[inline]
    pub(super) fn place(&self) -> SpotPlace {
        SpotPlace { at: Some(self.at), first: 0, epoch: Some(self.epoch) }
    }

    /// Takes in an item, whole: what it holds. One that does not hold what it must is noted, and counts for
    /// no more than it must hold.
    #[inline]
    pub(super) fn see(&mut self, item: &Item<'_>) -> Count {
        let at = self.at;
        let bytes = item.touch(at);
        self.at += 1;
        if self.is_due(at, item) {
            return Count { elements: item.elements, bytes };
        }
        self.note(at, item, bytes)
    }

    #[inline]
    fn is_due(&self, at: u64, item: &Item<'_>) -> bool {
        self.expected.is_none_or(|expected| expected.allows(at, item.elements)) && item.holds(item.elements)
    }

    /// Takes in how many elements a whole copy of the item at this place holds, once it was seen. One that
    /// holds others than it says is noted.
    pub(super) fn see_copy(&mut self, at: u64, item: &Item<'_>, held: u64) {
        if held == item.elements {
            return;
        }
        if self.is_due(at, item) {
            self.note(at, item, 0);
        }
        if let Some(noted) = self.miscounted.as_mut().filter(|noted| noted.at == at) {
            noted.held = Some(held);
        }
    }

    #[cold]
    fn note(&mut self, at: u64, item: &Item<'_>, bytes: u64) -> Count {
        let expected = self.expected.map_or(0, |expected| expected.elements_of(at));
        let first = Miscount { batches: 0, at, said: item.elements, expected, held: None };
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
        renewed: false,
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
        assert_eq!(noted, Miscount { batches: 3, at: 3, said: 4, expected: 0, held: None });
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

    #[test]
    fn a_copy_that_holds_others_than_its_item_says_is_noted_once() {
        let kind = FieldKind { name: "x".into(), dtype: Dtype::F32, shape: vec![] };
        let bytes = [0; 16];
        let fields = [Field { kind: &kind, bytes: &bytes }];
        let item = Item { elements: 4, bytes: ItemBytes::Here(&fields) };
        let mut counter = ItemCounter::new(None);
        counter.see(&item);
        counter.see_copy(0, &item, 4);
        assert_eq!(counter.miscounted(), None);
        counter.see(&item);
        counter.see_copy(1, &item, 3);
        let noted = counter.miscounted().unwrap();
        assert_eq!((noted.batches, noted.at, noted.said, noted.held), (1, 1, 4, Some(3)));
        let wrong = Item { elements: 5, ..item };
        counter.see(&wrong);
        counter.see_copy(2, &wrong, 4);
        assert_eq!(counter.miscounted().unwrap().batches, 2, "what was seen already is not counted twice");
    }
}
