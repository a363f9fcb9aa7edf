//! Checkpointers of Python, each in a process of its own: `checkpointers.rs` registers them, `open.rs` opens
//! a state or a stored checkpoint in a worker. What is theirs alone is written in Python, in the package
//! `weighbridge_worker`.

mod checkpointers;
mod open;
mod state;
mod stored;
mod told;

pub use checkpointers::{
    FastSafetensors, Orbax, RunaiStreamer, SafetensorsPython, TensorStore, TorchDcp, TorchSave,
};
