//! `--versus PATH` and `--versus-adapter NAME`: two sides in turns, until each case is decided.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use super::bench::{build, check, lock, now, policy, run_id};
use super::request::{Mode, request};
use super::smoke::program;
use super::{Context, Error, Exit, args::UsageError};
use crate::bencher::INJECT;
use crate::compare::{
    Candidate, CaseDuel, CaseFailure, Comparison, Counts, Method, Policy, Promoted, Refusal, Row, Verdict,
    axis_changed, confirm,
};
use crate::device::Clock;
use crate::plan::{self, CaseId, Plan, PlannedCase};
use crate::record::{Agreement, Environment, agree};
use crate::registry::Registry;
use crate::report;
use crate::run::{Broken, Duel, How, Program, Side};
use crate::stats::SplitMix64;
use crate::store::{Duels, Layout};

/// The sides of one case: what is compared with, what is judged.
struct Pair<'a> {
    baseline: CaseId,
    candidate: &'a PlannedCase,
}

/// Measures both sides of every case in turns, judges, stores and shows what came of it.
pub(super) fn duel(context: &Context<'_>, registry: &Registry, plan: &Plan) -> Result<Exit, Error> {
    let Context { suite, args, terminal, .. } = context;
    let device = check(context, plan)?;
    let own = program(context)?;
    if let Some(adapter) = &args.versus_adapter {
        let mut known = registry.adapters().iter().map(|entry| entry.name);
        if !known.clone().any(|name| name == adapter) {
            return Err(plan::Error::unknown("adapter", adapter, &mut known).into());
        }
    }
    let (name, baseline) = match (&args.versus, &args.versus_adapter) {
        (Some(path), _) => (path.clone(), Program { path: executable(path)?, ..own.clone() }),
        (None, adapter) => (adapter.clone().unwrap_or_default(), own.clone()),
    };
    let theirs = if args.versus.is_some() { list(&baseline, args.listing_flags())? } else { Vec::new() };
    let (pairs, mut rows) = match &args.versus_adapter {
        Some(adapter) => adapters(plan, adapter)?,
        None => programs(registry, context, plan, &theirs)?,
    };
    let Some(_lock) = lock(context)? else { return Ok(Exit::Interrupted) };
    let layout = Layout::new(suite.data(args.data.as_deref())).with_workspace(suite.workspace());
    let duels = Duels::new(layout.clone());
    let now = now();
    let id = run_id(now);
    let scratch = duels.scratch(&id)?;
    let task = Duel {
        programs: sides(own, baseline, args.inject),
        plan,
        scratch: &|case, number| scratch.path().join(format!("{}.{number}", case.file_name())),
        hashes: scratch.path().join("hashes"),
        least: args.inject.map_or(1, |share| (1.0 / share).ceil() as u64),
        seed: args.seed.unwrap_or(now.as_nanos() as u64),
        interrupted: &context.interrupted,
    };

    let policy = policy(context, registry)?;
    let mut failures = Vec::new();
    let mut to_confirm: Vec<(usize, usize)> = Vec::new();
    let total = pairs.len();
    for (at, pair) in pairs.iter().enumerate() {
        let mut said =
            |words: String| terminal.remark(&format!("[{}/{total}] {}: {words}", at + 1, pair.candidate.id));
        let clock = Clock::monotonic();
        match fight(&task, pair, &policy, task.seed ^ at as u64, &mut said) {
            Ok(duel) => {
                let mut row = duel.row(&pair.candidate.id, &policy);
                if let Some(rounds) = &mut row.rounds {
                    rounds.seconds = clock.now().as_secs_f64();
                }
                said(report::row(&row, *terminal));
                if row.verdict == Verdict::Regressed {
                    to_confirm.push((rows.len(), at));
                }
                rows.push(row);
            }
            Err(Stop::Interrupted) => return Ok(Exit::Interrupted),
            Err(Stop::Failed(why)) => {
                said(why.clone());
                failures.push(CaseFailure { case: pair.candidate.id.clone(), why: why.clone() });
                rows.push(Row::bare(&pair.candidate.id, "wall_time", Verdict::Incomparable(why)));
            }
            Err(Stop::Incomparable(why)) => {
                said(why.clone());
                rows.push(Row::bare(&pair.candidate.id, "wall_time", Verdict::Incomparable(why)));
            }
        }
    }
    confirmed(&task, &pairs, &mut rows, &to_confirm, &policy, context)?;

    let mut environment = Environment::capture(layout.data(), &suite.workspace(), &build(context));
    environment.add_device(&device);
    let mut comparison = Comparison {
        suite: suite.name(),
        method: Method::Duel,
        baseline: Promoted { name, run: None },
        candidate: id.clone(),
        environment: Some(environment),
        environment_changes: Vec::new(),
        refused: None,
        failures,
        counts: Counts::of(&rows),
        rows,
    };
    if comparison.counts.weighed() == 0 {
        comparison.refused = Some(Refusal::NothingCompared);
    }
    let file = duels.write(&id, &comparison)?;
    if let Some(wanted) = &args.comparison {
        duels.write_to(Path::new(wanted), &comparison)?;
    }
    terminal.result(&report::verdicts(&comparison, *terminal));
    terminal.remark(&format!("files: {}", file.display()));
    let exit = Exit::from(comparison.outcome(&policy));
    terminal.answer(&report::duel_summary(&comparison, exit.code()));
    Ok(exit)
}

