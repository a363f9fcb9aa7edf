//! `history bisect`: the commit that made a case slower, found by duels.
//!
//! A commit of the range is on the slow side if it is slower than the first one by more than half of the
//! whole change: that line lies as far from both sides as can be. What the search ends with is then held
//! against the commit before it, in a duel of its own with fresh rounds, and only what that duel confirms is
//! named: its chance of being wrong is the answer's.

use anyhow::Result;
use clap::Args;
use weighbridge::data::{Effect, Exit, Row, Verdict, quantity};

use super::revisions::{RevisionDuel, Revisions};
use crate::command_output::{CommandOutput, say};
use crate::place::Place;
use crate::repository::{Repository, Revision};
use crate::stop;
use crate::table::Table;

/// The most times that the search is made, where its answer is not confirmed.
const TRIES: usize = 2;

/// Arguments of `history bisect`.
#[derive(Debug, Args)]
pub(crate) struct Bisect {
    /// A revision before the change.
    pub(crate) good: String,
    /// A later revision that has it.
    pub(crate) bad: String,
    /// The case, as a comparison names it.
    pub(crate) case: String,
    /// The case of this suite: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// More arguments for the bench programs: `--profile quick`.
    #[arg(last = true, value_name = "BENCH ARGS")]
    pub(crate) bench_args: Vec<String>,
}

/// A duel between two places of the range: the later one against the earlier one, with this margin where it
/// is not the usual one. `None` where one of them cannot be measured.
type BisectDuel<'a> = dyn FnMut(usize, usize, Option<f64>) -> Result<Option<Row>> + 'a;

/// The end of a search.
#[derive(Debug)]
enum BisectEnd {
    /// The last of the range is not slower than the first: there is nothing to find.
    Nothing(Box<Row>),
    /// One of the ends cannot be measured.
    Unusable,
    /// The change is after the first place and not after the second; the row is of the two, and confirms it.
    Found { before: usize, at: usize, whole: Effect, row: Box<Row> },
    /// The same, and the two were not told apart.
    Unconfirmed { before: usize, at: usize, row: Option<Box<Row>> },
}

pub(crate) fn run(args: &Bisect, place: &Place) -> Result<CommandOutput> {
    let repository = Repository::find(&place.root)?;
    let commits = range(&repository, &args.good, &args.bad)?;
    let mut flags = vec!["--exact".to_owned(), args.case.clone()];
    flags.extend(args.bench_args.iter().cloned());
    let revisions = Revisions { repository: &repository, place, suite: args.suite.as_deref(), flags: &flags };
    let mut steps = Table::new(["commit", "against", "slowdown", "verdict"]);
    let mut remarks = Vec::new();
    let mut duel = |before: usize, after: usize, margin: Option<f64>| {
        let more: Vec<String> =
            margin.map(|share| format!("--threshold={}%", share * 100.0)).into_iter().collect();
        say(&format!("bisect: {} against {}", commits[after].name(), commits[before].name()));
        match revisions.duel(&commits[before], &commits[after], &more)? {
            RevisionDuel::Unusable(why) => {
                remarks.push(format!("note: passed over: {why}"));
                Ok(None)
            }
            RevisionDuel::Compared(comparisons) => {
                let [comparison] = &comparisons[..] else {
                    return Err(stop::usage("several suites have this case: name one with --suite"));
                };
                let Some(row) = comparison.rows.first() else { return Ok(None) };
                let worse = row.effect.map_or_else(|| "-".to_owned(), interval);
                let (after, before) = (commits[after].name(), commits[before].name());
                steps.row([after, before, worse, row.verdict.name().to_owned()]);
                Ok(Some(row.clone()))
            }
        }
    };
    let mut ended = search(commits.len() - 1, &mut duel)?;
    for _ in 1..TRIES {
        if matches!(ended, BisectEnd::Unconfirmed { .. }) {
            ended = search(commits.len() - 1, &mut duel)?;
        }
    }
    let said = told(&ended, &commits);
    Ok(CommandOutput {
        text: format!("{}: {} commits\n\n{}\n{}", args.case, commits.len() - 1, steps.text(), said.text),
        remarks,
        ..said
    })
}

/// The commits from one to the other, both among them.
fn range(repository: &Repository, good: &str, bad: &str) -> Result<Vec<Revision>> {
    let (first, last) = (repository.commit(good)?, repository.commit(bad)?);
    let after = repository.between(&first, &last)?;
    if after.is_empty() || !repository.is_before(&first, &last) {
        return Err(stop::usage(format!("{bad} does not come after {good}: name the earlier one first")));
    }
    let first = Revision { subject: repository.subject(&first)?, id: first };
    Ok(std::iter::once(first).chain(after).collect())
}

