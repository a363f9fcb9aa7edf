//! A data directory with runs in it, for tests.

use std::collections::BTreeMap;
use std::time::Duration;

use weighbridge::data::{
    Agreement, AxisValue, Baseline, Budget, CaseId, CaseRecord, CaseStatus, Direction, Environment, Estimate,
    History, Layout, MetricRecord, Observation, Outcome, Planned, Point, Policy, Purpose, Reading, Repeat,
    Row, RunId, RunManifest, RunRecord, RunStatus, Unit, judge,
};
use weighbridge_training::training::{
    BEST_ACCURACY, BOTH_AT_ONCE, EFFICIENCY, EXPOSED_LOADING, FULL_STEP, LOADER_ALONE, STEP_ALONE,
    STEPS_TO_TARGET, TIME_TO_TARGET, WAITED_FOR_DATA,
};

use crate::place::Place;

/// A place of its own, gone when it is dropped.
pub(crate) struct Home {
    pub(crate) place: Place,
    pub(crate) directory: tempfile::TempDir,
}

pub(crate) fn home() -> Home {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let root = directory.path().join("workspace");
    std::fs::create_dir_all(root.join("benches")).expect("writable");
    let layout = Layout::new(directory.path().join("data")).with_workspace(&root);
    let place = Place { root, layout, kept: None, suites: Vec::new() };
    Home { place, directory }
}

impl Home {
    /// Stores a run as a bench target does.
    pub(crate) fn store(&self, run: &RunRecord) -> RunId {
        let runs = self.place.runs();
        runs.create(&run.manifest).expect("a good disk");
        for case in &run.cases {
            for repeat in &case.repeats {
                runs.journal(&run.manifest.id, &case.id, repeat).expect("a good disk");
            }
            runs.write_case(&run.manifest.id, case).expect("a good disk");
        }
        run.manifest.id.clone()
    }

    /// Promotes a stored run.
    pub(crate) fn promote(&self, name: &str, run: &RunRecord) {
        self.place.baselines().set(&name.parse().expect("a name"), run).expect("promoted");
    }
}

/// The id of scenario `id` at `variant=small` for an adapter.
pub(crate) fn case_id(scenario: &str, adapter: &str) -> CaseId {
    let value = AxisValue { axis: "variant".into(), text: "small".into(), labelled: true, debug: None };
    CaseId { scenario: scenario.into(), point: Point(vec![value]), adapter: Some(adapter.into()) }
}

/// Seven values around `middle`, half a percent apart at most.
pub(crate) fn around(middle: f64) -> Vec<f64> {
    [0.999, 1.001, 1.0, 0.9985, 1.0015, 0.9995, 1.0005].map(|factor| middle * factor).to_vec()
}

/// A measured case of the reference whose throughput had these values.
pub(crate) fn case(scenario: &str, adapter: &str, values: &[f64]) -> CaseRecord {
    let metric = |name: &str, unit, direction, values: Vec<f64>| {
        let mut sorted = values.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        MetricRecord {
            name: name.to_owned(),
            unit,
            direction,
            estimate: Some(Estimate { median: sorted[sorted.len() / 2], interval: None, n: values.len() }),
            values: values.into_iter().map(Reading::Value).collect(),
        }
    };
    let median = 1 + values
        .iter()
        .position(|value| {
            let below = values.iter().filter(|other| *other < value).count();
            below == values.len() / 2
        })
        .expect("values without ties") as u32;
    CaseRecord {
        id: case_id(scenario, adapter),
        category: "Computer vision".into(),
        description: "Images to normalised float batches.".into(),
        beside: None,
        tier: Some(0),
        version: None,
        status: CaseStatus::Measured,
        primary_metric: "throughput".into(),
        metrics: vec![
            metric("throughput", Unit::ELEMENTS_PER_SECOND, Direction::Higher, values.to_vec()),
            metric("peak_memory", Unit::BYTES, Direction::Lower, around(32.0 * 1024.0 * 1024.0)),
        ],
        ranks: Vec::new(),
        processes: Vec::new(),
        median_repeat: Some(median),
        work: None,
        agreement: Agreement::Reference,
        findings: Vec::new(),
        equivalence: None,
        stationarity: None,
        stopped: None,
        attached: Vec::new(),
        repeats: (0..=values.len() as u32).map(repeat).collect(),
    }
}

fn repeat(number: u32) -> Repeat {
    let purpose = if number == 0 { Purpose::Verify } else { Purpose::Measure };
    let samples = if number == 0 { Vec::new() } else { vec![1_000; 20] };
    let seen = Observation { samples, iterations_per_sample: 1, ..Observation::default() };
    let outcome = Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() };
    Repeat { number, purpose, slot: 2_500_000, start: Some(900_000), tree: None, outcome }
}

