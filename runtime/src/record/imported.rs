//! What another tool measured, as a record: its samples and figures, and nothing that nobody saw.

use serde::{Deserialize, Serialize};

use super::{CaseFacts, CaseRecord, HeldAgainst, assemble};
use crate::bencher::Purpose;
use crate::metric::names;
use crate::metric::{Custom, Direction, Observation, Reading, Taken, Unit};
use crate::plan::CaseId;
use crate::registry::Equivalence;
use crate::run::{Outcome, Repeat};

/// Tool that measured a run that was imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// The tool: `criterion`.
    pub tool: String,
    /// Its version, where its files say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The names of the files or folders that were read, without what lies above them.
    pub files: Vec<String>,
}

/// Measurements of a benchmark by one process of another tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedProcess {
    /// Samples in order, each the nanoseconds of [`ImportedProcess::iterations`] iterations.
    pub samples: Vec<u64>,
    /// Iterations behind each sample.
    pub iterations: u64,
    /// Elements that one iteration went through; 0 where the tool does not say.
    pub elements: u64,
    /// Bytes that one iteration went through; 0 where the tool does not say.
    pub bytes: u64,
    /// The most memory resident, in bytes.
    pub peak_memory: Option<f64>,
    /// Figures that the tool states: name, value in the unit, unit, which way is better.
    pub figures: Vec<(String, f64, Unit, Direction)>,
    /// Things to know about them.
    pub notes: Vec<String>,
}

/// Metrics that follow from samples alone. Of what else a repeat of ours is asked for, another tool has seen
/// nothing.
const FROM_SAMPLES: [&str; 4] =
    [names::WALL_TIME, names::THROUGHPUT, names::THROUGHPUT_BYTES, names::PEAK_MEMORY];

/// Caveats of estimates that hold for those of any tool.
const CAVEATS: [&str; 5] = ["few-repeats", "unsteady", "outlier", "unsettled", "note"];

impl CaseRecord {
    /// A benchmark that another tool has measured, once for each of `processes`. `primary_metric` is the
    /// metric that stands for it where the tool states figures and no samples.
    ///
    /// Nothing is known of its work: it is neither verified nor accused.
    pub fn imported(
        id: CaseId,
        tool: &str,
        primary_metric: Option<&str>,
        processes: Vec<ImportedProcess>,
    ) -> Self {
        let planned = processes.len() as u32;
        let stated: Vec<String> =
            processes.iter().flat_map(|process| &process.figures).map(|figure| figure.0.clone()).collect();
        let numbered = (1..).zip(processes);
        let repeats = numbered.map(|(number, process)| process.repeat(number)).collect();
        let facts = CaseFacts {
            id,
            category: "Imported".to_owned(),
            description: format!("As {tool} measured it."),
            beside: None,
            tier: None,
            version: None,
            equivalence: Equivalence::None,
            memory: None,
            primary_metric: primary_metric.map(str::to_owned),
        };
        let none = HeldAgainst::Missing("it is imported".to_owned());
        let mut record = assemble(facts, repeats, planned, &none);
        record.metrics.retain(|metric| {
            let known = FROM_SAMPLES.contains(&metric.name.as_str()) || stated.contains(&metric.name);
            known && metric.estimate.is_some()
        });
        record.findings.retain(|finding| CAVEATS.contains(&finding.rule.as_str()));
        record
    }
}

impl ImportedProcess {
    fn repeat(self, number: u32) -> Repeat {
        let wall: u64 = self.samples.iter().fold(0, |sum, sample| sum.saturating_add(*sample));
        let iterations = (self.samples.len() as u64).saturating_mul(self.iterations);
        let custom = |(name, value, unit, direction)| Custom { name, value, unit, direction };
        let absent = || Reading::absent("the other tool does not say");
        let mut seen = Observation {
            taken: (!self.samples.is_empty()).then_some(Taken::Iterations),
            iterations_per_sample: self.iterations,
            elements: self.elements.saturating_mul(iterations),
            bytes: self.bytes.saturating_mul(iterations),
            wall,
            samples: self.samples,
            peak_memory: Some(self.peak_memory.map_or_else(absent, Reading::Value)),
            custom: self.figures.into_iter().map(custom).collect(),
            notes: self.notes,
            ..Observation::default()
        };
        seen.classify();
        let outcome = Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() };
        Repeat { number, purpose: Purpose::Measure, slot: wall, start: None, tree: None, outcome }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Point;
    use crate::verify::Agreement;

    fn id() -> CaseId {
        CaseId { scenario: "sum".into(), point: Point::default(), adapter: None }
    }

    #[test]
    fn samples_of_another_tool_have_the_metrics_that_follow_from_them_and_no_others() {
        let process = |time: u64| ImportedProcess {
            samples: vec![time; 30],
            iterations: 100,
            elements: 10,
            ..ImportedProcess::default()
        };
        let case =
            CaseRecord::imported(id(), "criterion", None, (1..=6).map(|n| process(1_000 * n)).collect());
        let names: Vec<&str> = case.metrics.iter().map(|metric| metric.name.as_str()).collect();
        assert_eq!(names, ["wall_time", "throughput"], "no counter of nothing, such as faults, is a figure");
        assert_eq!((case.primary_metric.as_str(), case.metrics[0].values.len()), ("throughput", 6));
        let first = case.metrics[0].values[0].value().expect("a time");
        assert!((first * 1e9 - 10.0).abs() < 1e-9, "{first}");
        assert_eq!((&case.agreement, case.processes.len()), (&Agreement::NotAsked, 6));
        assert!(!case.has_failed(), "{:?}", case.findings);
        super::super::against_samples(&case).expect("its processes follow from its samples");
    }

    #[test]
    fn figures_without_samples_are_kept_as_the_tool_states_them() {
        let process = ImportedProcess {
            figures: vec![("median".into(), 2e-9, Unit::SECONDS, Direction::Lower)],
            ..ImportedProcess::default()
        };
        let case = CaseRecord::imported(id(), "divan", Some("median"), vec![process]);
        assert_eq!((case.primary_metric.as_str(), case.metrics.len()), ("median", 1));
        assert!(case.findings.iter().any(|finding| finding.rule == "few-repeats"), "{:?}", case.findings);
        assert!(!case.has_failed(), "{:?}", case.findings);
    }
}
