//! Every trainer of Python, registered under its name. How its users would write it is in
//! `weighbridge_worker/trainers/`, in the file of its short name here.

use std::sync::Arc;

use weighbridge::{Availability, Result, skip};
use weighbridge_data::DataSet;
use weighbridge_python::{Framework, registered};

use super::open;
use crate::contract::{Trainer, TrainingLoop};
use crate::workload::{Compilation, TrainingRanks, TrainingSpec};

registered! {
    impl Trainer {
        fn open(
            &mut self,
            spec: &TrainingSpec,
            how: Compilation,
            data: &Arc<DataSet>,
            weights: &Arc<DataSet>,
        ) -> Result<Box<dyn TrainingLoop + '_>> {
            open::open_training(&mut self.0, spec, how, data, weights)
        }

        fn open_ranks(
            &mut self,
            spec: &TrainingSpec,
            how: Compilation,
            ranks: TrainingRanks,
            data: &Arc<DataSet>,
            weights: &Arc<DataSet>,
        ) -> Result<Vec<Box<dyn TrainingLoop + Send + '_>>> {
            open::open_ranks(&self.0, spec, how, ranks, data, weights)
        }
    }

    /// Modules and optimisers of `torch`; compiled by `torch.compile`.
    PyTorch: pytorch, "PyTorch";
    /// Modules of Flax NNX and optimisers of Optax; compiled by `jax.jit`.
    Flax: flax, "JAX (Flax NNX)";
    /// Modules of variables under a `tf.GradientTape`, without Keras; compiled by `tf.function`, also with
    /// XLA.
    TensorFlow: tensorflow, "TensorFlow";
    /// Layers and optimisers of Keras on TensorFlow; compiled by `tf.function` and XLA.
    KerasTensorFlow: keras, "Keras (TensorFlow)";
    /// The same on JAX; compiled by `jax.jit`.
    KerasJax: keras_jax, "Keras (JAX)";
    /// The same on `PyTorch`, operation by operation.
    KerasTorch: keras_torch, "Keras (PyTorch)";
}

/// The trainer of this short name, for a scenario that measures something else beside it.
///
/// # Errors
/// A skip where it is not installed.
pub(crate) fn trainer(short: &'static str) -> Result<Box<dyn Trainer>> {
    match Framework::availability(short) {
        Availability::Available { .. } => Ok(Box::new(NamedTrainer(Framework::new(short)?))),
        Availability::Missing { reason, install } => {
            Err(skip(format!("the trainer `{short}`: {reason} ({install})")))
        }
    }
}

struct NamedTrainer(Framework);

impl Trainer for NamedTrainer {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        open::open_training(&mut self.0, spec, how, data, weights)
    }
}
