//! Bodies of known kinds, for `cargo xtask calibrate --evidence`: what a comparison finds, and what it imagines.
//!
//! Six were there while the rule was chosen. `DEMO-7` and `DEMO-8` were not looked at before it was frozen.

use std::collections::BTreeMap;
use std::hint::black_box;

use weighbridge::prelude::*;

/// A loop with nothing in it.
#[scenario(id = "DEMO-1", category = "Demonstration")]
fn empty(bencher: &mut Bencher) {
    bencher.iter(|| ());
}

/// A chain of a few dependent multiplications.
#[scenario(id = "DEMO-2", category = "Demonstration")]
fn nanoseconds(bencher: &mut Bencher) {
    let mut state = bencher.seed() | 1;
    bencher.iter(|| {
        for _ in 0..4 {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        }
        state
    });
}

/// Sum of a page of numbers, one after the other.
#[scenario(id = "DEMO-3", category = "Demonstration")]
fn microsecond(bencher: &mut Bencher) {
    let numbers = numbers(1024, bencher.seed());
    bencher.iter(|| black_box(&numbers).iter().fold(0u64, |sum, number| (sum ^ number).wrapping_mul(3)));
}

/// Sort a copy of a few thousand numbers.
#[scenario(id = "DEMO-4", category = "Demonstration")]
fn hundred_microseconds(bencher: &mut Bencher) {
    let numbers = numbers(4000, bencher.seed());
    let mut copy = numbers.clone();
    bencher.iter(|| {
        copy.copy_from_slice(black_box(&numbers));
        copy.sort_unstable();
        copy[0]
    });
}

/// Many blocks of all sizes, made, written and given back.
#[scenario(id = "DEMO-5", category = "Demonstration")]
fn allocations(bencher: &mut Bencher) {
    let sizes: Vec<usize> =
        numbers(1200, bencher.seed()).iter().map(|number| (number % 8192) as usize + 16).collect();
    bencher.iter(|| {
        let blocks: Vec<Vec<u8>> = sizes.iter().map(|size| vec![1; *size]).collect();
        black_box(blocks).iter().map(|block| u64::from(block[block.len() - 1])).sum::<u64>()
            + black_box(vec![1u8; 6 << 20]).iter().step_by(4096).map(|byte| u64::from(*byte)).sum::<u64>()
    });
}

/// Turns for about a millisecond.
#[scenario(id = "DEMO-6", category = "Demonstration")]
fn spin(bencher: &mut Bencher) {
    let mut state = bencher.seed() | 1;
    bencher.iter(|| {
        for _ in 0..800_000 {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        }
        state
    });
}

/// Print a number and read it back.
#[scenario(id = "DEMO-7", category = "Demonstration")]
fn text(bencher: &mut Bencher) {
    let number = bencher.seed() as f64 / 3.0;
    bencher.iter(|| black_box(number).to_string().parse::<f64>());
}

/// Count words in a tree.
#[scenario(id = "DEMO-8", category = "Demonstration")]
fn words(bencher: &mut Bencher) {
    let words: Vec<String> =
        numbers(300, bencher.seed()).iter().map(|number| format!("w{}", number % 97)).collect();
    bencher.iter(|| {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for word in black_box(&words) {
            *counts.entry(word).or_default() += 1;
        }
        counts.len()
    });
}

/// Drawn numbers (Marsaglia's xorshift).
fn numbers(len: usize, seed: u64) -> Vec<u64> {
    let mut state = seed | 1;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..len).map(|_| draw()).collect()
}

weighbridge::main!();
