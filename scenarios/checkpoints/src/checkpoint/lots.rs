//! Lots that nobody can foresee: no seed leads to them.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use weighbridge_data::DataSet;

use crate::workload::StateChange;

/// A source of lots, begun from the operating system's randomness.
#[derive(Debug)]
pub(super) struct Lots {
    key: RandomState,
    drawn: Cell<u64>,
}

/// One of so many tensors is changed between two saves.
const TENTH: usize = 10;

/// One of so many times all of them are.
const ALL: usize = 8;

impl Lots {
    pub(super) fn new() -> Self {
        Self { key: RandomState::new(), drawn: Cell::default() }
    }

    fn number(&self) -> u64 {
        self.drawn.set(self.drawn.get() + 1);
        self.key.hash_one(self.drawn.get())
    }

    /// A number below another one; 0 where there is none.
    pub(super) fn below(&self, of: usize) -> usize {
        ((u128::from(self.number()) * of as u128) >> 64) as usize
    }

    /// A change of all tensors of a state.
    pub(super) fn whole(&self, data: &DataSet) -> StateChange {
        self.change(data, |_| true)
    }

    /// A change of a tenth of the tensors of a state, and now and then of all of them.
    pub(super) fn part(&self, data: &DataSet) -> StateChange {
        let tensors = data.kinds().count();
        if self.below(ALL) == 0 {
            return self.whole(data);
        }
        let certain = self.below(tensors);
        self.change(data, |tensor| tensor == certain || self.below(TENTH) == 0)
    }

    /// A change of some tensors. What is no array stays as it is: its bytes are those of a value.
    fn change(&self, data: &DataSet, is_meant: impl Fn(usize) -> bool) -> StateChange {
        let is_leaf = |name: &str| data.leaves().any(|(leaf, _)| leaf == name);
        let bits = |(tensor, kind): (usize, &weighbridge::FieldKind)| {
            // The bits that are turned over are seven, and at least one.
            if is_meant(tensor) && !is_leaf(&kind.name) { 1 + self.below(0x7f) as u8 } else { 0 }
        };
        StateChange::of(data.kinds().enumerate().map(bits).collect())
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_data::Cache;

    use super::*;
    use crate::workload::State;

    #[test]
    fn lots_are_below_what_is_asked_for_and_two_sources_draw_others() {
        let (one, other) = (Lots::new(), Lots::new());
        let draw = |lots: &Lots| (0..64).map(|_| lots.below(1000)).collect::<Vec<_>>();
        let (drawn, others) = (draw(&one), draw(&other));
        assert!(drawn.iter().all(|lot| *lot < 1000) && drawn != others);
        assert_eq!((one.below(1), one.below(0)), (0, 0));
    }

    #[test]
    fn a_part_of_a_state_is_changed_and_now_and_then_all_of_it() {
        let place = tempfile::tempdir().unwrap();
        let data = Cache::at(place.path()).open(&State::SMALL.data()).unwrap();
        let lots = Lots::new();
        let none = StateChange::of(vec![0; data.kinds().count()]);
        let changed = |change: &StateChange| {
            let is_changed = |tensor: &usize| {
                let mut number = [0; 4];
                change.apply(*tensor, 4, &mut number);
                number != [0; 4]
            };
            (0..data.kinds().count()).filter(is_changed).count()
        };
        assert_eq!((changed(&none), changed(&lots.whole(&data))), (0, 21));
        let parts: Vec<usize> = (0..200).map(|_| changed(&lots.part(&data))).collect();
        assert!(parts.iter().all(|tensors| *tensors >= 1) && parts.contains(&21), "{parts:?}");
        assert!(parts.iter().sum::<usize>() < 200 * 12, "most are of few tensors: {parts:?}");
    }
}
