//! `compare-baseline`: judges every suite that has a baseline of a name against its latest run.

pub(crate) mod details;
mod gate_rules;
mod github;
mod json;
mod judged_suite;
mod markdown;
mod rebuild;
mod stated_policy;
mod summary_line;
mod text;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use weighbridge::data::{Baseline, BaselineName, Environment, Policy, RunManifest, StoredBaseline, nearest};

use crate::build_options::BuildArgs;
use crate::command_output::CommandOutput;
use crate::inert;
use crate::pick;
use crate::place::Place;
use crate::repository::Repository;
use crate::stop;
pub(crate) use gate_rules::{GateRules, RulesOf};
use github::Actions;
pub(crate) use judged_suite::{JudgedSuite, JudgedSuites};
use rebuild::DuelRequest;
pub(crate) use stated_policy::stated_policy;
use weighbridge::data::Exit;

/// Twelve values decide where ten regressions are confirmed together, and 24 rounds are two of each.
const LAYOUTS: u32 = 12;

/// Arguments of `compare-baseline`.
#[derive(Debug, Args)]
pub(crate) struct CompareBaseline {
    /// The baseline's name.
    #[arg(required_unless_present_any = ["rebuild", "program"])]
    pub(crate) name: Option<String>,
    /// Build this git revision and measure it in turns with the work tree, instead of using a stored
    /// baseline: finds changes of 1 % and states its error rate.
    #[arg(
        long,
        value_name = "REV",
        conflicts_with_all = ["name", "run", "allow_different_machine", "baseline_path"]
    )]
    pub(crate) rebuild: Option<String>,
    /// Measure this bench program, built earlier, in turns with the work tree's: for one suite.
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = ["name", "run", "rebuild", "allow_different_machine", "baseline_path"]
    )]
    pub(crate) program: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) build: BuildArgs,
    /// Confirm a regression on programs that are linked in so many orders: a case that is slower in one of
    /// them alone is slower by where the linker puts it. 1 confirms on the programs that were built.
    #[arg(
        long,
        value_name = "N",
        default_value_t = LAYOUTS,
        value_parser = clap::value_parser!(u32).range(1..=24)
    )]
    pub(crate) layouts: u32,
    /// Arguments for the bench targets of `--rebuild` and `--program`: filters, `--profile quick`.
    #[arg(last = true, value_name = "BENCH ARGS")]
    pub(crate) bench_args: Vec<String>,
    /// The run to judge: an id, its start, or `latest`.
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// The change that matters: `5%` or `0.05`.
    #[arg(long, value_parser = share, env = "WEIGHBRIDGE_THRESHOLD", hide_env_values = true)]
    pub(crate) threshold: Option<f64>,
    /// Policy for an inconclusive comparison [default: as the settings say, else `fail`].
    #[arg(long, value_enum, env = "WEIGHBRIDGE_INCONCLUSIVE", hide_env_values = true)]
    pub(crate) inconclusive: Option<Open>,
    /// Policy for a case or a suite that the baseline has and that is gone [default: as the settings say,
    /// else `fail`].
    #[arg(long, value_enum, env = "WEIGHBRIDGE_REMOVED", hide_env_values = true)]
    pub(crate) removed: Option<Open>,
    /// Also write the comparison to this file, as Markdown.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Format of the comparison.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ComparisonFormat,
    /// Judge this suite alone: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// Judge by the settings of the gate, the list of scenarios and the accepted changes of this revision,
    /// or by those of the work tree: `tree` [default: those of the commit that is compared with].
    #[arg(long, value_name = "REV")]
    pub(crate) rules: Option<String>,
    /// Compare although the machine is another one.
    #[arg(long, env = "WEIGHBRIDGE_ALLOW_DIFFERENT_MACHINE", hide_env_values = true)]
    pub(crate) allow_different_machine: bool,
}

/// Policy for what a comparison leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Open {
    /// Exit 0.
    Pass,
    /// Exit 5 of what is inconclusive, 4 of what is gone.
    Fail,
}

impl Open {
    fn passes(self) -> bool {
        self == Self::Pass
    }
}