/// Why a case's duel ended without rounds to judge.
enum Stop {
    Interrupted,
    Failed(String),
    Incomparable(String),
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Interrupted => Self::Interrupted,
            Broken::Failed(Side::Candidate, failure) => Self::Failed(failure.to_string()),
            Broken::Failed(Side::Baseline, failure) if failure.how == How::Protocol => {
                Self::Incomparable(format!(
                    "the baseline's program cannot be measured beside this one ({}): both must be built on the same \
                     version of weighbridge. Compare with a stored baseline, or with a revision since the change",
                    failure.detail
                ))
            }
            Broken::Failed(Side::Baseline, failure) => Self::Incomparable(format!("the baseline {failure}")),
            Broken::Skipped(Side::Candidate, why) => Self::Incomparable(format!("skipped now: {why}")),
            Broken::Skipped(Side::Baseline, why) => {
                Self::Incomparable(format!("the baseline skips it: {why}"))
            }
        }
    }
}

/// One case, round after round, until it is decided.
fn fight(
    task: &Duel<'_>,
    pair: &Pair<'_>,
    policy: &Policy,
    seed: u64,
    said: &mut dyn FnMut(String),
) -> Result<CaseDuel, Stop> {
    let cases = [&pair.baseline, &pair.candidate.id];
    if pair.candidate.is_verified() {
        let [old, new] = task.verify(cases)?;
        if let (Some(old), Some(new)) = (&old, &new)
            && let Agreement::Differs(what) = agree(new, old, pair.candidate.scenario.equivalence())
        {
            return Err(Stop::Incomparable(format!("the two do other work: {}", what.join("; "))));
        }
    }
    let mut duel = CaseDuel::default();
    let mut iterations = None;
    let mut random = SplitMix64::new(seed);
    let offset = random.draw() as u32 >> 8;
    while !duel.is_decided(&pair.candidate.id, policy) {
        let round = task.round(cases, offset + duel.rounds() as u32, &mut iterations)?;
        let before = duel.rounds();
        duel.add(round);
        if duel.rounds() == before {
            return Err(Stop::Failed("a round showed no time at all".to_owned()));
        }
        if duel.rounds() % 8 == 0 && !duel.is_decided(&pair.candidate.id, policy) {
            said(format!("{} rounds, not decided yet", duel.rounds()));
        }
    }
    Ok(duel)
}

