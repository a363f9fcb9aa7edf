//! Where records are kept: runs with their journal, baselines, duels, the machine-wide lock.
//!
//! Every file is written whole or not at all, and read with suspicion: its schema, its kind, its place and
//! what it says are checked. Nothing here decides anything about figures.

mod baseline_name;
mod baselines;
mod damage;
mod duels;
mod error;
mod files;
mod layout;
mod lock;
mod order;
mod prune;
mod runs;

pub use baseline_name::BaselineName;
pub use baselines::{Baselines, StoredBaseline};
pub use duels::Duels;
pub use error::StoreError;
pub use files::{Disk, Files, read_document, read_file, read_text, redigest, replace_file, write_document};
pub use layout::{Layout, OutputStream};
pub use lock::{Attempt, LockHolder, MachineLock, RunLock};
pub use prune::{PrunePolicy, PruneResult};
pub use runs::{RunListing, Runs, Unreadable};

#[cfg(test)]
mod faults;
#[cfg(test)]
pub(crate) mod fixtures;
