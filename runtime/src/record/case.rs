//! One case of a run: every repeat, and what was derived from them.

use serde::{Deserialize, Serialize};

use super::{
    Attachment, AttachmentStatus, Estimate, FailureReason, Process, RankAggregate, UnfinishedReason,
};
use crate::bencher::{SkipReason, Work};
use crate::metric::{Direction, Reading, Stationarity, Unit};
use crate::plan::CaseId;
use crate::registry::Equivalence;
use crate::run::Repeat;
use crate::verify::{Agreement, Finding, PROCESSORS, Severity};

/// One case of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// The case's id.
    pub id: CaseId,
    /// Its scenario's category.
    pub category: String,
    /// Its scenario's description.
    pub description: String,
    /// The group of scenarios that it is shown side by side with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// The adapter's tier (0 is the reference).
    pub tier: Option<u8>,
    /// The version of the system behind the adapter.
    pub version: Option<String>,
    /// The agreement with the reference that its work must show.
    pub equivalence: Equivalence,
    /// Its end.
    pub status: CaseStatus,
    /// The metric that stands for the case in tables and verdicts.
    #[serde(rename = "primary")]
    pub primary_metric: String,
    /// Every metric, in the order in which people see them.
    pub metrics: Vec<MetricRecord>,
    /// The figures that its ranks told of themselves, over all ranks and measured repeats; empty where it has
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankAggregate>,
    /// The measured repeats, condensed: in the order of the values of metrics.
    #[serde(with = "super::process")]
    pub processes: Vec<Process>,
    /// Number of the repeat that represents the case: nearest to the primary metric's median, the earlier on
    /// a tie.
    pub median_repeat: Option<u32>,
    /// The full work report, from the verifying repeat.
    pub work: Option<Work>,
    /// The standing of its work to the reference's.
    pub agreement: Agreement,
    /// The findings of rules, and the caveats of the estimates: where a rule fails it, it is not ranked.
    pub findings: Vec<Finding>,
    /// The course of the samples of most of its repeats; null where no half of them agrees or there
    /// are too few samples. A case that is `unsteady` has no figure that a gate could go by.
    pub stationarity: Option<Stationarity>,
    /// The reason why its repeats ended, where the run had a target; else null.
    pub stopped: Option<StopReason>,
    /// Its traces, where some were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<Attachment>,
    /// Every repeat, the verifying one included, with raw samples. Empty where a record was read without
    /// them: they lie in the journal, and judging does not need them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Repeat>,
}

/// The end of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseStatus {
    /// All its repeats were measured.
    Measured,
    /// It failed, and why.
    Failed(FailureReason),
    /// It was not run, and why.
    Skipped(SkipReason),
    /// The run ended before all its repeats were done, or ranks of it are missing.
    Incomplete,
}

/// The reason that ended the repeats of a case that had a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopReason {
    /// The interval is as narrow as was asked.
    Target,
    /// The most repeats were run.
    Most,
    /// The budget of the run was spent.
    Budget,
}

/// One metric over the repeats of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricRecord {
    /// Its name. Values of `measure` blocks are called `region/<path>/<metric>`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// The direction that is better.
    pub direction: Direction,
    /// One reading per measured repeat, in order.
    pub values: Vec<Reading>,
    /// The estimate over those that have a value; `None` when none has.
    pub estimate: Option<Estimate>,
    /// The share of a value's cost that is a worker's own loop and not the system's, where it is so much that
    /// leads are given without it.
    #[serde(default)]
    pub looped: Option<f64>,
}

/// Tells whether these readings have no fewer bounds than values, and a bound: a few repeats in which
/// something was told from nothing by luck are no figure.
pub(super) fn is_bounded(readings: &[Reading]) -> bool {
    let bounds = readings.iter().filter(|reading| matches!(reading, Reading::Below(_))).count();
    let values = readings.iter().filter(|reading| reading.value().is_some()).count();
    bounds > 0 && bounds >= values
}

impl MetricRecord {
    /// The bound that the metric is below, where no fewer repeats have a bound than a value: the largest of
    /// them all. Then it has no estimate.
    pub fn below(&self) -> Option<f64> {
        if !is_bounded(&self.values) {
            return None;
        }
        let mut most = None;
        for reading in &self.values {
            match reading {
                Reading::Value(value) => most = Some(value.max(most.unwrap_or(0.0))),
                Reading::Below(bound) => most = Some(bound.max(most.unwrap_or(0.0))),
                Reading::Absent(_) | Reading::Elsewhere => {}
            }
        }
        most
    }
}

impl CaseRecord {
    /// The metric of that name.
    pub fn metric(&self, name: &str) -> Option<&MetricRecord> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// The primary metric.
    pub fn primary_metric(&self) -> Option<&MetricRecord> {
        self.metric(&self.primary_metric)
    }

    /// The record without its repeats: what a case's own file holds.
    #[must_use]
    pub fn summary(&self) -> Self {
        Self {
            id: self.id.clone(),
            category: self.category.clone(),
            description: self.description.clone(),
            beside: self.beside.clone(),
            tier: self.tier,
            version: self.version.clone(),
            equivalence: self.equivalence,
            status: self.status.clone(),
            primary_metric: self.primary_metric.clone(),
            metrics: self.metrics.clone(),
            ranks: self.ranks.clone(),
            processes: self.processes.clone(),
            median_repeat: self.median_repeat,
            work: self.work.clone(),
            agreement: self.agreement.clone(),
            findings: self.findings.clone(),
            stationarity: self.stationarity,
            stopped: self.stopped,
            attached: self.attached.clone(),
            repeats: Vec::new(),
        }
    }

    /// The reason why it is incomplete; `None` where it is not.
    pub fn unfinished(&self) -> Option<UnfinishedReason> {
        (self.status == CaseStatus::Incomplete).then(|| UnfinishedReason::of(&self.ranks))
    }

    /// The name of the group that the case is ranked within, for people: its scenario, or its group of them,
    /// and its point.
    pub fn group(&self) -> String {
        let scenario = self.beside.clone().unwrap_or_else(|| self.id.scenario.clone());
        let point = CaseId { scenario, adapter: None, ..self.id.clone() }.to_string();
        if self.stands_apart() { format!("{point}, on more processors") } else { point }
    }

    /// Tells whether it uses more processors than its workers: it is ranked among those alone that do so too.
    fn stands_apart(&self) -> bool {
        self.findings.iter().any(|finding| finding.rule == PROCESSORS)
    }

    /// Tells whether it stands side by side with scenarios of which nothing proves that they do the same.
    pub fn is_unproven(&self) -> bool {
        self.beside.is_some() && self.agreement == Agreement::NotAsked
    }

    /// Tells whether a trace of it was asked for that should be there, and is not.
    pub fn lacks_a_trace(&self) -> bool {
        self.attached.iter().any(|one| matches!(one.status, AttachmentStatus::Failed(_)))
    }

    /// Tells whether a repeat failed, or the case's work does not verify.
    pub fn has_failed(&self) -> bool {
        matches!(self.status, CaseStatus::Failed(_)) || self.failed_rules().next().is_some()
    }

    /// The findings that take its rank away.
    pub fn failed_rules(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Fail)
    }

    /// Tells whether the case may be ranked beside others of its scenario and point.
    pub fn ranked(&self) -> bool {
        let verified =
            matches!(self.agreement, Agreement::Reference | Agreement::Agrees | Agreement::NotAsked);
        self.status == CaseStatus::Measured
            && verified
            && !self.is_unproven()
            && self.failed_rules().next().is_none()
    }
}
