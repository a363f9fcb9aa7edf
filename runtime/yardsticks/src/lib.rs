//! What must be optimised although the harness around it is not: fixed work of three kinds, to be measured
//! beside a case; a loop around nothing, which tells what the loop around a body costs; and the loops over
//! delivered bytes by which work is verified.
//!
//! This is a crate of its own, so that it is optimised like the code under test, whichever way the harness
//! around both is built. Nothing in it is generic, and nothing is inlined elsewhere. Whoever uses
//! [weighbridge](https://docs.rs/weighbridge) needs nothing of it.

mod digest;
mod numbers;
mod traits;

pub use digest::{digest, keyed_hashes};
pub use numbers::{Format, Sums, floats, sums};
pub use traits::{ElementShape, TRAITS};

use std::hint::black_box;

/// Bytes that [`touch`] asks for. More than 32 MiB, the most up to which glibc raises its own limits when
/// such memory is given back: the yardstick must not change how the case's memory is served. What is not
/// touched costs nothing.
const ASKED: usize = 34 << 20;

/// A loop around nothing, as a loop around a body is: each time a word is stored, as a result is that must be
/// kept. A constant would be stored as well.
#[inline(never)]
pub fn nothing(iterations: u64) {
    for _ in 0..iterations {
        black_box(0_u64);
    }
}

/// So many steps of arithmetic, of which each needs the product of the one before: nothing overlaps.
///
/// ```
/// assert_ne!(weighbridge_yardsticks::chain(1_000), weighbridge_yardsticks::chain(1_001));
/// ```
#[inline(never)]
pub fn chain(steps: u64) -> u64 {
    let mut value = 1u64;
    for _ in 0..steps {
        value = (value ^ (value >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    value
}

/// Copies the numbers and sorts the copy, so many times.
///
/// # Panics
/// If the two have not the same length.
#[inline(never)]
pub fn sort(numbers: &[u64], sorted: &mut [u64], times: usize) {
    for _ in 0..times {
        sorted.copy_from_slice(numbers);
        black_box(&mut *sorted).sort_unstable();
    }
}

/// Takes fresh memory, writes so many bytes of it, reads them so many times, and gives it back. `false` where
/// so much memory may not be asked for (34 MiB, most of it untouched).
#[inline(never)]
pub fn touch(bytes: usize, reads: usize) -> bool {
    let mut words: Vec<u64> = Vec::new();
    if words.try_reserve_exact(ASKED / 8).is_err() {
        return false;
    }
    words.resize(bytes / 8, 3);
    let mut sum = 0u64;
    for _ in 0..reads {
        for word in black_box(&words) {
            sum = sum.wrapping_add(*word);
        }
    }
    black_box(sum);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_does_not_run_into_a_fixed_point() {
        let ends: Vec<u64> = (1_000..1_004).map(chain).collect();
        assert!(ends.windows(2).all(|pair| pair[0] != pair[1]), "{ends:?}");
        assert!(chain(300_000) > 1 << 40);
    }

    #[test]
    fn numbers_are_sorted_and_those_they_come_from_stay() {
        let numbers = [3, 1, 2];
        let mut sorted = [0; 3];
        sort(&numbers, &mut sorted, 2);
        assert_eq!((numbers, sorted), ([3, 1, 2], [1, 2, 3]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_given_back() {
        // Pages of address space.
        let taken = || -> u64 {
            let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
            statm.split(' ').next().unwrap().parse().unwrap()
        };
        let before = taken();
        assert!((0..100).all(|_| touch(64 << 10, 1)));
        let more = taken().saturating_sub(before) * 4096;
        assert!(more < 10 * ASKED as u64, "{more} bytes after a hundred times {ASKED}");
    }
}
