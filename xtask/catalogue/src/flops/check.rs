//! Which cells of a table of throughputs cannot all be true.
//!
//! A table is CSV or Markdown. Its columns are known by their titles: a time of a step in `ms`, `samples/s`,
//! `MFU`, operations of a sample in `GFLOPs`. What holds for all rows is said in lines of their own:
//! `batch = 256`, `peak TFLOPS = 989`, `train GFLOPs = 34.9`, `most samples/s = 34,800`. Three equations tie
//! them together:
//!
//! - samples/s = batch / time;
//! - MFU = samples/s x train FLOPs of a sample / peak;
//! - most samples/s = peak / train FLOPs of a sample.
//!
//! A table of components (a column of `GFLOPs` with rows `forward` and `train`) has two more: `forward` is
//! the sum of the rows before it, `train` three times `forward`.

use std::collections::BTreeMap;

use anyhow::Result;

use super::interval::Interval;
use weighbridge_xtask::stop;

/// The findings on a text with tables.
#[derive(Debug, Default, PartialEq)]
pub(super) struct CheckedModel {
    /// Equations that hold.
    pub(super) held: usize,
    /// Cells that cannot be true at once, in words.
    pub(super) wrong: Vec<String>,
}

/// A line of a table, by the columns of its head.
type CheckedRow = BTreeMap<CheckedColumn, String>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CheckedColumn {
    Name,
    Time,
    Samples,
    Mfu,
    Gflops,
}

/// A constant that holds for all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CountedConstant {
    Batch,
    Peak,
    Train,
    Most,
}

/// Holds every table of a text against its equations.
///
/// # Errors
/// A text without a table, or without anything that can be held against something else.
pub(super) fn check(text: &str) -> Result<CheckedModel> {
    let (rows, mut constants) = read(text);
    if rows.is_empty() {
        return Err(stop::usage(
            "there is no table here: a line of titles, and lines of cells, with commas or bars between",
        ));
    }
    let mut found = CheckedModel::default();
    components(&rows, &mut constants, &mut found);
    let mut implied = Vec::new();
    for row in &rows {
        of_row(row, &constants, &mut found, &mut implied);
    }
    together(&implied, &constants, &mut found);
    if found == CheckedModel::default() {
        return Err(stop::usage(
            "nothing here can be held against anything else: columns `ms`, `samples/s`, `MFU`, `GFLOPs`, and \
             lines such as `batch = 256` and `peak TFLOPS = 989` are needed",
        ));
    }
    Ok(found)
}

fn read(text: &str) -> (Vec<CheckedRow>, BTreeMap<CountedConstant, Interval>) {
    let (mut rows, mut constants, mut head) =
        (Vec::new(), BTreeMap::new(), None::<Vec<Option<CheckedColumn>>>);
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            head = None;
            continue;
        }
        if let Some((name, value)) = line.split_once('=') {
            if let (Some(constant), Some(value)) = (constant(name), Interval::of(value)) {
                constants.insert(constant, value);
            }
            continue;
        }
        let cells = cells(line);
        if cells.len() < 2 || cells.iter().all(|cell| cell.chars().all(|char| "-: ".contains(char))) {
            continue;
        }
        match &head {
            None => head = Some(cells.iter().map(|title| column(title)).collect()),
            Some(head) => {
                let known =
                    |(column, cell): (&Option<CheckedColumn>, &String)| Some(((*column)?, cell.clone()));
                rows.push(head.iter().zip(&cells).filter_map(known).collect());
            }
        }
    }
    (rows, constants)
}

/// Cells between bars or commas. A comma within a number has no space around it and three digits behind it,
/// in quotes or bars.
fn cells(line: &str) -> Vec<String> {
    if line.contains('|') {
        return line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    }
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for char in line.chars() {
        match char {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell).trim().to_owned()),
            char => cell.push(char),
        }
    }
    cells.push(cell.trim().to_owned());
    cells
}

