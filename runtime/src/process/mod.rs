//! Children of this process: started, spoken to, listened to, watched, and ended with all that they have
//! started.
//!
//! [`Subprocess`] is one child with a socket as its standard input. The stage `worker` drives systems under
//! test with it, the stage `run` the processes that measure. Both say what they say; how a process lives and
//! dies is here alone: [`Output`] empties its pipes, [`MemoryWatch`] looks at its memory, [`end_tree`] ends
//! it and whatever is below it, [`left_behind`] is what it leaves on the machine. A [`ChildPlace`] is where
//! it may leave things, and the mark that all which comes from it carries.
//!
//! A [`Guest`] is a program that is not ours: the doctor of scripts starts one, looks at it and ends it.
//!
//! When the parent itself is killed, a [`reaper`] does for the child what the parent would have done.

mod guest;
#[cfg(target_os = "linux")]
mod hang_up;
pub(crate) mod leftovers;
mod mark;
mod memory_watch;
mod orphans;
mod output;
mod own_folder;
mod place;
pub(crate) mod reaper;
mod secrets;
mod state;
mod subprocess;
mod trace;
mod tree;

pub use guest::Guest;
#[cfg(target_os = "linux")]
pub(crate) use hang_up::{end_if_closed, end_when_closed};
pub(crate) use memory_watch::MemoryWatch;
pub(crate) use output::Output;
pub(crate) use own_folder::make_own_folder;
pub(crate) use place::ChildPlace;
pub use secrets::without_secrets;
pub(crate) use secrets::{HIDDEN, OwnFolders, is_secret_name, words_without_secrets};
pub(crate) use subprocess::{ReceivedBytes, SpawnOptions, Subprocess};
pub(crate) use trace::Trace;
pub use trace::TraceKind;
pub(crate) use tree::{copies, end_tree};
