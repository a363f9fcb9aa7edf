//! Generic scenarios, groups, budgets in code, inputs that are counted: what an ordinary bench may say.

#![forbid(unsafe_code)]
#![deny(clippy::pedantic, clippy::nursery)]

use std::collections::{BTreeMap, HashMap, VecDeque};

use weighbridge::prelude::*;

/// Sum a collection.
#[scenario(id = "SUM-1", types = [Vec<u64>, deque = VecDeque<u64>], consts = [10, 1_000], repeats = 2)]
fn sum<T: FromIterator<u64>, const N: usize>(bencher: &mut Bencher)
where
    for<'a> &'a T: IntoIterator<Item = &'a u64>,
{
    let numbers: T = (0..N as u64).collect();
    bencher.elements(N).iter(|| (&numbers).into_iter().sum::<u64>());
}

const NAMES: [&str; 4] = ["one", "two", "three", "four"];

const fn name(drawn: u64) -> &'static str {
    NAMES[(drawn % 4) as usize]
}

/// Look up in a hash map.
#[scenario(id = "HASHED", group = "Lookup", equivalence = exact)]
fn hashed(bencher: &mut Bencher) {
    let map: HashMap<&str, usize> = NAMES.into_iter().zip(0..).collect();
    bencher.iter_verified(name, |name| map[name]);
}

/// Look up in a tree.
#[scenario(id = "SORTED", group = "Lookup", equivalence = exact)]
fn sorted(bencher: &mut Bencher) {
    let map: BTreeMap<&str, usize> = NAMES.into_iter().zip(0..).collect();
    bencher.iter_verified(name, |name| map[name]);
}

/// Look up in a list, and count from one: another answer.
#[scenario(id = "OTHER", group = "Lookup", equivalence = exact)]
fn other(bencher: &mut Bencher) {
    bencher.iter_verified(name, |name| {
        NAMES.iter().position(|other| *other == name).map_or(0, |place| place + 1)
    });
}

/// Copy a text of a thousand letters.
#[scenario(id = "COPIED", group = "Unproven", samples = 30)]
fn copied(bencher: &mut Bencher) {
    let text = "x".repeat(1_000);
    bencher.iter(|| text.clone());
}

/// Reverse one.
#[scenario(id = "REVERSED", group = "Unproven")]
fn reversed(bencher: &mut Bencher) {
    let text = "x".repeat(1_000);
    bencher.iter(|| text.chars().rev().collect::<String>());
}

/// Count the words of texts of one to a hundred words.
#[scenario(id = "WORDS-1")]
fn words(bencher: &mut Bencher) {
    let mut length = 0;
    let text = || {
        length = length % 100 + 1;
        "word ".repeat(length)
    };
    bencher.batched(text).bytes_of(String::len).at_once(64).iter_ref(|text| text.split(' ').count());
}

#[derive(Sweep)]
struct Options {
    #[sweep(2)]
    step: usize,
}

/// Borrows its options, is measured twice as its body says, and does not like what it sees.
#[scenario(id = "BORROWED-1")]
fn borrowed(bencher: &mut Bencher, options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    bencher.repeats(2);
    bencher.iter(|| (0..100_usize).step_by(options.step).sum::<usize>());
    if bencher.is_smoke() { Ok(()) } else { Err("as it was asked to".into()) }
}

weighbridge::main!();