/// Measures the regressed cases again with a new seed, all rounds, and lets the fresh rounds decide.
fn confirmed(
    task: &Duel<'_>,
    pairs: &[Pair<'_>],
    rows: &mut [Row],
    to_confirm: &[(usize, usize)],
    policy: &Policy,
    context: &Context<'_>,
) -> Result<(), Error> {
    let mut fresh: Vec<(usize, CaseDuel)> = Vec::new();
    for (row, pair) in to_confirm {
        let pair = &pairs[*pair];
        context.terminal.remark(&format!("confirming {}", pair.candidate.id));
        let mut duel = CaseDuel::default();
        let mut iterations = None;
        let mut random = SplitMix64::new(!task.seed ^ *row as u64);
        let offset = random.draw() as u32 >> 8;
        for number in 0..CaseDuel::MOST_ROUNDS as u32 {
            if context.interrupted.load(Ordering::Relaxed) {
                break;
            }
            match task.round([&pair.baseline, &pair.candidate.id], offset + number, &mut iterations) {
                Ok(round) => duel.add(round),
                Err(_) => break, // with fewer rounds it is not confirmed
            }
        }
        fresh.push((*row, duel));
    }
    let mut candidates = Vec::new();
    let mut fresh = fresh.into_iter().peekable();
    for (at, row) in rows.iter_mut().enumerate() {
        if let Some((_, duel)) = fresh.next_if(|(of, _)| *of == at) {
            candidates.push(Candidate { row, fresh: duel });
        }
    }
    confirm(&mut candidates, policy);
    Ok(())
}

/// The programs of both sides: a planted slowdown is the candidate's alone.
fn sides(own: Program, baseline: Program, inject: Option<f64>) -> [Program; 2] {
    let with = |program: Program, inject: String| {
        let mut variables = program.variables;
        variables.push((INJECT.to_owned(), inject));
        Program { variables, ..program }
    };
    [with(baseline, String::new()), with(own, inject.map_or_else(String::new, |share| share.to_string()))]
}

/// Pairs of two adapters of one scenario and point.
fn adapters<'a>(plan: &'a Plan, name: &str) -> Result<(Vec<Pair<'a>>, Vec<Row>), Error> {
    let is_base = |case: &&PlannedCase| case.id.adapter.as_deref() == Some(name);
    let mut pairs = Vec::new();
    let mut rows = Vec::new();
    for candidate in plan.cases.iter().filter(|case| case.measured && case.id.adapter.is_some()) {
        if is_base(&candidate) {
            continue;
        }
        let same = |base: &&PlannedCase| {
            is_base(base) && base.id.scenario == candidate.id.scenario && base.id.point == candidate.id.point
        };
        match plan.cases.iter().find(same) {
            Some(base) => pairs.push(Pair { baseline: base.id.clone(), candidate }),
            None => {
                let why = format!("`{name}` does not run it");
                rows.push(Row::bare(&candidate.id, "wall_time", Verdict::Incomparable(why)));
            }
        }
    }
    if pairs.is_empty() {
        return Err(Error::NothingSelected(format!(
            "no case runs through `{name}` and through another adapter; `--list` shows what there is"
        )));
    }
    Ok((pairs, rows))
}

/// Pairs of the cases that both programs have; rows for those that one of them has.
fn programs<'a>(
    registry: &Registry,
    context: &Context<'_>,
    plan: &'a Plan,
    theirs: &[CaseId],
) -> Result<(Vec<Pair<'a>>, Vec<Row>), Error> {
    let mut pairs = Vec::new();
    let mut rows = Vec::new();
    for candidate in plan.cases.iter().filter(|case| case.measured) {
        let name = candidate.id.to_string();
        let verdict = match theirs.iter().find(|id| id.to_string() == name) {
            None => Verdict::Added,
            Some(id) => match axis_changed(id, &candidate.id) {
                Some(why) => Verdict::Incomparable(why),
                None => {
                    pairs.push(Pair { baseline: id.clone(), candidate });
                    continue;
                }
            },
        };
        rows.push(Row::bare(&candidate.id, "wall_time", verdict));
    }
    // What this program would list as well is not gone: its profile leaves it out.
    let settings = context.settings.as_ref().map(|(file, text)| (file.as_str(), text.as_str()));
    let all = plan::build(registry, &request(&context.args, Mode::List, settings)?)?;
    let ours: Vec<String> = all.cases.iter().map(|case| case.id.to_string()).collect();
    for id in theirs.iter().filter(|id| !ours.contains(&id.to_string())) {
        rows.push(Row::bare(id, "wall_time", Verdict::Removed));
    }
    Ok((pairs, rows))
}

/// A path as it was typed; a bare name is a file here, never a program on the search path.
fn executable(path: &str) -> Result<PathBuf, Error> {
    let wrong = |why: String| Error::from(UsageError(format!("--versus {path}: {why}")));
    let file = fs::canonicalize(path).map_err(|error| wrong(error.to_string()))?;
    if file.is_file() { Ok(file) } else { Err(wrong("it is no file".to_owned())) }
}

/// The cases that another bench program lists under the same selection.
fn list(program: &Program, flags: Vec<String>) -> Result<Vec<CaseId>, Error> {
    let shown = program.path.display();
    let wrong = |why: String| Error::Versus { program: shown.to_string(), why };
    let output = Command::new(&program.path)
        .args(["--list", "--format", "json", "--bench"])
        .args(flags.iter().map(OsStr::new))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| wrong(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().next().unwrap_or("it said nothing");
        return Err(wrong(format!("it does not list its cases: {first}")));
    }
    let listing: Listing =
        serde_json::from_slice(&output.stdout).map_err(|error| wrong(error.to_string()))?;
    Ok(listing.cases)
}

/// What is read of another program's listing.
#[derive(serde::Deserialize)]
struct Listing {
    cases: Vec<CaseId>,
}
