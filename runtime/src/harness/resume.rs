//! `--resume RUN`: the same run again, without what it has finished.

use super::args::BenchArgs;
use super::flags::FLAGS;
use super::stated_budgets::stated;
use super::{Suite, TargetError};
use crate::bencher::INJECT;
use crate::plan::Plan;
use crate::process::{HIDDEN, OwnFolders};
use crate::ranks::RankSeat;
use crate::record::{Difference, Environment, RunId, RunManifest, RunStatus};
use crate::store::{Duels, Layout, Runs};

/// The arguments of the run that is taken up again, so that it is the same plan; where the data lies and what
/// is shown are today's.
pub(super) fn args(
    suite: &Suite,
    today: &BenchArgs,
    run: &str,
    seat: Option<&RankSeat>,
) -> Result<BenchArgs, TargetError> {
    refuse_other_flags()?;
    let id = run.parse().map_err(|error| super::usage::UsageError(format!("--resume: {error}")))?;
    let layout = Layout::new(suite.data(today.data.as_deref()));
    // The run of all ranks may lie on another machine.
    let own = seat.map(|seat| layout.of_rank(seat.rank)).filter(|own| own.run(&id).exists());
    let manifest = holding(own.unwrap_or(layout), &id).manifest(&id)?;
    of_suite(suite, &manifest)?; // its filters may take nothing here
    let then = of_then(&manifest, &OwnFolders::of(&suite.workspace()))?;
    let mut args = BenchArgs { bench: true, test: false, ..of_today(today, then) };
    args.run.seed = manifest.seed;
    refuse_hidden(&manifest, &args)?;
    Ok(args)
}

/// The arguments that a run began with. The twins of flags are among the variables that its manifest keeps.
fn of_then(manifest: &RunManifest, own: &OwnFolders) -> Result<BenchArgs, TargetError> {
    let line = manifest.command.iter().skip(1).map(|word| own.restore(word).into()).collect();
    let twin = |name: &str| manifest.environment.variables.get(name).map(|value| own.restore(value));
    Ok(BenchArgs::parse(line, &twin)?)
}

/// Refuses to go on with a value that the manifest does not tell: what looks like a secret is hidden in it.
fn refuse_hidden(manifest: &RunManifest, args: &BenchArgs) -> Result<(), TargetError> {
    if !format!("{args:?}").contains(HIDDEN) {
        return Ok(());
    }
    let has = |word: &&String| word.contains(HIDDEN);
    let twins = || manifest.environment.variables.iter().find(|(_, value)| value.contains(HIDDEN));
    let word = manifest.command.iter().find(has).cloned();
    let word = word.or_else(|| twins().map(|(name, value)| format!("{name}={value}"))).unwrap_or_default();
    let why = format!(
        "a value of its command line looked like a secret and is hidden in its record (`{word}`): what it \
         was cannot be known, so measure anew, with the value in a file or in a variable that the bench \
         reads"
    );
    Err(TargetError::Resume { run: manifest.id.clone(), why })
}

/// The runs, or the journals of duels, whichever has this one.
fn holding(layout: Layout, id: &RunId) -> Runs {
    let journals = Duels::new(layout.clone()).journals();
    if journals.layout().run(id).exists() { journals } else { Runs::new(layout) }
}

/// Tells how to go on with what was broken off.
pub(super) fn hint(suite: &Suite, id: &RunId) -> String {
    format!("go on with: cargo bench --bench {} -- --resume {id}", suite.target)
}

/// A resumed run has the plan that it had: a flag that would change it is refused instead of passed over.
/// Variables of the environment are not: they may well be the same as then.
fn refuse_other_flags() -> Result<(), TargetError> {
    let typed = BenchArgs::parse(std::env::args_os().skip(1).collect(), &|_| None)?;
    let allowed = BenchArgs { bench: typed.bench, ..of_today(&typed, BenchArgs::default()) };
    if typed == allowed {
        return Ok(());
    }
    let why = "--resume takes its plan from the run: what selects or measures cannot be given beside it";
    Err(super::usage::UsageError(why.to_owned()).into())
}

