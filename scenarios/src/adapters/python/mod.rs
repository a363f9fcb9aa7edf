//! Frameworks of Python, each in a process of its own: [`PEERS`] says which there are and where they are installed, a file
//! for each registers it, and `worker.rs` speaks to all of them alike. What is theirs alone is written in Python, in the
//! package `weighbridge_worker`.

mod dali;
mod datarax;
mod datarax_scan;
mod deeplake;
mod energon;
mod ffcv;
mod grain;
mod hf_datasets;
mod jax_dataloader;
mod litdata;
mod mosaic;
mod numpy;
mod peer;
mod ray;
mod spdl;
mod tf_data;
mod torch;
mod webdataset;
mod worker;

pub use dali::Dali;
pub use datarax::Datarax;
pub use datarax_scan::DataraxScan;
pub use deeplake::DeepLake;
pub use energon::Energon;
pub use ffcv::Ffcv;
pub use grain::Grain;
pub use hf_datasets::HfDatasets;
pub use jax_dataloader::JaxDataloader;
pub use litdata::LitData;
pub use mosaic::Mosaic;
pub use numpy::NumPy;
pub use peer::{Installed, PEERS, PYTHONS, Peer, State, find, home, requirements};
pub use ray::Ray;
pub use spdl::Spdl;
pub use tf_data::TfData;
pub use torch::Torch;
pub use webdataset::WebDataset;
