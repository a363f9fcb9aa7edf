//! What an epoch of a worker holds, as far as it follows from what was asked for, and what a run may not say of it.

use std::time::Duration;

use super::protocol::Order;
use crate::bencher::{Costs, Error, ErrorKind, Limits, Ran, Result, Whole};

/// What a pipeline delivers in an epoch, known before it is asked. With it a worker's figures are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Elements of an epoch.
    pub elements: u64,
    /// Elements of a batch; the last one is short.
    pub batch: u64,
    /// Bytes of all delivered elements.
    pub bytes: u64,
    /// Bytes of the elements as they lie in the data set.
    pub source: u64,
    /// Whether there is anything to be prepared.
    pub transforms: bool,
}

/// An epoch of fewer bytes cannot be told from what a system makes for itself.
const LEAST_PREPARED: u64 = 32 << 20;

/// The share of an epoch that must lie in memory to be called prepared.
const PREPARED: f64 = 0.9;

/// How many times as long as the epoch the set-up must take.
const SLOWER: f64 = 3.0;

/// The same where the epoch is no larger than the data set: tf.data copies it twice, into tensors and into its graph, which
/// takes several epochs' time.
const SLOWER_THAN_COPYING: f64 = 10.0;

/// How many lumps of batches a pass has at least. A choice.
const LUMPS: u64 = 4;

impl Epoch {
    /// Real elements alone count. Where the batches come in order and the epoch did not end within a pass, it is known how
    /// many elements the measured ones hold; else how many there can be.
    pub(super) fn check(&self, ran: &Ran, limits: Limits, order: Order) -> Result<()> {
        if limits.batches == 0 || ran.passes == 0 {
            return Ok(());
        }
        let most = ran.passes.saturating_mul(limits.batches * self.batch);
        let wrong = |expected: String| {
            Err(Error::of(
                ErrorKind::Work,
                format!(
                    "it counted {} elements in the measured batches, which hold {expected}: padding is not delivered, and \
                     nothing that is delivered is left out",
                    ran.elements
                ),
            ))
        };
        if ran.elements > most {
            return wrong(format!("{most} at most"));
        }
        if ran.ran_out || order == Order::Lost {
            return Ok(());
        }
        // The first batch of the process is a figure of its own: in the first pass one at least is left out, and what is caught up
        // with after the copies.
        let pass = |skipped: u64| {
            let from = skipped.saturating_mul(self.batch);
            from.saturating_add(limits.batches * self.batch).min(self.elements).saturating_sub(from)
        };
        let later = (ran.passes - 1).saturating_mul(pass(limits.warmup));
        let first = limits.warmup.max(1).saturating_add(ran.caught_up);
        let expected = pass(first).saturating_add(later);
        if ran.elements == expected { Ok(()) } else { wrong(expected.to_string()) }
    }

    /// The limits within which a pass has several lumps of batches that are made at a time, from the first batch on: what each
    /// pass makes is in its samples then. The last batch of an epoch stays out, since the first of a process always does. Those
    /// that were asked for where they reach as far, or further than the epoch.
    pub(super) fn limits(&self, asked: Limits, lump: u64) -> Limits {
        let all = self.elements.div_ceil(self.batch.max(1)).saturating_sub(1);
        let batches = lump.saturating_mul(LUMPS).min(all);
        if batches <= asked.batches { asked } else { Limits { warmup: 0, batches, ..asked } }
    }

    /// An epoch that was gone through without a stop has all of its elements.
    pub(super) fn check_whole(&self, whole: &Whole) -> Result<()> {
        let (elements, all) = (whole.elements, self.elements);
        if elements == all {
            return Ok(());
        }
        let what = format!("the epoch that was timed has {elements} elements instead of {all}");
        Err(Error::of(ErrorKind::Work, what))
    }