/// Finds the first slow place after 0 and up to `last`.
fn search(last: usize, duel: &mut BisectDuel<'_>) -> Result<BisectEnd> {
    let Some(whole) = duel(0, last, None)? else { return Ok(BisectEnd::Unusable) };
    let Some(change) = whole.effect.filter(|_| whole.verdict == Verdict::Regressed) else {
        return Ok(BisectEnd::Nothing(Box::new(whole)));
    };
    let half = (1.0 + change.estimate).sqrt() - 1.0;
    let (mut before, mut at) = (0, last);
    let mut unusable: Vec<usize> = Vec::new();
    while let Some(middle) = middle(before, at, &unusable) {
        match duel(0, middle, Some(half))?.and_then(|row| is_slow(&row, half)) {
            Some(true) => at = middle,
            Some(false) => before = middle,
            None => unusable.push(middle),
        }
    }
    // With one commit in the range the first duel was theirs.
    let row = if (before, at) == (0, last) { Some(whole) } else { duel(before, at, None)? };
    Ok(match row {
        Some(row) if row.verdict == Verdict::Regressed => {
            BisectEnd::Found { before, at, whole: change, row: Box::new(row) }
        }
        row => BisectEnd::Unconfirmed { before, at, row: row.map(Box::new) },
    })
}

/// The place nearest to the middle between two that can be measured.
fn middle(before: usize, at: usize, unusable: &[usize]) -> Option<usize> {
    let centre = usize::midpoint(before, at);
    let usable = (before + 1..at).filter(|place| !unusable.contains(place));
    usable.min_by_key(|place| place.abs_diff(centre))
}

/// Returns whether a row lies beyond half of the change: by its verdict, or where that decides nothing by its
/// estimate, which the last duel will confirm or not. `None` where it has no figures.
fn is_slow(row: &Row, half: f64) -> Option<bool> {
    match &row.verdict {
        Verdict::Regressed => Some(true),
        Verdict::Unchanged | Verdict::Improved => Some(false),
        _ => row.effect.map(|effect| effect.estimate > half),
    }
}

/// `+3.0 % [+2.7 % .. +3.3 %]`.
pub(super) fn interval(effect: Effect) -> String {
    let [estimate, low, high] = [effect.estimate, effect.low, effect.high].map(quantity::change);
    format!("{estimate} [{low} .. {high}]")
}

