//! Loops of an author's own that lie about their time.

use std::hint::black_box;
use std::time::{Duration, Instant};

use weighbridge::prelude::*;

/// Some microseconds of arithmetic.
fn body() -> u64 {
    (0..10_000).fold(1, |state: u64, turn| black_box(state.wrapping_mul(31) ^ turn))
}

/// A loop of the author's own, honest or not.
#[scenario(id = "LOOP-1", category = "Lies", equivalence = none)]
fn custom_loop(
    bencher: &mut Bencher,
    #[sweep("timed-loop", "ignores-iterations", "no-time", "all-time")] tells: &'static str,
) {
    bencher.iter_custom(|iterations| {
        let start = Instant::now();
        // No time for as many as are asked for would take forever: the harness asks for more until a block
        // takes some.
        let turns = if tells == "timed-loop" { iterations } else { 1 };
        for _ in 0..turns {
            black_box(body());
        }
        match tells {
            "no-time" => Duration::ZERO,
            "all-time" => Duration::MAX,
            _ => start.elapsed(),
        }
    });
}
