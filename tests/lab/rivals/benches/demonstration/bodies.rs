//! The bodies, each made by a function that prepares what it works on: whoever times them, the code is the
//! same.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::num::ParseFloatError;

/// How many numbers [`microsecond`] sums.
pub const NUMBERS: usize = 1024;

/// How often [`spin`] turns.
pub const TURNS: usize = 800_000;

/// Nothing.
pub fn empty() -> impl FnMut() {
    || ()
}

/// A chain of a few dependent multiplications.
pub fn nanoseconds(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        for _ in 0..4 {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        }
        state
    }
}

/// Sum of as many numbers, one after the other.
pub fn microsecond(seed: u64, len: usize) -> impl FnMut() -> u64 {
    let numbers = numbers(len, seed);
    move || black_box(&numbers).iter().fold(0u64, |sum, number| (sum ^ number).wrapping_mul(3))
}

/// Sort a copy of a few thousand numbers.
pub fn hundred_microseconds(seed: u64) -> impl FnMut() -> u64 {
    let numbers = numbers(4000, seed);
    let mut copy = numbers.clone();
    move || {
        copy.copy_from_slice(black_box(&numbers));
        copy.sort_unstable();
        copy[0]
    }
}

/// Many blocks of all sizes, made, written and given back.
pub fn allocations(seed: u64) -> impl FnMut() -> u64 {
    let sizes: Vec<usize> = numbers(1200, seed).iter().map(|number| (number % 8192) as usize + 16).collect();
    move || {
        let blocks: Vec<Vec<u8>> = sizes.iter().map(|size| vec![1; *size]).collect();
        black_box(blocks).iter().map(|block| u64::from(block[block.len() - 1])).sum::<u64>()
            + black_box(vec![1u8; 6 << 20]).iter().step_by(4096).map(|byte| u64::from(*byte)).sum::<u64>()
    }
}

/// As many turns.
pub fn spin(seed: u64, turns: usize) -> impl FnMut() -> u64 {
    let mut state = seed | 1;
    move || {
        for _ in 0..turns {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        }
        state
    }
}

/// Print a number and read it back.
pub fn text(seed: u64) -> impl FnMut() -> Result<f64, ParseFloatError> {
    let number = seed as f64 / 3.0;
    move || black_box(number).to_string().parse::<f64>()
}

/// Count words in a tree.
pub fn words(seed: u64) -> impl FnMut() -> usize {
    let words: Vec<String> = numbers(300, seed).iter().map(|number| format!("w{}", number % 97)).collect();
    move || {
        let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
        for word in black_box(&words) {
            *counts.entry(word).or_default() += 1;
        }
        counts.len()
    }
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
