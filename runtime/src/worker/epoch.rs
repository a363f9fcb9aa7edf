//! What follows from what a pipeline must deliver in an epoch: how much of it is measured, and what a worker
//! may say of it.

use std::time::Duration;

use crate::bencher::{Budget, ExpectedEpoch};

/// A worker's times may be beyond those of this process by so much: the two clocks are read one after the
/// other.
pub(super) const SLACK: Duration = Duration::from_millis(1);

/// The number of chunks of batches a pass has at least, where none is a call. A choice.
const CHUNKS: u64 = 4;

/// The budget with which a pass has several chunks of batches that are made at a time, from the first batch
/// on: what each pass makes is in its samples then. The last batch of an epoch stays out, since the first of
/// a process always does. Those that were asked for where they reach as far, or further than the epoch. A
/// pass that is one call (`whole_pass`) is one chunk.
pub(super) fn budget(expected: &ExpectedEpoch, asked: Budget, chunk: u64, whole_pass: bool) -> Budget {
    let all = expected.batches().saturating_sub(1);
    let chunks = if whole_pass { 1 } else { CHUNKS };
    let batches = chunk.saturating_mul(chunks).min(all);
    if batches <= asked.batches { asked } else { Budget { warmup: 0, batches, ..asked } }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget { warmup: 2, batches: 10, min_time: Duration::ZERO, max_time: None };

    /// 1000 images of 8 x 8 x 3 as numbers of 4 bytes, in batches of 64.
    const IMAGES: ExpectedEpoch = ExpectedEpoch {
        elements: 1000,
        batch: 64,
        bytes: 768_000,
        source: 192_000,
        transforms: true,
        in_order: true,
        in_memory: true,
        makers: 1,
        keeps: false,
        renewed: false,
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
}
