//! Systems of Python, each in a process of its own: [`PEERS`] says which there are and where they are
//! installed, [`Framework`] starts the worker of one, and [`RemotePipeline`] is a pipeline that is open in
//! it. What is theirs alone is written in Python, in the package `weighbridge_worker`, which lies beside this
//! crate's sources.
//!
//! The families of the catalogue register their systems with [`registered!`].

mod by_hand;
#[cfg(feature = "embedded")]
mod embedded;
mod framework;
mod interpreter;
mod meeting;
mod named_peer;
mod package;
mod peer;
mod pipeline;
mod registration;
mod tensors;

pub use by_hand::{by_hand, script, serving};
pub use framework::{Framework, without_lock};
pub use interpreter::Interpreter;
pub use meeting::{RankMessage, free_address};
pub use package::worker_package;
pub use peer::{
    CHECKPOINTER, FREE_THREADED, Installation, LEARNER, LOADER, PEERS, PREDICTOR, PYTHONS, Peer, PeerState,
    SERVER, SystemPackage, TRAINER, find, free_threaded, home, requirements,
};
pub use pipeline::{RemotePipeline, entry_point, executed};
pub use tensors::{TensorFiles, counts, numbers, tensors, unexpected};
