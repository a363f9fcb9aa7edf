//! Two programs that a third one measures in turns and judges: neither side decides about itself.
//!
//! The judge starts the children of both, chooses the rounds, keeps the key of what is hashed, and names and
//! writes the result. Of a program it takes what only that can know: its cases, and what its children say.
//! Wherever both tell the same thing, the baseline's holds.

use std::collections::{HashMap, HashSet};
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::args::BenchArgs;
use super::duel::{Contest, Fought, fight, sides};
use super::duel_plan::DuelPlan;
use super::session::{Session, Started};
use super::style::Styled;
use super::usage::UsageError;
use super::{Context, Exit, Suite, TargetError};
use crate::compare::{Comparison, EnvironmentChange, IncomparableReason, Policy, Row, Verdict, axis_changed};
use crate::json;
use crate::metric::names;
use crate::plan::CaseId;
use crate::report::Terminal;
use crate::run::{DUEL_FLAG, DuelCase, Pair, Program, Side};
use crate::store::Duels;

/// A bench program that is measured.
#[derive(Clone, Copy, Debug)]
pub struct DuelProgram<'a> {
    /// The executable.
    pub path: &'a Path,
    /// Its package's directory, in which its children are started.
    pub directory: &'a Path,
}

/// A duel that this process is to judge.
pub struct DuelOrder<'a> {
    /// `<package>/<bench target>`.
    pub suite: &'a str,
    /// The baseline's program and the candidate's.
    pub programs: [DuelProgram<'a>; 2],
    /// The baseline, for people.
    pub name: String,
    /// Flags of bench programs: what is selected, and how it is measured.
    pub flags: &'a [String],
    /// The data directory.
    pub data: &'a Path,
    /// The gate, with what was accepted since the baseline.
    pub policy: &'a Policy,
    /// The changes in how the two are built.
    pub changes: &'a [EnvironmentChange],
    /// Lines to be told before any row.
    pub notes: Vec<String>,
    /// Links both programs anew in other orders, as many of each, for rounds that are to confirm: paths of
    /// programs that have the same directories. An error is why it cannot be done, and is told.
    pub relink: Option<&'a RelinkPrograms<'a>>,
}

/// Makes the programs of both sides in other layouts.
pub type RelinkPrograms<'a> = dyn Fn() -> Result<[Vec<PathBuf>; 2], String> + 'a;

impl fmt::Debug for DuelOrder<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("DuelOrder")
            .field("suite", &self.suite)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The reason why there is no comparison.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct Unjudged {
    /// The exit code that goes with it.
    pub exit: Exit,
    /// The reason, in words.
    pub why: String,
}

impl From<TargetError> for Unjudged {
    fn from(error: TargetError) -> Self {
        Self { exit: error.exit(), why: error.to_string() }
    }
}

/// Measures both programs in turns, judges, and stores the comparison under an id of its own. Progress goes
/// to stderr.
///
/// # Errors
/// When a program does not tell its part, nothing is selected, another run holds the machine, or nothing can
/// be written; an interrupt before the first round.
pub fn judge_duel(order: DuelOrder<'_>) -> Result<Comparison, Unjudged> {
    let line: Vec<OsString> = order.flags.iter().map(OsString::from).collect();
    let args = BenchArgs::parse(line, &|name| env::var(name).ok()).map_err(TargetError::from)?;
    refuse_what_is_no_duel(&args)?;
    let data = Some(order.data.display().to_string());
    let args = BenchArgs { bench: true, data, ..args };
    let theirs = ask(order.programs[0], &order)?;
    let ours = ask(order.programs[1], &order)?;
    let suite = suite(&order, &ours);
    let context = Context {
        seat: None,
        suite: &suite,
        terminal: Terminal::detect(args.color, args.quiet),
        args,
        settings: None,
        styled: Styled::default(),
        interrupted: interrupts()?,
    };
    Ok(judge(&context, order, &theirs, &ours)?)
}

