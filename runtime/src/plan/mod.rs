//! What will be run: cases, in which order, how often, within which limits.
//!
//! Takes the registry and what the user asked for ([`Request`]), hands on a [`Plan`]. A plan is a value: a
//! dry run prints it.

mod apart;
mod build;
mod case;
mod error;
mod filter;
mod param;
mod planned_case;
mod profile;
mod request;
pub mod suite;

pub use build::{build, build_all};
pub use case::CaseId;
pub use error::{PlanError, nearest};
pub(crate) use filter::Filter;
pub use param::Param;
pub use planned_case::{Absent, Plan, PlannedCase, RepeatTimes, Skip};
pub use profile::{MemoryLimit, Profile, Profiles};
pub use request::{CaseOrder, Isolation, PlanSettings, Request};
pub(crate) use suite::SuiteFile;

#[cfg(test)]
pub(crate) mod fixtures;
