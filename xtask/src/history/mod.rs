//! `history`: what a metric of a case was from commit to commit, where it changed, and what lies between. By
//! stored runs, and by the duels of `backfill`.

pub(crate) mod accept;
pub(crate) mod accepted_file;
pub(crate) mod backfill;
pub(crate) mod bisect;
mod order;
mod revisions;

use std::fmt::Write;

use anyhow::Result;
use clap::{Args, Subcommand};
use weighbridge::data::{
    CaseId, Change, ChangePoint, Direction, RunManifest, Unit, change_points, fake_device, median, quantile,
    quantity,
};

use crate::baseline_path::LooksUp;
use crate::command_output::CommandOutput;
use crate::inert::line;
use crate::place::Place;
use crate::plot::Plot;
use crate::repository::{self, Repository, short};
use crate::stop;
use crate::table::Table;
use crate::whose::ours;

const FITS: &str = "a String takes all that is written";

/// The least change point that counts. Every commit is looked at, so the level is low; and what is smaller
/// than the wandering of a machine from day to day would only send people looking.
pub(crate) const CHANGE: Change = Change { level: 0.001, least_length: 3, least_size: 0.02, seed: 42 };

/// The facts of the software that are of the code, and not around it.
const OF_THE_CODE: [&str; 3] = ["commit", "branch", "working tree"];

/// As many commits between two runs are listed.
const MOST_BETWEEN: usize = 20;

/// Arguments of `history`: a case, or what is to be done about one.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    trend: Option<Trend>,
    #[command(subcommand)]
    action: Option<HistoryAction>,
}

/// Actions on a history.
#[derive(Debug, Subcommand)]
enum HistoryAction {
    /// Measure every commit of a range in turns with the one before it.
    Backfill(backfill::Backfill),
    /// Find the commit that made a case slower, by duels.
    Bisect(bisect::Bisect),
    /// Take a change of a case for good, with the reason.
    Accept(LooksUp<accept::Accept>),
}

/// The metric that is followed.
#[derive(Debug, Args)]
pub(crate) struct Trend {
    /// The case, as a table or a listing names it.
    pub(crate) case: String,
    /// The metric [default: the one that stands for the case].
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// Runs of this suite alone: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// Draw with plain letters.
    #[arg(long)]
    pub(crate) ascii: bool,
}

/// Runs of one suite and profile in one environment: their figures can be held against each other.
struct CaseSeries<'a> {
    first: &'a RunManifest,
    commits: Vec<MeasuredCommit>,
}

/// The measurements of the runs of one commit.
struct MeasuredCommit {
    name: String,
    /// Its id, where it is known.
    id: Option<String>,
    /// True if files differed from it.
    is_changed: bool,
    /// The medians of its runs.
    values: Vec<f64>,
}

/// A metric, as the records have it.
struct MetricName {
    name: String,
    unit: Unit,
    direction: Direction,
}

pub(crate) fn run(args: &HistoryArgs, place: &Place) -> Result<CommandOutput> {
    match (&args.action, &args.trend) {
        (Some(HistoryAction::Backfill(args)), _) => backfill::run(args, place),
        (Some(HistoryAction::Bisect(args)), _) => bisect::run(args, place),
        (Some(HistoryAction::Accept(args)), _) => accept::run(&args.command, &args.at(place)?),
        (None, Some(trend)) => follow(trend, place),
        (None, None) => Err(stop::usage("name the case to follow")),
    }
}

/// Follows a metric of a case from commit to commit.
pub(crate) fn follow(args: &Trend, place: &Place) -> Result<CommandOutput> {
    let mut remarks = Vec::new();
    let duels = by_duels(place, args, &mut remarks);
    match by_runs(args, place) {
        Ok(mut said) => {
            said.text.push_str(&duels);
            said.remarks.append(&mut remarks);
            Ok(said)
        }
        // Duels alone are a history as well.
        Err(error) if !duels.is_empty() => {
            let mut text = String::new();
            line(&mut text, &format!("{}: from commit to commit", args.case));
            text.push_str(&duels);
            remarks.push(format!("note: {error:#}"));
            Ok(CommandOutput { remarks, ..CommandOutput::fine(text) })
        }
        Err(error) => Err(error),
    }
}