fn judge(
    context: &Context<'_>,
    order: DuelOrder<'_>,
    theirs: &DuelPlan,
    ours: &DuelPlan,
) -> Result<Comparison, TargetError> {
    let (pairs, rows) = meet(theirs, ours);
    if pairs.is_empty() && rows.is_empty() {
        let why = "no case matches; `cargo bench -- --list` shows what there is";
        return Err(TargetError::NothingSelected(why.to_owned()));
    }
    let mut notes = order.notes.clone();
    notes.extend(held_to(theirs, ours));
    let session = Session::alone(context, &ours.build, &theirs.device, &theirs.backend)?;
    let Some(session) = session else { return Err(TargetError::Interrupted) };
    let baseline = program(order.programs[0], theirs)?;
    let candidate = program(order.programs[1], ours)?;
    let mut settings = theirs.settings.clone();
    settings.run.seed = context.args.run.seed;
    let started = Started {
        id: None,
        words: words(&order),
        programs: [candidate.digest().ok(), baseline.digest().ok()],
        profile: ours.profile.clone(),
        run: settings.run,
        planned: ours.planned.clone(),
    };
    let journals = Duels::new(session.layout.clone()).journals();
    let (manifest, _going_on) = session.enter(context, &journals, started)?;
    let relink = || {
        let relink = order.relink?;
        context
            .terminal
            .remark("regressed at first: both programs are linked anew in other orders, to confirm it");
        let made = relink().and_then(|[theirs_anew, ours_anew]| {
            let all = |at: usize, paths: Vec<PathBuf>, told: &DuelPlan| {
                let DuelProgram { directory, .. } = order.programs[at];
                let of = |path: &PathBuf| program(DuelProgram { path, directory }, told);
                paths.iter().map(of).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())
            };
            Ok([all(0, theirs_anew, theirs)?, all(1, ours_anew, ours)?])
        });
        match made {
            Ok(layouts) => Some(layouts),
            Err(why) => {
                let told = format!("not linked anew, so a layout may be what is confirmed: {why}");
                context.terminal.remark(&told);
                None
            }
        }
    };
    let contest = Contest {
        relink: Some(&relink),
        name: order.name,
        programs: sides([baseline, candidate], context.args.inject),
        unchecked: &[Side::Baseline, Side::Candidate],
        settings,
        pairs,
        rows,
        policy: order.policy,
        changes: order.changes.to_vec(),
        notes,
    };
    let Fought { comparison, ending, .. } = fight(context, &session, contest, manifest)?;
    if ending.is_interrupted() { Err(TargetError::Interrupted) } else { Ok(comparison) }
}

/// Refuses flags that say something else than how two programs are measured.
fn refuse_what_is_no_duel(args: &BenchArgs) -> Result<(), TargetError> {
    let others = [
        ("--versus", args.versus.is_some()),
        ("--versus-adapter", args.versus_adapter.is_some()),
        ("--versus-param", args.versus_param.is_some()),
        ("--resume", args.resume.is_some()),
        ("--dry-run", args.dry_run),
        ("--list", args.list),
        ("--comparison", args.comparison.is_some()),
        ("--accepted", args.accepted.is_some()),
    ];
    match others.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            Err(UsageError(format!("{flag} is for a bench program that is called by itself")).into())
        }
        None => Ok(()),
    }
}

/// Asks a program for its part.
fn ask(program: DuelProgram<'_>, order: &DuelOrder<'_>) -> Result<DuelPlan, TargetError> {
    let shown = program.path.display().to_string();
    let wrong = |why: String| TargetError::Versus { program: shown.clone(), why };
    let output = Program::apart(program.path, program.directory)
        .and_then(|program| program.command())
        .map_err(|error| wrong(error.to_string()))?
        .args([DUEL_FLAG, "--bench"])
        .args(order.flags)
        .arg("--data")
        .arg(order.data)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| wrong(error.to_string()))?;
    if output.status.success() {
        return json::read(&output.stdout).map_err(|error| wrong(format!("it tells no plan: {error}")));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let why = said.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or("it says no more");
    if why.contains(DUEL_FLAG) {
        let why = "it is built on an earlier version of weighbridge, which does not tell what it has: \
                   compare with a stored baseline";
        return Err(wrong(why.to_owned()));
    }
    Err(match output.status.code() {
        Some(4) => TargetError::NothingSelected(why.to_owned()),
        Some(2) => UsageError(why.to_owned()).into(),
        _ => wrong(format!("it does not tell its plan: {why}")),
    })
}

