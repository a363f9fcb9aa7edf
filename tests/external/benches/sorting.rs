//! Its own contract, two adapters, one scenario.

#![forbid(unsafe_code)]

use weighbridge::prelude::*;
use weighbridge::WorkReport;

/// What the scenario asks of a sorter.
trait Sorter {
    fn sort(&mut self, numbers: &mut [u64]);
}

#[derive(Default)]
struct Stable;

/// The standard library's merge sort.
#[adapter(name = "stable", tier = 0)]
impl Sorter for Stable {
    fn sort(&mut self, numbers: &mut [u64]) {
        external::stable(numbers);
    }
}

#[derive(Default)]
struct Unstable;

/// The standard library's quicksort.
#[adapter(name = "unstable")]
impl Sorter for Unstable {
    fn sort(&mut self, numbers: &mut [u64]) {
        external::unstable(numbers);
    }
}

fn numbers(len: usize, seed: u64) -> Vec<u64> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 1
    };
    (0..len).map(|_| next()).collect()
}

/// Sort a vector of drawn integers.
#[scenario(id = "SORT-1", category = "Algorithms")]
fn sort(bencher: &mut Bencher, sorter: &mut dyn Sorter, #[sweep(1_000, 20_000)] len: usize) {
    bencher.work(WorkReport { ran_on: "cpu".into(), ..WorkReport::default() });
    bencher.elements(len).iter_verified(
        |drawn| numbers(len, drawn),
        |mut numbers| {
            sorter.sort(&mut numbers);
            numbers
        },
    );
}

/// Sum a vector: an ordinary benchmark, without a contract.
#[scenario(id = "SUM-1", category = "Algorithms")]
fn sum(bencher: &mut Bencher, #[sweep(short = 1_000, long = 1_000_000)] len: usize) {
    let input = numbers(len, bencher.seed());
    bencher.elements(len).iter(|| input.iter().fold(0u64, |sum, number| sum.wrapping_add(*number)));
}

weighbridge::main!();
