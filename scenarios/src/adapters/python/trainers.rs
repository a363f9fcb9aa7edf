//! Every trainer of Python, registered under its name. How its users would write it is in
//! `weighbridge_worker/trainers/`, in the file of its short name here.

use std::sync::Arc;

use weighbridge::Result;

use super::registered::registered;
use crate::contract::{Trainer, TrainingLoop};
use crate::data::DataSet;
use crate::workload::{Compilation, TrainingSpec};

registered! {
    impl Trainer {
        fn open(
            &mut self,
            spec: &TrainingSpec,
            how: Compilation,
            data: &Arc<DataSet>,
            weights: &Arc<DataSet>,
        ) -> Result<Box<dyn TrainingLoop + '_>> {
            self.0.open_training(spec, how, data, weights)
        }
    }

    /// Modules and optimisers of `torch`; compiled by `torch.compile`.
    PyTorch: pytorch, "PyTorch";
    /// Modules of Flax NNX and optimisers of Optax; compiled by `jax.jit`.
    Flax: flax, "JAX (Flax NNX)";
    /// Layers and optimisers of Keras on TensorFlow; compiled by `tf.function` and XLA.
    KerasTensorFlow: keras, "Keras (TensorFlow)";
    /// The same on JAX; compiled by `jax.jit`.
    KerasJax: keras_jax, "Keras (JAX)";
    /// The same on `PyTorch`, operation by operation.
    KerasTorch: keras_torch, "Keras (PyTorch)";
}
