//! Frameworks of Python, each in a process of its own: [`PEERS`] says which there are and where they are installed,
//! `frameworks.rs` registers loaders, `checkpointers.rs` checkpointers, `trainers.rs` trainers and `learners.rs` learners, all as
//! `registered.rs` has it, and `worker.rs` starts all of them alike. What is theirs alone is written in Python, in the package
//! `weighbridge_worker`.

mod by_hand;
mod checkpointers;
#[cfg(test)]
pub(crate) mod fake;
mod frameworks;
mod learners;
mod learning;
mod meeting;
mod named;
mod open;
mod parts;
mod peer;
mod registered;
mod state;
mod stored;
mod trainers;
mod training;
mod worker;

pub use by_hand::{by_hand, script};
pub use checkpointers::{Orbax, SafetensorsPython, TensorStore, TorchDcp, TorchSave};
pub use frameworks::{
    Daft, Dali, Datago, Datarax, DataraxScan, DeepLake, Energon, Ffcv, Grain, GrainRecords, HfDatasets,
    JaxDataloader, Lance, LitData, Mosaic, NumPy, Ray, Spdl, TfData, Torch, TorchData, WebDataset,
};
pub use learners::{FlaxNnx, GradientTape, TorchAutograd};
pub use peer::{
    CHECKPOINTER, FREE_THREADED, Installed, LEARNER, LOADER, PEERS, PYTHONS, Peer, PeerState, SystemPackage,
    TRAINER, find, free_threaded, home, requirements,
};
pub(crate) use trainers::trainer;
pub use trainers::{Flax, KerasJax, KerasTensorFlow, KerasTorch, PyTorch, TensorFlow};
