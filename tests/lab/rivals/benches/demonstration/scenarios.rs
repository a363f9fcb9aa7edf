//! The bodies as scenarios.

use weighbridge::prelude::*;

use crate::bodies;

/// A loop with nothing in it.
#[scenario(id = "DEMO-1", category = "Demonstration")]
fn empty(bencher: &mut Bencher) {
    bencher.iter(bodies::empty());
}

/// A chain of a few dependent multiplications.
#[scenario(id = "DEMO-2", category = "Demonstration")]
fn nanoseconds(bencher: &mut Bencher) {
    bencher.iter(bodies::nanoseconds(bencher.seed()));
}

/// Sum of a page of numbers, one after the other.
#[scenario(id = "DEMO-3", category = "Demonstration")]
fn microsecond(bencher: &mut Bencher) {
    bencher.iter(bodies::microsecond(bencher.seed(), bodies::NUMBERS));
}

/// Sort a copy of a few thousand numbers.
#[scenario(id = "DEMO-4", category = "Demonstration")]
fn hundred_microseconds(bencher: &mut Bencher) {
    bencher.iter(bodies::hundred_microseconds(bencher.seed()));
}

/// Many blocks of all sizes, made, written and given back.
#[scenario(id = "DEMO-5", category = "Demonstration")]
fn allocations(bencher: &mut Bencher) {
    bencher.iter(bodies::allocations(bencher.seed()));
}

/// Turns for about a millisecond.
#[scenario(id = "DEMO-6", category = "Demonstration")]
fn spin(bencher: &mut Bencher) {
    bencher.iter(bodies::spin(bencher.seed(), bodies::TURNS));
}

/// Print a number and read it back.
#[scenario(id = "DEMO-7", category = "Demonstration")]
fn text(bencher: &mut Bencher) {
    bencher.iter(bodies::text(bencher.seed()));
}

/// Count words in a tree.
#[scenario(id = "DEMO-8", category = "Demonstration")]
fn words(bencher: &mut Bencher) {
    bencher.iter(bodies::words(bencher.seed()));
}