/// The pairs of the cases that both programs have; rows for those that one of them has. What the baseline
/// would measure is measured, whatever the candidate's profile takes, and by the baseline's facts.
fn meet(theirs: &DuelPlan, ours: &DuelPlan) -> (Vec<Pair>, Vec<Row>) {
    let named = |listed: &[CaseId]| -> HashMap<String, CaseId> {
        listed.iter().map(|id| (id.to_string(), id.clone())).collect()
    };
    let (their_ids, our_ids) = (named(&theirs.listed), named(&ours.listed));
    let facts: HashMap<String, &DuelCase> =
        theirs.cases.iter().map(|case| (case.id.to_string(), case)).collect();
    let own: HashSet<String> = ours.cases.iter().map(|case| case.id.to_string()).collect();
    let dropped = theirs.cases.iter().filter_map(|case| {
        let name = case.id.to_string();
        (!own.contains(&name)).then(|| our_ids.get(&name).map(|id| case.called(id))).flatten()
    });
    let (mut pairs, mut rows) = (Vec::new(), Vec::new());
    for candidate in ours.cases.iter().cloned().chain(dropped) {
        let name = candidate.id.to_string();
        let verdict = match their_ids.get(&name) {
            None => Verdict::Added,
            Some(id) => match axis_changed(id, &candidate.id) {
                Some(change) => Verdict::Incomparable(IncomparableReason::Axis(change)),
                None => {
                    let held = facts.get(&name).copied().unwrap_or(&candidate).called(&candidate.id);
                    pairs.push(Pair { baseline: held.called(id), candidate: held });
                    continue;
                }
            },
        };
        rows.push(Row::bare(&candidate.id, names::WALL_TIME, verdict));
    }
    // A case that the candidate plans and does not list is still there.
    let is_there = |name: &String| our_ids.contains_key(name) || own.contains(name);
    for id in theirs.listed.iter().filter(|id| !is_there(&id.to_string())) {
        rows.push(Row::bare(id, names::WALL_TIME, Verdict::Removed));
    }
    (pairs, rows)
}

/// Lines for what the candidate says otherwise of how it is to be measured.
fn held_to(theirs: &DuelPlan, ours: &DuelPlan) -> Vec<String> {
    let mut lines = Vec::new();
    let settings = |of: &DuelPlan| (of.profile.clone(), of.settings.timeout, of.settings.run);
    if settings(theirs) != settings(ours) {
        lines.push("the candidate has other settings of the measurement: the baseline's are used".to_owned());
    }
    let differs = |case: &&DuelCase| {
        let other = theirs.cases.iter().find(|other| other.id.to_string() == case.id.to_string());
        other.is_some_and(|other| other.called(&case.id) != **case)
    };
    let others: Vec<&DuelCase> = ours.cases.iter().filter(differs).collect();
    if let Some(first) = others.first() {
        let more = if others.len() > 1 { format!(" and {} more", others.len() - 1) } else { String::new() };
        lines.push(format!(
            "{}{more}: the candidate states another budget or equivalence: the baseline's is used",
            first.id
        ));
    }
    lines
}

/// A program with the variables that it told of for its own children.
fn program(of: DuelProgram<'_>, told: &DuelPlan) -> Result<Program, TargetError> {
    let mut program = Program::apart(of.path, of.directory).map_err(TargetError::Program)?;
    program.variables.extend(told.variables.iter().cloned());
    Ok(program)
}

/// The suite of the candidate's program, as that would say it itself.
fn suite(order: &DuelOrder<'_>, ours: &DuelPlan) -> Suite {
    let (package, target) = order.suite.split_once('/').unwrap_or((order.suite, ""));
    let kept = |text: &str| -> &'static str { text.to_owned().leak() };
    Suite {
        target_tmp: None,
        package: kept(package),
        version: kept(&ours.version),
        target: kept(target),
        directory: kept(&order.programs[1].directory.display().to_string()),
        family: None,
    }
}

