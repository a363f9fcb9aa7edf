//! The learnable pipeline as two functions that hold nothing: what goes in comes from outside, and so does the memory.

use super::arithmetic::{
    Shape, Which, affine, affine_back, corners, crop, crop_back, factors, multiply, standardise,
    standardise_back,
};
use super::stage::Stage;
use crate::workload::Parameters;

/// What the way back needs of the way forward.
#[derive(Debug, Default)]
pub(super) struct Kept {
    before: Vec<f32>,
    factors: Vec<f32>,
}

/// Forward, in place.
pub(super) fn forward(
    stages: &[Stage],
    shape: Shape,
    parameters: &Parameters,
    which: Which,
    numbers: &mut [f32],
    kept: &mut Kept,
) {
    let elements = numbers.len() / shape.numbers();
    for stage in stages {
        match stage {
            Stage::Standardise { mean, scale } => standardise(numbers, mean, scale),
            Stage::Crop { position } => {
                let rows = numbers.chunks_exact_mut(shape.numbers());
                for (row, corner) in rows.zip(corners(which, elements, *position, shape)) {
                    crop(row, corner, shape);
                }
            }
        }
    }
    kept.before.clear();
    kept.before.extend_from_slice(numbers);
    affine(numbers, parameters);
    factors(which, elements, shape.numbers(), &mut kept.factors);
    multiply(numbers, &kept.factors);
}

/// Back, in place: from the slopes of what came out to the slopes of the rows.
pub(super) fn backward(
    stages: &[Stage],
    shape: Shape,
    parameters: &Parameters,
    which: Which,
    slopes: &mut [f32],
    kept: &Kept,
    gradient: &mut Parameters,
) {
    let elements = slopes.len() / shape.numbers();
    multiply(slopes, &kept.factors);
    affine_back(slopes, &kept.before, parameters, gradient);
    for stage in stages.iter().rev() {
        match stage {
            Stage::Standardise { scale, .. } => standardise_back(slopes, scale),
            Stage::Crop { position } => {
                let rows = slopes.chunks_exact_mut(shape.numbers());
                for (row, corner) in rows.zip(corners(which, elements, *position, shape)) {
                    crop_back(row, corner, shape);
                }
            }
        }
    }
}

/// A step of gradient descent.
pub(super) fn update(parameters: &Parameters, gradient: &Parameters, rate: f32) -> Parameters {
    let step =
        |from: &[f32], slope: &[f32]| from.iter().zip(slope).map(|(x, slope)| x - rate * slope).collect();
    Parameters {
        scale: step(&parameters.scale, &gradient.scale),
        bias: step(&parameters.bias, &gradient.bias),
    }
}
