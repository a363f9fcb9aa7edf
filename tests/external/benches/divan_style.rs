//! A bench file in divan's style, as it would stand in a crate that uses divan.

use std::collections::{BTreeSet, HashSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use divan::counter::{BytesCount, CharsCount, CyclesCount, ItemsCount};
use divan::{AllocProfiler, Bencher, black_box, black_box_drop};

#[global_allocator]
static ALLOC: AllocProfiler = AllocProfiler::system();

fn main() {
    divan::main();
}

const LENS: &[usize] = &[10, 100];
const SIZES: [usize; 3] = [1, 2, 4];

fn fibonacci(n: u64) -> u64 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

#[divan::bench]
fn plain() -> u64 {
    fibonacci(black_box(10))
}

/// A vector of so many numbers.
#[divan::bench(args = LENS, sample_count = 30)]
fn init(len: usize) -> Vec<usize> {
    (0..len).collect()
}

#[divan::bench(name = "renamed", args = [1, 3, black_box(5)])]
fn named(bencher: Bencher, n: u64) {
    bencher.counter(n).bench_local(|| fibonacci(n));
}

#[derive(Debug)]
enum Case {
    Upper,
    Lower,
}

#[divan::bench(args = [Case::Upper, Case::Lower], counter = CharsCount::of_str("Grün"))]
fn letters(case: &Case) -> String {
    match case {
        Case::Upper => black_box("Grün").to_uppercase(),
        Case::Lower => black_box("Grün").to_lowercase(),
    }
}

fn words() -> impl Iterator<Item = String> {
    ["one", "two"].into_iter().map(str::to_owned)
}

#[divan::bench(args = words(), bytes_count = 3)]
fn text(word: &str) -> usize {
    black_box(word).chars().filter(|letter| *letter == 'o').count()
}

#[divan::bench(types = [&str, String])]
fn from_text<'a, T: From<&'a str>>() -> T {
    black_box("hello world").into()
}

#[divan::bench(types = [Vec<i32>, BTreeSet<i32>, HashSet<i32>], args = [4, 64])]
fn collect<T: FromIterator<i32>>(n: i32) -> T {
    (0..n).collect()
}

#[divan::bench(consts = SIZES)]
fn zeros<const N: usize>() -> [u64; N] {
    [black_box(0); N]
}

#[divan::bench(types = [u8, u64], consts = [2, 1 + 2])]
fn both<T: Default + Copy, const N: usize>(bencher: Bencher<'_, '_>) {
    bencher.counter(BytesCount::of_many::<T>(N)).bench(|| [T::default(); N]);
}

mod shared {
    use super::*;

    static HITS: AtomicU64 = AtomicU64::new(0);

    #[divan::bench(threads = [1, 2], cycles_count = 1, max_time = 2)]
    fn count() {
        HITS.fetch_add(1, Ordering::Relaxed);
    }

    #[divan::bench(threads = 2, sample_size = 16)]
    fn push(bencher: Bencher) {
        let list = Mutex::new(Vec::new());
        bencher
            .with_inputs(|| String::from("word"))
            .input_counter(|word| BytesCount::of_str(word))
            .bench_values(|word| {
                let mut list = list.lock().unwrap();
                list.clear();
                list.push(word);
            });
    }

    #[divan::bench(threads = [1, 2])]
    fn local(bencher: Bencher) {
        bencher.bench_local(|| fibonacci(black_box(5)));
    }
}

#[divan::bench_group(
    name = "sort",
    sample_size = 8,
    min_time = 0.05,
    max_time = Duration::from_secs(2),
    skip_ext_time
)]
mod sorting {
    use super::{Bencher, ItemsCount};

    fn numbers() -> Vec<u64> {
        (0..200_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
    }

    #[divan::bench(counters = [ItemsCount::new(200_u32), divan::counter::BytesCount::u64(200)])]
    fn stable(bencher: Bencher) {
        bencher.with_inputs(numbers).bench_refs(|numbers| numbers.sort());
    }

    #[divan::bench(sample_size = 4)]
    fn unstable(bencher: Bencher) {
        bencher.with_inputs(numbers).bench_local_refs(|numbers| numbers.sort_unstable());
    }

    #[divan::bench]
    fn counted(bencher: Bencher) {
        let mut next = 0;
        bencher
            .with_inputs(|| {
                next += 1;
                next % 7
            })
            .count_inputs_as::<ItemsCount>()
            .bench_local_values(|n: u64| (0..n).for_each(divan::black_box_drop));
    }

    #[divan::bench]
    #[ignore]
    fn by_attribute() {
        unimplemented!()
    }
}

#[divan::bench(ignore = std::env::var_os("NO_SUCH_VARIABLE").is_none())]
fn by_option() {
    unimplemented!()
}

#[divan::bench]
fn lent(bencher: Bencher) {
    let text = String::from("of this function alone");
    let words: Vec<&str> = text.split(' ').collect();
    bencher
        .counter(CyclesCount::new(1_u8))
        .with_inputs(|| words.clone())
        .bench_values(|words| black_box_drop(words));
}
