//! Predictors of Python, each in a process of its own: `predictors.rs` registers them, `predictions.rs` is a
//! model that is open in a worker. What is theirs alone is written in Python, in the package
//! `weighbridge_worker`.

mod predictions;
mod predictors;
mod servers;

pub use predictors::{Jax, NumPy, OnnxRuntime, OpenVino, PyTorch, TensorFlow};
pub use servers::{LlamaServer, OnnxRuntimeServer, PyTorchServer};
