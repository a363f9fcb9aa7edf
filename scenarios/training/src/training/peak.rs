//! What the machine could do at best, by name: nothing is guessed.

use std::time::{Duration, Instant};

use ndarray::Array2;

/// The metric that has what [`MEASURED_PEAK`] is.
pub const PEAK: &str = "peak_flops";

/// The work whose rate is the machine's measured peak.
pub const MEASURED_PEAK: &str = "a product of 1024x1024 matrices of f32 by ndarray on all processors";

/// Rows and columns of the matrices whose product is timed.
const SIDE: usize = 1_024;

/// For how long products are tried.
const TRIED: Duration = Duration::from_millis(150);

/// Operations in a second of the fastest of some products of square matrices of `f32`, on all processors, by
/// the library that the trainer by hand has.
pub fn measured_product() -> f64 {
    let numbers = |seed: usize| {
        Array2::from_shape_fn((SIDE, SIDE), |(row, column)| ((row * 31 + column * 17 + seed) % 13) as f32)
    };
    let (left, right) = (numbers(0), numbers(5));
    let mut best = f64::INFINITY;
    let begun = Instant::now();
    while begun.elapsed() < TRIED {
        let start = Instant::now();
        std::hint::black_box(left.dot(&right));
        best = best.min(start.elapsed().as_secs_f64());
    }
    2.0 * (SIDE as f64).powi(3) / best
}