/// Follows the metric over the runs of the store.
fn by_runs(args: &Trend, place: &Place) -> Result<CommandOutput> {
    let store = place.runs();
    let listing = store.list()?;
    let mut remarks: Vec<String> = listing
        .broken
        .iter()
        .map(|broken| format!("warning: passed over `{}`: {}", broken.name, broken.why))
        .collect();
    let is_meant =
        |run: &&RunManifest| run.is_measured() && args.suite.as_ref().is_none_or(|suite| run.suite == *suite);
    let (all, others) = ours(place, listing.runs);
    remarks.extend(others);
    let runs: Vec<&RunManifest> = all.iter().rev().filter(is_meant).collect();
    if runs.is_empty() {
        return Err(stop::nothing("there is no complete run to follow: make one with `cargo bench`"));
    }
    let case = case(&runs, &args.case)?;
    let (metric, mut series) = gather(place, &runs, &case, args.metric.as_deref())?;
    let repository = Repository::find(&place.root).ok();
    let order = repository.as_ref().map(Repository::order).unwrap_or_default();
    for one in &mut series {
        one.commits = MeasuredCommit::sorted(std::mem::take(&mut one.commits), &order);
    }
    let mut text = String::new();
    line(&mut text, &format!("{case}: {} from commit to commit", metric.name));
    for (at, one) in series.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| series[before].first);
        text.push_str(&one.text(before, &metric, args.ascii, repository.as_ref()));
    }
    Ok(CommandOutput { remarks, ..CommandOutput::fine(text) })
}

/// The table of the duels of `backfill` for the case; empty where there are none.
fn by_duels(place: &Place, args: &Trend, remarks: &mut Vec<String>) -> String {
    let mut table = Table::new(["commit", "against", "slowdown", "verdict"]);
    let mut steps = backfill::stored(place, remarks);
    if let Ok(repository) = Repository::find(&place.root) {
        let order = repository.order();
        steps.sort_by_key(|step| order.iter().position(|id| *id == step.commit));
    }
    for step in &steps {
        let of_suite = |suite: &str| args.suite.as_ref().is_none_or(|wanted| wanted == suite);
        let comparisons = step.comparisons.iter().filter(|comparison| of_suite(&comparison.suite));
        for row in comparisons.flat_map(|comparison| &comparison.rows) {
            if row.case.to_string() == args.case {
                let commit = repository::Revision { id: step.commit.clone(), subject: step.subject.clone() };
                let worse = row.effect.map_or_else(|| "-".to_owned(), bisect::interval);
                table.row([
                    commit.name(),
                    short(&step.before).to_owned(),
                    worse,
                    row.verdict.name().to_owned(),
                ]);
            }
        }
    }
    if table.is_empty() {
        String::new()
    } else {
        format!("\nin turns with the commit before it\n{}", table.text())
    }
}

/// The case that is meant, among all that any run planned.
fn case(runs: &[&RunManifest], typed: &str) -> Result<CaseId> {
    let mut known = runs.iter().rev().flat_map(|run| &run.planned.cases);
    let named = |id: &&CaseId| [id.to_string(), id.slug(), id.file_name()].iter().any(|name| name == typed);
    known.find(named).cloned().ok_or_else(|| {
        let all: Vec<String> =
            runs.iter().flat_map(|run| &run.planned.cases).map(ToString::to_string).collect();
        stop::unknown("case", typed, all.iter().map(String::as_str))
    })
}

