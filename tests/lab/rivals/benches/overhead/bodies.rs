//! What is timed: nothing, and a few nanoseconds of dependent work.

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};

use crate::table::median;

/// The bodies, by the names that they have on every side.
pub const NAMES: [&str; 2] = ["empty", "few_ns"];

/// A body of five multiplications with a mix between them, each waiting for the one before and the first for
/// the last of the call before: neither the compiler (which would fold multiply-adds into one) nor the
/// processor can overlap them.
pub fn few_ns() -> impl FnMut() -> u64 {
    let mut value = black_box(42);
    move || {
        value = five(value);
        value
    }
}

/// Never inlined, so that all harnesses time the same code.
#[inline(never)]
fn five(input: u64) -> u64 {
    (0..5).fold(input, |value, _| value.wrapping_mul(6_364_136_223_846_793_005) ^ (value >> 32))
}

/// Nanoseconds per iteration of a plain loop around the named body: 1e8 iterations in a hundred loops, of
/// which the median counts, since on a shared machine some are interrupted. With `hidden` each result goes
/// through [`black_box`], as in every harness, which puts it on the stack; without, only the last.
pub fn by_hand(name: &str, hidden: bool) -> f64 {
    const LOOPS: usize = 100;
    const ITERATIONS: u32 = 1_000_000;
    let time = |_| {
        let start = Instant::now();
        let mut body = few_ns();
        match (name, hidden) {
            ("empty", _) => (0..ITERATIONS).for_each(|_| black_box(())),
            (_, true) => (0..ITERATIONS).for_each(|_| {
                black_box(body());
            }),
            (_, false) => {
                black_box((0..ITERATIONS).fold(0, |_, _| body()));
            }
        }
        start.elapsed().as_nanos() as f64 / f64::from(ITERATIONS)
    };
    median(&(0..LOOPS).map(time).collect::<Vec<_>>())
}

/// The time now as every process tells it: nanoseconds since the Unix epoch.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.expect("the clock is set to after 1970").as_nanos() as u64
}

/// When a body was called: what it needs to know of itself, so that no harness has to tell.
#[derive(Debug, Default)]
pub struct Stamps(Vec<u64>);

impl Stamps {
    /// Notes a call, and takes as long as makes every harness put one iteration into a sample.
    pub fn call(&mut self) {
        self.0.push(now());
        let start = Instant::now();
        while start.elapsed() < Duration::from_micros(100) {}
    }

    /// Leaves the calls in a file of their own where [`start`](crate::start) looks for them.
    pub fn leave(self) {
        let Some(first) = self.0.first() else { return };
        let Some(directory) = std::env::var_os(STAMPS) else { return };
        let lines: Vec<String> = self.0.iter().map(u64::to_string).collect();
        let path = std::path::Path::new(&directory).join(first.to_string());
        std::fs::write(path, lines.join("\n")).expect("the directory is ours");
    }
}

/// The variable that says where [`Stamps`] are left.
pub const STAMPS: &str = "OVERHEAD_STAMPS";