/// A value of an axis that has labels.
pub(crate) fn axis(axis: &str, text: &str) -> AxisValue {
    AxisValue { axis: axis.into(), text: text.into(), labelled: true, debug: None }
}

/// A metric with the same value in seven repeats.
pub(crate) fn metric(name: &str, unit: Unit, value: f64) -> MetricRecord {
    MetricRecord {
        name: name.into(),
        unit,
        direction: Direction::Information,
        values: vec![Reading::Value(value); 7],
        estimate: Estimate::of(&[value; 7]),
    }
}

/// A training in seven repeats, at its target after so many steps and seconds, or never.
pub(crate) fn training(adapter: &str, seed: u64, rate: f64, target: Option<(f64, f64)>) -> CaseRecord {
    let mut case = case("TRAIN-2", adapter, &around(1.0));
    case.tier = Some(1);
    case.id.point.0 = vec![axis("mode", "eager"), axis("seed", &seed.to_string())];
    let metric = |name: &str, value: f64| metric(name, Unit::COUNT, value);
    case.metrics = vec![
        metric("throughput", rate),
        metric("wall_time", 32.0 / rate),
        metric(BEST_ACCURACY, 0.91),
        metric("loss at 8", 2.0),
        metric("accuracy at 8", 0.3),
        metric("time at 8", 0.1),
        metric("loss at 64", 0.5),
        metric("accuracy at 64", 0.91),
        metric("time at 64", 0.8),
    ];
    if let Some((steps, time)) = target {
        case.metrics.extend([metric(STEPS_TO_TARGET, steps), metric(TIME_TO_TARGET, time)]);
    }
    case
}

/// A case of TRAIN-3 with so many samples a second of both at once, the loader and the step.
pub(crate) fn fed(adapter: &str, point: &[(&str, &str)], rates: [f64; 3]) -> CaseRecord {
    let mut case = case("TRAIN-3", adapter, &around(1.0));
    case.id.point.0 = point.iter().map(|(name, text)| axis(name, text)).collect();
    let rate = |name: &str, value: f64| metric(name, Unit::other("samples/s"), value);
    case.metrics = vec![
        rate(BOTH_AT_ONCE, rates[0]),
        rate(LOADER_ALONE, rates[1]),
        rate(STEP_ALONE, rates[2]),
        metric(FULL_STEP, Unit::SECONDS, 32.0 / rates[0]),
        metric(EXPOSED_LOADING, Unit::SECONDS, 0.001),
        metric(WAITED_FOR_DATA, Unit::other("%"), 40.0),
        metric(EFFICIENCY, Unit::RATIO, 0.9),
    ];
    case
}

/// A complete run of `toy/suite` that started at this second, with these cases.
pub(crate) fn run(second: u64, cases: Vec<CaseRecord>) -> RunRecord {
    let machine = BTreeMap::from([("cpu".to_owned(), "Abacus 9".to_owned())]);
    let manifest = RunManifest {
        id: RunId::new(second, 7),
        suite: "toy/suite".into(),
        started: second,
        command: vec!["suite".into(), "--bench".into()],
        program: None,
        versus: None,
        profile: "ci_cpu".into(),
        requested_platform: "cpu".into(),
        active_backend: "cpu".into(),
        seed: 42,
        epoch: 0,
        planned: Planned {
            cases: cases.iter().map(|case| case.id.clone()).collect(),
            repeats: 7,
            stated: BTreeMap::new(),
            target: None,
            budget: Budget { warmup: 1, batches: 20, min_time: Duration::from_millis(500), max_time: None },
            timeout: 60,
            isolation: "repeat".into(),
            order: "shuffled".into(),
        },
        status: RunStatus::Complete,
        resumed: false,
        imported: None,
        environment: Environment { machine, ..Environment::default() },
        load_at_end: None,
    };
    RunRecord { manifest, cases }
}

/// A run whose two cases had these throughputs.
pub(crate) fn plain(second: u64, reference: f64, fused: f64) -> RunRecord {
    let cases = vec![
        case("CV-1", "Reference", &around(reference)),
        case("CV-1", "Reference (fused)", &around(fused)),
    ];
    run(second, cases)
}

/// A row of a comparison of two runs that are alike.
pub(crate) fn row() -> Row {
    let baseline = Baseline::promote("main", &plain(1_000, 8.0e6, 12.0e6));
    let later = plain(2_000, 8.0e6, 12.0e6);
    judge(&baseline, &later, &History::default(), &Policy::default()).rows.remove(0)
}