/// The medians of every run that has one, by environment and commit.
fn gather<'a>(
    place: &Place,
    runs: &[&'a RunManifest],
    case: &CaseId,
    wanted: Option<&str>,
) -> Result<(MetricName, Vec<CaseSeries<'a>>)> {
    let mut found: Option<MetricName> = None;
    let mut known: Vec<String> = Vec::new();
    let mut series: Vec<CaseSeries<'a>> = Vec::new();
    for run in runs.iter().filter(|run| run.planned.cases.contains(case)) {
        let Some(record) = place.runs().case(&run.id, case)? else { continue };
        known.extend(record.metrics.iter().map(|metric| metric.name.clone()));
        let name = wanted.unwrap_or(&record.primary_metric);
        let Some(metric) = record.metric(name) else { continue };
        let Some(estimate) = metric.estimate.filter(|estimate| estimate.median.is_finite()) else { continue };
        found.get_or_insert_with(|| MetricName {
            name: metric.name.clone(),
            unit: metric.unit.clone(),
            direction: metric.direction,
        });
        let at = series.iter().position(|series| around(series.first, run).is_empty());
        let at = at.unwrap_or_else(|| {
            series.push(CaseSeries { first: run, commits: Vec::new() });
            series.len() - 1
        });
        series[at].add(run, estimate.median);
    }
    match found {
        Some(metric) => Ok((metric, series)),
        None => match wanted {
            Some(wanted) if !known.iter().any(|name| name == wanted) => {
                Err(stop::unknown("metric of the case", wanted, known.iter().map(String::as_str)))
            }
            _ => Err(stop::nothing(format!("no stored run has a value of {case}"))),
        },
    }
}

/// The differences around the code of two runs, for which their figures are not one series.
pub(crate) fn around(before: &RunManifest, after: &RunManifest) -> Vec<String> {
    let asked = [
        ("suite", &before.suite, &after.suite),
        ("profile", &before.profile, &after.profile),
        ("platform", &before.active_backend, &after.active_backend),
    ];
    let asked = asked.into_iter().filter(|(_, before, after)| before != after);
    let asked = asked.map(|(what, before, after)| format!("{what}: {before} -> {after}"));
    let found = after.environment.differences(&before.environment);
    let facts = found.machine.into_iter().chain(found.variables).chain(found.software);
    let facts = facts.filter(|fact| !OF_THE_CODE.contains(&fact.what.as_str())).map(|fact| fact.to_string());
    asked.chain(facts).collect()
}

/// The commit of a run. A working tree that differs from its commit is a state of its own.
fn commit(run: &RunManifest) -> String {
    let software = &run.environment.software;
    let Some(commit) = software.get("commit") else { return format!("run {}", run.id) };
    let short = commit.get(..12).unwrap_or(commit);
    match software.get("working tree").map(String::as_str) {
        Some("dirty") => format!("{short}, changed ({})", run.id),
        _ => short.to_owned(),
    }
}

