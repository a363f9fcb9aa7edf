//! The flow in one screen: plan, run, record, compare, store, report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::args::BenchArgs;
use super::call::Call;
use super::leading::Leading;
use super::outputs::{OutputSource, Outputs};
use super::session::{Session, check};
use super::smoke::program;
use super::time_limit::TimeLimit;
use super::{Context, Exit, TargetError, leading, resume, traces};
use crate::bencher::{Phase, SkipReason};
use crate::compare::{Acceptance, Comparison, Policy, judge};
use crate::plan::{self, CaseId, Plan};
use crate::record::{
    Baseline, CaseRecord, CaseStatus, Environment, FailureReason, RunId, RunManifest, RunRecord, RunStatus,
    assemble_run,
};
use crate::registry::Registry;
use crate::report::{self, Progress, TargetEnd};
use crate::run::{ChildFault, Event, Failure, How, Outcome, Repeat, RunEnding, RunTask, run, run_on_ranks};
use crate::store::{self, BaselineName, Baselines, Duels, Layout, OutputStream, Runs};

/// Measures the plan, stores the run, shows it, and judges it if a baseline was named.
pub(super) fn bench(context: &Context<'_>, registry: &Registry, plan: &Plan) -> Result<Exit, TargetError> {
    let Context { suite, args, terminal, .. } = context;
    if registry.scenarios().is_empty() {
        return Err(TargetError::NothingRegistered);
    }
    let policy = policy(context, registry)?; // a mistake in the settings costs no run
    let outputs = outputs(context)?;
    let share = TimeLimit::of(context, args.budget).filter(|limit| limit.shares).map(|limit| limit.time);
    terminal.remarks(&report::header(plan, registry.scenarios().len(), registry.adapters().len(), share));
    if args.dry_run {
        terminal.answer(&report::details(plan));
        return Ok(Exit::Fine);
    }
    let device = check(context, plan)?;
    traces::check(args, plan)?;
    if context.seat.is_some() {
        leading::check(context, plan)?;
    }
    terminal.remarks(&report::skips(plan));

    if let Some(name) = args.save_baseline.as_deref().filter(|name| *name != BaselineName::OF_COMMIT) {
        name.parse::<BaselineName>()?; // a mistake costs no run
    }
    let Some(mut session) = Session::begin(context, device)? else { return Ok(Exit::Interrupted) };
    let gather = |seat| Leading::gather(context, seat, &session, plan);
    let mut leading = context.seat.as_ref().map(gather).transpose()?;
    if let Some(leading) = &leading {
        session.environment.add_ranks(&leading.hosts());
        terminal.remark(&leading.summary());
    }
    let save_as = args.save_baseline.as_deref();
    let save_as = save_as.map(|name| BaselineName::typed(name, &session.environment)).transpose()?;
    let layout = session.layout.clone();
    let (runs, baselines) = (Runs::new(layout.clone()), Baselines::new(layout.clone()));
    terminal.remarks(&report::machine(&session.environment));
    let baseline = named_baseline(context, &baselines, &session.environment)?;
    let previous = last_run(&runs, &suite.name(), plan, &session.environment);

    let (mut manifest, _going_on) = session.take_up(context, plan, &runs, None)?;
    let id = manifest.id.clone();
    if let Some(leading) = &leading {
        manifest.ranks = Some(leading.ranks.clone());
        runs.write_manifest(&manifest)?;
    }
    let lead = leading.as_ref().map(|leading| leading.begin(context, &id));
    let finished = if args.resume.is_some() { runs.finished(&id)? } else { Vec::new() };
    let scratch = |case: &CaseId, number: u32| layout.scratch(&id, case, number);
    let limit = TimeLimit::of(context, session.budget);
    let task = RunTask {
        plan,
        epoch: manifest.epoch,
        finished: &finished,
        surroundings: resume::number_of_surroundings(&manifest, &session.environment),
        scratch: &scratch,
        budget: limit.map(|limit| limit.time),
        shares: limit.is_some_and(|limit| limit.shares),
        interrupted: &context.interrupted,
    };
    let mut progress = Progress::new(*terminal);
    let mut shows_first = true;
    let mut left_out = None;
    let kept = layout.kept(&id);
    let own_runs = Runs::new(layout.of_rank(0));
    if context.seat.is_some() {
        own_part(&own_runs, &manifest)?;
    }
    let mut lost = None;
    let program = program(context)?.keeping(&kept);
    let mut see = |event: Event<'_>| {
        if let Event::RepeatStarted { number: 2, remaining, .. } = &event
            && std::mem::take(&mut shows_first)
            && *remaining >= LONG
        {
            let so_far = assemble_run(plan, &runs.finished(&id)?);
            terminal.redraw("");
            terminal.remarks(&report::first_figures(&so_far));
        }
        progress.show(&event);
        if let Event::LeftOut { needed } = event {
            left_out = limit.map(|limit| (limit, needed));
        }
        if let Event::RepeatEnded { case, repeat, stdout, stderr } = &event {
            if args.show_output {
                terminal.output(&format!("{case}, repeat {}", repeat.number), stdout, stderr);
            }
            runs.log(&id, case, repeat.number, OutputStream::Stdout, stdout)?;
            runs.log(&id, case, repeat.number, OutputStream::Stderr, stderr)?;
            journal(&runs, &id, case, repeat)?;
        }
        if let Event::OwnRepeatEnded { case, repeat } = &event {
            journal(&own_runs, &id, case, repeat)?;
        }
        if let Event::RankLost { why } = event {
            lost = Some(why.to_owned());
        }
        Ok::<(), TargetError>(())
    };
    let ending = match &lead {
        Some(lead) => run_on_ranks(&task, program, lead, &mut see),
        None => run(&task, program, &mut see),
    };
    let _ = std::fs::remove_dir_all(&kept); // there only if a system under test has converted data
    let mut ending = ending.inspect_err(|_| terminal.remark(&resume::hint(suite, &id)))?;

    let mut found = Ok(Vec::new());
    if let Some(lead) = lead.as_ref().filter(|_| ending == RunEnding::Complete) {
        found = Leading::findings(lead);
        if let Err(why) = &found {
            terminal.error(why);
            (lost, ending) = (Some(why.clone()), RunEnding::RankLost);
        }
    }
    drop(lead);
    if let Some(ranks) = &mut manifest.ranks {
        ranks.lost.clone_from(&lost);
    }
    manifest.status =
        if ending == RunEnding::Complete { RunStatus::Complete } else { RunStatus::Interrupted };
    manifest.load_at_end = crate::device::load_average();
    let journal = runs.finished(&id)?;
    let cut = left_out.map(|(limit, needed)| limit.cut(plan, &journal, needed));
    let plan = cut.as_ref().unwrap_or(plan);
    manifest.planned.shortened = shortened(plan);
    manifest.journalled = (ending == RunEnding::Complete).then_some(journal.len());
    let mut record = RunRecord { cases: assemble_run(plan, &journal), manifest };
    if let Some(leading) = &mut leading {
        leading.mark(&mut record.cases);
        leading.add_findings(found.unwrap_or_default(), &mut record.cases);
        let why = if ending == RunEnding::Interrupted {
            "interrupted".to_owned()
        } else {
            lost.unwrap_or_default()
        };
        leading.end((ending != RunEnding::Complete).then_some(why));
    }
    if ending == RunEnding::Complete {
        traces::trace(context, plan, &layout, &record.manifest, &mut record.cases)?;
    }
    for case in &mut record.cases {
        write_case(&runs, &id, case)?;
    }
    runs.write_manifest(&record.manifest)?;

    let changes = previous
        .map(|previous| against(&Baseline::promote("the last run", &previous), &record, &runs, &policy));
    terminal.result(&report::table(
        &record,
        &changes.as_ref().map(report::changes).unwrap_or_default(),
        &|case, number| runs.log_of(&id, case, number),
        *terminal,
    ));
    if args.verbose {
        terminal.result(&report::metrics(&record));
    }
    terminal.result(&report::shortened(&record.manifest.planned));
    terminal.result(&report::traces(&record, &layout.run(&id), args.verbose));
    if args.bencher_lines {
        let (lines, told) = report::bencher_lines(&record);
        terminal.answer(&lines);
        for line in &told {
            terminal.error(line);
        }
    }
    let mut exit = measured_exit(&record, ending, &policy);
    let mut judged = None;
    if let Some(baseline) = baseline {
        let comparison = against(&baseline, &record, &runs, &policy);
        terminal.result(&report::verdicts(&comparison, *terminal));
        exit = exit.or(comparison.outcome(&for_selection(&policy, args)).into());
        for metric in policy.absent_metrics([&comparison], &|metric| {
            args.selects() || of_another_suite(&baselines, &baseline, metric)
        }) {
            terminal.error(&absent(&metric));
            exit = exit.or(Exit::NothingToJudge);
        }
        if let Some(wanted) = &args.comparison {
            Duels::new(layout.clone()).write_to(Path::new(wanted), &comparison)?;
        }
        judged = Some(comparison);
    }
    if let Some(name) = save_as {
        match baselines.set(&name, &record) {
            Ok(_) => terminal.remark(&format!("saved as baseline `{name}`")),
            Err(error @ store::StoreError::NotPromoted { .. }) => {
                terminal.error(&error.to_string());
                // That the run failed says more than that it is no baseline.
                let is_worse = matches!(exit, Exit::Interrupted | Exit::Failed);
                exit = if is_worse { exit } else { exit.or(Exit::Unexpected) };
            }
            Err(error) => return Err(error.into()),
        }
    }
    if ending != RunEnding::Complete {
        terminal.remark(&resume::hint(suite, &id));
    }
    terminal.remark(&format!("files: {}", layout.run(&id).display()));
    drop(session); // nothing is measured any more, and the command of the outputs may have to be built
    let source = OutputSource { suite, run: &id, data: layout.data() };
    match ending {
        RunEnding::Complete if !outputs.export(source, *terminal) => exit = exit.or(Exit::Unexpected),
        RunEnding::Complete => {}
        _ if outputs.is_wanted() => terminal.remark("no page and no exports of a run that was broken off"),
        _ => {}
    }
    if let Some(call) = Call::of(context) {
        let end = TargetEnd::of(&record, judged.as_ref(), exit.code());
        terminal.result(&report::targets(&call.ends(&end)));
    }
    terminal.answer(&report::summary(&record, exit.code()));
    if ending == RunEnding::Complete {
        outputs.page(source, *terminal);
    }
    Ok(exit)
}

