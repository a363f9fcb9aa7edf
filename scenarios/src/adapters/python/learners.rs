//! Every learner of Python, registered under its name. How its users would write it is in
//! `weighbridge_worker/learners/`, in the file that is called as its module here.

macro_rules! learners {
    ($($(#[$what:meta])* $type:ident: $short:ident, $name:literal;)*) => {$(
        mod $short {
            use std::sync::Arc;

            use weighbridge::{Availability, Result, adapter};

            use crate::adapters::python::worker::Framework;
            use crate::contract::{Learner, LearningLoop};
            use crate::data::DataSet;
            use crate::workload::LearningTask;

            $(#[$what])*
            #[derive(Debug)]
            pub struct $type(Framework);

            fn new() -> Result<$type> {
                Ok($type(Framework::new(stringify!($short))?))
            }

            fn installed() -> Availability {
                Framework::availability(stringify!($short))
            }

            $(#[$what])*
            #[adapter(name = $name, resident = true, new = new, probe = installed)]
            impl Learner for $type {
                fn open(&mut self, task: &LearningTask, data: &Arc<DataSet>) -> Result<Box<dyn LearningLoop + '_>> {
                    self.0.open_learning(task, data)
                }
            }
        }

        pub use $short::$type;
    )*};
}

learners! {
    /// Modules under `nnx.jit`, or a plain function under `jax.jit`, with gradients that JAX derives.
    FlaxNnx: nnx, "Flax NNX";
    /// Modules or plain tensors, with gradients that autograd derives operation by operation.
    TorchAutograd: torch_autograd, "PyTorch autograd";
    /// A `tf.function` around a tape, over modules or plain tensors.
    GradientTape: gradient_tape, "tf.GradientTape";
}
