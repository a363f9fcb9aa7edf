//! Frameworks of Python, each in a process of its own: [`PEERS`] says which there are and where they are installed,
//! `frameworks.rs` registers them, and `worker.rs` starts all of them alike. What is theirs alone is written in Python, in the
//! package `weighbridge_worker`.

mod by_hand;
#[cfg(test)]
pub(crate) mod fake;
mod frameworks;
mod named;
mod open;
mod parts;
mod peer;
mod worker;

pub use by_hand::{by_hand, script};
pub use frameworks::{
    Dali, Datarax, DataraxScan, DeepLake, Energon, Ffcv, Grain, HfDatasets, JaxDataloader, LitData, Mosaic,
    NumPy, Ray, Spdl, TfData, Torch, WebDataset,
};
pub use peer::{Installed, PEERS, PYTHONS, Peer, State, find, home, requirements};