/// Takes up the arguments of an earlier run, with today's for where things lie, how long it may take, and how
/// it is judged and shown.
fn of_today(today: &BenchArgs, then: BenchArgs) -> BenchArgs {
    BenchArgs {
        typed: today.typed.clone(),
        resume: today.resume.clone(),
        anyway: today.anyway,
        data: today.data.clone(),
        data_root: today.data_root.clone().or(then.data_root.clone()),
        data_cache: today.data_cache.clone().or(then.data_cache.clone()),
        data_cache_cap: today.data_cache_cap.clone().or(then.data_cache_cap.clone()),
        budget: today.budget,
        ranks: today.ranks,
        rank_patience: today.rank_patience,
        no_lock: today.no_lock,
        no_samples: today.no_samples,
        dry_run: today.dry_run,
        save_baseline: today.save_baseline.clone(),
        baseline: today.baseline.clone(),
        baseline_lenient: today.baseline_lenient.clone(),
        gate: today.gate.clone(),
        threshold: today.threshold,
        inconclusive_passes: today.inconclusive_passes,
        allow_different_machine: today.allow_different_machine,
        color: today.color,
        outputs: today.outputs.clone(),
        quiet: today.quiet,
        show_output: today.show_output,
        verbose: today.verbose,
        ..then
    }
}

/// Refuses a run of another suite.
fn of_suite(suite: &Suite, manifest: &RunManifest) -> Result<(), TargetError> {
    if manifest.suite == suite.name() {
        return Ok(());
    }
    let why = format!("it is of the suite {}, this is {}", manifest.suite, suite.name());
    Err(TargetError::Resume { run: manifest.id.clone(), why })
}

/// Refuses to go on with a run that is whole, of another suite, or of another plan.
pub(super) fn check(suite: &Suite, manifest: &RunManifest, plan: &Plan) -> Result<(), TargetError> {
    let refuse = |why: String| Err(TargetError::Resume { run: manifest.id.clone(), why });
    of_suite(suite, manifest)?;
    if manifest.status == RunStatus::Complete {
        return refuse("it is complete".to_owned());
    }
    if manifest.planned.cases.len() != plan.cases.len()
        || !manifest.planned.cases.iter().zip(&plan.cases).all(|(then, now)| *then == now.id)
        || manifest.planned.repeats != plan.repeats
        || manifest.planned.stated != stated(plan)
        || manifest.planned.target != plan.together.target
        || manifest.planned.budget != plan.budget
    {
        return refuse(
            "its plan is another: the scenarios, adapters or settings have changed since".to_owned(),
        );
    }
    Ok(())
}

/// Refuses to go on with a run of other ranks: what was finished is of all of them.
pub(super) fn same_ranks(manifest: &RunManifest, seat: Option<&RankSeat>) -> Result<(), TargetError> {
    let then = manifest.ranks.as_ref().map_or(1, |ranks| ranks.each.len());
    let now = seat.map_or(1, |seat| seat.ranks);
    if then == now {
        return Ok(());
    }
    let advice = match (then, seat) {
        (1, _) => "start it as one process".to_owned(),
        (then, None) => format!("add `--ranks {then}`, or start {then} ranks by a launcher"),
        (then, Some(_)) => format!("start {then} ranks"),
    };
    let why = format!("it is a run of {then} ranks, and this one is of {now}: {advice}");
    Err(TargetError::Resume { run: manifest.id.clone(), why })
}

/// Refuses to go on with a run by another program, on another machine, or at another commit: figures of two
/// would stand as those of one.
pub(super) fn same_place(
    manifest: &RunManifest,
    [program, versus]: [Option<String>; 2],
    here: &Environment,
) -> Result<(), TargetError> {
    let mut others = Vec::new();
    let short = |text: Option<&str>| text.map_or("unknown", |text| &text[..text.len().min(12)]).to_owned();
    // A run from before programs were told has the commit and the machine alone.
    for (name, then, now) in
        [("program", &manifest.program, program), ("program of the baseline", &manifest.versus, versus)]
    {
        if then.is_some() && *then != now {
            others.push(format!("{name}: {} -> {}", short(then.as_deref()), short(now.as_deref())));
        }
    }
    let there = &manifest.environment;
    let commit = |of: &Environment| of.software.get("commit").cloned();
    if commit(there) != commit(here) {
        let commits = [commit(there), commit(here)].map(|commit| short(commit.as_deref()));
        others.push(format!("commit: {} -> {}", commits[0], commits[1]));
    }
    let machine = here.differences(there).machine;
    others.extend(machine.iter().filter(|fact| !is_of_process(fact)).map(ToString::to_string));
    if others.is_empty() {
        return Ok(());
    }
    let why = format!("it would go on with another program, commit or machine ({})", others.join("; "));
    Err(TargetError::Resume { run: manifest.id.clone(), why })
}

