//! Loaders and learners of Python, each in a process of its own: `frameworks.rs` registers loaders,
//! `learners.rs` learners, and `open.rs` opens a pipeline of either in a worker. What is theirs alone is
//! written in Python, in the package `weighbridge_worker`.

#[cfg(test)]
pub(crate) mod fake;
mod frameworks;
mod learners;
mod learning;
mod open;
mod parts;

pub use frameworks::{
    Daft, Dali, Datarax, DataraxScan, DeepLake, Energon, Ffcv, Grain, GrainRecords, HfDatasets,
    JaxDataloader, Lance, LitData, Mosaic, NumPy, Ray, Spdl, TfData, Torch, TorchData, WebDataset,
};
pub use learners::{FlaxNnx, GradientTape, TorchAutograd};
pub use open::{open_learning, open_pipeline};
