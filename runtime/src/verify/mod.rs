//! The rules that can take a rank away, in one room: evidence in, findings out.
//!
//! Takes the repeats of a case with their evidence, hands on [`Finding`]s. It reads nothing else, so a stored
//! run can be judged again when a rule changes. Children and workers hand over evidence and judge nothing.
//! [`RULES`] is the one ordered list; each rule has a file.

mod agreement;
mod caveat;
mod examined_case;
mod finding;
mod rules;
mod unverified_reason;

pub use agreement::{Agreement, agree, other_answers};
pub use caveat::{CAVEATS, Caveat, CaveatKind, SpentLimit};
pub use examined_case::ExaminedCase;
pub(crate) use finding::PROCESSORS;
pub use finding::{Figure, Finding, FindingDetail, Severity};
pub use rules::{RULES, Rule, judge};
pub use unverified_reason::UnverifiedReason;
