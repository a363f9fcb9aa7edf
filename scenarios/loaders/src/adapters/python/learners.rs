//! Every learner of Python, registered under its name. How its users would write it is in
//! `weighbridge_worker/learners/`, in the file of its short name here.

use std::sync::Arc;

use weighbridge::Result;
use weighbridge_data::DataSet;
use weighbridge_python::registered;

use super::open;
use crate::contract::{Learner, LearningLoop};
use crate::workload::LearningTask;

registered! {
    impl Learner {
        fn is_elsewhere(&self) -> bool {
            true
        }

        fn open(&mut self, task: &LearningTask, data: &Arc<DataSet>) -> Result<Box<dyn LearningLoop + '_>> {
            open::open_learning(&mut self.0, task, data)
        }
    }

    /// Modules under `nnx.jit`, or a plain function under `jax.jit`, with gradients that JAX derives.
    FlaxNnx: nnx, "Flax NNX";
    /// Modules or plain tensors, with gradients that autograd derives operation by operation.
    TorchAutograd: torch_autograd, "PyTorch autograd";
    /// A `tf.function` around a tape, over modules or plain tensors.
    GradientTape: gradient_tape, "tf.GradientTape";
}
