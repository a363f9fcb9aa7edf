//! What is kept: a case with all its repeats, a run with its environment, a baseline to judge by.
//!
//! Takes repeats, hands on records. Every number in a record can be derived again from the repeats in it:
//! [`assemble_run()`] does that, for a case that has just ended and for one whose repeats lie in a journal.

mod assemble;
mod attachment;
mod baseline;
mod case;
mod caveat;
mod check;
mod clock;
mod derive;
mod environment;
mod estimate;
mod failure_reason;
mod process;
mod ranks;
mod redigest;
mod run;
mod run_assembly;
mod schema;
mod unfinished_reason;

pub(crate) use assemble::standing_metrics;
pub use assemble::{CaseFacts, HeldAgainst, assemble};
pub use attachment::{AllocationSite, Allocations, AttachedFile, Attachment, AttachmentStatus};
pub use baseline::{Baseline, BaselineCase};
pub use case::{CaseRecord, CaseStatus, MetricRecord, StopReason};
pub(crate) use check::{JournalEntry, RoundEntry, against_samples};
pub(crate) use clock::{undelayed, waiting};
#[cfg(test)]
#[cfg(test)]
pub(crate) use environment::is_kept;
pub use environment::{BadMachineId, Build, Difference, Differences, Environment, MachineId, file_system};
pub use estimate::Estimate;
pub use failure_reason::FailureReason;
pub use process::{Blocks, Process};
pub use ranks::{OverRanks, RankAggregate};
pub(crate) use redigest::redigest;
pub use run::{RunId, RunManifest, RunPlan, RunRank, RunRanks, RunRecord, RunStatus};
pub use run_assembly::assemble_run;
#[cfg(test)]
pub(crate) use schema::fitting;
pub use schema::{Document, DocumentKind, SCHEMA, SchemaError};
pub(crate) use schema::{read, write};
pub use unfinished_reason::{MissingRanks, UnfinishedReason};
