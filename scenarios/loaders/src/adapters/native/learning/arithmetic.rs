//! The arithmetic of a learning task, forward and back, over all numbers of a batch: what both forms are made
//! of.

use weighbridge_data::Draws;

use crate::adapters::native::elements::corner;
use crate::workload::{LearningTask, Parameters, Transform};

/// Height, width and channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ElementShape {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) channels: usize,
}

impl ElementShape {
    pub(super) fn row(self) -> usize {
        self.columns * self.channels
    }

    pub(super) fn numbers(self) -> usize {
        self.rows * self.row()
    }
}

/// The elements of a batch: where their draws come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WhichElements {
    pub(super) draws: Draws,
    /// The index of the first; the others follow.
    pub(super) first: usize,
}

/// `Normalize`.
pub(super) fn standardise(numbers: &mut [f32], mean: &[f32], scale: &[f32]) {
    for row in numbers.chunks_exact_mut(scale.len()) {
        for ((x, mean), scale) in row.iter_mut().zip(mean).zip(scale) {
            *x = (*x - mean) * scale;
        }
    }
}

/// Back through `Normalize`.
pub(super) fn standardise_back(slopes: &mut [f32], scale: &[f32]) {
    for row in slopes.chunks_exact_mut(scale.len()) {
        for (slope, scale) in row.iter_mut().zip(scale) {
            *slope *= scale;
        }
    }
}

/// The corner of `RandomCrop`'s window for each element of a batch.
pub(super) fn corners(
    which: WhichElements,
    elements: usize,
    position: u64,
    shape: ElementShape,
) -> impl Iterator<Item = (usize, usize)> {
    (0..elements).map(move |element| {
        corner(which.draws.at((which.first + element) as u64, position), shape.rows, shape.columns)
    })
}

/// `RandomCrop`: the window goes to the upper left corner, the rest becomes zeros.
pub(super) fn crop(element: &mut [f32], (top, left): (usize, usize), shape: ElementShape) {
    let (row, kept) = (shape.row(), Transform::crop_window(shape.columns) * shape.channels);
    let rows = Transform::crop_window(shape.rows);
    for to in 0..rows {
        let from = (top + to) * row + left * shape.channels;
        element.copy_within(from..from + kept, to * row);
        element[to * row + kept..(to + 1) * row].fill(0.0);
    }
    element[rows * row..].fill(0.0);
}

/// Back through `RandomCrop`: the upper left corner goes to where it came from, what was cut away has no
/// slope.
pub(super) fn crop_back(element: &mut [f32], (top, left): (usize, usize), shape: ElementShape) {
    let (row, kept) = (shape.row(), Transform::crop_window(shape.columns) * shape.channels);
    let rows = Transform::crop_window(shape.rows);
    // From the last row on: rows move away from the start, so that none is overwritten that is still to be
    // moved.
    for from in (0..rows).rev() {
        let (start, to) = ((top + from) * row, (top + from) * row + left * shape.channels);
        element.copy_within(from * row..from * row + kept, to);
        element[start..to].fill(0.0);
        element[to + kept..start + row].fill(0.0);
    }
    element[..top * row].fill(0.0);
    element[(top + rows) * row..].fill(0.0);
}

/// Scale and bias for each channel.
pub(super) fn affine(numbers: &mut [f32], parameters: &Parameters) {
    let Parameters { scale, bias } = parameters;
    for pixel in numbers.chunks_exact_mut(scale.len()) {
        for ((x, scale), bias) in pixel.iter_mut().zip(scale).zip(bias) {
            *x = *x * scale + bias;
        }
    }
}

/// Back through [`affine`], given what went into it. The sums are in `f64`, so that a large batch loses
/// nothing.
pub(super) fn affine_back(
    slopes: &mut [f32],
    before: &[f32],
    parameters: &Parameters,
    gradient: &mut Parameters,
) {
    let channels = parameters.scale.len();
    let mut sums = vec![(0.0_f64, 0.0_f64); channels];
    for (pixel, before) in slopes.chunks_exact_mut(channels).zip(before.chunks_exact(channels)) {
        for (((slope, x), scale), (of_scale, of_bias)) in
            pixel.iter_mut().zip(before).zip(&parameters.scale).zip(&mut sums)
        {
            *of_scale += f64::from(*slope * x);
            *of_bias += f64::from(*slope);
            *slope *= scale;
        }
    }
    gradient.scale.clear();
    gradient.scale.extend(sums.iter().map(|(of_scale, _)| *of_scale as f32));
    gradient.bias.clear();
    gradient.bias.extend(sums.iter().map(|(_, of_bias)| *of_bias as f32));
}

/// Draws the factors that dropout multiplies the numbers of a batch with.
pub(super) fn factors(which: WhichElements, elements: usize, numbers: usize, factors: &mut Vec<f32>) {
    factors.clear();
    for element in 0..elements {
        let draw = which.draws.at((which.first + element) as u64, LearningTask::POSITION);
        factors.extend((0..numbers).map(|number| LearningTask::factor(draw, number)));
    }
}

/// Dropout, forward and back alike.
pub(super) fn multiply(numbers: &mut [f32], factors: &[f32]) {
    for (x, factor) in numbers.iter_mut().zip(factors) {
        *x *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_back_through_a_crop_is_its_transpose() {
        // For a linear step A and any x and y: (A x) . y = x . (A^T y).
        let shape = ElementShape { rows: 9, columns: 17, channels: 2 };
        let numbers = |seed: u64| -> Vec<f32> {
            let draw = Draws::new(seed, 0).at(0, 0);
            (0..shape.numbers() as u64).map(|number| draw.below(number, 19) as f32 - 9.0).collect()
        };
        for (top, left) in [(0, 0), (1, 0), (0, 2), (2, 3), (1, 1)] {
            let (x, y) = (numbers(1), numbers(2));
            let (mut forward, mut back) = (x.clone(), y.clone());
            crop(&mut forward, (top, left), shape);
            crop_back(&mut back, (top, left), shape);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            // Whole numbers: the sums are exact.
            assert_eq!(dot(&forward, &y).to_bits(), dot(&x, &back).to_bits(), "{top} {left}");
        }
    }
}
