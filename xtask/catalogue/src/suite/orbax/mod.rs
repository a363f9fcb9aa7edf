//! Suites of Orbax's benchmarks, as Orbax ships them, planned with the scenarios that there are here.
//!
//! `read` knows the keys, `generators` which options a generator has and which scenario does its work, `plan`
//! makes the product of the options and says of each point whether it runs, is refused or is dropped.

mod generators;
mod options;
mod paths;
mod plan;
mod policies;
mod read;
mod state_text;

pub(super) use plan::{OrbaxPlan, Overrides, plan};