/// Format of a printed comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ComparisonFormat {
    /// Aligned text.
    #[default]
    Table,
    /// One JSON document.
    Json,
    /// Markdown.
    Markdown,
    /// Annotations of GitHub Actions.
    Github,
}

pub(crate) fn run(args: &CompareBaseline, place: &Place) -> Result<CommandOutput> {
    run_in(args, place, &Actions::detect())
}

/// The same, in GitHub Actions or not.
fn run_in(args: &CompareBaseline, place: &Place, actions: &Actions) -> Result<CommandOutput> {
    let mut remarks = Vec::new();
    let rules = rules(args, place)?;
    let policy = &rules.policy;
    let duels = || DuelRequest {
        suite: args.suite.as_deref(),
        bench_args: &args.bench_args,
        build: &args.build,
        layouts: args.layouts,
        place,
        rules: &rules,
    };
    let judged = match (&args.rebuild, &args.program, &args.name) {
        (Some(revision), ..) => rebuild::judge_all(&duels(), revision, &mut remarks),
        (None, Some(program), _) => rebuild::judge_program(&duels(), program),
        (None, None, Some(name)) if args.bench_args.is_empty() && args.build.is_empty() => {
            judge_all(args, name, place, &rules, &mut remarks)
        }
        (None, None, _) => Err(stop::usage(
            "compare-baseline needs the name of a stored baseline; \
             arguments for bench targets and options of builds go with --rebuild REV",
        )),
    };
    let JudgedSuites { suites: judged, mut open } = match judged {
        Ok(judged) => judged,
        // To have nothing to judge by is an end like others, and has its line of summary.
        Err(error) if stop::exit(&error) == Exit::NothingToJudge => {
            JudgedSuites { suites: Vec::new(), open: vec![format!("{error:#}")] }
        }
        Err(error) => return Err(error),
    };
    // What was not measured here may have what the settings gate.
    let is_part = args.suite.is_some() || args.run.is_some() || !args.bench_args.is_empty();
    let comparisons = judged.iter().map(|one| &one.comparison);
    for metric in policy.absent_metrics(comparisons, &|_| is_part) {
        open.push(format!("the metric `{metric}` is to gate, and no case that was compared has it"));
    }
    if judged.is_empty() {
        remarks.extend(rules.told.iter().map(|line| format!("note: {line}")));
    }
    let exit = judged.iter().fold(Exit::Fine, |exit, one| exit.or(one.exit));
    let exit = if open.is_empty() { exit } else { exit.or(Exit::NothingToJudge) };
    remarks.extend(open.iter().map(|why| format!("error: {why}")));
    let program = args.program.as_ref().map(|path| path.display().to_string());
    let against = args.rebuild.clone().or(program).or(args.name.clone()).unwrap_or_default();
    let markdown = markdown::of(&against, &judged, exit);
    if let Some(file) = &args.markdown {
        fs::write(file, &markdown).with_context(|| format!("failed to write `{}`", file.display()))?;
    }
    if let Some(warning) = actions.add_to_summary(&markdown) {
        remarks.push(warning);
    }

    let line = summary_line::of(&judged, exit);
    let mut said = CommandOutput { exit, ..CommandOutput::fine("") };
    match args.format {
        ComparisonFormat::Table => said.text = text::of(&judged),
        ComparisonFormat::Json => said.text = json::of(&against, &judged, exit)?,
        ComparisonFormat::Markdown => said.text = markdown,
        ComparisonFormat::Github => {}
    }
    if args.format == ComparisonFormat::Github || actions.running && args.format != ComparisonFormat::Json {
        said.exact.push_str(&github::annotations(&judged));
    }
    match args.format {
        ComparisonFormat::Json => remarks.push(line), // stdout is the one document
        _ => said.exact.push_str(&inert::lines(&line)),
    }
    said.remarks = remarks;
    Ok(said)
}

