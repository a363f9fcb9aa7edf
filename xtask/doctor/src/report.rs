//! All that the page shows, and what `--json` writes.

use serde::Serialize;

use crate::verdict::Verdict;

/// All that is on the page.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DoctorReport {
    /// The number of the form of this file.
    pub(crate) schema: u32,
    /// The command line of the script.
    pub(crate) script: String,
    pub(crate) verdict: Verdict,
    /// The runs of the script.
    pub(crate) runs: Vec<DoctorRun>,
}

/// A run of the script.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DoctorRun {
    /// The purpose: a look, or experiments.
    pub(crate) purpose: &'static str,
    /// Seconds to the first batch.
    pub(crate) start: Option<f64>,
    /// Seconds from the first batch on, or of the whole run where there was none.
    pub(crate) seconds: f64,
    /// The way in which it ended.
    pub(crate) end: String,
    /// True if what it wrote was thrown away.
    pub(crate) is_layered: bool,
}