/// Facts of the machine that whoever starts a process sets for it.
const SET_FOR_PROCESS: [&str; 3] = ["allowed cpus", "cpu quota", "memory limit"];

/// Facts of the software that the hash of the program and the commit answer for; and the size of the
/// storage, of whose mount the facts of the process say all else.
const ANSWERED_FOR: [&str; 8] =
    ["rustc", "build profile", "rust flags", "features", "commit", "branch", "working tree", "storage"];

fn is_of_process(fact: &Difference) -> bool {
    SET_FOR_PROCESS.contains(&fact.what.as_str())
}

/// Everything that a record calls the surroundings, as far as it is not as it was.
fn other_surroundings(manifest: &RunManifest, here: &Environment) -> Vec<Difference> {
    let found = here.differences(&manifest.environment);
    let machine = found.machine.into_iter().filter(is_of_process);
    let software = found.software.into_iter().filter(|fact| !ANSWERED_FOR.contains(&fact.what.as_str()));
    // What the twin of a flag says is taken from the manifest; a child reads the slowdown by itself.
    let is_twin = |name: &str| FLAGS.iter().any(|flag| flag.variable().as_deref() == Some(name));
    let variables = found.variables.into_iter().filter(|fact| fact.what == INJECT || !is_twin(&fact.what));
    machine.chain(found.process).chain(variables).chain(software).collect()
}

/// The number that repeats which are measured here get: 0 in the surroundings that the run began in.
pub(super) fn number_of_surroundings(manifest: &RunManifest, here: &Environment) -> u32 {
    let differences = other_surroundings(manifest, here);
    let others = manifest.other_surroundings.iter();
    others.zip(1..).find(|(other, _)| **other == differences).map_or(0, |(_, number)| number)
}