/// Judges every suite that is meant.
fn judge_all(
    args: &CompareBaseline,
    wanted: &str,
    place: &Place,
    rules: &GateRules,
    remarks: &mut Vec<String>,
) -> Result<JudgedSuites> {
    let name = called(args, wanted, place)?;
    let wanted = &name.to_string();
    let (named, broken) = place.baselines().named(&name)?;
    remarks.extend(broken.iter().map(|broken| format!("warning: {}", broken.why)));
    if named.is_empty() {
        // A damaged baseline is no missing one: making another would hide what happened to it.
        if let Some(damaged) = broken.first() {
            bail!("{}", damaged.why);
        }
        return Err(no_baseline(place, wanted)?);
    }
    let picked = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?;
    remarks.extend(picked.remarks);
    let explicit = args.run.is_some() || args.suite.is_some();
    let mut judged = JudgedSuites::default();
    for manifest in &picked.runs {
        let suite = &manifest.suite;
        match against(place, &name, manifest, &named)? {
            Some(stored) => judged.suites.push(JudgedSuite::of(place, stored, manifest, rules)?),
            None if explicit => {
                return Err(stop::nothing(format!(
                    "{suite} has no baseline `{name}`: make one with {}",
                    place.how_to_set(wanted)
                )));
            }
            None if place.has_lost(suite) => {
                remarks.push(format!("note: {suite} is no bench target here any more, and is not judged"));
            }
            None => judged.open.push(format!(
                "{suite} has no baseline `{name}` and is not judged: make one with {}, or name the suite \
                 that is meant with --suite",
                place.how_to_set(wanted)
            )),
        }
    }
    let here = Environment::of_workspace(&place.root).workspace();
    for stored in &named {
        let StoredBaseline { baseline, .. } = stored;
        let suite = &baseline.suite;
        let is_ours = !here.is_other_than(&baseline.environment.workspace());
        let is_meant = is_ours && (!explicit || args.suite.as_ref() == Some(suite));
        let is_told = |told: &String| told.starts_with(&format!("{suite} "));
        if !is_meant || picked.runs.iter().any(|run| run.suite == *suite) || judged.open.iter().any(is_told) {
            continue;
        }
        if !place.has_lost(suite) {
            judged
                .open
                .push(format!("{suite} has a baseline `{name}` and no complete run: run `cargo bench`"));
        } else if !rules.policy.removed_passes {
            judged.open.push(format!(
                "{suite} has a baseline `{name}` and is no bench target here any more: `--removed pass` \
                 lets it go"
            ));
        }
    }
    if judged.suites.is_empty() {
        return Err(stop::nothing(format!(
            "there is no complete run to judge by `{name}`: run `cargo bench`"
        )));
    }
    Ok(judged)
}

/// The name that was typed, or that of the commit which the newest of the runs is of.
fn called(args: &CompareBaseline, wanted: &str, place: &Place) -> Result<BaselineName> {
    if wanted != BaselineName::OF_COMMIT {
        return Ok(wanted.parse()?);
    }
    let runs = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?.runs;
    let newest = runs.iter().max_by(|one, other| one.id.as_str().cmp(other.id.as_str()));
    let newest =
        newest.ok_or_else(|| stop::nothing("there is no complete run to judge: run `cargo bench`"))?;
    Ok(BaselineName::typed(wanted, &newest.environment)?)
}

/// The rules of the gate, and the arguments over them.
fn rules(args: &CompareBaseline, place: &Place) -> Result<GateRules> {
    let mut rules = stated_rules(args, place)?;
    let stated = std::mem::take(&mut rules.policy);
    rules.policy = Policy {
        threshold: args.threshold,
        inconclusive_passes: args.inconclusive.map_or(stated.inconclusive_passes, Open::passes),
        removed_passes: args.removed.map_or(stated.removed_passes, Open::passes),
        allow_different_machine: args.allow_different_machine,
        ..stated
    };
    Ok(rules)
}

