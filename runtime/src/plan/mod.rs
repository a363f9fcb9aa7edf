//! What will be run: cases, in which order, how often, within which limits.
//!
//! Takes the registry and what the user asked for, hands on a [`Plan`]. A plan is a value: a dry run prints it.

mod build;
mod case;
mod error;
mod filter;
mod param;
mod profile;

pub use build::{Isolation, Order, Plan, PlannedCase, Request, build};
pub use case::CaseId;
pub use error::{Error, nearest};
pub(crate) use filter::Filter;
pub use param::Param;
pub use profile::{MemoryLimit, Profile, Profiles};