fn column(title: &str) -> Option<CheckedColumn> {
    let title = title.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| title.contains(part));
    if has(&["mfu"]) {
        Some(CheckedColumn::Mfu)
    } else if has(&["samples/s", "img/s", "images/s", "tokens/s", "elem/s"]) {
        Some(CheckedColumn::Samples)
    } else if has(&["gflop"]) {
        Some(CheckedColumn::Gflops)
    } else if title == "ms" || has(&[" ms", "ms/", "(ms)"]) {
        Some(CheckedColumn::Time)
    } else if has(&["configuration", "component", "name", "model", "mode"]) {
        Some(CheckedColumn::Name)
    } else {
        None
    }
}

fn constant(name: &str) -> Option<CountedConstant> {
    match name.trim().to_lowercase().as_str() {
        "batch" => Some(CountedConstant::Batch),
        "peak tflops" => Some(CountedConstant::Peak),
        "train gflops" => Some(CountedConstant::Train),
        "most samples/s" => Some(CountedConstant::Most),
        _ => None,
    }
}

fn number(row: &CheckedRow, column: CheckedColumn) -> Option<Interval> {
    Interval::of(row.get(&column)?)
}

fn name(row: &CheckedRow) -> &str {
    row.get(&CheckedColumn::Name).map_or("a row", String::as_str)
}

/// Sums of components. The operations of a training are those of this table where no line says them.
fn components(
    rows: &[CheckedRow],
    constants: &mut BTreeMap<CountedConstant, Interval>,
    found: &mut CheckedModel,
) {
    let at = |wanted: &str| rows.iter().position(|row| name(row).eq_ignore_ascii_case(wanted));
    let Some((forward, of_forward)) =
        at("forward").and_then(|at| Some((at, number(&rows[at], CheckedColumn::Gflops)?)))
    else {
        return;
    };
    let parts: Vec<Interval> =
        rows[..forward].iter().filter_map(|row| number(row, CheckedColumn::Gflops)).collect();
    let sum = parts.iter().fold(Interval::exact(0.0), |sum, part| Interval {
        low: sum.low + part.low,
        high: sum.high + part.high,
    });
    found.hold(sum.and(of_forward).is_some(), || {
        format!("the components sum up to {} GFLOPs, and `forward` is {}", sum.text(), of_forward.text())
    });
    let Some(train) = at("train").and_then(|at| number(&rows[at], CheckedColumn::Gflops)) else { return };
    let thrice = of_forward.times(Interval::exact(3.0));
    found.hold(thrice.and(train).is_some(), || {
        format!("three times `forward` is {} GFLOPs, and `train` is {}", thrice.text(), train.text())
    });
    constants.entry(CountedConstant::Train).or_insert(train);
}

/// The equations of one row. What operations of a sample its MFU stands for is added to `implied`.
fn of_row(
    row: &CheckedRow,
    constants: &BTreeMap<CountedConstant, Interval>,
    found: &mut CheckedModel,
    implied: &mut Vec<(String, Interval)>,
) {
    let constant = |constant| constants.get(&constant).copied();
    let (time, samples) = (number(row, CheckedColumn::Time), number(row, CheckedColumn::Samples));
    if let (Some(time), Some(samples), Some(batch)) = (time, samples, constant(CountedConstant::Batch)) {
        let batch = batch.middle();
        let due = batch.times(Interval::exact(1e3)).over(time);
        found.hold(due.and(samples).is_some(), || {
            format!(
                "{}: {} ms a step are {} samples/s, and it says {}",
                name(row),
                time.text(),
                due.text(),
                samples.text()
            )
        });
    }
    if let (Some(samples), Some(mfu), Some(peak)) =
        (samples, number(row, CheckedColumn::Mfu), constant(CountedConstant::Peak))
    {
        let peak = peak.middle(); // a name of a product, and no measurement
        let stands_for = mfu.times(peak).times(Interval::exact(10.0)).over(samples);
        let own = number(row, CheckedColumn::Gflops);
        if let Some(own) = own {
            found.hold(own.and(stands_for).is_some(), || {
                format!(
                    "{}: its MFU is of {} GFLOPs a sample, and it says {}",
                    name(row),
                    stands_for.text(),
                    own.text()
                )
            });
        } else {
            implied.push((name(row).to_owned(), stands_for));
        }
    }
}

