//! Reading and comparing two runs of 1,000 cases, and of 10,000.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use weighbridge::data::{
    Agreement, AxisValue, Baseline, BaselineName, Baselines, Budget, CaseId, CaseRecord, CaseStatus,
    Direction, Environment, Estimate, Layout, MetricRecord, Outcome, Point, Policy, Purpose, Reading, Repeat,
    RunId, RunManifest, RunPlan, RunRecord, RunStatus, Runs, Unit, Work, judge,
};
use weighbridge::{Equivalence, Observation};

use crate::Result;
use crate::table::{median, print as print_table, time};

/// How many cases the runs have, and how many seconds that may take.
const SIZES: [(usize, u32); 2] = [(1000, 1), (10_000, 2)];

const REPEATS: u32 = 7;
const METRICS: usize = 16;
const SAMPLES: u64 = 500;
const ROUNDS: usize = 5;

/// Prints how long it takes to read two runs and to judge the one by the other; and the same with a baseline
/// file, as the commands do it.
pub fn print() -> Result<()> {
    SIZES.into_iter().try_for_each(|(cases, limit)| print_size(cases, limit))
}

fn print_size(cases: usize, limit: u32) -> Result<()> {
    let data = tempfile::tempdir()?;
    let runs = Runs::new(Layout::new(data.path()));
    let (old, new) = (run(1_795_000_000, cases), run(1_795_100_000, cases));
    write(&runs, &old)?;
    write(&runs, &new)?;
    let baselines = Baselines::new(Layout::new(data.path()));
    let name: BaselineName = "main".parse()?;
    baselines.set(&name, &old)?;
    let machine = old.manifest.environment.machine_id();

    let mut took = [const { Vec::new() }; 2];
    for _ in 0..ROUNDS {
        took[0].push(timed(cases, || {
            let baseline = Baseline::promote("main", &runs.load(&old.manifest.id)?);
            compare(&runs, &baseline, &new.manifest.id)
        })?);
        took[1].push(timed(cases, || {
            let stored = baselines.find(&machine, &old.manifest.suite, &name)?;
            compare(&runs, &stored.baseline, &new.manifest.id)
        })?);
    }
    println!(
        "reading and comparing two runs of {cases} cases, {METRICS} metrics, {REPEATS} repeats of {SAMPLES} \
         samples; median of {ROUNDS} (to be under {limit} s)"
    );
    let rows = ["two runs", "baseline and run"].iter().zip(&took).map(|(what, took)| {
        let most = took.iter().copied().fold(0.0, f64::max);
        vec![(*what).to_owned(), time(median(took)), time(most)]
    });
    print_table(&["", "median", "longest"], &rows.collect::<Vec<_>>());
    Ok(())
}

fn compare(runs: &Runs, baseline: &Baseline, candidate: &RunId) -> Result<usize> {
    let candidate = runs.load(candidate)?;
    let history = runs.history(baseline, &candidate.manifest.id, 20)?;
    Ok(judge(baseline, &candidate, &history, &Policy::default()).rows.len())
}

fn timed(cases: usize, mut work: impl FnMut() -> Result<usize>) -> Result<f64> {
    let start = Instant::now();
    let rows = work()?;
    let took = start.elapsed().as_nanos() as f64;
    if rows == cases { Ok(took) } else { Err(format!("{rows} cases were compared").into()) }
}

fn write(runs: &Runs, run: &RunRecord) -> Result<()> {
    let id = &run.manifest.id;
    runs.create(&RunManifest { status: RunStatus::Running, ..run.manifest.clone() })?;
    for case in &run.cases {
        // Comparing reads no repeats; those of the smaller runs are there to show that.
        for repeat in case.repeats.iter().filter(|_| run.cases.len() == SIZES[0].0) {
            runs.journal(id, &case.id, repeat)?;
        }
        runs.write_case(id, case)?;
    }
    Ok(runs.write_manifest(&run.manifest)?)
}

fn run(started: u64, cases: usize) -> RunRecord {
    let id = |depth: usize| {
        let value = AxisValue { axis: "depth".into(), text: depth.to_string(), labelled: false, debug: None };
        CaseId {
            scenario: "MANY-1".into(),
            point: Point(vec![value]),
            adapter: Some("Reference".into()),
            told_apart: false,
        }
    };
    let manifest = RunManifest {
        ranks: None,
        id: RunId::new(started, 7),
        suite: "overhead/records".into(),
        started,
        command: vec!["records".into(), "--bench".into()],
        program: None,
        profile: "quick".into(),
        requested_platform: "cpu".into(),
        active_backend: "cpu".into(),
        seed: 42,
        epoch: 0,
        planned: RunPlan {
            cases: (0..cases).map(id).collect(),
            shortened: BTreeMap::new(),
            only_verified: Vec::new(),
            skipped: Vec::new(),
            repeats: REPEATS,
            stated: BTreeMap::new(),
            target: None,
            budget: Budget { warmup: 1, batches: 20, min_time: Duration::from_millis(500), max_time: None },
            timeout: 60,
            isolation: "repeat".into(),
            order: "shuffled".into(),
        },
        status: RunStatus::Complete,
        resumed: false,
        journalled: None,
        other_surroundings: Vec::new(),
        environment: Environment {
            machine: [("cpu".to_owned(), "Abacus 9".to_owned())].into(),
            ..Environment::default()
        },
        load_at_end: None,
        versus: None,
    };
    let cases = manifest.planned.cases.iter().map(|id| case(id.clone(), started)).collect();
    RunRecord { manifest, cases }
}

fn case(id: CaseId, salt: u64) -> CaseRecord {
    let values: Vec<f64> = (1..=REPEATS).map(|at| 1e-3 * (1.0 + f64::from(at) / 100.0)).collect();
    let metric = |at: usize| MetricRecord {
        name: if at == 0 { "wall_time".to_owned() } else { format!("metric_{at}") },
        unit: Unit::SECONDS,
        direction: Direction::Lower,
        values: values.iter().copied().map(Reading::Value).collect(),
        estimate: Estimate::of(&values),
        looped: None,
    };
    CaseRecord {
        id,
        category: "Pipelines".into(),
        description: "A chain of cheap transforms.".into(),
        beside: None,
        tier: Some(0),
        version: None,
        status: CaseStatus::Measured,
        primary_metric: "wall_time".into(),
        metrics: (0..METRICS).map(metric).collect(),
        ranks: Vec::new(),
        processes: Vec::new(),
        median_repeat: Some(REPEATS / 2 + 1),
        work: Some(Work::default()),
        equivalence: Equivalence::None,
        agreement: Agreement::Reference,
        findings: Vec::new(),
        stationarity: None,
        stopped: None,
        attached: Vec::new(),
        repeats: (1..=REPEATS).map(|number| repeat(number, salt)).collect(),
    }
}

fn repeat(number: u32, salt: u64) -> Repeat {
    let samples: Vec<u64> = (0..SAMPLES).map(|at| 1_000_000 + (at * 7919 + salt) % 10_007).collect();
    let wall = samples.iter().sum();
    let seen = Observation { samples, iterations_per_sample: 1, passes: 1, wall, ..Observation::default() };
    Repeat {
        utilisation: None,
        number,
        purpose: Purpose::Measure,
        slot: wall + 1_000_000,
        start: Some(900_000),
        tree: None,
        surroundings: 0,
        outcome: Outcome::Measured {
            seen: Box::new(seen),
            work: Some(Work::default()),
            evidence: Box::default(),
        },
    }
}
