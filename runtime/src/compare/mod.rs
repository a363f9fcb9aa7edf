//! Judging: a stored baseline against a run. Takes records, hands on a [`Comparison`]; does no IO.
//!
//! [`judge()`] walks the cases, `rule.rs` alone decides what a pair of samples says. A comparison from a file
//! is coarse by nature and says how coarse: every row has its tolerance and the smallest effect that it would
//! have found.

mod change;
mod comparison;
mod effect;
mod environment;
mod history;
mod judge;
mod policy;
mod rule;
mod tolerance;
mod verdict;

pub use change::{MetricChange, Tendency};
pub use comparison::{CaseFailure, Comparison, Counts, GateOutcome, Mark, Promoted, Refusal, Row};
pub use effect::Effect;
pub use environment::{EnvironmentChange, FactKind};
pub use history::History;
pub use judge::judge;
pub use policy::Policy;
pub use tolerance::{Basis, Tolerance};
pub use verdict::Verdict;