impl CaseSeries<'_> {
    fn add(&mut self, run: &RunManifest, value: f64) {
        let name = commit(run);
        if let Some(commit) = self.commits.iter_mut().find(|commit| commit.name == name) {
            commit.values.push(value);
            return;
        }
        let software = &run.environment.software;
        let is_changed = software.get("working tree").is_some_and(|state| state == "dirty");
        let id = software.get("commit").cloned();
        self.commits.push(MeasuredCommit { name, id, is_changed, values: vec![value] });
    }

    fn text(
        &self,
        before: Option<&RunManifest>,
        metric: &MetricName,
        ascii: bool,
        repository: Option<&Repository>,
    ) -> String {
        let show = |value: f64| quantity::show(value, &metric.unit);
        let values: Vec<f64> = self.commits.iter().map(|commit| median(&commit.values)).collect();
        let plot = Plot { low: quantile(&values, 0.0), high: quantile(&values, 1.0), ascii };
        let manifest = self.first;
        let title = format!(
            "{}, profile {}, on {}: {} commits  {}",
            manifest.suite,
            manifest.profile,
            manifest.environment.machine_id(),
            values.len(),
            plot.line(&values)
        );
        let mut text = "\n".to_owned();
        line(&mut text, &title);
        if let Some(fake) = fake_device(&manifest.environment) {
            line(&mut text, &fake);
        }
        for difference in before.map(|before| around(before, manifest)).unwrap_or_default() {
            line(&mut text, &format!("a new series: {difference}"));
        }
        let changes = change_points(&values, CHANGE);
        let mut table = Table::new(["commit", "runs>", "median>", ""]);
        for (at, (commit, value)) in self.commits.iter().zip(&values).enumerate() {
            let changed = changes.iter().find(|change| change.at == at);
            let mark = changed.map_or_else(String::new, |change| format!("<- {}", words(change, metric)));
            table.row([commit.name.clone(), commit.values.len().to_string(), show(*value), mark]);
        }
        text.push_str(&table.text());
        for change in &changes {
            // A change lies at the third commit at the earliest.
            let (last, first) = (&self.commits[change.at - 1].name, &self.commits[change.at].name);
            let between = repository.and_then(|repository| repository.between(last, first).ok());
            writeln!(
                text,
                "changed between {last} and {first}: {} to {}, {} (p = {:.4})",
                show(change.before),
                show(change.after),
                words(change, metric),
                change.p
            )
            .expect(FITS);
            let between = between.unwrap_or_default();
            for commit in between.iter().take(MOST_BETWEEN) {
                line(&mut text, &format!("  {}", commit.name()));
            }
            if between.len() > MOST_BETWEEN {
                writeln!(text, "  and {} more", between.len() - MOST_BETWEEN).expect(FITS);
            }
        }
        if changes.is_empty() {
            let few = if values.len() < 14 { "; fewer than about 14 commits cannot show one" } else { "" };
            writeln!(text, "no change of {} or more{few}", quantity::change(CHANGE.least_size)).expect(FITS);
        }
        text
    }
}

