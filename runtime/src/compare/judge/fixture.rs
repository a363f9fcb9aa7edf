//! Runs to judge.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::bencher::{Budget, Work, WorkReport};
use crate::metric::{Direction, Reading, Unit};
use crate::plan::CaseId;
use crate::record::{
    CaseRecord, CaseStatus, Environment, Estimate, MetricRecord, RunId, RunManifest, RunPlan, RunRecord,
    RunStatus,
};
use crate::registry::{AxisValue, Equivalence, Point};
use crate::verify::Agreement;

/// A metric with these values.
pub(in super::super) fn metric(name: &str, direction: Direction, values: &[f64]) -> MetricRecord {
    MetricRecord {
        name: name.into(),
        unit: Unit::SECONDS,
        direction,
        values: values.iter().map(|value| Reading::Value(*value)).collect(),
        estimate: Estimate::of(values),
        looped: None,
    }
}

/// A case that took these times.
pub(in super::super) fn case(scenario: &str, times: &[f64]) -> CaseRecord {
    let report =
        WorkReport { input: Some("d1".into()), transforms: vec!["sort".into()], ..WorkReport::default() };
    CaseRecord {
        id: CaseId { scenario: scenario.into(), point: Point::default(), adapter: None, told_apart: false },
        category: "Algorithms".into(),
        description: String::new(),
        beside: None,
        tier: None,
        version: None,
        status: CaseStatus::Measured,
        primary_metric: "wall_time".into(),
        metrics: vec![metric("wall_time", Direction::Lower, times)],
        ranks: Vec::new(),
        processes: Vec::new(),
        median_repeat: Some(1),
        work: Some(Work { report, ..Work::default() }),
        agreement: Agreement::Agrees,
        findings: Vec::new(),
        equivalence: Equivalence::None,
        stationarity: None,
        stopped: None,
        attached: Vec::new(),
        repeats: Vec::new(),
    }
}

/// The case with a labelled value on its axis, whose `Debug` text is this.
pub(in super::super) fn labelled(mut case: CaseRecord, debug: &str) -> CaseRecord {
    let value =
        AxisValue { axis: "variant".into(), text: "small".into(), labelled: true, debug: Some(debug.into()) };
    case.id.point = Point(vec![value]);
    case
}

/// A run of these cases. Its number makes its id and its seed does not change.
pub(in super::super) fn run(number: u32, cases: Vec<CaseRecord>) -> RunRecord {
    let facts = |facts: &[(&str, &str)]| -> BTreeMap<String, String> {
        facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let environment = Environment {
        machine: facts(&[("cpu model", "Example 9000"), ("turbo", "off")]),
        software: facts(&[("kernel", "6.1"), ("commit", "aaaa")]),
        ..Environment::default()
    };
    let budget = Budget { warmup: 0, batches: 1, min_time: Duration::ZERO, max_time: None };
    let planned = RunPlan {
        cases: cases.iter().map(|case| case.id.clone()).collect(),
        shortened: BTreeMap::new(),
        only_verified: Vec::new(),
        skipped: Vec::new(),
        repeats: 7,
        stated: BTreeMap::new(),
        target: None,
        budget,
        timeout: 60,
        isolation: "repeat".into(),
        order: "shuffled".into(),
    };
    let manifest = RunManifest {
        id: RunId::new(1_795_249_812 + u64::from(number), number),
        suite: "pack/suite".into(),
        started: 1_795_249_812,
        command: vec!["suite".into()],
        program: None,
        versus: None,
        profile: "ci_cpu".into(),
        requested_platform: "cpu".into(),
        active_backend: "cpu".into(),
        seed: 42,
        epoch: 0,
        planned,
        status: RunStatus::Complete,
        resumed: false,
        journalled: None,
        other_surroundings: Vec::new(),
        ranks: None,
        environment,
        load_at_end: None,
    };
    RunRecord { manifest, cases }
}
