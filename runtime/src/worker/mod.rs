//! Systems under test in processes of their own, in any language: `Worker`, which speaks `docs/worker-protocol.md`, behind
//! the feature `worker`.
//!
//! Takes a `Command`, hands on answers: what a pipeline really does (`Opened`), a stream that is timed where it runs
//! ([`Remote`](crate::bencher::Remote)). A worker that breaks the protocol, is silent for too long or ends is killed with
//! all that it started, and what it was asked for fails with that.
//!
//! `Place` is where a measuring process and what it starts may leave things; the stage `run` makes it and cleans it up.

#[cfg(feature = "worker")]
mod client;
#[cfg(feature = "worker")]
mod command;
#[cfg(feature = "worker")]
mod epoch;
#[cfg(feature = "worker")]
mod exchange;
mod place;
#[cfg(feature = "worker")]
mod process;
#[cfg(feature = "worker")]
mod protocol;
mod survivors;

#[cfg(feature = "worker")]
pub use client::{Task, Worker};
#[cfg(feature = "worker")]
pub use command::Command;
pub(crate) use place::Place;
#[cfg(feature = "worker")]
pub use protocol::{Costs, Executed, Hello, Opened, Order};