/// Rows, the ceiling and the stated operations beside each other.
fn together(
    implied: &[(String, Interval)],
    constants: &BTreeMap<CountedConstant, Interval>,
    found: &mut CheckedModel,
) {
    let train = constants.get(&CountedConstant::Train).copied();
    let all = implied.iter().skip(1).try_fold(implied.first().map(|(_, first)| *first), |all, (_, one)| {
        Some(all.and_then(|all| all.and(*one)))
    });
    match (all.flatten(), train) {
        (Some(all), Some(train)) => found.hold(all.and(train).is_some(), || {
            format!(
                "the MFU of all {} rows stands for {} GFLOPs a sample, and the table states {}: \
                 MFU and FLOPs cannot both be true",
                implied.len(),
                all.text(),
                train.text()
            )
        }),
        (None, _) if implied.len() > 1 => {
            let each: Vec<String> =
                implied.iter().map(|(name, one)| format!("{name}: {}", one.text())).collect();
            found.hold(false, || {
                format!("the MFU of the rows stands for different GFLOPs a sample: {}", each.join("; "))
            });
        }
        _ => {}
    }
    if let (Some(most), Some(peak)) =
        (constants.get(&CountedConstant::Most), constants.get(&CountedConstant::Peak))
    {
        let peak = peak.middle().times(Interval::exact(1e3));
        let stands_for = peak.over(*most);
        for (what, stated) in [("the rows stand for", all.flatten()), ("the table states", train)] {
            if let Some(stated) = stated {
                found.hold(stated.and(stands_for).is_some(), || {
                    format!(
                        "at most {} samples/s are {} GFLOPs a sample, and {what} {}",
                        most.text(),
                        stands_for.text(),
                        stated.text()
                    )
                });
            }
        }
    }
}

impl CheckedModel {
    fn hold(&mut self, holds: bool, why: impl FnOnce() -> String) {
        if holds {
            self.held += 1;
        } else {
            self.wrong.push(why());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PUBLISHED: &str = include_str!("published.csv");

    #[test]
    fn a_published_report_contradicts_itself_and_the_cells_are_named() {
        let found = check(PUBLISHED).unwrap();
        // The sum of the components, three times forward, and the times of five rows hold.
        assert_eq!(found.held, 7, "{found:?}");
        let [mfu, of_rows, of_table] = &found.wrong[..] else { panic!("{found:?}") };
        assert!(
            mfu.contains("all 5 rows stands for 28.2") && mfu.contains("the table states 34.85"),
            "{mfu}"
        );
        assert!(
            of_rows.contains("samples/s are 28.") && of_table.contains("states 34.8"),
            "{of_rows} {of_table}"
        );
    }

    #[test]
    fn what_follows_from_one_model_has_no_contradiction() {
        let table = "batch = 256\npeak TFLOPS = 989\ntrain GFLOPs = 28.2\n\n\
                     | configuration | ms | samples/s | MFU % |\n|---|---|---|---|\n\
                     | eager | 159.2 | 1,608 | 4.6 |\n| max-autotune | CRASH | | |\n\
                     | default | 33.2 | 7,716 | 22.0 |\n";
        let found = check(table).unwrap();
        assert_eq!((found.held, found.wrong), (3, vec![]));
    }

    #[test]
    fn one_wrong_cell_is_found_in_any_column() {
        let table = |time: &str, samples: &str, mfu: &str, gflops: &str| {
            format!(
                "batch = 256\npeak TFLOPS = 989\n\nconfiguration, ms, samples/s, MFU, GFLOPs\n\
                 eager, {time}, \"{samples}\", {mfu}, {gflops}\n"
            )
        };
        assert!(check(&table("33.2", "7,716", "22.0", "28.2")).unwrap().wrong.is_empty());
        for (time, samples, mfu, gflops) in [
            ("31.2", "7,716", "22.0", "28.2"),
            ("33.2", "7,316", "22.0", "28.2"),
            ("33.2", "7,716", "27.0", "28.2"),
            ("33.2", "7,716", "22.0", "34.9"),
        ] {
            let found = check(&table(time, samples, mfu, gflops)).unwrap();
            assert!(!found.wrong.is_empty(), "{time} {samples} {mfu} {gflops}");
        }
    }

    #[test]
    fn a_text_that_nothing_can_be_held_against_is_refused() {
        for text in ["", "no table", "configuration, ms\neager, 12.0\n"] {
            assert!(check(text).is_err(), "{text}");
        }
    }
}