/// The command line with which the candidate's own program would go on with the duel.
fn words(order: &DuelOrder<'_>) -> Vec<String> {
    let path = |at: usize| order.programs[at].path.display().to_string();
    let mut words = vec![path(1), "--bench".to_owned()];
    words.extend(order.flags.iter().cloned());
    words.extend(["--versus".to_owned(), path(0)]);
    words
}

/// Set by Ctrl-C, from the first duel of this process on.
fn interrupts() -> Result<Arc<AtomicBool>, TargetError> {
    static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(asked) = ASKED.get() {
        return Ok(asked.clone());
    }
    let asked = Arc::new(AtomicBool::new(false));
    let told = asked.clone();
    // A second one, which nothing waits for, ends this process at once.
    ctrlc::set_handler(move || {
        if told.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted.code().into());
        }
    })?;
    Ok(ASKED.get_or_init(|| asked).clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::session::planned;
    use crate::plan::CaseOrder;
    use crate::plan::fixtures::plan;
    use crate::record::{Build, Environment};
    use crate::registry::Equivalence;
    use crate::run::DuelSettings;

    /// A program that would measure these cases, and lists others as well.
    fn program(measured: &[&'static str], listed: &[&'static str]) -> DuelPlan {
        let (plan, all) = (plan(measured, 1, CaseOrder::Declared), plan(listed, 1, CaseOrder::Declared));
        DuelPlan {
            version: "0.1.0".into(),
            profile: plan.profile.clone(),
            settings: DuelSettings::of(&plan),
            cases: plan.cases.iter().map(DuelCase::of).collect(),
            listed: all.cases.iter().map(|case| case.id.clone()).collect(),
            variables: Vec::new(),
            planned: planned(&plan),
            build: Build::default(),
            backend: "cpu".into(),
            device: Environment::default(),
        }
    }

    fn met(theirs: &DuelPlan, ours: &DuelPlan) -> (Vec<String>, Vec<(String, &'static str)>) {
        let (pairs, rows) = meet(theirs, ours);
        let rows = rows.iter().map(|row| (row.case.to_string(), row.verdict.name())).collect();
        (pairs.iter().map(|pair| pair.candidate.id.to_string()).collect(), rows)
    }

    #[test]
    fn what_the_baseline_would_measure_is_measured_whatever_the_candidate_leaves_out() {
        let theirs = program(&["A", "B"], &["A", "B", "C"]);
        let name = |at: usize| theirs.listed[at].to_string();
        let (pairs, rows) = met(&theirs, &program(&["A"], &["A", "B", "C"]));
        assert_eq!((pairs, rows), (vec![name(0), name(1)], Vec::new()));
        // One that it does not even list is gone, one that only it lists is new.
        let ours = program(&["A", "D"], &["A", "C", "D"]);
        let (pairs, rows) = met(&theirs, &ours);
        assert_eq!(pairs, [name(0)]);
        assert_eq!(rows, [(ours.listed[2].to_string(), "Added"), (name(1), "Removed")]);
    }

    #[test]
    fn the_baseline_says_how_both_sides_are_measured_and_compared() {
        let mut theirs = program(&["A"], &["A"]);
        let mut ours = program(&["A"], &["A"]);
        assert_eq!(held_to(&theirs, &ours), Vec::<String>::new());
        theirs.cases[0].equivalence = Equivalence::Exact;
        ours.cases[0].equivalence = Equivalence::None;
        ours.settings.run.timeout = Some(std::time::Duration::from_secs(9));
        let (pairs, _) = meet(&theirs, &ours);
        assert!(pairs[0].candidate.is_verified() && pairs[0].baseline.is_verified());
        let lines = held_to(&theirs, &ours);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].contains("another budget or equivalence: the baseline's is used"), "{lines:?}");
    }

    #[test]
    fn flags_that_would_make_a_program_its_own_judge_are_refused() {
        for flag in ["--versus=x", "--comparison=x", "--resume=x", "--dry-run", "--accepted=x"] {
            let args = BenchArgs::parse(vec![flag.into()], &|_| None).expect("a flag");
            let refused = refuse_what_is_no_duel(&args).expect_err(flag).to_string();
            assert!(refused.contains("is for a bench program that is called by itself"), "{refused}");
        }
    }
}
