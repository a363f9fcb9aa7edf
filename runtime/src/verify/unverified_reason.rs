//! Why the work of a case was held against nothing: facts. `report` has the words.

use serde::{Deserialize, Serialize};

use crate::bencher::SkipReason;
use crate::plan::CaseId;
use crate::run::Failure;

/// The reason why there was nothing to compare.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnverifiedReason {
    /// A reason that the work report states.
    Stated(String),
    /// The scenario handed in no work report.
    NoReport,
    /// The verifying repeat did not come to a work report.
    NotVerified,
    /// The case was not run.
    NotRun,
    /// No adapter is the reference of its contract.
    NoReference,
    /// The reference handed in no work report.
    ReferenceWithoutReport(CaseId),
    /// The reference failed.
    ReferenceFailed(CaseId, Failure),
    /// The reference was skipped.
    ReferenceSkipped(CaseId, SkipReason),
    /// The reference was not verified.
    ReferenceNotVerified(CaseId),
}

impl From<String> for UnverifiedReason {
    fn from(why: String) -> Self {
        Self::Stated(why)
    }
}

impl From<&str> for UnverifiedReason {
    fn from(why: &str) -> Self {
        Self::Stated(why.to_owned())
    }
}
