//! Real `cargo bench` in a real downstream crate: faults, kills, resuming, judging, and the protocols of
//! other tools.
//!
//! The crate is built once, by the first test that needs it; after that its bench binaries are run as cargo
//! runs them.

mod calibrate;
mod downstream;
mod drop_ins;
mod external;
mod faults;
mod help;
mod installed;
mod kill;
mod nextest;
mod ordinary;
mod packages;
mod page;
mod ranks;
mod rebuild;
mod repository;
mod skipped;
mod store;
mod terminal;
mod versus;
mod workers;
