//! Trainers of Python, each in a process of its own: `trainers.rs` registers them, `open.rs` opens a training
//! in a worker. What is theirs alone is written in Python, in the package `weighbridge_worker`.

mod open;
mod trainers;
mod training;

pub(crate) use trainers::trainer;
pub use trainers::{Flax, KerasJax, KerasTensorFlow, KerasTorch, PyTorch, TensorFlow};
