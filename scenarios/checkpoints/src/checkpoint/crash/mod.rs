//! What is left of a save that is broken off: its changes of files are recorded, and done again up to a
//! point.

mod log;
mod recorder;
mod tree;

pub(super) use log::{LoggedChange, parse};
pub(super) use recorder::Recorder;
pub(super) use tree::{FileTree, Survives};
