//! How fast this machine copies what lies in its caches: no batch of one's own is made faster than it is
//! copied.

use std::hint::black_box;
use std::time::Duration;

use super::Bencher;
use crate::device::{Clock, has_gpu_open, page_fault_cost};

/// A copy of so many bytes stays in a cache of each processor's own.
const IN_CACHE: usize = 256 << 10;

/// The number of copies that are timed, and for how long at most.
const COPIES: usize = 64;
const LONGEST: Duration = Duration::from_millis(2);

/// Bytes that are copied by one call. From 4 KiB on the C library uses the processor's string instruction. On
/// AMD's Zen 3 that is twenty times slower if the target lies 16 bytes further in its page than the source,
/// as it does in two allocations that follow each other. (`memcpy` of 102,400 bytes in a C program, glibc
/// 2.36: 2.4 us, and 46 us with those 16 bytes.)
const PART: usize = 2 << 10;

/// Copies that take less are timed together.
const TOGETHER: usize = 64 << 10;

impl Bencher {
    /// Notes how long a copy of a batch takes, what a page fault costs and whether a graphics processor is
    /// open, once a stream has been measured.
    pub(super) fn note_machine(&self) {
        let clock = &self.settings.clock;
        let evidence = &mut self.state.borrow_mut().evidence;
        let batch = |bytes: u64, elements: u64, batch: u64| bytes / elements.max(1) * batch;
        let bytes = evidence.expected.map(|of| batch(of.bytes, of.elements, of.batch));
        evidence.copy = bytes.filter(|bytes| *bytes > 0).map(|bytes| fastest_copy(clock, bytes));
        evidence.page_fault = Some(page_fault_cost().as_nanos() as u64);
        evidence.gpu_open = has_gpu_open();
    }
}

/// Nanoseconds of the fastest copy of so many bytes, from cache to cache: of a larger batch a part is copied,
/// and the time is taken so many times.
pub(super) fn fastest_copy(clock: &Clock, bytes: u64) -> f64 {
    let length = (bytes.max(1) as usize).min(IN_CACHE);
    let from = vec![1_u8; length];
    let mut to = vec![0_u8; length];
    let together = TOGETHER.div_ceil(length);
    let begun = clock.now();
    let mut least = Duration::MAX;
    for _ in 0..COPIES {
        let start = clock.now();
        for _ in 0..together {
            for (to, from) in black_box(&mut *to).chunks_mut(PART).zip(black_box(&*from).chunks(PART)) {
                to.copy_from_slice(from);
                black_box(to);
            }
        }
        least = least.min(clock.now() - start);
        if clock.now() - begun > LONGEST {
            break;
        }
    }
    least.as_nanos() as f64 / together as f64 * (bytes as f64 / length as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_bytes_take_longer_and_a_large_batch_is_taken_in_parts() {
        let clock = Clock::monotonic();
        let (small, large) = (fastest_copy(&clock, 64 << 10), fastest_copy(&clock, 64 << 20));
        assert!(small > 0.0 && large > small, "{small} {large}");
        assert!(fastest_copy(&clock, 0) < small);
    }
}