/// Refuses to go on with a run in other surroundings than it began in: figures of both would stand as those
/// of one. With `--anyway` the manifest gets what differs, and the repeats its number.
pub(super) fn take_surroundings(
    manifest: &mut RunManifest,
    here: &Environment,
    args: &BenchArgs,
) -> Result<(), TargetError> {
    let differences = other_surroundings(manifest, here);
    if differences.is_empty() {
        return Ok(());
    }
    let is_duel = args.is_duel();
    if args.anyway && !is_duel {
        if number_of_surroundings(manifest, here) == 0 {
            manifest.other_surroundings.push(differences);
        }
        return Ok(());
    }
    let told: Vec<String> = differences.iter().map(ToString::to_string).collect();
    let advice = if is_duel { "" } else { ", or add --anyway, which marks what is measured in others" };
    let why = format!("its surroundings are others ({}): restore them{advice}", told.join("; "));
    Err(TargetError::Resume { run: manifest.id.clone(), why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixtures::manifest;

    #[test]
    fn a_run_goes_on_only_with_its_program_its_commit_and_its_machine() {
        let mut then = manifest(1_000, 1);
        then.program = Some("0123456789abcdef".to_owned());
        then.environment.software.insert("commit".to_owned(), "aaaaaaaaaaaaaaaa".to_owned());
        let here = then.environment.clone();
        then.versus = Some("fedcba9876543210".to_owned());
        let own = || then.program.clone();
        let both = || [own(), then.versus.clone()];
        same_place(&then, both(), &here).expect("nothing differs");

        let refused = |programs, here: &Environment| {
            same_place(&then, programs, here).expect_err("something differs").to_string()
        };
        let other = || Some("ffff456789abcdef".to_owned());
        let said = refused([own(), other()], &here);
        assert!(said.contains("(program of the baseline: fedcba987654 -> ffff456789ab)"), "{said}");
        let said = refused([other(), then.versus.clone()], &here);
        assert!(said.contains("(program: 0123456789ab -> ffff456789ab)"), "{said}");
        assert!(refused([None, then.versus.clone()], &here).contains("-> unknown"));
        let mut elsewhere = here.clone();
        elsewhere.software.insert("commit".to_owned(), "bbbbbbbbbbbbbbbb".to_owned());
        elsewhere.machine.insert("turbo".to_owned(), "off".to_owned());
        let said = refused(both(), &elsewhere);
        assert!(said.contains("(commit: aaaaaaaaaaaa -> bbbbbbbbbbbb; turbo: not set -> off)"), "{said}");

        // What is set for a process is of no other machine.
        let mut pinned = here.clone();
        pinned.machine.insert("allowed cpus".to_owned(), "1".to_owned());
        same_place(&then, both(), &pinned).expect("the machine is the same");

        // What is not known of an older run is not held against it.
        let older = RunManifest { program: None, versus: None, ..then.clone() };
        same_place(&older, both(), &here).expect("nothing known differs");
    }

    #[test]
    fn a_hidden_value_that_the_plan_needs_is_told_and_never_taken_as_it_is_written() {
        let own = OwnFolders::of(std::path::Path::new("/srv/it"));
        let mut then = manifest(1_000, 1);
        let line = ["bench", "--data-root", "https://me:<hidden>@host/x", "--data", "<checkout>/d"];
        then.command = line.map(str::to_owned).to_vec();
        let args = of_then(&then, &own).expect("they are read");
        assert_eq!(args.data.as_deref(), Some("/srv/it/d"));
        let said = refuse_hidden(&then, &args).expect_err("it is hidden").to_string();
        assert!(said.contains("is hidden in its record (`https://me:<hidden>@host/x`)"), "{said}");
        let today = BenchArgs { data_root: Some("/data".into()), ..BenchArgs::default() };
        refuse_hidden(&then, &of_today(&today, args)).expect("today's is taken");
    }

    /// The facts of one kind.
    type Kind = fn(&mut Environment) -> &mut std::collections::BTreeMap<String, String>;

    #[test]
    fn all_that_a_record_calls_the_surroundings_is_compared_and_anyway_gives_them_a_number() {
        let mut then = manifest(1_000, 1);
        let first = &mut then.environment;
        first.machine.insert("allowed cpus".to_owned(), "8".to_owned());
        first.process.insert("priority".to_owned(), "nice 0".to_owned());
        first.software.insert("commit".to_owned(), "a".to_owned());
        let args = |anyway| BenchArgs { anyway, ..BenchArgs::default() };
        let here = then.environment.clone();
        take_surroundings(&mut then, &here, &args(false)).expect("nothing differs");

        let others: [(Kind, &str, &str); 6] = [
            (|of| &mut of.machine, "allowed cpus", "1"),
            (|of| &mut of.process, "priority", "nice 19"),
            (|of| &mut of.variables, "WEIGHBRIDGE_SLOWDOWN", "3"),
            (|of| &mut of.variables, "LD_PRELOAD", "a.so"),
            (|of| &mut of.variables, INJECT, "0.5"),
            (|of| &mut of.software, "libc", "musl"),
        ];
        for (number, (kind, what, value)) in (1..).zip(others) {
            let mut other = here.clone();
            kind(&mut other).insert(what.to_owned(), value.to_owned());
            let refused = take_surroundings(&mut then, &other, &args(false)).expect_err("it differs");
            let said = refused.to_string();
            assert!(said.contains(what) && said.contains(&format!("-> {value})")), "{said}");
            assert!(said.contains("--anyway"), "{said}");
            for _ in 0..2 {
                take_surroundings(&mut then, &other, &args(true)).expect("anyway");
                assert_eq!(number_of_surroundings(&then, &other), number);
            }
            assert_eq!(number_of_surroundings(&then, &here), 0);
            let duel = BenchArgs { versus: Some("other".to_owned()), ..args(true) };
            let said = take_surroundings(&mut then, &other, &duel).expect_err("a duel").to_string();
            assert!(!said.contains("--anyway"), "{said}");
        }

        // What shows that a program was built anew, and twins of flags, are no surroundings.
        let mut same = here.clone();
        same.software.insert("branch".to_owned(), "other".to_owned());
        same.variables.insert("WEIGHBRIDGE_REPEATS".to_owned(), "9".to_owned());
        take_surroundings(&mut then, &same, &args(false)).expect("nothing differs");
    }
}
