//! What is done with a finished batch: its elements are mixed with each other.

use weighbridge::Dtype;
use weighbridge_data::{Batch, Draw, Draws};

use super::buffer::Buffers;
use super::elements::{exp, ln64};
use crate::workload::MixRule;

/// Mixes a batch whose first element has this index.
pub(super) fn mix(mixing: MixRule, draws: Draws, first: usize, batch: &mut Buffers) {
    let draw = draws.at(first as u64, MixRule::POSITION);
    let lambda = beta(draw, mixing.alpha());
    for field in 0..batch.kinds().len() {
        let kind = &batch.kinds()[field];
        match mixing {
            MixRule::MixUp { .. } if kind.dtype == Dtype::F32 => {
                let (bytes, row) = batch.rows_mut(field);
                blend(bytemuck::cast_slice_mut(bytes), row / 4, lambda as f32);
            }
            MixRule::CutMix { .. } => {
                let [rows, columns, channels] = kind.shape[..] else { continue };
                let pixel = channels * kind.dtype.size();
                let (bytes, row) = batch.rows_mut(field);
                exchange(bytes, row, Rectangle::draw(draw, rows, columns, lambda), columns * pixel, pixel);
            }
            MixRule::MixUp { .. } => {}
        }
    }
}

/// A draw from Beta(alpha, alpha), by Jöhnk's method.
fn beta(draw: Draw, alpha: f64) -> f64 {
    const HALF_STEP: f64 = 1.0 / (1_u64 << 54) as f64;
    for k in 0..MixRule::TRIES {
        let power = |number| exp(ln64(draw.unit(number) + HALF_STEP) / alpha);
        let (x, y) = (power(2 * k), power(2 * k + 1));
        let sum = x + y;
        if sum > 0.0 && sum <= 1.0 {
            return x / sum;
        }
    }
    0.5
}

/// Each element and its partner: a weighted sum of both, in both places.
fn blend(numbers: &mut [f32], row: usize, a: f32) {
    let c = 1.0 - a;
    each_pair(numbers, row, |one, other| {
        for (x, y) in one.iter_mut().zip(other) {
            (*x, *y) = (a * *x + c * *y, a * *y + c * *x);
        }
    });
    if row > 0 && (numbers.len() / row) % 2 == 1 {
        // The one in the middle is its own partner.
        let middle = numbers.len() / row / 2;
        for x in &mut numbers[middle * row..][..row] {
            *x = a * *x + c * *x;
        }
    }
}

/// Bytes of each row of pixels that are exchanged.
struct Rectangle {
    top: usize,
    bottom: usize,
    left: usize,
    right: usize,
}

impl Rectangle {
    fn draw(draw: Draw, rows: usize, columns: usize, lambda: f64) -> Self {
        let share = (1.0 - lambda).sqrt();
        let span = |whole: usize, number: u64| {
            let length = (whole as f64 * share).floor() as usize;
            let start = draw.below(number, whole as u64) as i64 - (length / 2) as i64;
            let end = (start + length as i64).min(whole as i64);
            (start.max(0) as usize, end as usize)
        };
        let ((top, bottom), (left, right)) =
            (span(rows, 2 * MixRule::TRIES), span(columns, 2 * MixRule::TRIES + 1));
        Self { top, bottom, left, right }
    }
}

/// Each element and its partner exchange a rectangle.
fn exchange(bytes: &mut [u8], element: usize, rectangle: Rectangle, row: usize, pixel: usize) {
    let Rectangle { top, bottom, left, right } = rectangle;
    each_pair(bytes, element, |one, other| {
        for number in top..bottom {
            let span = number * row + left * pixel..number * row + right * pixel;
            one[span.clone()].swap_with_slice(&mut other[span]);
        }
    });
}

/// Element `i` with element `n - 1 - i`, each pair once.
fn each_pair<T>(all: &mut [T], row: usize, mut both: impl FnMut(&mut [T], &mut [T])) {
    let (first, second) = all.split_at_mut(all.len() / 2);
    if row > 0 {
        for (one, other) in first.chunks_exact_mut(row).zip(second.rchunks_exact_mut(row)) {
            both(one, other);
        }
    }
}
