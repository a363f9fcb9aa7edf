//! Imported windows as a run: a case for each level, a repeat for each window.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use weighbridge::Equivalence;
use weighbridge::data::{
    AxisValue, Budget, CaseFacts, CaseId, Custom, Environment, Failure, HeldAgainst, How, Observation,
    Outcome, Phase, Point, Purpose, Repeat, RunId, RunManifest, RunPlan, RunRecord, RunStatus, Runs,
    UnverifiedReason, assemble,
};
use weighbridge_load::{ClientState, Figures, measures};

use super::foreign::ForeignWindow;
use crate::load::LoadArgs;

/// Stores the windows of one tool as a run.
pub(super) fn store(
    args: &LoadArgs,
    runs: &Runs,
    tool: &str,
    windows: &[&ForeignWindow],
) -> Result<RunRecord> {
    let mut cases: Vec<(CaseId, Vec<&ForeignWindow>)> = Vec::new();
    for window in windows {
        let id = id(args, window);
        match cases.iter_mut().find(|(known, _)| *known == id) {
            Some((_, own)) => own.push(window),
            None => cases.push((id, vec![window])),
        }
    }
    let mut run = RunRecord { manifest: manifest(tool, &cases), cases: Vec::new() };
    runs.create(&run.manifest)?;
    for (id, windows) in cases {
        let repeats: Vec<Repeat> =
            (1..).zip(&windows).map(|(number, one)| repeat(args, number, one)).collect();
        for repeat in &repeats {
            runs.journal(&run.manifest.id, &id, repeat)?;
        }
        let facts = CaseFacts {
            id,
            category: "Inference".to_owned(),
            description: format!("Imported results of {tool}; {}.", windows[0].notes.join("; ")),
            beside: None,
            tier: Some(1),
            version: None,
            equivalence: Equivalence::None,
            memory: None,
            primary_metric: None,
        };
        let planned = repeats.len() as u32;
        let case = assemble(facts, repeats, planned, &HeldAgainst::Missing(UnverifiedReason::NotVerified));
        runs.write_case(&run.manifest.id, &case)?;
        run.cases.push(case);
    }
    Ok(run)
}

fn id(args: &LoadArgs, window: &ForeignWindow) -> CaseId {
    let value = AxisValue {
        axis: "load".to_owned(),
        text: window.level.replace('/', " per "),
        labelled: true,
        debug: Some(window.meaning.clone()),
    };
    CaseId {
        scenario: "LOAD".to_owned(),
        point: Point(vec![value]),
        adapter: Some(args.name_of(super::super::args::LoadSide::Judged).to_owned()),
        told_apart: false,
    }
}

/// A window as a repeat. One that would mislead failed.
fn repeat(args: &LoadArgs, number: u32, window: &ForeignWindow) -> Repeat {
    let figures = Figures::of(&window.answers, args.goals(), window.length);
    let outcome = match refused(args, &figures) {
        Some(why) => {
            let detail = format!("INVALID: {why}");
            Outcome::Failed(Failure {
                how: How::Error,
                phase: Phase::TearDown,
                detail,
                stderr: String::new(),
            })
        }
        None => measured(&figures),
    };
    let slot = u64::try_from(window.length.as_nanos()).unwrap_or(u64::MAX);
    Repeat {
        number,
        purpose: Purpose::Measure,
        slot,
        start: None,
        tree: None,
        utilisation: None,
        surroundings: 0,
        outcome,
    }
}

fn refused(args: &LoadArgs, figures: &Figures) -> Option<String> {
    let failed = figures.failed() as f64 / figures.requests.max(1) as f64;
    let kinds: Vec<String> =
        figures.failures.iter().map(|(kind, count)| format!("{count} x {}", kind.name())).collect();
    let is_cut = figures.failures.keys().any(|kind| kind.is_cut());
    (failed > args.max_failed || is_cut)
        .then(|| format!("{:.1} % of the requests failed ({})", failed * 100.0, kinds.join(", ")))
}

fn measured(figures: &Figures) -> Outcome {
    // What the client of the other tool had to do is not known.
    let told = ["client_busy", "connections_opened", "shared_chunks"];
    let measures = measures(figures, &ClientState::default(), weighbridge_load::Purpose::State);
    let custom = measures.into_iter().filter(|measure| !told.contains(&measure.name)).map(|measure| Custom {
        name: measure.name.to_owned(),
        value: measure.value,
        unit: measure.unit,
        direction: measure.direction,
    });
    let seen = Observation { custom: custom.collect(), iterations_per_sample: 1, ..Observation::default() };
    Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() }
}

fn manifest(tool: &str, cases: &[(CaseId, Vec<&ForeignWindow>)]) -> RunManifest {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let salt = now.subsec_nanos() ^ tool.len() as u32;
    let repeats = cases.iter().map(|(_, windows)| windows.len()).max().unwrap_or(0);
    let machine = BTreeMap::from([("imported from".to_owned(), tool.to_owned())]);
    RunManifest {
        id: RunId::new(now.as_secs(), salt),
        suite: format!("inference/{tool}"),
        started: now.as_secs(),
        command: vec!["load".to_owned(), "--import".to_owned()],
        program: None,
        versus: None,
        profile: "imported".to_owned(),
        requested_platform: "cpu".to_owned(),
        active_backend: "cpu".to_owned(),
        seed: 0,
        epoch: 0,
        planned: RunPlan {
            cases: cases.iter().map(|(id, _)| id.clone()).collect(),
            shortened: BTreeMap::new(),
            only_verified: Vec::new(),
            skipped: Vec::new(),
            repeats: repeats as u32,
            stated: BTreeMap::new(),
            target: None,
            budget: Budget { warmup: 0, batches: 1, min_time: Duration::ZERO, max_time: None },
            timeout: 0,
            isolation: "repeat".to_owned(),
            order: "declared".to_owned(),
        },
        status: RunStatus::Complete,
        resumed: false,
        journalled: Some(cases.iter().map(|(_, windows)| windows.len()).sum()),
        other_surroundings: Vec::new(),
        ranks: None,
        environment: Environment { machine, ..Environment::default() },
        load_at_end: None,
    }
}
