//! `--versus PATH` and `--versus-adapter NAME`: two sides in turns, until each case is decided.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering;

use super::bench::{build, check, lock, now, policy, run_id};
use super::request::{HarnessMode, request};
use super::smoke::program;
use super::{Context, Error, Exit, args::UsageError};
use crate::bencher::{INJECT, Key, draw_epoch};
use crate::compare::{
    Candidate, CaseDuel, CaseFailure, Comparison, Counts, Method, Policy, Promoted, Refusal, Row, Verdict,
    axis_changed, confirm,
};
use crate::device::Clock;
use crate::plan::{self, CaseId, Plan, PlannedCase};
use crate::record::Environment;
use crate::registry::{Equivalence, Registry};
use crate::report;
use crate::run::{Broken, Duel, How, Program, Round, Side, Verified};
use crate::stats::SplitMix64;
use crate::store::{Duels, Layout};
use crate::verify::{self, Agreement, Examined, Severity, agree};

/// The sides of one case: what is compared with, what is judged.
struct Pair<'a> {
    baseline: CaseId,
    candidate: &'a PlannedCase,
}

/// Measures both sides of every case in turns, judges, stores and shows what came of it.
pub(super) fn duel(context: &Context<'_>, registry: &Registry, plan: &Plan) -> Result<Exit, Error> {
    let Context { suite, args, terminal, .. } = context;
    let mut policy = policy(context, registry)?; // a mistake in the settings costs no duel
    if args.dry_run {
        terminal.answer(&report::details(plan));
        return Ok(Exit::Fine);
    }
    let device = check(context, plan)?;
    let own = program(context)?;
    if let Some(adapter) = &args.versus_adapter {
        let mut known = registry.adapters().iter().map(|entry| entry.name);
        if !known.clone().any(|name| name == adapter) {
            return Err(plan::Error::unknown("adapter", adapter, &mut known).into());
        }
    }
    let (name, baseline) = match (&args.versus, &args.versus_adapter) {
        (Some(path), _) => (path.clone(), executable(path, own.clone())?),
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
    // Before anything is measured: the load is that of the machine and not of the duel, and the commit the one that ran.
    let mut environment = Environment::capture(layout.data(), &suite.workspace(), &build(context));
    environment.add_device(&device);
    let machine = environment.machine_id();
    policy.accepted.retain(|one| one.belongs(&suite.name(), &machine));
    let now = now();
    let id = run_id(now);
    let scratch = duels.scratch(&id)?;
    let task = Duel {
        programs: sides(own, baseline, args.inject),
        plan,
        scratch: &|case, number| scratch.path().join(format!("{}.{number}", case.file_name())),
        key: Key::draw(),
        epoch: draw_epoch(),
        least: args.inject.map_or(1, |share| (1.0 / share).ceil() as u64),
        seed: args.seed.unwrap_or(now.as_nanos() as u64),
        interrupted: &context.interrupted,
    };

    // This program's own build has been checked. One that does not even greet is told case by case.
    if args.versus.is_some() && task.has_debug_assertions(Side::Baseline) == Ok(true) && !args.allow_debug {
        return Err(Error::Versus {
            program: name,
            why: "it was built with debug assertions, so its figures would mean nothing: build it as `cargo bench` does, \
                  or pass --allow-debug to measure all the same"
                .to_owned(),
        });
    }

    let mut failures = Vec::new();
    let mut to_confirm: Vec<(usize, usize)> = Vec::new();
    let mut interrupted = false;
    let total = pairs.len();
    for (at, pair) in pairs.iter().enumerate() {
        let case = &pair.candidate.id;
        if interrupted {
            rows.push(Row::bare(case, "wall_time", Verdict::Inconclusive(INTERRUPTED.to_owned())));
            continue;
        }
        let mut said = |words: String| terminal.remark(&format!("[{}/{total}] {case}: {words}", at + 1));
        let clock = Clock::monotonic();
        match fight(&task, pair, &policy, task.seed ^ at as u64, &mut said) {
            Ok(duel) => {
                let mut row = duel.row(case, &policy);
                if let Some(rounds) = &mut row.rounds {
                    rounds.seconds = clock.now().as_secs_f64();
                }
                said(report::row(&row, *terminal));
                if row.verdict == Verdict::Regressed {
                    to_confirm.push((rows.len(), at));
                }
                rows.push(row);
            }
            Err(stop) => {
                interrupted = stop == Stop::Interrupted;
                let verdict = stop.verdict(case, &mut failures);
                said(verdict.why().unwrap_or_default().to_owned());
                rows.push(Row::bare(case, "wall_time", verdict));
            }
        }
    }
    interrupted |= confirmed(&mut rows, &to_confirm, &policy, &mut failures, &mut |row, pair| {
        let pair = &pairs[pair];
        if context.interrupted.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        terminal.remark(&format!("confirming {}", pair.candidate.id));
        again(&task, pair, &policy, !task.seed ^ row as u64)
    });

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
    let exit =
        Exit::from(comparison.outcome(&policy)).or(if interrupted { Exit::Interrupted } else { Exit::Fine });
    terminal.answer(&report::duel_summary(&comparison, exit.code()));
    Ok(exit)
}

/// What is said of a case that an interrupt came before.
const INTERRUPTED: &str = "interrupted before it was decided";

/// Why a case's duel ended without rounds to judge.
#[derive(Debug, PartialEq)]
enum Stop {
    Interrupted,
    Failed(String),
    Incomparable(String),
}

impl Stop {
    /// What is said of the case; a failure is noted as one besides.
    fn verdict(self, case: &CaseId, failures: &mut Vec<CaseFailure>) -> Verdict {
        match self {
            Self::Interrupted => Verdict::Inconclusive(INTERRUPTED.to_owned()),
            Self::Failed(why) => {
                failures.push(CaseFailure { case: case.clone(), why: why.clone() });
                Verdict::Incomparable(why)
            }
            Self::Incomparable(why) => Verdict::Incomparable(why),
        }
    }
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
    let verified = verify(task, pair)?;
    let mut duel = CaseDuel::new(&pair.candidate.id, policy);
    let mut iterations = None;
    let mut random = SplitMix64::new(seed);
    let offset = random.draw() as u32 >> 8;
    while !duel.is_decided(&pair.candidate.id, policy) {
        let round = task.round(cases, offset + duel.rounds() as u32, &mut iterations, &verified)?;
        add(&mut duel, examine(pair, &verified, round)?)?;
        if duel.rounds().is_multiple_of(8) && !duel.is_decided(&pair.candidate.id, policy) {
            said(format!("{} rounds, not decided yet", duel.rounds()));
        }
    }
    Ok(duel)
}

/// What both sides did in an unmeasured repeat, where it is verified; they must have done the same.
fn verify(task: &Duel<'_>, pair: &Pair<'_>) -> Result<Verified, Stop> {
    if !pair.candidate.is_verified() {
        return Ok(Verified::default());
    }
    let verified = task.verify([&pair.baseline, &pair.candidate.id])?;
    if let [Some(old), Some(new)] = &verified.works {
        let equivalence = pair.candidate.equivalence();
        let agreement = agree(new, old, equivalence);
        let other = match &agreement {
            Agreement::Differs(what) => Some(what.join("; ")),
            Agreement::Agrees if equivalence == Equivalence::Exact && verified.same == Some(false) => {
                Some("their elements differ by the hashes of this duel's key".to_owned())
            }
            _ => None,
        };
        if let Some(what) = other {
            return Err(Stop::Incomparable(format!("the two do other work: {what}")));
        }
    }
    Ok(verified)
}

/// Judges the whole repeats of a round by the same rules as those of a run.
fn examine(pair: &Pair<'_>, verified: &Verified, round: Round) -> Result<Round, Stop> {
    let Round::Repeats(sides) = &round else { return Ok(round) };
    for (side, repeats) in [Side::Candidate, Side::Baseline].into_iter().zip(sides.iter().rev()) {
        let findings = verify::judge(&Examined {
            equivalence: pair.candidate.equivalence(),
            agreement: &Agreement::Agrees,
            reference: verified.works[0].as_ref(),
            repeats,
        });
        if let Some(fault) = findings.iter().find(|finding| finding.severity == Severity::Fail) {
            return Err(match side {
                Side::Candidate => Stop::Failed(fault.to_string()),
                Side::Baseline => Stop::Incomparable(format!("the baseline does not verify: {fault}")),
            });
        }
    }
    Ok(round)
}

/// One case with a new seed: all rounds, whatever they say.
fn again(task: &Duel<'_>, pair: &Pair<'_>, policy: &Policy, seed: u64) -> Result<CaseDuel, Stop> {
    let verified = verify(task, pair)?;
    let mut duel = CaseDuel::new(&pair.candidate.id, policy);
    let mut iterations = None;
    let offset = SplitMix64::new(seed).draw() as u32 >> 8;
    while duel.rounds() < CaseDuel::MOST_ROUNDS {
        let number = offset + duel.rounds() as u32;
        let round = task.round([&pair.baseline, &pair.candidate.id], number, &mut iterations, &verified)?;
        add(&mut duel, examine(pair, &verified, round)?)?;
    }
    Ok(duel)
}

/// Adds a round, which must say something.
fn add(duel: &mut CaseDuel, round: Round) -> Result<(), Stop> {
    let before = duel.rounds();
    duel.add(round);
    if duel.rounds() == before {
        return Err(Stop::Failed("a round showed no time at all".to_owned()));
    }
    Ok(())
}

/// Lets fresh rounds decide on the regressed cases; `measure` gives those of a row and its pair. One whose rounds end
/// otherwise is no regression that stands, and no success either: it is what it ended with. Says whether that was an
/// interrupt, after which nothing is measured.
fn confirmed(
    rows: &mut [Row],
    to_confirm: &[(usize, usize)],
    policy: &Policy,
    failures: &mut Vec<CaseFailure>,
    measure: &mut dyn FnMut(usize, usize) -> Result<CaseDuel, Stop>,
) -> bool {
    let mut interrupted = false;
    let mut fresh: Vec<(usize, Result<CaseDuel, Stop>)> = Vec::new();
    for (row, pair) in to_confirm {
        let measured = if interrupted { Err(Stop::Interrupted) } else { measure(*row, *pair) };
        interrupted |= matches!(measured, Err(Stop::Interrupted));
        fresh.push((*row, measured));
    }
    let mut stopped = Vec::new();
    let mut candidates = Vec::new();
    let mut fresh = fresh.into_iter().peekable();
    for (at, row) in rows.iter_mut().enumerate() {
        let Some((_, measured)) = fresh.next_if(|(of, _)| *of == at) else { continue };
        // One without rounds counts among those that Holm's procedure adjusts for: it was to be confirmed.
        let fresh = measured.unwrap_or_else(|stop| {
            stopped.push((at, stop));
            CaseDuel::default()
        });
        candidates.push(Candidate { row, fresh });
    }
    confirm(&mut candidates, policy);
    for (at, stop) in stopped {
        let case = rows[at].case.clone();
        rows[at].verdict = match stop {
            Stop::Interrupted => {
                Verdict::Inconclusive("regressed at first, interrupted before it was confirmed".to_owned())
            }
            stop => stop.verdict(&case, failures),
        };
    }
    interrupted
}

/// The programs of both sides: a planted slowdown is the candidate's alone.
fn sides(own: Program, baseline: Program, inject: Option<f64>) -> [Program; 2] {
    let with = |mut program: Program, inject: String| {
        program.variables.push((INJECT.to_owned(), inject));
        program
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
    let theirs_by_name: HashMap<_, _> = theirs.iter().map(|id| (id.to_string(), id)).collect();
    let mut pairs = Vec::new();
    let mut rows = Vec::new();
    for candidate in plan.cases.iter().filter(|case| case.measured) {
        let verdict = match theirs_by_name.get(&candidate.id.to_string()) {
            None => Verdict::Added,
            Some(id) => match axis_changed(id, &candidate.id) {
                Some(why) => Verdict::Incomparable(why),
                None => {
                    pairs.push(Pair { baseline: (*id).clone(), candidate });
                    continue;
                }
            },
        };
        rows.push(Row::bare(&candidate.id, "wall_time", verdict));
    }
    // What this program would list as well is not gone: its profile leaves it out.
    let settings = context.settings.as_ref().map(|(file, text)| (file.as_str(), text.as_str()));
    let all = plan::build(registry, &request(&context.args, HarnessMode::List, settings)?)?;
    let ours: HashSet<_> = all.cases.iter().map(|case| case.id.to_string()).collect();
    for id in theirs.iter().filter(|id| !ours.contains(&id.to_string())) {
        rows.push(Row::bare(id, "wall_time", Verdict::Removed));
    }
    Ok((pairs, rows))
}

/// A path as it was typed; a bare name is a file here, never a program on the search path.
fn executable(path: &str, own: Program) -> Result<Program, Error> {
    let wrong = |why: String| Error::from(UsageError(format!("--versus {path}: {why}")));
    let file = fs::canonicalize(path).map_err(|error| wrong(error.to_string()))?;
    if !file.is_file() {
        return Err(wrong("it is no file".to_owned()));
    }
    own.at(file).map_err(|error| wrong(error.to_string()))
}

/// The cases that another bench program lists under the same selection.
fn list(program: &Program, flags: Vec<String>) -> Result<Vec<CaseId>, Error> {
    let shown = program.path.display();
    let wrong = |why: String| Error::Versus { program: shown.to_string(), why };
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
    let listing: Listing =
        serde_json::from_slice(&output.stdout).map_err(|error| wrong(error.to_string()))?;
    Ok(listing.cases)
}

/// What is read of another program's listing.
#[derive(serde::Deserialize)]
struct Listing {
    cases: Vec<CaseId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::PerIteration;
    use crate::compare::{GateOutcome, Method};
    use crate::metric::Block;
    use crate::record::RunId;
    use crate::registry::Point;

    fn id(scenario: &str) -> CaseId {
        CaseId { scenario: scenario.into(), point: Point::default(), adapter: None }
    }

    /// Rounds in which the candidate takes a tenth longer.
    fn slower(rounds: usize) -> CaseDuel {
        let block = |wall| Block { iterations: 10, wall, thread: wall, cpu: wall, ..Block::default() };
        let mut duel = CaseDuel::default();
        for at in 0..rounds as u64 {
            let pairs = vec![[block(1_000_000), block(1_100_000 + at)]; 8];
            duel.add(Round::Blocks { work: [PerIteration::default(); 2], pairs });
        }
        duel
    }

    /// Three cases that regressed at first, and what their confirmations ended with.
    fn confirm_all(ends: [Result<CaseDuel, Stop>; 3]) -> (Vec<Row>, Vec<CaseFailure>, bool, usize) {
        let policy = Policy::default();
        let mut rows: Vec<Row> = ["A", "B", "C"].map(|name| slower(8).row(&id(name), &policy)).into();
        assert!(rows.iter().all(|row| row.verdict == Verdict::Regressed));
        let mut failures = Vec::new();
        let mut ends = ends.into_iter();
        let mut measured = 0;
        let to_confirm = [(0, 0), (1, 1), (2, 2)];
        let interrupted = confirmed(&mut rows, &to_confirm, &policy, &mut failures, &mut |_, _| {
            measured += 1;
            ends.next().expect("each is measured once")
        });
        (rows, failures, interrupted, measured)
    }

    #[test]
    fn a_case_that_fails_while_it_is_confirmed_has_failed() {
        let failed = Err(Stop::Failed("the candidate was killed".to_owned()));
        let (rows, failures, interrupted, _) = confirm_all([Ok(slower(24)), failed, Ok(slower(24))]);
        assert!(!interrupted);
        assert_eq!(rows[0].verdict, Verdict::Regressed);
        assert_eq!(rows[1].verdict, Verdict::Incomparable("the candidate was killed".to_owned()));
        assert_eq!(rows[2].verdict, Verdict::Regressed);
        assert_eq!(failures.len(), 1);
        let comparison = Comparison {
            suite: "s".into(),
            method: Method::Duel,
            baseline: Promoted { name: "b".into(), run: None },
            candidate: RunId::new(1, 1),
            environment: None,
            environment_changes: Vec::new(),
            refused: None,
            failures,
            counts: Counts::of(&rows),
            rows,
        };
        let outcome = comparison.outcome(&Policy::default());
        assert_eq!((outcome, Exit::from(outcome).code()), (GateOutcome::Failed, 6));
    }

    #[test]
    fn an_interrupt_while_cases_are_confirmed_keeps_what_was_confirmed_and_measures_no_more() {
        let (rows, failures, interrupted, measured) =
            confirm_all([Ok(slower(24)), Err(Stop::Interrupted), Ok(slower(24))]);
        assert!(interrupted);
        assert_eq!((measured, failures.len()), (2, 0));
        assert_eq!(rows[0].verdict, Verdict::Regressed);
        for row in &rows[1..] {
            assert!(row.verdict.why().is_some_and(|why| why.contains("interrupted")), "{:?}", row.verdict);
            assert!(
                row.rounds.as_ref().is_some_and(|rounds| rounds.shifts.len() == 8),
                "its first rounds stay"
            );
        }
    }

    #[test]
    fn fewer_fresh_rounds_than_all_confirm_nothing_however_clear() {
        let (rows, ..) = confirm_all([Ok(slower(23)), Ok(slower(24)), Ok(slower(0))]);
        let why = rows[0].verdict.why().expect("it does not stand");
        assert_eq!(why, "regressed at first, and 23 fresh rounds of 24 confirm nothing");
        assert_eq!(rows[1].verdict, Verdict::Regressed);
        assert_eq!(rows[2].verdict.name(), "Inconclusive");
    }
}
