//! What will be run: cases, in which order, how often, within which limits.
//!
//! Takes the registry and what the user asked for, hands on a [`Plan`](build::Plan). A plan is a value: a dry run prints it.

mod case;

pub use case::CaseId;
