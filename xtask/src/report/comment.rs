//! `report comment`: what a pull request is told. The verdict first, then what changed; the rest is folded.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use weighbridge::data::{Comparison, Row, Verdict, fake_device, quantile, quantity};

use crate::command_output::CommandOutput;
use crate::compare_baseline::details;
use crate::inert;
use crate::place::Place;
use crate::plot::Plot;
use crate::table::Table;
use crate::view::{self, ViewMaterial};
use crate::{pick, stop};

const FITS: &str = "a String takes all that is written";

/// By what a job finds the comment that it is to replace.
pub(super) const MARKER: &str = "<!-- weighbridge:report -->";
/// The longest comment that GitHub takes, in characters.
pub(super) const LONGEST: usize = 65_536;
/// Kept for what closes a comment that was cut.
const CLOSING: usize = 400;

/// Arguments of `report comment`.
#[derive(Debug, Args)]
pub(crate) struct ReportComment {
    /// The run: an id, its start, or `latest` [default: the latest of every suite]. A second one of the same
    /// suite is compared with the first; else the baseline of the suite is taken, or the run before.
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// Tell of the newest duel of every suite instead: what `compare-baseline --rebuild` and `--versus` have
    /// measured.
    #[arg(long, conflicts_with = "runs")]
    pub(crate) duel: bool,
    /// This suite alone: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// Write it to this file [default: standard output].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// A comparison to tell of, with what it was held against, in words.
struct ToldComparison<'a> {
    title: String,
    comparison: &'a Comparison,
    fake: Option<String>,
    /// The records of the run, where the comparison is of runs.
    material: Option<&'a ViewMaterial>,
}

pub(crate) fn run(args: &ReportComment, place: &Place) -> Result<CommandOutput> {
    let mut said = CommandOutput::fine("");
    let text = match args.duel {
        true => {
            let duels = view::last_duels(place, args.suite.as_deref())?;
            let told: Vec<ToldComparison<'_>> = duels
                .iter()
                .map(|comparison| ToldComparison {
                    title: format!("in a duel with {}", comparison.baseline.name),
                    fake: comparison.environment.as_ref().and_then(fake_device),
                    comparison,
                    material: None,
                })
                .collect();
            if told.is_empty() {
                return Err(stop::nothing(
                    "no duel is stored: `cargo xtask compare-baseline --rebuild REV` measures one",
                ));
            }
            comment(&told)
        }
        false => {
            let (picked, remarks) = pick::shown(place, &args.runs, args.suite.as_deref())?;
            said.remarks = remarks;
            let mut all = Vec::new();
            for shown in &picked {
                let mut material = view::load(place, &shown.run, shown.against.as_ref(), false)?;
                said.remarks.append(&mut material.remarks);
                all.push(material);
            }
            let told = |material: &'_ ViewMaterial| {
                material.against.iter().position(|against| against.key != "duel")
            };
            let told: Vec<ToldComparison<'_>> = all
                .iter()
                .filter_map(|material| {
                    let against = &material.against[told(material)?];
                    let (title, comparison) = (format!("against {}", against.title), &against.comparison);
                    let fake = fake_device(&material.run.manifest.environment);
                    Some(ToldComparison { title, comparison, fake, material: Some(material) })
                })
                .collect();
            if told.is_empty() {
                return Err(stop::nothing(
                    "there is nothing to compare the latest run with: measure twice, or make a baseline with \
                     `cargo bench -- --save-baseline main`",
                ));
            }
            comment(&told)
        }
    };
    match &args.out {
        None => said.text = text,
        Some(file) => {
            fs::write(file, text).with_context(|| format!("failed to write `{}`", file.display()))?;
            said.text = format!("{} is written\n", file.display());
        }
    }
    Ok(said)
}

/// Text that never grows beyond what a comment may have.
struct Sheet {
    text: String,
    left: usize,
}

impl Sheet {
    /// Adds a part whole, or not at all.
    fn add(&mut self, part: &str) -> bool {
        let length = part.chars().count();
        let fits = length <= self.left;
        if fits {
            self.text.push_str(part);
            self.left -= length;
        }
        fits
    }

    /// Adds a table with as many of its rows as there is room for, and says how many there was none for.
    fn add_rows(&mut self, titles: &[&str], rows: &[Vec<String>]) {
        let mut shown = rows.len();
        loop {
            let mut table = Table::new(titles.iter().copied());
            rows[..shown].iter().for_each(|row| table.row(row.clone()));
            let more = match rows.len() - shown {
                0 => String::new(),
                more => format!("\nAnd {more} more: `cargo xtask report html` has them all.\n"),
            };
            if self.add(&format!("{}{more}", table.markdown())) || shown == 0 {
                return;
            }
            // A part of the rows is tried that is surely smaller; a few steps are enough.
            shown = shown * 3 / 4;
        }
    }
}

