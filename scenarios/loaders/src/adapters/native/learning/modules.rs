//! The learnable pipeline as modules: each holds its parameters and what it needs to go back, and a list of
//! them is gone through by dynamic calls, as libraries of modules do.

use super::arithmetic::{
    ElementShape, WhichElements, affine, affine_back, corners, crop, crop_back, factors, multiply,
    standardise, standardise_back,
};
use super::stage::TaskStage;
use crate::workload::Parameters;

/// One module.
pub(super) trait LearnedModule: std::fmt::Debug {
    /// Forward, in place; keeps what the way back needs.
    fn forward(&mut self, which: WhichElements, numbers: &mut [f32]);

    /// Back, in place; keeps the gradient of its parameters.
    fn backward(&mut self, slopes: &mut [f32]);

    /// Its parameters and their gradient, if it has some.
    fn learnable(&mut self) -> Option<Learnable<'_>> {
        None
    }

    /// A copy of its parameters, if it has some.
    fn parameters(&self) -> Option<Parameters> {
        None
    }

    /// A copy of their gradient.
    fn gradient(&self) -> Option<Parameters> {
        None
    }
}

/// The parameters of a module, and their gradient.
#[derive(Debug)]
pub(super) struct Learnable<'a> {
    pub(super) parameters: &'a mut Parameters,
    pub(super) gradient: &'a Parameters,
}

/// The modules of a learning task, in order.
pub(super) fn modules(stages: &[TaskStage], shape: ElementShape) -> Vec<Box<dyn LearnedModule>> {
    let stage = |stage: &TaskStage| -> Box<dyn LearnedModule> {
        match stage {
            TaskStage::Standardise { mean, scale } => {
                Box::new(StandardiseModule { mean: mean.clone(), scale: scale.clone() })
            }
            TaskStage::Crop { position } => {
                Box::new(CropModule { position: *position, shape, corners: Vec::new() })
            }
        }
    };
    let mut modules: Vec<Box<dyn LearnedModule>> = stages.iter().map(stage).collect();
    modules.push(Box::new(AffineModule::default()));
    modules.push(Box::new(Dropout { numbers: shape.numbers(), factors: Vec::new() }));
    modules
}

#[derive(Debug)]
struct StandardiseModule {
    mean: Vec<f32>,
    scale: Vec<f32>,
}

impl LearnedModule for StandardiseModule {
    fn forward(&mut self, _which: WhichElements, numbers: &mut [f32]) {
        standardise(numbers, &self.mean, &self.scale);
    }

    fn backward(&mut self, slopes: &mut [f32]) {
        standardise_back(slopes, &self.scale);
    }
}

#[derive(Debug)]
struct CropModule {
    position: u64,
    shape: ElementShape,
    corners: Vec<(usize, usize)>,
}

impl LearnedModule for CropModule {
    fn forward(&mut self, which: WhichElements, numbers: &mut [f32]) {
        let elements = numbers.len() / self.shape.numbers();
        self.corners.clear();
        self.corners.extend(corners(which, elements, self.position, self.shape));
        for (row, corner) in numbers.chunks_exact_mut(self.shape.numbers()).zip(&self.corners) {
            crop(row, *corner, self.shape);
        }
    }

    fn backward(&mut self, slopes: &mut [f32]) {
        for (row, corner) in slopes.chunks_exact_mut(self.shape.numbers()).zip(&self.corners) {
            crop_back(row, *corner, self.shape);
        }
    }
}

#[derive(Debug, Default)]
struct AffineModule {
    parameters: Parameters,
    gradient: Parameters,
    before: Vec<f32>,
}

impl LearnedModule for AffineModule {
    fn forward(&mut self, _which: WhichElements, numbers: &mut [f32]) {
        self.before.clear();
        self.before.extend_from_slice(numbers);
        affine(numbers, &self.parameters);
    }

    fn backward(&mut self, slopes: &mut [f32]) {
        affine_back(slopes, &self.before, &self.parameters, &mut self.gradient);
    }

    fn learnable(&mut self) -> Option<Learnable<'_>> {
        Some(Learnable { parameters: &mut self.parameters, gradient: &self.gradient })
    }

    fn parameters(&self) -> Option<Parameters> {
        Some(self.parameters.clone())
    }

    fn gradient(&self) -> Option<Parameters> {
        Some(self.gradient.clone())
    }
}

#[derive(Debug)]
struct Dropout {
    numbers: usize,
    factors: Vec<f32>,
}

impl LearnedModule for Dropout {
    fn forward(&mut self, which: WhichElements, numbers: &mut [f32]) {
        factors(which, numbers.len() / self.numbers, self.numbers, &mut self.factors);
        multiply(numbers, &self.factors);
    }

    fn backward(&mut self, slopes: &mut [f32]) {
        multiply(slopes, &self.factors);
    }
}
