//! The learnable pipeline as two functions that hold nothing: what goes in comes from outside, and so does
//! the memory.

use super::arithmetic::{
    ElementShape, WhichElements, affine, affine_back, corners, crop, crop_back, factors, multiply,
    standardise, standardise_back,
};
use super::stage::TaskStage;
use crate::workload::Parameters;

/// The intermediate numbers of a forward pass that the backward pass needs.
#[derive(Debug, Default)]
pub(super) struct KeptForward {
    before: Vec<f32>,
    factors: Vec<f32>,
}

/// Forward, in place.
pub(super) fn forward(
    stages: &[TaskStage],
    shape: ElementShape,
    parameters: &Parameters,
    which: WhichElements,
    numbers: &mut [f32],
    kept: &mut KeptForward,
) {
    let elements = numbers.len() / shape.numbers();
    for stage in stages {
        match stage {
            TaskStage::Standardise { mean, scale } => standardise(numbers, mean, scale),
            TaskStage::Crop { position } => {
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
    stages: &[TaskStage],
    shape: ElementShape,
    parameters: &Parameters,
    which: WhichElements,
    slopes: &mut [f32],
    kept: &KeptForward,
    gradient: &mut Parameters,
) {
    let elements = slopes.len() / shape.numbers();
    multiply(slopes, &kept.factors);
    affine_back(slopes, &kept.before, parameters, gradient);
    for stage in stages.iter().rev() {
        match stage {
            TaskStage::Standardise { scale, .. } => standardise_back(slopes, scale),
            TaskStage::Crop { position } => {
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
