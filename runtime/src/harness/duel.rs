//! `--versus PATH`, `--versus-adapter NAME` and `--versus-param AXIS=V`: two sides in turns, until each case
//! is decided.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::bench::{absent, policy};
use super::request::{HarnessMode, request};
use super::session::{Session, check};
use super::smoke::program;
use super::{Context, Exit, TargetError, resume, usage::UsageError};
use crate::bencher::{HashKey, INJECT, RunSettings};
use crate::compare::{
    BreakOff, ComparedBaseline, Comparison, Decider, EnvironmentChange, IncomparableReason, Method, Policy,
    Refusal, Row, Verdict, VerdictCounts, axis_changed,
};
use crate::metric::names;
use crate::plan::{self, CaseId, Plan, PlannedCase};
use crate::record::{RunManifest, RunStatus};
use crate::registry::{AxisValue, Registry};
use crate::report::{self, Progress};
use crate::run::{self, Duel, DuelCase, DuelSettings, Event, Pair, Program, Relinked, RunEnding, Side};
use crate::store::Duels;

/// Measures both sides of every case in turns, judges, stores and shows what came of it.
pub(super) fn duel(context: &Context<'_>, registry: &Registry, plan: &Plan) -> Result<Exit, TargetError> {
    let Context { args, terminal, .. } = context;
    let policy = policy(context, registry)?; // a mistake in the settings costs no duel
    if args.dry_run {
        terminal.answer(&report::details(plan));
        return Ok(Exit::Fine);
    }
    let device = check(context, plan)?;
    let own = program(context)?;
    if let Some(adapter) = &args.versus_adapter {
        let mut known = registry.adapters().iter().map(|entry| entry.name);
        if !known.clone().any(|name| name == adapter) {
            return Err(plan::PlanError::unknown("adapter", adapter, &mut known).into());
        }
    }
    let (name, baseline) = match &args.versus {
        Some(path) => (path.clone(), executable(path, own.clone())?),
        None => {
            let name = args.versus_adapter.as_ref().or(args.versus_param.as_ref());
            (name.cloned().unwrap_or_default(), own.clone())
        }
    };
    let theirs = if args.versus.is_some() { list(&baseline, args.listing_flags())? } else { Vec::new() };
    let (pairs, rows) = match (&args.versus_adapter, &args.versus_param) {
        (Some(adapter), _) => adapters(plan, adapter)?,
        (None, Some(value)) => values(registry, plan, value)?,
        (None, None) => programs(registry, context, plan, &theirs)?,
    };
    let Some(session) = Session::begin(context, device)? else { return Ok(Exit::Interrupted) };
    let journals = Duels::new(session.layout.clone()).journals();
    let versus = args.versus.as_ref().and_then(|_| baseline.digest().ok());
    let (manifest, _going_on) = session.take_up(context, plan, &journals, versus)?;
    let contest = Contest {
        relink: None,
        name,
        // This program's own build has been checked.
        unchecked: if args.versus.is_some() { &[Side::Baseline] } else { &[] },
        programs: sides([baseline, own], args.inject),
        settings: DuelSettings::of(plan),
        pairs,
        rows,
        policy: &policy,
        changes: Vec::new(),
        notes: args.versus.iter().map(|_| OWN_JUDGE.to_owned()).collect(),
    };
    let Fought { comparison, ending, file } = fight(context, &session, contest, manifest)?;
    if let Some(wanted) = &args.comparison {
        Duels::new(session.layout.clone()).write_to(Path::new(wanted), &comparison)?;
    }
    terminal.result(&report::verdicts(&comparison, *terminal));
    terminal.remark(&format!("files: {}", file.display()));
    let mut exit = Exit::from(comparison.outcome(&policy));
    for metric in policy.absent_metrics([&comparison], &|_| args.selects()) {
        terminal.error(&absent(&metric));
        exit = exit.or(Exit::NothingToJudge);
    }
    if ending.is_interrupted() {
        exit = exit.or(Exit::Interrupted);
    }
    terminal.answer(&report::duel_summary(&comparison, exit.code()));
    Ok(exit)
}

/// The line of a duel that one of its sides judges.
const OWN_JUDGE: &str = "the candidate itself has measured and judged: a gate needs a judge that is neither \
                         side (`compare-baseline`)";

/// Two sides that meet.
pub(super) struct Contest<'a> {
    /// The baseline, for people.
    pub(super) name: String,
    /// The baseline's program and the candidate's.
    pub(super) programs: [Program; 2],
    /// The sides of whose build nothing is known yet.
    pub(super) unchecked: &'a [Side],
    /// Links both programs anew, for rounds that confirm.
    pub(super) relink: Option<&'a dyn Fn() -> Option<Relinked>>,
    pub(super) settings: DuelSettings,
    pub(super) pairs: Vec<Pair>,
    /// The rows of cases that are not measured.
    pub(super) rows: Vec<Row>,
    pub(super) policy: &'a Policy,
    /// The changes in how the two are built.
    pub(super) changes: Vec<EnvironmentChange>,
    /// Lines to be told before any row.
    pub(super) notes: Vec<String>,
}

