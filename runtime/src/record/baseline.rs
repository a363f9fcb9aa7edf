//! A promoted run, whole enough to judge by, without raw samples.

use serde::{Deserialize, Serialize};

use super::process::short;
use super::{
    CaseRecord, CaseStatus, Environment, Estimate, MetricRecord, Process, RankAggregate, RunId, RunRecord,
    UnfinishedReason,
};
use crate::bencher::WorkReport;
use crate::metric::{Reading, Stationarity};
use crate::plan::CaseId;
use crate::verify::{Agreement, Finding};

/// A promoted run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Its name: `main`.
    pub name: String,
    /// `<package>/<bench target>`.
    pub suite: String,
    /// The run that was promoted.
    pub run: RunId,
    /// The run's profile.
    pub profile: String,
    /// The run's seed.
    pub seed: u64,
    /// The place where it ran.
    pub environment: Environment,
    /// Its cases.
    pub cases: Vec<BaselineCase>,
}

/// A case of a baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselineCase {
    /// The case's id.
    pub id: CaseId,
    /// Its end.
    pub status: CaseStatus,
    /// The metric that stands for it.
    #[serde(rename = "primary")]
    pub primary_metric: String,
    /// Its metrics that have a value or a bound: one per repeat, with five digits.
    #[serde(with = "metrics")]
    pub metrics: Vec<MetricRecord>,
    /// The figures that its ranks told of themselves, as in a case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankAggregate>,
    /// The measured repeats, condensed: in the order of the values of metrics.
    #[serde(with = "super::process")]
    pub processes: Vec<Process>,
    /// The subject's report of its work.
    pub report: Option<WorkReport>,
    /// The standing of its work to the reference's.
    pub agreement: Agreement,
    /// The findings that took its rank away: empty where nothing did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The course of most of its repeats; missing where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stationarity: Option<Stationarity>,
}

impl Baseline {
    /// The baseline that `run` makes under this name.
    pub fn promote(name: &str, run: &RunRecord) -> Self {
        let manifest = &run.manifest;
        let mut environment = manifest.environment.clone();
        environment.moment.remove("host"); // a baseline may be committed, for all to read
        Self {
            name: name.to_owned(),
            suite: manifest.suite.clone(),
            run: manifest.id.clone(),
            profile: manifest.profile.clone(),
            seed: manifest.seed,
            environment,
            cases: run.cases.iter().map(BaselineCase::from).collect(),
        }
    }
}

impl BaselineCase {
    /// The reason why it is incomplete; `None` where it is not.
    pub fn unfinished(&self) -> Option<UnfinishedReason> {
        (self.status == CaseStatus::Incomplete).then(|| UnfinishedReason::of(&self.ranks))
    }
}

impl From<&CaseRecord> for BaselineCase {
    fn from(case: &CaseRecord) -> Self {
        Self {
            id: case.id.clone(),
            status: case.status.clone(),
            primary_metric: case.primary_metric.clone(),
            metrics: case.metrics.iter().filter_map(kept).collect(),
            ranks: case.ranks.clone(),
            processes: case.processes.clone(),
            report: case.work.as_ref().map(|work| work.report.clone()),
            agreement: case.agreement.clone(),
            findings: case.failed_rules().cloned().collect(),
            stationarity: case.stationarity,
        }
    }
}

/// Returns the part of a metric that is kept: nothing where it has neither a value nor a bound, so that a
/// committed baseline stays small.
fn kept(metric: &MetricRecord) -> Option<MetricRecord> {
    let mut kept = metric.clone();
    if let Some(bound) = metric.below() {
        kept.values.fill(Reading::Below(short(bound)));
        return Some(kept);
    }
    metric.estimate?;
    for reading in &mut kept.values {
        if let Reading::Value(value) = reading {
            *value = short(*value);
        }
    }
    kept.estimate = Estimate::of(&kept.values.iter().filter_map(Reading::value).collect::<Vec<_>>());
    Some(kept)
}

/// Metrics as the file of a baseline has them: values alone, from which the estimate follows. Fit to be
/// committed with hundreds of cases.
mod metrics {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::metric::{Direction, Reading, Unit};
    use crate::record::{Estimate, MetricRecord};

    #[derive(Serialize, Deserialize)]
    struct KeptMetric {
        name: String,
        unit: Unit,
        direction: Direction,
        /// Null where a repeat had none.
        values: Vec<Option<f64>>,
        /// The bound that all repeats were below, where there is one instead of values.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        below: Option<f64>,
    }

    pub(super) fn serialize<S: Serializer>(metrics: &[MetricRecord], to: S) -> Result<S::Ok, S::Error> {
        let mut kept = Vec::with_capacity(metrics.len());
        for metric in metrics {
            kept.push(KeptMetric {
                name: metric.name.clone(),
                unit: metric.unit.clone(),
                direction: metric.direction,
                values: metric.values.iter().map(Reading::value).collect(),
                below: metric.below(),
            });
        }
        kept.serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<MetricRecord>, D::Error> {
        let mut metrics = Vec::new();
        for kept in Vec::<KeptMetric>::deserialize(from)? {
            let mut values = Vec::with_capacity(kept.values.len());
            for value in kept.values {
                let absent = || Reading::absent("a baseline does not keep why");
                let without = || kept.below.map_or_else(absent, Reading::Below);
                values.push(value.map_or_else(without, Reading::Value));
            }
            let estimate = Estimate::of(&values.iter().filter_map(Reading::value).collect::<Vec<_>>());
            let KeptMetric { name, unit, direction, .. } = kept;
            metrics.push(MetricRecord { name, unit, direction, values, estimate, looped: None });
        }
        Ok(metrics)
    }
}