fn told(ended: &BisectEnd, commits: &[Revision]) -> CommandOutput {
    let name = |at: usize| commits[at].name();
    match ended {
        BisectEnd::Unusable => CommandOutput {
            exit: Exit::NothingToJudge,
            ..CommandOutput::fine("one of the two ends cannot be measured: nothing was searched\n")
        },
        BisectEnd::Nothing(row) => {
            let exit = if matches!(row.verdict, Verdict::Inconclusive(_)) {
                Exit::Inconclusive
            } else {
                Exit::NothingToJudge
            };
            let text =
                format!("{} is not slower than {}: {}\n", name(commits.len() - 1), name(0), row.verdict);
            CommandOutput { exit, ..CommandOutput::fine(text) }
        }
        BisectEnd::Found { before, at, whole, row } => {
            let worse = row.effect.map_or_else(String::new, interval);
            let sure = row.rounds.as_ref().and_then(|rounds| Some((rounds.confirmation.len(), rounds.p?)));
            let sure = sure.map_or_else(String::new, |(rounds, p)| {
                format!(
                    "; were it not slower by more than the margin, {rounds} fresh rounds would say so with a \
                     chance of {p:.2e}"
                )
            });
            let which = match at - before {
                1 => name(*at),
                several => format!(
                    "one of the {several} commits after {} up to {}, of which the others cannot be measured",
                    name(*before),
                    name(*at)
                ),
            };
            CommandOutput::fine(format!(
                "first slower: {which}\n{worse} against {}, of {} in all{sure}\n",
                name(*before),
                interval(*whole)
            ))
        }
        BisectEnd::Unconfirmed { before, at, row } => {
            let verdict = row
                .as_ref()
                .map_or_else(|| "it cannot be measured".to_owned(), |row| row.verdict.to_string());
            let text = format!(
                "not found: the search ended twice with a commit that its own duel does not confirm, \
                 the last time {} against {}: {verdict}\n\
                 The change may be spread over several commits: `history backfill` measures each of them.\n",
                name(*at),
                name(*before)
            );
            CommandOutput { exit: Exit::Inconclusive, ..CommandOutput::fine(text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use weighbridge::data::InconclusiveReason;

    use super::*;

    /// A row whose case has a slowdown of so much, judged by this margin.
    fn row(worse: f64, margin: f64) -> Row {
        let (low, high) = (worse - 0.004, worse + 0.004);
        let verdict = if low > margin {
            Verdict::Regressed
        } else if high < margin && low > -margin {
            Verdict::Unchanged
        } else if high < -margin {
            Verdict::Improved
        } else {
            Verdict::Inconclusive(InconclusiveReason::NoInterval)
        };
        let mut row: Row = crate::fixtures::row();
        row.verdict = verdict;
        row.effect = Some(Effect { estimate: worse, low, high });
        row
    }

    /// Searches among commits that take these times, of which some cannot be measured. Gives the answer and
    /// how many duels it took.
    fn searched(times: &[f64], unusable: &[usize]) -> (BisectEnd, usize) {
        let mut count = 0;
        let mut duel = |before: usize, after: usize, margin: Option<f64>| {
            count += 1;
            let usable = !unusable.contains(&before) && !unusable.contains(&after);
            Ok(usable.then(|| row(times[after] / times[before] - 1.0, margin.unwrap_or(0.01))))
        };
        (search(times.len() - 1, &mut duel).expect("searched"), count)
    }

    fn found(ended: &BisectEnd) -> Option<(usize, usize)> {
        match ended {
            BisectEnd::Found { before, at, .. } => Some((*before, *at)),
            _ => None,
        }
    }

    #[test]
    fn the_commit_that_is_three_percent_slower_is_named_wherever_it_is() {
        for slow in 1..=12 {
            let times: Vec<f64> = (0..=12).map(|at| if at >= slow { 1.03 } else { 1.0 }).collect();
            let (ended, duels) = searched(&times, &[]);
            assert_eq!(found(&ended), Some((slow - 1, slow)));
            assert!(duels <= 6, "{duels} duels for twelve commits");
        }
    }

    #[test]
    fn what_cannot_be_measured_is_passed_over_and_told_where_it_hides_the_commit() {
        let times: Vec<f64> = (0..=12).map(|at| if at >= 7 { 1.03 } else { 1.0 }).collect();
        assert_eq!(found(&searched(&times, &[3, 9]).0), Some((6, 7)));
        let (ended, _) = searched(&times, &[6, 7]);
        assert_eq!(found(&ended), Some((5, 8)));
        let commits: Vec<Revision> =
            (0..=12).map(|at| Revision { id: format!("{at:040}"), subject: format!("step {at}") }).collect();
        let said = told(&ended, &commits).text;
        assert!(
            said.starts_with("first slower: one of the 3 commits after 000000000000 step 5 up to"),
            "{said}"
        );
    }

    #[test]
    fn without_a_change_nothing_is_searched_and_of_two_the_larger_half_is_found() {
        let (ended, duels) = searched(&[1.0; 13], &[]);
        assert!(matches!(ended, BisectEnd::Nothing(_)) && duels == 1, "{ended:?}");
        // 2 % at the third and 4 % at the ninth: half of the whole is passed at the ninth.
        let times: Vec<f64> = (0..=12)
            .map(|at| {
                if at >= 9 {
                    1.02 * 1.04
                } else if at >= 3 {
                    1.02
                } else {
                    1.0
                }
            })
            .collect();
        assert_eq!(found(&searched(&times, &[]).0), Some((8, 9)));
        assert!(matches!(searched(&[1.0, 1.03], &[1]).0, BisectEnd::Unusable));
    }

    #[test]
    fn a_commit_that_its_own_duel_does_not_confirm_is_not_named() {
        // Half a percent with each commit: every duel between neighbours is too close.
        let times: Vec<f64> = (0..=12).map(|at| 1.005_f64.powi(at)).collect();
        let (ended, _) = searched(&times, &[]);
        assert!(matches!(ended, BisectEnd::Unconfirmed { .. }), "{ended:?}");
        let commits: Vec<Revision> =
            (0..=12).map(|at| Revision { id: format!("{at:040}"), subject: String::new() }).collect();
        let said = told(&ended, &commits);
        assert_eq!(said.exit, Exit::Inconclusive);
        assert!(said.text.contains("`history backfill` measures each of them"), "{}", said.text);
    }
}
