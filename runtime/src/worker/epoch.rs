//! What follows from what a pipeline must deliver in an epoch: how much of it is measured, and what a worker may say of it.

use std::time::Duration;

use crate::bencher::{Budget, Error, ErrorKind, Expected, Result};

/// A worker's times may be beyond those of this process by so much: the two clocks are read one after the other.
pub(super) const SLACK: Duration = Duration::from_millis(1);

/// How many chunks of batches a pass has at least, where none is a call. A choice.
const CHUNKS: u64 = 4;

/// Rows that are padded to the longest of their batch may have so many times the bytes of the specification's at most.
const PADDED: u64 = 4;

/// The budget with which a pass has several chunks of batches that are made at a time, from the first batch on: what each
/// pass makes is in its samples then. The last batch of an epoch stays out, since the first of a process always does. Those
/// that were asked for where they reach as far, or further than the epoch. A pass that is one call (`whole_pass`) is one chunk.
pub(super) fn budget(expected: &Expected, asked: Budget, chunk: u64, whole_pass: bool) -> Budget {
    let all = expected.batches().saturating_sub(1);
    let chunks = if whole_pass { 1 } else { CHUNKS };
    let batches = chunk.saturating_mul(chunks).min(all);
    if batches <= asked.batches { asked } else { Budget { warmup: 0, batches, ..asked } }
}

/// Elements have the bytes that the specification gives them.
pub(super) fn check_bytes(expected: &Expected, elements: u64, bytes: u64) -> Result<()> {
    let row = expected.bytes.div_ceil(expected.elements.max(1));
    if elements.checked_mul(row * PADDED).is_some_and(|most| bytes <= most) {
        return Ok(());
    }
    let what = format!("the worker claims {bytes} bytes in {elements} elements, which have {row} each");
    Err(Error::of(ErrorKind::Work, what))
}

/// An epoch has the elements and batches that it must; a part of it no more.
pub(super) fn check_epoch(expected: &Expected, elements: u64, batches: u64, whole: bool) -> Result<()> {
    let (all, most) = (expected.elements, batches.saturating_mul(expected.batch));
    let right = if whole { elements == all } else { elements <= all };
    if right && batches <= expected.most_batches() && elements <= most {
        return Ok(());
    }
    let what = format!(
        "the epoch that was timed has {elements} elements in {batches} batches instead of {all} in {}",
        expected.batches()
    );
    Err(Error::of(ErrorKind::Work, what))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { warmup: 2, batches: 10, min_time: Duration::ZERO, max_time: None };

    /// 1000 images of 8 x 8 x 3 as numbers of 4 bytes, in batches of 64.
    const IMAGES: Expected = Expected {
        elements: 1000,
        batch: 64,
        bytes: 768_000,
        source: 192_000,
        transforms: true,
        in_order: true,
        in_memory: true,
        makers: 1,
        keeps: false,
    };

    #[test]
    fn a_pass_has_several_chunks_of_batches_or_all_but_one_of_an_epoch_and_never_less_than_was_asked_for() {
        for (chunk, batches) in [(3, 12), (4, 15), (64, 15), (u64::MAX, 15)] {
            assert_eq!(budget(&IMAGES, BUDGET, chunk, false), Budget { warmup: 0, batches, ..BUDGET });
        }
        for chunk in [0, 1, 2] {
            assert_eq!(budget(&IMAGES, BUDGET, chunk, false), BUDGET);
        }
        let more = Budget { batches: 40, ..BUDGET };
        assert_eq!(budget(&IMAGES, more, 64, false), more);
    }

    #[test]
    fn a_pass_in_one_call_has_as_many_batches_as_the_system_takes_at_best() {
        for (chunk, batches) in [(12, 12), (64, 15)] {
            assert_eq!(budget(&IMAGES, BUDGET, chunk, true), Budget { warmup: 0, batches, ..BUDGET });
        }
        assert_eq!(budget(&IMAGES, BUDGET, 9, true), BUDGET);
    }

    #[test]
    fn an_epoch_that_was_timed_has_all_of_its_elements_and_a_part_no_more() {
        check_epoch(&IMAGES, 1000, 16, true).expect("all of them");
        check_epoch(&IMAGES, 640, 10, false).expect("a part");
        for (elements, batches, whole) in
            [(990, 16, true), (1001, 16, false), (641, 10, false), (1000, 17, true)]
        {
            let said = check_epoch(&IMAGES, elements, batches, whole).unwrap_err();
            assert!(said.to_string().contains("instead of 1000 in 16"), "{said}");
        }
        let by_three = Expected { in_order: false, makers: 3, ..IMAGES };
        check_epoch(&by_three, 1000, 18, true).expect("each of three ends with a short batch");
        check_epoch(&by_three, 1000, 19, true).expect_err("and no batch besides");
        check_epoch(&Expected { in_order: true, ..by_three }, 1000, 17, true)
            .expect_err("in order there is one");
        assert!(check_epoch(&IMAGES, u64::MAX, u64::MAX, false).is_err(), "and nothing wraps");
    }

    #[test]
    fn bytes_are_those_of_the_specification() {
        check_bytes(&IMAGES, 640, 640 * 768).expect("its own");
        check_bytes(&IMAGES, 640, 640 * 768 * 2).expect("padded");
        for (elements, bytes) in [(640, u64::MAX), (u64::MAX, 1), (0, 1)] {
            assert!(check_bytes(&IMAGES, elements, bytes).is_err(), "{bytes} bytes");
        }
    }
}