/// A run of which so much is left after the first round shows what it has seen by then.
const LONG: Duration = Duration::from_secs(20);

/// Makes the place for rank 0's own part of a run, as every rank has one; it may be there from an earlier
/// part.
fn own_part(own_runs: &Runs, manifest: &RunManifest) -> Result<(), store::StoreError> {
    match own_runs.create(manifest) {
        Err(store::StoreError::RunExists(_)) => Ok(()),
        made => made,
    }
}

/// The cases that had time for fewer repeats than were planned, each with how many.
fn shortened(plan: &Plan) -> BTreeMap<String, u32> {
    let cut = plan.cases.iter().filter(|case| case.most.is_some_and(|most| 0 < most && most < case.repeats));
    cut.map(|case| (case.id.to_string(), case.most.unwrap_or_default())).collect()
}

/// Journals a repeat. One that says what no file can hold failed: the others of the run are sound.
pub(super) fn journal(
    runs: &Runs,
    id: &RunId,
    case: &CaseId,
    repeat: &Repeat,
) -> Result<(), store::StoreError> {
    match runs.journal(id, case, repeat) {
        Err(store::StoreError::Unwritable { source, .. }) => {
            let how = How::Child(ChildFault::Unwritable(source.to_string()));
            let failure = Failure::plain(how, Phase::TearDown);
            runs.journal(id, case, &Repeat { outcome: Outcome::Failed(failure), ..repeat.clone() })
        }
        written => written,
    }
}