/// The result of a duel.
pub(super) struct Fought {
    pub(super) comparison: Comparison,
    pub(super) ending: RunEnding,
    /// The file that it is stored in.
    pub(super) file: PathBuf,
}

/// Measures both sides of every pair in turns, judges, and stores what came of it.
pub(super) fn fight(
    context: &Context<'_>,
    session: &Session,
    contest: Contest<'_>,
    mut manifest: RunManifest,
) -> Result<Fought, TargetError> {
    let Context { suite, args, terminal, .. } = context;
    let Contest { name, programs, relink, unchecked, settings, pairs, mut rows, policy, changes, notes } =
        contest;
    let duels = Duels::new(session.layout.clone());
    let journals = duels.journals();
    let machine = session.environment.machine_id();
    let mut policy = policy.clone();
    policy.accepted.retain(|one| one.belongs(&suite.name(), &machine));
    let id = manifest.id.clone();
    let index = |case: &CaseId| pairs.iter().position(|pair| pair.candidate.id == *case);
    let seed = settings.run.seed;
    let task = Duel {
        programs,
        relink,
        settings,
        pairs: &pairs,
        finished: &journals.finished_rounds(&id, &index)?,
        scratch: &|case, number| journals.layout().scratch(&id, case, number),
        key: HashKey::draw(),
        epoch: manifest.epoch,
        least: args.inject.map_or(1, |share| (1.0 / share).ceil() as u64),
        // Drawn for this duel, unless the user has said one; kept with it, for whoever takes it up again.
        seed: if seed == RunSettings::SEED { manifest.epoch } else { seed },
        budget: session.budget,
        interrupted: &context.interrupted,
    };

    // One that does not even greet is told case by case.
    let is_debug = |side: &&Side| task.has_debug_assertions(**side) == Ok(true);
    if !args.allow_debug
        && let Some(side) = unchecked.iter().find(is_debug)
    {
        journals.remove(&id)?;
        return Err(TargetError::Versus {
            program: if *side == Side::Baseline { name } else { suite.name() },
            why: "it was built with debug assertions, so its figures would mean nothing: build it as `cargo \
                bench` does, or pass --allow-debug to measure all the same"
                .to_owned(),
        });
    }

    let mut told = |pair: usize, row: &Row| {
        terminal.redraw("");
        let said = match &row.rounds {
            Some(_) => report::row(row, *terminal),
            None => row.verdict.why().unwrap_or_default(),
        };
        terminal.remark(&format!("[{}/{}] {}: {said}", pair + 1, pairs.len(), row.case));
    };
    let mut decider = Decider::new(&pairs, &policy, &mut told);
    let mut progress = Progress::new(*terminal);
    let ending = run::duel(&task, &mut decider, &mut |event| {
        progress.show(&event);
        match &event {
            Event::RoundEnded { case, of, round } => journals.journal_round(&id, case, *of, round),
            _ => Ok(()),
        }
    })?;
    let decided = decider.finish(match ending {
        RunEnding::OutOfBudget => BreakOff::Budget,
        RunEnding::Interrupted | RunEnding::NoRoom | RunEnding::RankLost | RunEnding::Complete => {
            BreakOff::Interrupt
        }
    });
    rows.extend(decided.rows);

    let mut comparison = Comparison {
        suite: suite.name(),
        method: Method::Duel,
        baseline: ComparedBaseline { name, run: None },
        candidate: id.clone(),
        environment: Some(session.environment.clone()),
        environment_changes: changes,
        notes,
        refused: None,
        failures: decided.failures,
        counts: VerdictCounts::of(&rows),
        rows,
    };
    if comparison.counts.weighed() == 0 {
        comparison.refused = Some(Refusal::NothingCompared);
    }
    let file = duels.write(&id, &comparison)?;
    if ending == RunEnding::Complete {
        journals.remove(&id)?; // the file has all that decided
    } else {
        manifest.status = RunStatus::Interrupted;
        journals.write_manifest(&manifest)?;
        terminal.remark(&resume::hint(suite, &id));
    }
    Ok(Fought { comparison, ending, file })
}

/// The programs of both sides: a planted slowdown is the candidate's alone.
pub(super) fn sides([baseline, own]: [Program; 2], inject: Option<f64>) -> [Program; 2] {
    let with = |mut program: Program, inject: String| {
        program.variables.push((INJECT.to_owned(), inject));
        program
    };
    [with(baseline, String::new()), with(own, inject.map_or_else(String::new, |share| share.to_string()))]
}