/// The rules of the commit that is compared with, unless the command line says whose.
fn stated_rules(args: &CompareBaseline, place: &Place) -> Result<GateRules> {
    let repository = Repository::find(&place.root);
    let base = match (&repository, &args.rebuild) {
        (Err(_), _) => None, // which will be told where it is needed
        (Ok(repository), Some(revision)) => Some((repository.commit(revision)?, revision.clone())),
        (Ok(repository), None) => of_baseline(args, place, repository),
    };
    let of = |commit: &str, name: &str| {
        let repository = repository.as_ref().ok()?;
        Some(RulesOf { repository, commit: commit.to_owned(), name: name.to_owned() })
    };
    let base = base.and_then(|(commit, name)| of(&commit, &name));
    let since = |rules: GateRules| match (&base, &args.rebuild) {
        (Some(base), Some(_)) => rules.since(base.repository, &base.commit),
        _ => rules,
    };
    match args.rules.as_deref() {
        Some(gate_rules::TREE) => {
            Ok(since(GateRules::of_tree(place, base.as_ref(), "`--rules tree` says so")?))
        }
        Some(revision) => {
            let repository = Repository::find(&place.root)?;
            let commit = repository.commit(revision)?;
            let of = RulesOf { repository: &repository, commit, name: revision.to_owned() };
            Ok(since(GateRules::of_revision(place, &of)?))
        }
        None => match &base {
            Some(base) => Ok(since(GateRules::of_revision(place, base)?)),
            None => GateRules::of_tree(place, None, "the commit that is compared with is not known here"),
        },
    }
}

/// The rules by which a run is held against a baseline, to be shown: those of the baseline's commit, or the
/// work tree's where that is not known here.
pub(crate) fn rules_beside(place: &Place, baseline: &Baseline) -> Result<GateRules> {
    let of_commit = || {
        let repository = Repository::find(&place.root).ok()?;
        let commit = repository.commit(baseline.environment.software.get("commit")?).ok()?;
        let of = RulesOf { repository: &repository, commit, name: format!("the baseline {}", baseline.name) };
        GateRules::of_revision(place, &of).ok()
    };
    match of_commit() {
        Some(rules) => Ok(rules),
        None => GateRules::of_tree(place, None, "the commit of the baseline is not known here"),
    }
}

/// The commit of the newest baseline that is meant, where the repository has it, and its name for people.
fn of_baseline(args: &CompareBaseline, place: &Place, repository: &Repository) -> Option<(String, String)> {
    // What is wrong with the name will be told where the baseline is read.
    let name = called(args, args.name.as_ref()?, place).ok()?;
    let (named, _) = place.baselines().named(&name).ok()?;
    let meant = named.iter().map(|stored| &stored.baseline);
    let meant = meant.filter(|one| args.suite.as_ref().is_none_or(|suite| *suite == one.suite));
    let newest = meant.max_by(|one, other| one.run.as_str().cmp(other.run.as_str()))?;
    let commit = repository.commit(newest.environment.software.get("commit")?).ok()?;
    Some((commit, format!("the baseline {name}")))
}

/// The baseline to judge a run by: its machine's, else that of another machine, which the judge will refuse
/// with the list of what differs, or be allowed to take.
fn against<'a>(
    place: &Place,
    name: &BaselineName,
    run: &RunManifest,
    named: &'a [StoredBaseline],
) -> Result<Option<&'a StoredBaseline>> {
    let own_machine = run.environment.machine_id();
    let mut of_suite = named.iter().filter(|stored| stored.baseline.suite == run.suite);
    if let Some(own) = of_suite.clone().find(|stored| stored.baseline.environment.machine_id() == own_machine)
    {
        return Ok(Some(own));
    }
    // One that lies there and cannot be read must not be passed over for another machine's.
    match place.baselines().find(&own_machine, &run.suite, name) {
        Err(weighbridge::data::StoreError::NoBaseline { .. }) => Ok(of_suite.next_back()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(of_suite.next()),
    }
}

fn no_baseline(place: &Place, name: &str) -> Result<anyhow::Error> {
    let known = place.baselines().names()?;
    let near = nearest(name, known.iter().map(String::as_str));
    let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    Ok(stop::nothing(format!(
        "there is no baseline `{name}`{near}: make one with {}",
        place.how_to_set(name)
    )))
}

/// A share: `5%`, `5 %` or `0.05`.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim_end(), 0.01),
        None => (text, 1.0),
    };
    match number.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number * scale),
        _ => Err("a share is a number like `5%` or `0.05`".to_owned()),
    }
}

#[cfg(test)]
mod tests;