/// Writes the record of a case. One that says what no file can hold has failed, and has no figure.
pub(super) fn write_case(runs: &Runs, id: &RunId, case: &mut CaseRecord) -> Result<(), store::StoreError> {
    match runs.write_case(id, case) {
        Err(store::StoreError::Unwritable { source, .. }) => {
            case.status = CaseStatus::Failed(FailureReason::Unwritable(source.to_string()));
            (case.metrics, case.processes, case.median_repeat) = (Vec::new(), Vec::new(), None);
            runs.write_case(id, case)
        }
        written => written,
    }
}

/// The baseline that was named. It is read before anything is measured: a typo costs no run.
fn named_baseline(
    context: &Context<'_>,
    baselines: &Baselines,
    environment: &Environment,
) -> Result<Option<Baseline>, TargetError> {
    let args = &context.args;
    let Some(name) = args.baseline.as_ref().or(args.baseline_lenient.as_ref()) else { return Ok(None) };
    let found = {
        let name = BaselineName::typed(name, environment)?;
        baselines.find(&environment.machine_id(), &context.suite.name(), &name)
    };
    match found {
        Ok(stored) => Ok(Some(stored.baseline)),
        Err(crate::store::StoreError::NoBaseline { .. }) if args.baseline.is_none() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The last whole run of this suite of this workspace under this profile; `None` where there is none that can
/// be read.
fn last_run(runs: &Runs, suite: &str, plan: &Plan, here: &Environment) -> Option<RunRecord> {
    let here = here.workspace();
    let is_meant = |run: &RunManifest| {
        run.suite == suite
            && run.profile == plan.profile
            && run.is_measured()
            && !run.environment.workspace().is_other_than(&here)
    };
    let last = runs.newest_first().ok()?.find(is_meant)?;
    runs.load(&last.id).ok()
}

/// The policy for the part of a suite that was selected: what the selection leaves out is not gone.
pub(super) fn for_selection(policy: &Policy, args: &BenchArgs) -> Policy {
    Policy { removed_passes: policy.removed_passes || args.selects(), ..policy.clone() }
}

/// Tells whether another suite has this metric in its baseline of the same name: the settings of a workspace
/// are for all of its suites.
fn of_another_suite(baselines: &Baselines, baseline: &Baseline, metric: &str) -> bool {
    let named = baseline.name.parse().ok().and_then(|name| baselines.named(&name).ok());
    let (stored, _) = named.unwrap_or_default();
    let others = stored.iter().map(|stored| &stored.baseline).filter(|other| other.suite != baseline.suite);
    let mut metrics = others.flat_map(|other| &other.cases).flat_map(|case| &case.metrics);
    metrics.any(|one| one.name == metric)
}

/// The words for a metric that gates and that is nowhere.
pub(super) fn absent(metric: &str) -> String {
    format!("the metric `{metric}` is to gate, and no case that was compared has it")
}

/// The same judging for the last run and for a named baseline.
fn against(baseline: &Baseline, record: &RunRecord, runs: &Runs, policy: &Policy) -> Comparison {
    // A history that cannot be read makes the tolerance wider, never the run fail.
    let history = runs.history(baseline, &record.manifest.id, MOST_RUNS).unwrap_or_default();
    judge(baseline, record, &history, policy)
}

/// The number of runs a history looks back.
const MOST_RUNS: usize = 30;

/// The policy of the gate: the workspace's settings, and the flags over them. A scenario that is set apart
/// there must be one of this bench target, or be listed for another one.
pub(super) fn policy(context: &Context<'_>, registry: &Registry) -> Result<Policy, TargetError> {
    let args = &context.args;
    let stated = match &context.settings {
        Some((file, text)) => {
            let wrong = |why| plan::PlanError::Settings { file: file.clone(), why };
            let stated = Policy::read(text).map_err(wrong)?;
            let known: Vec<&str> = registry.scenarios().iter().map(|scenario| scenario.id).collect();
            let listed = Layout::lock_file(&context.suite.workspace());
            // Without a list there are no others.
            let listed = store::read_text(&listed).unwrap_or_default();
            stated.check_scenarios(&known, &listed).map_err(wrong)?;
            stated
        }
        None => Policy::default(),
    };
    // A duel is with whatever its caller says: what was accepted since then, the caller knows.
    let is_duel = args.is_duel();
    let accepted = match &args.accepted {
        Some(file) => Some(PathBuf::from(file)),
        None => {
            Some(Layout::accepted_file(&context.suite.workspace())).filter(|file| !is_duel && file.exists())
        }
    };
    let accepted = accepted.map_or_else(|| Ok(Vec::new()), |file| accepted_in(&file))?;
    let stated = match &args.gate {
        Some(metrics) => stated.gated_by(metrics),
        None => stated,
    };
    Ok(Policy {
        accepted,
        threshold: args.threshold,
        inconclusive_passes: args.inconclusive_passes.unwrap_or(stated.inconclusive_passes),
        allow_different_machine: args.allow_different_machine,
        ..stated
    })
}

/// The outputs that are asked for: by the line and its variables, else by the workspace's settings.
fn outputs(context: &Context<'_>) -> Result<Outputs, TargetError> {
    let typed = context.args.outputs.clone();
    let Some((file, text)) = &context.settings else { return Ok(typed) };
    let wrong = |why| plan::PlanError::Settings { file: file.clone(), why };
    Ok(typed.or(Outputs::read(text, &context.suite.workspace()).map_err(wrong)?))
}

/// The changes that a file says are accepted.
fn accepted_in(file: &Path) -> Result<Vec<Acceptance>, TargetError> {
    let name = file.display().to_string();
    let text =
        store::read_text(file).map_err(|source| TargetError::Settings { file: name.clone(), source })?;
    Ok(Acceptance::read(&text).map_err(|why| plan::PlanError::Settings { file: name, why })?)
}

/// The exit code of the measuring alone.
fn measured_exit(record: &RunRecord, ending: RunEnding, policy: &Policy) -> Exit {
    let some = |takes: fn(&CaseRecord) -> bool| record.cases.iter().any(takes);
    let mut exit =
        if some(|case| case.has_failed() || case.lacks_a_trace()) { Exit::Failed } else { Exit::Fine };
    let is_out_of_time =
        |case: &CaseRecord| matches!(case.status, CaseStatus::Skipped(SkipReason::OutOfTime { .. }));
    if record.cases.iter().any(is_out_of_time) && !some(|case| case.status == CaseStatus::Measured) {
        exit = exit.or(Exit::Inconclusive);
    }
    // A budget that was too small leaves questions open, which is no success.
    if some(|case| case.status == CaseStatus::Incomplete) && !policy.inconclusive_passes {
        exit = exit.or(Exit::Inconclusive);
    }
    match ending {
        RunEnding::RankLost => exit.or(Exit::Failed),
        _ if ending.is_interrupted() => exit.or(Exit::Interrupted),
        _ => exit,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::harness::Suite;
    use crate::harness::args::BenchArgs;
    use crate::harness::request::{HarnessMode, request};
    use crate::report::Terminal;

    #[test]
    fn what_no_file_can_hold_fails_its_own_case_and_no_other() {
        use crate::store::fixtures::{case, case_id, manifest, repeat};
        let home = tempfile::tempdir().unwrap();
        let runs = Runs::new(Layout::new(home.path()));
        let manifest = manifest(1_000, 2);
        let id = &manifest.id;
        runs.create(&manifest).unwrap();

        let mut bad = repeat(1, 3);
        let Outcome::Measured { seen, .. } = &mut bad.outcome else { unreachable!() };
        seen.peak_memory = Some(crate::metric::Reading::Value(-1.0));
        journal(&runs, id, &case_id(0), &bad).unwrap();
        journal(&runs, id, &case_id(1), &repeat(1, 3)).unwrap();
        let finished = runs.finished(id).unwrap();
        let Outcome::Failed(failure) = &finished[0].1.outcome else { panic!("{finished:?}") };
        assert!(
            matches!(&failure.how, How::Child(ChildFault::Unwritable(why)) if why.contains("peak_memory")),
            "{failure}"
        );
        assert!(matches!(finished[1].1.outcome, Outcome::Measured { .. }));

        let mut twice = case(case_id(0), &[1.0], 1);
        twice.metrics[3].name = "wall_time".to_owned();
        let sound = case(case_id(1), &[1.0], 1);
        write_case(&runs, id, &mut twice).unwrap();
        write_case(&runs, id, &mut sound.clone()).unwrap();
        let whole = runs.load(id).unwrap();
        let CaseStatus::Failed(FailureReason::Unwritable(why)) = &whole.cases[0].status else {
            panic!("{:?}", whole.cases[0].status)
        };
        assert!(why.contains("is there twice"), "{why}");
        assert_eq!(whole.cases[1], sound.summary());
    }

    #[test]
    fn a_build_with_debug_assertions_measures_only_when_told_and_a_scenario_that_is_none_is_a_mistake() {
        let registry = Registry::collect().unwrap();
        let suite = Suite {
            target_tmp: None,
            package: "p",
            version: "0",
            target: "t",
            directory: "/nowhere",
            family: None,
        };
        let context = |allow_debug, settings: &str| Context {
            suite: &suite,
            args: BenchArgs { allow_debug, ..BenchArgs::default() },
            terminal: Terminal::detect(Some(false), true),
            settings: Some((".config/weighbridge.toml".to_owned(), settings.to_owned())),
            styled: crate::harness::style::Styled::default(),
            seat: None,
            interrupted: Arc::new(AtomicBool::new(false)),
        };
        let asked = request(&BenchArgs::default(), HarnessMode::Bench, None).unwrap();
        let plan = plan::build(&registry, &asked).unwrap();
        let refused = check(&context(false, ""), &plan).unwrap_err();
        assert_eq!(refused.exit(), Exit::Usage, "{refused}");
        assert!(refused.to_string().contains("debug assertions"), "{refused}");
        assert!(!matches!(check(&context(true, ""), &plan), Err(TargetError::DebugAssertions)));

        let mut wrong = context(true, "[gate.scenario.REPEAT-EROR]\nstored-margin = 0.1");
        let refused = policy(&wrong, &registry).unwrap_err();
        assert_eq!(refused.exit(), Exit::Usage, "{refused}");
        assert!(refused.to_string().contains("did you mean `REPEAT-ERROR`?"), "{refused}");

        // Both ways of measuring say so before they do anything: nothing is there of a run or of a duel.
        let data = tempfile::tempdir().unwrap();
        wrong.args.data = Some(data.path().join("data").display().to_string());
        let refused = bench(&wrong, &registry, &plan).unwrap_err();
        assert!(refused.to_string().contains("REPEAT-EROR"), "{refused}");
        wrong.args.versus_adapter = Some("any".to_owned());
        let refused = crate::harness::duel::duel(&wrong, &registry, &plan).unwrap_err();
        assert!(refused.to_string().contains("REPEAT-EROR"), "{refused}");
        assert!(!data.path().join("data").exists());
    }
}