/// Pairs of two adapters of one scenario and point.
fn adapters(plan: &Plan, name: &str) -> Result<(Vec<Pair>, Vec<Row>), TargetError> {
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
            Some(base) => {
                pairs.push(Pair { baseline: DuelCase::of(base), candidate: DuelCase::of(candidate) });
            }
            None => {
                let why = IncomparableReason::NotRunBy(name.to_owned());
                rows.push(Row::bare(&candidate.id, names::WALL_TIME, Verdict::Incomparable(why)));
            }
        }
    }
    if pairs.is_empty() {
        return Err(TargetError::NothingSelected(format!(
            "no case runs through `{name}` and through another adapter; `--list` shows what there is"
        )));
    }
    Ok((pairs, rows))
}

/// Pairs of two values of an axis: all else of their cases is alike.
fn values(registry: &Registry, plan: &Plan, asked: &str) -> Result<(Vec<Pair>, Vec<Row>), TargetError> {
    let Some((name, text)) = asked.split_once('=') else {
        let why = format!("--versus-param {asked}: an axis and its value are due, such as `len=1000`");
        return Err(UsageError(why).into());
    };
    let others = |id: &CaseId| -> Vec<AxisValue> {
        id.point.iter().filter(|value| value.axis != name).cloned().collect()
    };
    let mut pairs = Vec::new();
    for scenario in registry.scenarios() {
        let axes = scenario.axes();
        let Some(axis) = axes.iter().find(|axis| axis.name == name) else { continue };
        let Ok(wanted) = axis.parse(text) else { continue };
        let is_base = |case: &PlannedCase| match case.id.point.get(name) {
            Some(value) => value.text == wanted.text,
            None => axis.implies(&wanted),
        };
        let own = || plan.cases.iter().filter(|case| case.id.scenario == scenario.id);
        for candidate in own().filter(|case| case.measured && !is_base(case)) {
            let same = |base: &&PlannedCase| {
                is_base(base)
                    && base.id.adapter == candidate.id.adapter
                    && others(&base.id) == others(&candidate.id)
            };
            if let Some(base) = own().find(same) {
                pairs.push(Pair { baseline: DuelCase::of(base), candidate: DuelCase::of(candidate) });
            }
        }
    }
    if pairs.is_empty() {
        return Err(TargetError::NothingSelected(format!(
            "no case runs with `{asked}` and with another value of `{name}`: name both by \
             `--param {name}={text},OTHER`"
        )));
    }
    Ok((pairs, Vec::new()))
}

/// Pairs of the cases that both programs have; rows for those that one of them has.
fn programs(
    registry: &Registry,
    context: &Context<'_>,
    plan: &Plan,
    theirs: &[CaseId],
) -> Result<(Vec<Pair>, Vec<Row>), TargetError> {
    let theirs_by_name: HashMap<_, _> = theirs.iter().map(|id| (id.to_string(), id)).collect();
    let mut pairs = Vec::new();
    let mut rows = Vec::new();
    for candidate in plan.cases.iter().filter(|case| case.measured) {
        let verdict = match theirs_by_name.get(&candidate.id.to_string()) {
            None => Verdict::Added,
            Some(id) => match axis_changed(id, &candidate.id) {
                Some(change) => Verdict::Incomparable(IncomparableReason::Axis(change)),
                None => {
                    let candidate = DuelCase::of(candidate);
                    pairs.push(Pair { baseline: candidate.called(id), candidate });
                    continue;
                }
            },
        };
        rows.push(Row::bare(&candidate.id, names::WALL_TIME, verdict));
    }
    // What this program would list as well is not gone: its profile leaves it out.
    let settings = context.settings.as_ref().map(|(file, text)| (file.as_str(), text.as_str()));
    let mut request = request(&context.args, HarnessMode::List, settings)?;
    request.expressions = context.styled.expressions;
    let all = plan::build(registry, &request)?;
    let ours: HashSet<_> = all.cases.iter().map(|case| case.id.to_string()).collect();
    for id in theirs.iter().filter(|id| !ours.contains(&id.to_string())) {
        rows.push(Row::bare(id, names::WALL_TIME, Verdict::Removed));
    }
    Ok((pairs, rows))
}

/// A path as it was typed; a bare name is a file here, never a program on the search path.
fn executable(path: &str, own: Program) -> Result<Program, TargetError> {
    let wrong = |why: String| TargetError::from(UsageError(format!("--versus {path}: {why}")));
    let file = fs::canonicalize(path).map_err(|error| wrong(error.to_string()))?;
    if !file.is_file() {
        return Err(wrong("it is no file".to_owned()));
    }
    own.at(file).map_err(|error| wrong(error.to_string()))
}

/// The cases that another bench program lists under the same selection.
fn list(program: &Program, flags: Vec<String>) -> Result<Vec<CaseId>, TargetError> {
    let shown = program.path.display();
    let wrong = |why: String| TargetError::Versus { program: shown.to_string(), why };
    let output = program
        .command()
        .map_err(|error| wrong(error.to_string()))?
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
    let listing: ProgramListing =
        serde_json::from_slice(&output.stdout).map_err(|error| wrong(error.to_string()))?;
    Ok(listing.cases)
}

/// The part that is read of another program's listing.
#[derive(serde::Deserialize)]
struct ProgramListing {
    cases: Vec<CaseId>,
}