fn comment(told: &[ToldComparison<'_>]) -> String {
    let mut sheet = Sheet { text: String::new(), left: LONGEST - CLOSING };
    sheet.add(&format!("{MARKER}\n## Weighbridge: {}\n", heading(told)));
    for one in told {
        suite(&mut sheet, one);
    }
    for one in told {
        folded(&mut sheet, one);
    }
    sheet.text
}

/// All suites in one line.
fn heading(told: &[ToldComparison<'_>]) -> String {
    let sum = |count: fn(&Comparison) -> usize| told.iter().map(|one| count(one.comparison)).sum::<usize>();
    let (regressed, improved, failed) =
        (sum(|c| c.counts.regressed), sum(|c| c.counts.improved), sum(|c| c.failures.len()));
    let (all, inconclusive) = (sum(|c| c.rows.len()), sum(|c| c.counts.inconclusive));
    let mut parts = Vec::new();
    for (count, words) in
        [(failed, "failed"), (regressed, "regressed"), (improved, "improved"), (inconclusive, "inconclusive")]
    {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    }
    match parts.is_empty() {
        _ if told.iter().all(|one| one.comparison.refused.is_some()) => "nothing was judged".to_owned(),
        true => format!("none of {all} cases changed"),
        false => format!("{} of {all} cases", parts.join(", ")),
    }
}

fn suite(sheet: &mut Sheet, one: &ToldComparison<'_>) {
    let comparison = one.comparison;
    let mut head = format!("\n**{}** {}", inert::markdown(&comparison.suite), inert::markdown(&one.title));
    if let Some(material) = one.material {
        let manifest = &material.run.manifest;
        write!(
            head,
            ": run `{}`, commit {}, profile {}, machine `{}`",
            manifest.id,
            inert::markdown(&view::commit(&material.run)),
            inert::markdown(&manifest.profile),
            manifest.environment.machine_id()
        )
        .expect(FITS);
    }
    head.push('\n');
    if let Some(fake) = &one.fake {
        writeln!(head, "\n**{}**", inert::markdown(fake)).expect(FITS);
    }
    for note in &comparison.notes {
        writeln!(head, "- **note**: {}", inert::markdown(&clip(note))).expect(FITS);
    }
    if let Some(refusal) = &comparison.refused {
        writeln!(head, "\n**Nothing is judged**: {}", inert::markdown(&refusal.to_string())).expect(FITS);
    }
    for failure in &comparison.failures {
        writeln!(
            head,
            "- **failed** {}: {}",
            inert::markdown(&failure.case.to_string()),
            inert::markdown(&clip(&failure.to_string()))
        )
        .expect(FITS);
    }
    sheet.add(&format!("{head}\n"));
    let order = |row: &&Row| match row.verdict {
        Verdict::Regressed => 0,
        Verdict::Improved => 1,
        Verdict::Inconclusive(_) => 2,
        _ => 3,
    };
    let mut changed: Vec<&Row> = comparison.rows.iter().filter(|row| order(row) < 2).collect();
    changed.sort_by_key(order);
    if !changed.is_empty() {
        let rows: Vec<Vec<String>> = changed.iter().map(|row| cells(one, row)).collect();
        sheet.add_rows(&COLUMNS, &rows);
    }
}

/// The columns of a comment's tables of cases.
const COLUMNS: [&str; 9] =
    ["case", "verdict", "metric", "before>", "now>", "ratio>", "95 % interval", "detects>", "trend"];

fn folded(sheet: &mut Sheet, one: &ToldComparison<'_>) {
    let comparison = one.comparison;
    let suite = inert::markdown(&comparison.suite);
    if !comparison.environment_changes.is_empty() {
        let lines: String = comparison
            .environment_changes
            .iter()
            .map(|change| format!("- {}\n", inert::markdown(&change.to_string())))
            .collect();
        let count = comparison.environment_changes.len();
        sheet.add(&format!(
            "\n<details><summary>{suite}: {count} changes around the code</summary>\n\n{lines}\n</details>\n"
        ));
    }
    let others: Vec<&Row> = comparison
        .rows
        .iter()
        .filter(|row| !matches!(row.verdict, Verdict::Regressed | Verdict::Improved))
        .collect();
    if !others.is_empty() && sheet.left > 2 * CLOSING {
        sheet.add(&format!("\n<details><summary>{suite}: {} other cases</summary>\n\n", others.len()));
        sheet.left -= CLOSING;
        let rows: Vec<Vec<String>> = others.iter().map(|row| cells(one, row)).collect();
        sheet.add_rows(&COLUMNS, &rows);
        sheet.left += CLOSING;
        sheet.add("\n</details>\n");
    }
    let reasons = details::reasons(comparison, str::to_owned);
    if !reasons.is_empty() {
        let mut lines = String::new();
        let mut left = reasons.len();
        for reason in &reasons {
            let line = format!("- {}\n", inert::markdown(&clip(reason)));
            if lines.chars().count() + line.chars().count() + CLOSING > sheet.left {
                break;
            }
            lines.push_str(&line);
            left -= 1;
        }
        let more = if left > 0 { format!("- and {left} more\n") } else { String::new() };
        sheet.add(&format!(
            "\n<details><summary>{suite}: why, and what would decide</summary>\n\n{lines}{more}\n</details>\n"
        ));
    }
}

fn cells(one: &ToldComparison<'_>, row: &Row) -> Vec<String> {
    let judged = row.judged();
    let judged = judged.as_deref();
    let side = |of: Option<weighbridge::data::Estimate>| {
        judged.zip(of).map_or_else(String::new, |(metric, of)| quantity::show(of.median, &metric.unit))
    };
    // As a factor of cost: 1.05 is 5 % more time or 5 % more time per unit of work.
    let ratio = row.effect.map_or_else(String::new, |effect| format!("{:.3}", 1.0 + effect.estimate));
    let interval = row
        .effect
        .map_or_else(String::new, |effect| format!("{:.3} .. {:.3}", 1.0 + effect.low, 1.0 + effect.high));
    [
        inert::markdown(&row.case.to_string()),
        details::verdict(row),
        inert::markdown(judged.map_or(&row.metric, |judged| &judged.metric)),
        side(judged.and_then(|metric| metric.baseline)),
        side(judged.and_then(|metric| metric.candidate)),
        ratio,
        interval,
        row.detectable.map_or_else(String::new, quantity::change),
        trend(one, row),
    ]
    .into()
}

/// The rounds of a duel, or the medians of the stored runs with this one last.
fn trend(one: &ToldComparison<'_>, row: &Row) -> String {
    let values: Vec<f64> = match (&row.rounds, one.material) {
        (Some(rounds), _) => rounds.shifts.clone(),
        (None, Some(material)) => material
            .past
            .iter()
            .chain([&material.run])
            .filter_map(|run| {
                run.cases.iter().find(|case| case.id == row.case)?.metric(&row.metric)?.estimate
            })
            .map(|estimate| estimate.median)
            .collect(),
        (None, None) => Vec::new(),
    };
    if values.len() < 3 {
        return String::new();
    }
    let last = &values[values.len().saturating_sub(24)..];
    Plot { low: quantile(last, 0.0), high: quantile(last, 1.0), ascii: false }.line(last)
}

fn clip(text: &str) -> String {
    view::clip(text, 500)
}

#[cfg(test)]
mod tests {
    use weighbridge::data::Exit;

    use super::*;
    use crate::fixtures::{Home, around, case, home, plain, run as run_of};

    fn said(home: &Home) -> String {
        let args = ReportComment { runs: Vec::new(), duel: false, suite: None, out: None };
        run(&args, &home.place).expect("there are two runs").text
    }

    #[test]
    fn the_verdict_comes_first_then_what_changed_and_the_rest_is_folded() {
        let home = home();
        home.store(&plain(1_000, 8.0e6, 12.0e6));
        home.store(&plain(2_000, 4.0e6, 12.0e6));
        let text = said(&home);
        assert!(text.starts_with(&format!("{MARKER}\n## Weighbridge: 1 regressed of 2 cases\n")), "{text}");
        let row = "| CV-1/small/Reference | Regressed (first runs) | throughput | 8.00 M elem/s | \
                   4.00 M elem/s | 2.000 |";
        let (table, folded) = (text.find(row).expect(&text), text.find("<details>").expect(&text));
        assert!(table < folded, "{text}");
        assert!(text[folded..].contains("| CV-1/small/Reference (fused) | Unchanged"), "{text}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }

    #[test]
    fn a_comment_of_thousands_of_cases_is_as_long_as_github_takes_and_says_how_many_are_left_out() {
        let home = home();
        let all = |second: u64, rate: f64| {
            let cases = (0..2_000).map(|at| {
                let mut case = case(&format!("CV-{at}"), "Reference", &around(rate));
                case.repeats.clear();
                case
            });
            run_of(second, cases.collect())
        };
        home.store(&all(1_000, 8.0e6));
        home.store(&all(2_000, 4.0e6));
        let text = said(&home);
        assert!(text.chars().count() <= LONGEST, "{}", text.chars().count());
        assert!(text.contains("\nAnd ") && text.contains(" more: `cargo xtask report html` has them all."));
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }

    #[test]
    fn one_run_alone_is_nothing_to_tell_of() {
        let home = home();
        home.store(&plain(1_000, 8.0e6, 12.0e6));
        let args = ReportComment { runs: Vec::new(), duel: false, suite: None, out: None };
        assert_eq!(stop::exit(&run(&args, &home.place).expect_err("one run")), Exit::NothingToJudge);
        let duel = ReportComment { duel: true, ..args };
        assert_eq!(stop::exit(&run(&duel, &home.place).expect_err("no duel")), Exit::NothingToJudge);
    }
}
