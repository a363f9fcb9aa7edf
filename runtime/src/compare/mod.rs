//! Judging: a stored baseline against a run, or two programs in turns. Takes records and rounds, hands on a
//! [`Comparison`]; does no IO.
//!
//! [`judge()`] walks the cases of a run, and `rule.rs` alone decides what a pair of samples says. A
//! comparison from a file is coarse by nature and says how coarse: every row has its tolerance and the
//! smallest effect that it would have found. A [`CaseDuel`] decides by rounds (`duel/`): that is the fine
//! one.

mod absent_metrics;
mod acceptance;
mod across;
mod change;
mod clock;
mod comparison;
mod duel;
mod effect;
mod environment;
mod history;
mod judge;
mod logarithms;
mod policy;
mod reason;
mod rule;
mod tendency;
mod tolerance;
mod values;
mod verdict;

pub use acceptance::Acceptance;
pub use across::{Ranking, Ratio, RatioClass, STRONGER, WEAKER, rank};
pub use change::MetricChange;
pub use comparison::{
    CaseFailure, ComparedBaseline, Comparison, GateOutcome, Method, ProcessValues, Refusal, Row, RowMark,
    VerdictCounts,
};
pub use duel::{Decider, JudgedRounds, decide};
pub use effect::Effect;
pub use environment::{EnvironmentChange, FactKind};
pub use history::History;
pub(crate) use judge::axis_changed;
pub use judge::judge;
pub use policy::{Gate, Policy};
pub use reason::{Advice, AxisChange, BreakOff, ClockHalf, IncomparableReason, InconclusiveReason, Remedy};
pub use tendency::Tendency;
pub use tolerance::{Basis, Tolerance};
pub use verdict::Verdict;
