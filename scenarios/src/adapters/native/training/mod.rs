//! Trainers written in Rust, in this process.

mod by_hand;

use std::sync::Arc;

use weighbridge::{Result, adapter, skip};

pub(crate) use by_hand::ByHand;

use crate::contract::{Trainer, TrainingLoop};
use crate::data::DataSet;
use crate::workload::{Compilation, Precision, TrainingSpec};

/// What a training is by definition: every layer, gradient and step by its formula, in `f64`. The modes of other systems change
/// nothing in it, nor does their precision.
#[derive(Debug, Default)]
pub struct ReferenceTrainer;

#[adapter(name = "Reference", tier = 0)]
impl Trainer for ReferenceTrainer {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        _how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        Ok(Box::new(ByHand::<f64>::open(spec, data, weights)?))
    }
}

/// The same formulae in `f32`, with the products of matrices of the crate `ndarray` on all processors.
#[derive(Debug, Default)]
pub struct NdarrayTrainer;

#[adapter(name = "ndarray (by hand)", tier = 1)]
impl Trainer for NdarrayTrainer {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        if how != Compilation::Eager {
            return Err(skip(format!(
                "mode {how}: a program of Rust has one way to run its layers, as they are written"
            )));
        }
        if spec.precision != Precision::F32 {
            return Err(skip(format!(
                "precision {}: ndarray has no products of such numbers",
                spec.precision
            )));
        }
        Ok(Box::new(ByHand::<f32>::open(spec, data, weights)?))
    }
}
