//! Running a plan: fresh processes, rounds, deadlines. Hands on a [`Repeat`] for every repeat that ended.

mod outcome;

pub use outcome::{Failure, How, Outcome, Repeat, TreeMemory};
