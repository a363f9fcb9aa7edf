//! Ordinary bodies, each of which states its truth: as the value `truth` where it is a figure, in its
//! description where it is none. A figure is right within a tenth of it, alone on the machine and beside
//! others.

#![forbid(unsafe_code)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weighbridge::prelude::*;
use weighbridge::{Direction, Unit};

/// States how long one iteration takes, in seconds.
fn truth(bencher: &Bencher, seconds: f64) {
    bencher.metric("truth", seconds, Unit::SECONDS, Direction::Information);
}

/// What an iteration takes in a loop that is timed by hand: the median of many loops, most of which nobody
/// disturbs.
fn by_hand(iterations: u64, mut body: impl FnMut(u64)) -> f64 {
    let begun = Instant::now();
    let mut loops = Vec::new();
    while loops.len() < 10 || begun.elapsed() < Duration::from_millis(200) {
        let start = Instant::now();
        body(black_box(iterations));
        loops.push(start.elapsed().as_secs_f64() / iterations as f64);
    }
    loops.sort_unstable_by(f64::total_cmp);
    loops[loops.len() / 2]
}

/// Sleeps for 1 ms; a sleep is up to 0.1 ms late.
#[scenario(id = "SLEEP-1")]
fn sleep_of_1_ms(bencher: &mut Bencher) {
    truth(bencher, 1.06e-3);
    bencher.iter(|| std::thread::sleep(Duration::from_millis(1)));
}

/// Sleeps for 5 ms.
#[scenario(id = "SLEEP-5")]
fn sleep_of_5_ms(bencher: &mut Bencher) {
    truth(bencher, 5.06e-3);
    bencher.iter(|| std::thread::sleep(Duration::from_millis(5)));
}

/// Sleeps for 1 ms in tokio, whose timer ticks once a millisecond: up to 2 ms pass.
#[scenario(id = "SLEEP-ASYNC")]
async fn sleep_in_tokio(bencher: &mut Bencher) {
    truth(bencher, 2.1e-3);
    bencher.iter_async(async || tokio::time::sleep(Duration::from_millis(1)).await).await;
}

/// Clones and drops an `Arc`, on one thread and on two that share it: then what it takes is for how much of
/// the time they run at once.
#[scenario(id = "ARC-1")]
fn arc_clone(bencher: &mut Bencher, #[sweep(1, 2)] threads: usize) {
    let shared = Arc::new(17);
    if threads == 1 {
        truth(
            bencher,
            by_hand(20_000, |iterations| {
                for _ in 0..iterations {
                    drop(black_box(Arc::clone(&shared)));
                }
            }),
        );
    }
    bencher.iter_threads(threads, |_| {
        let shared = &shared;
        move || drop(black_box(Arc::clone(shared)))
    });
}

/// Adds two constants, which the compiler does: the body takes no time.
#[scenario(id = "FOLDED-1")]
fn constant_folded(bencher: &mut Bencher) {
    truth(bencher, 0.0);
    bencher.iter(|| const { 17u64.pow(3) + 4 });
}

/// Does nothing.
#[scenario(id = "EMPTY-1")]
fn empty(bencher: &mut Bencher) {
    truth(bencher, 0.0);
    bencher.iter(|| ());
}

/// Sleeps for seconds.
#[scenario(id = "SLOW-1")]
fn slow(bencher: &mut Bencher, #[sweep(3, 30)] seconds: u64) {
    truth(bencher, seconds as f64);
    bencher.iter(|| std::thread::sleep(Duration::from_secs(seconds)));
}

/// Computes for 1x to 10x 20 us, drawn for each iteration: 5.5x in the mean.
#[scenario(id = "RANDOM-1")]
fn random(bencher: &mut Bencher) {
    let work = |steps: u64| {
        let chain = |value: u64| (value ^ (value >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..black_box(steps)).fold(1, |value, _| chain(value))
    };
    const STEPS: u64 = 8_000;
    let step = by_hand(20_000, |steps| {
        black_box(work(steps));
    });
    truth(bencher, 5.5 * STEPS as f64 * step);
    let mut state = bencher.seed() | 1;
    bencher.iter(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        work(STEPS * (1 + state % 10))
    });
}

/// Takes 1 KiB of memory and gives it back.
#[scenario(id = "ALLOCATE-1")]
fn allocate(bencher: &mut Bencher) {
    let body = || black_box(Vec::<u8>::with_capacity(black_box(1024)));
    truth(
        bencher,
        by_hand(20_000, |iterations| {
            for _ in 0..iterations {
                drop(body());
            }
        }),
    );
    bencher.iter(body);
}

/// Panics: it has no figure.
#[scenario(id = "PANIC-1")]
fn panic(bencher: &mut Bencher) {
    bencher.iter(|| panic!("as it was asked to"));
}

/// Never inlined: a loop by hand and the harness's are to run the same code.
#[inline(never)]
fn sum(list: &[Box<u64>]) -> u64 {
    (0..100_000).fold(0, |sum, at| sum + *black_box(list)[at % 16])
}

/// Adds up 100,000 numbers of a list of 100,000 boxes; dropping the list takes far longer and is not timed.
#[scenario(id = "DROP-1")]
fn large_drop(bencher: &mut Bencher) {
    let list: Vec<Box<u64>> = (0..100_000).map(Box::new).collect();
    truth(
        bencher,
        by_hand(4, |iterations| {
            for _ in 0..iterations {
                black_box(sum(&list));
            }
        }),
    );
    bencher.iter_batched(
        || list.clone(),
        |list| {
            black_box(sum(&list));
            list
        },
    );
}

weighbridge::main!();