/// By how much, and whether that is good: `+10.0 %, worse`.
fn words(change: &ChangePoint, metric: &MetricName) -> String {
    let share = change.after / change.before - 1.0;
    let better = match metric.direction {
        Direction::Higher => Some(share > 0.0),
        Direction::Lower => Some(share < 0.0),
        Direction::Information => None,
    };
    let word = better.map_or("", |better| if better { ", better" } else { ", worse" });
    format!("{}{word}", quantity::change(share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Home, around, case, home};
    use weighbridge::data::Exit;

    /// A run of this second and of a commit with the same number, whose throughput was about `middle`.
    fn store(home: &Home, second: u64, middle: f64, fact: (&str, &str)) {
        let mut run = crate::fixtures::run(second, vec![case("CV-1", "Reference", &around(middle))]);
        let software = &mut run.manifest.environment.software;
        software.insert("commit".into(), format!("{second:012}{:028}", 0));
        software.insert(fact.0.into(), fact.1.into());
        home.store(&run);
    }

    /// A commit a second, in one environment.
    fn history(home: &Home, from: u64, values: &[f64], compiler: &str) {
        for (at, value) in values.iter().enumerate() {
            store(home, from + at as u64, *value, ("rustc", compiler));
        }
    }

    /// About a level, up to 1 % apart.
    fn level(middle: f64, count: usize) -> Vec<f64> {
        (0..count).map(|at| middle * (1.0 + 0.01 * ((at * 7 % 11) as f64 / 11.0 - 0.5))).collect()
    }

    fn trend(home: &Home, case: &str, metric: Option<&str>) -> Result<CommandOutput> {
        let metric = metric.map(str::to_owned);
        follow(&Trend { case: case.to_owned(), metric, suite: None, ascii: true }, &home.place)
    }

    #[test]
    fn a_change_is_found_and_the_commits_beside_it_are_named() {
        let home = home();
        history(&home, 1_000, &[level(8.0e6, 12), level(7.2e6, 12)].concat(), "1.95");
        let said = trend(&home, "CV-1/small/Reference", None).expect("there are runs").text;
        assert!(said.starts_with("CV-1/small/Reference: throughput from commit to commit\n"), "{said}");
        let changes: Vec<&str> = said.lines().filter(|line| line.starts_with("changed between ")).collect();
        assert_eq!(changes.len(), 1, "{said}");
        let change = changes[0];
        assert!(
            change.starts_with("changed between 000000001011 and 000000001012: 7.99 M elem/s"),
            "{change}"
        );
        assert!(
            change.contains(" to 7.19 M elem/s, -10.0 %") && change.contains(" %, worse (p = 0.0"),
            "{change}"
        );
        let marked: Vec<&str> = said.lines().filter(|line| line.contains("<- -")).collect();
        assert!(marked.len() == 1 && marked[0].starts_with("000000001012"), "{said}");
        assert!(said.contains("24 commits  "), "{said}");
    }

    #[test]
    fn a_level_history_has_no_change_and_a_short_one_says_that_it_is_short() {
        let home = home();
        history(&home, 1_000, &level(8.0e6, 24), "1.95");
        let said = trend(&home, "cv_1::small::reference", None).expect("there are runs").text;
        assert!(said.ends_with("no change of +2.0 % or more\n"), "{said}");
        let short = crate::fixtures::home();
        history(&short, 1_000, &[8.0e6, 4.0e6], "1.95");
        let said = trend(&short, "CV-1/small/Reference", None).expect("there are runs").text;
        assert!(said.ends_with("fewer than about 14 commits cannot show one\n"), "{said}");
    }

    #[test]
    fn another_compiler_or_machine_begins_a_new_series_and_is_no_change() {
        let home = home();
        history(&home, 1_000, &level(8.0e6, 8), "1.94");
        history(&home, 2_000, &level(6.0e6, 8), "1.95");
        let said = trend(&home, "CV-1/small/Reference", None).expect("there are runs").text;
        assert_eq!(said.matches("8 commits").count(), 2, "{said}");
        assert!(said.contains("a new series: rustc: 1.94 -> 1.95\n"), "{said}");
        assert!(!said.contains("changed between"), "{said}");
    }

    #[test]
    fn runs_of_one_commit_are_one_point() {
        let home = home();
        for second in [1_000, 1_001, 1_002] {
            store(&home, second, second as f64 * 1e3, ("commit", "abcdef0123456789"));
        }
        let said = trend(&home, "CV-1/small/Reference", None).expect("there are runs").text;
        assert!(said.contains("1 commits") && said.contains("abcdef012345     3  1.00 M elem/s"), "{said}");
    }

    #[test]
    fn a_named_metric_is_followed_and_a_misspelt_one_gets_the_nearest() {
        let home = home();
        history(&home, 1_000, &level(8.0e6, 4), "1.95");
        let said = trend(&home, "CV-1/small/Reference", Some("peak_memory")).expect("it is recorded").text;
        assert!(said.contains("peak_memory from") && said.contains("32.0 MiB"), "{said}");
        let error = trend(&home, "CV-1/small/Reference", Some("peak_memori")).expect_err("misspelt");
        assert_eq!(stop::exit(&error), Exit::Usage);
        assert!(error.to_string().contains("did you mean `peak_memory`?"), "{error}");
        let error = trend(&home, "CV-1/small/Referense", None).expect_err("misspelt");
        assert_eq!(stop::exit(&error), Exit::Usage);
        assert!(error.to_string().contains("did you mean `CV-1/small/Reference`?"), "{error}");
    }

    #[test]
    fn without_runs_there_is_nothing_to_follow() {
        let home = home();
        let error = trend(&home, "CV-1/small/Reference", None).expect_err("nothing is stored");
        assert_eq!(stop::exit(&error), Exit::NothingToJudge);
    }
}
