//! Systems under test in processes of their own, in any language: `Worker`, which speaks
//! `docs/worker-protocol.md`, behind the feature `worker`.
//!
//! Takes a `Command`, hands on answers: what a pipeline really does (`Opened`), a stream that is timed where
//! it runs ([`Remote`](crate::bencher::Remote)). A worker that breaks the protocol, is silent for too long or
//! ends is killed with all that it started, and what it was asked for fails with that.

mod client;
mod command;
mod conversation;
mod epoch;
mod exchange;
mod protocol;

pub use client::{PipelineTask, Worker};
pub use command::Command;
pub use protocol::{
    Better, CollectedMetric, CollectorAnswer, ElementOrder, ExecutedPipeline, Hello, OpenedPipeline,
    OpeningCosts,
};
