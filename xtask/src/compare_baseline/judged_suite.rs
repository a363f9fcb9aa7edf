//! One suite beside its baseline.

use anyhow::Result;
use weighbridge::data::{Comparison, Exit, RunManifest, RunRecord, StoredBaseline, fake_device, judge};

use super::gate_rules::GateRules;
use crate::lock;
use crate::place::Place;

/// The number of earlier runs that tell what is noise.
const HISTORY: usize = 20;

/// All suites that were to be judged.
#[derive(Debug, Default)]
pub(crate) struct JudgedSuites {
    /// Those that were.
    pub(crate) suites: Vec<JudgedSuite>,
    /// The questions that stayed open, a line each: with one of them the gate cannot pass.
    pub(crate) open: Vec<String>,
}

/// The findings of one suite.
#[derive(Debug)]
pub(crate) struct JudgedSuite {
    /// The comparison.
    pub(crate) comparison: Comparison,
    /// Scenarios of the committed list that the run did not plan.
    pub(crate) missing: Vec<String>,
    /// The error rate that a calibration of this machine found, in words.
    pub(crate) calibrated: Vec<String>,
    /// The warning that stands first where the figures are of a fake for a device.
    pub(crate) fake: Option<String>,
    /// The end of the gate for this suite.
    pub(crate) exit: Exit,
}

impl JudgedSuite {
    /// The judgement of a run by a stored baseline.
    ///
    /// # Errors
    /// When the run, those before it or the list of scenarios cannot be read.
    pub(crate) fn of(
        place: &Place,
        stored: &StoredBaseline,
        manifest: &RunManifest,
        rules: &GateRules,
    ) -> Result<Self> {
        let policy = &rules.policy;
        let runs = place.runs();
        let run: RunRecord = runs.load(&manifest.id)?;
        let history = runs.history(&stored.baseline, &manifest.id, HISTORY)?;
        let mut comparison = judge(&stored.baseline, &run, &history, policy);
        comparison.notes.extend(rules.told.iter().cloned());
        let missing = rules.missing(&manifest.suite, &manifest.planned.cases);
        let missing = lock::known_ids(missing, stored.baseline.cases.iter().map(|case| &case.id));
        let ids = if missing.is_empty() { Exit::Fine } else { Exit::NothingToJudge };
        let exit = Exit::from(comparison.outcome(policy)).or(ids);
        let fake = fake_device(&manifest.environment);
        Ok(Self { comparison, missing, calibrated: Vec::new(), fake, exit })
    }
}
