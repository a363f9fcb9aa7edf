//! What the machine could do at best, by name: nothing is guessed.

use std::time::{Duration, Instant};

use ndarray::Array2;
use weighbridge::{Bencher, Direction, Unit};

use crate::workload::model::Flops;

/// The metric that has the share of a peak.
pub const MFU: &str = "MFU";

/// The metric that has the peak.
pub const PEAK: &str = "peak";

/// Operations in a second that this machine did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak(f64);

/// Peaks that papers take shares of, by the name that they have there: operations in a second, dense.
pub const PAPER_PEAKS: &[(&str, f64)] = &[("H100 SXM, bf16, dense", 989e12)];

/// Rows and columns of the matrices whose product is timed.
const SIDE: usize = 1_024;

/// For how long products are tried.
const TRIED: Duration = Duration::from_millis(150);

impl Peak {
    /// What was done.
    pub const NAME: &str = "a product of 1024x1024 matrices of f32 by ndarray on all processors";

    /// The best of some products of square matrices of `f32`, on all processors, by the library that the native trainer has.
    pub(super) fn measure() -> Self {
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
        Self(2.0 * (SIDE as f64).powi(3) / best)
    }

    /// Tells the peak, and the share of it that steps of so many samples are.
    pub(super) fn tell(self, bencher: &Bencher, flops: &Flops, batch: usize, steps: &[Duration]) {
        let mean = steps.iter().map(Duration::as_secs_f64).sum::<f64>() / steps.len().max(1) as f64;
        bencher.metric(PEAK, self.0, Unit::FLOPS, Direction::Information);
        let share = flops.utilisation(batch as f64 / mean, self.0);
        bencher.metric(MFU, share, Unit::RATIO, Direction::Information);
    }
}