    /// Batches are made when they are asked for. Whoever has an epoch of them in memory when the set-up is over, and hands
    /// them out in a small part of the time that it took, has made them there.
    pub(super) fn check_set_up(&self, ran: &Ran, grown: Option<u64>, costs: Costs) -> Result<()> {
        let (Some(grown), Some(set_up)) = (grown, costs.set_up) else { return Ok(()) };
        if !self.transforms || self.bytes < LEAST_PREPARED || ran.elements == 0 {
            return Ok(());
        }
        // A copy of the data set is no batch. Two copies of it look like one of it and one of batches of the same size: then
        // the set-up must take longer still.
        let is_wider = self.bytes > self.source * 3 / 2;
        let prepared = grown as f64 >= self.bytes as f64 * PREPARED
            && (is_wider || grown as f64 >= (self.bytes + self.source) as f64 * PREPARED);
        let slower = if is_wider { SLOWER } else { SLOWER_THAN_COPYING };
        let epoch = ran.wall as f64 * self.elements as f64 / ran.elements as f64;
        if !prepared || (set_up as f64) < epoch * slower {
            return Ok(());
        }
        let mebibytes = |bytes: u64| bytes >> 20;
        Err(Error::of(
            ErrorKind::Work,
            format!(
                "it prepares its batches in set-up: that made {} MiB of memory in {:?}, the delivered epoch has {} MiB, and \
                 goes by in {:?} when it is timed",
                mebibytes(grown),
                Duration::from_nanos(set_up),
                mebibytes(self.bytes),
                Duration::from_nanos(epoch as u64),
            ),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { warmup: 2, batches: 10, min_time: Duration::ZERO };

    /// 1000 images of 8 x 8 x 3 as numbers of 4 bytes, in batches of 64.
    const IMAGES: Epoch =
        Epoch { elements: 1000, batch: 64, bytes: 768_000, source: 192_000, transforms: true };

    fn ran(elements: u64) -> Ran {
        let samples = vec![1_000_000; 10];
        Ran { elements, wall: samples.iter().sum(), samples, passes: 1, ..Ran::default() }
    }

    fn refused(order: Order, ran: &Ran) -> String {
        let error = IMAGES.check(ran, LIMITS, order).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Work);
        error.to_string()
    }

    #[test]
    fn real_elements_alone_count() {
        IMAGES.check(&ran(640), LIMITS, Order::Kept).expect("ten whole batches");
        // 1000 elements are 15 whole batches and 40: after 8 of warm-up, 7 whole ones and the short one are left.
        let late = Limits { warmup: 8, batches: 8, ..LIMITS };
        IMAGES.check(&ran(7 * 64 + 40), late, Order::Kept).expect("the last is short");
        let caught_up = Ran { caught_up: 3, ..ran(10 * 64) };
        IMAGES.check(&caught_up, LIMITS, Order::Kept).expect("of fifteen, two of warm-up, three and ten");
        let caught_up = Ran { caught_up: 4, ..ran(9 * 64 + 40) };
        IMAGES.check(&caught_up, LIMITS, Order::Kept).expect("the last of sixteen is short");
        let said = refused(Order::Kept, &ran(650));
        assert!(said.contains("counted 650 elements") && said.contains("640 at most"), "{said}");
        let said = refused(Order::Kept, &ran(576));
        assert!(said.contains("which hold 640: padding"), "{said}");
        for order in [Order::Lost, Order::Kept] {
            let around = Ran { ran_out: true, ..ran(576) };
            IMAGES.check(&around, LIMITS, order).expect("where the epoch ended is not known");
        }
        assert!(refused(Order::Lost, &ran(641)).contains("640 at most"));
    }

    #[test]
    fn a_pass_has_several_lumps_of_batches_or_all_but_one_of_an_epoch_and_never_less_than_was_asked_for() {
        for (lump, batches) in [(3, 12), (4, 15), (64, 15), (u64::MAX, 15)] {
            assert_eq!(IMAGES.limits(LIMITS, lump), Limits { warmup: 0, batches, ..LIMITS });
        }
        for lump in [0, 1, 2] {
            assert_eq!(IMAGES.limits(LIMITS, lump), LIMITS);
        }
        let more = Limits { batches: 40, ..LIMITS };
        assert_eq!(IMAGES.limits(more, 64), more);
        // Two passes: the first without the first batch, the second without the last, which is short.
        let (first, second) = (14 * 64 + 40, 15 * 64);
        let ran = Ran { passes: 2, ..ran(first + second) };
        IMAGES.check(&ran, IMAGES.limits(LIMITS, 64), Order::Kept).expect("all that there is");
    }

    #[test]
    fn passes_beyond_all_measure_are_refused_and_nothing_overflows() {
        let told = Ran { passes: u64::MAX, ..ran(640) };
        assert!(refused(Order::Kept, &told).contains("counted 640 elements"));
    }

    #[test]
    fn an_epoch_that_was_timed_has_all_of_its_elements() {
        let whole = |elements| Whole { elements, batches: 16, ..Whole::default() };
        IMAGES.check_whole(&whole(1000)).expect("all of them");
        let said = IMAGES.check_whole(&whole(990)).unwrap_err();
        assert!(said.kind() == &ErrorKind::Work && said.to_string().contains("990 elements instead of 1000"));
    }

    #[test]
    fn an_epoch_that_is_there_when_the_set_up_is_over_was_prepared_in_it() {
        let (elements, row) = (5_000, 32 * 32 * 3);
        let expected = Epoch { elements, bytes: elements * row * 4, source: elements * row, ..IMAGES };
        let check = |expected: Epoch, grown, set_up| {
            let costs = Costs { set_up: Some(set_up), ..Costs::default() };
            expected.check_set_up(&ran(640), Some(grown), costs)
        };
        let epoch = 10_000_000 * 5_000 / 640;
        let said = check(expected, expected.bytes, 10 * epoch).unwrap_err().to_string();
        assert!(said.contains("prepares its batches in set-up") && said.contains("58 MiB"), "{said}");
        check(expected, expected.source, 10 * epoch).expect("a copy of the data set");
        check(expected, expected.bytes, epoch).expect("an epoch takes as long: nothing is spared");
        let copied = Epoch { source: expected.bytes, ..expected };
        check(copied, 2 * copied.bytes, 6 * epoch).expect("two copies of the data set");
        check(copied, 2 * copied.bytes, 11 * epoch).expect_err("one copy, and an epoch of batches");
        let plain = Epoch { transforms: false, ..expected };
        check(plain, plain.bytes, 10 * epoch).expect("there is nothing to prepare");
    }
}
