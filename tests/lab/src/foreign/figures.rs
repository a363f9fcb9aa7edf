//! The figures of a target beside those of the original, case by case.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use weighbridge::data::{Columns, median, names};

use super::command::ForeignCopy;

/// Medians that are no further apart are the same figure.
const APART: f64 = 0.05;

/// What takes less is a loop around nothing, in seconds: how two compilers of loops placed it is no figure.
const NOTHING: f64 = 1e-9;

/// A run of all cases of a target takes no longer.
const RUN: Duration = Duration::from_mins(20);

/// Medians in seconds, by the names of cases.
type Medians = BTreeMap<String, f64>;

/// A target, and how its figures stand to the original's.
#[derive(Debug)]
pub(super) struct TargetFigures {
    name: String,
    /// The drop-in's median as a multiple of the original's beside it, by case.
    ratios: BTreeMap<String, f64>,
    /// The second of two medians of the original as a multiple of the first.
    own: Vec<f64>,
}

impl TargetFigures {
    /// Runs the original, the drop-in and the original again.
    ///
    /// # Errors
    /// When one of them fails, and when they have no case in common.
    pub(super) fn measure(
        original: &ForeignCopy<'_>,
        drop_in: &ForeignCopy<'_>,
        bench: &str,
    ) -> Result<Self> {
        let before = of_original(original, bench)?;
        let between = of_drop_in(drop_in, bench)?;
        let after = of_original(original, bench)?;
        let name = format!("{} {bench}", original.of.folder());
        let figures = Self::of(name, &before, &between, &after);
        ensure!(
            !figures.ratios.is_empty(),
            "`{}` has no case of a nanosecond in common with the original",
            figures.name
        );
        Ok(figures)
    }

    fn of(name: String, before: &Medians, between: &Medians, after: &Medians) -> Self {
        let mut figures = Self { name, ratios: BTreeMap::new(), own: Vec::new() };
        for (case, first) in before {
            let (Some(ours), Some(second)) = (between.get(case), after.get(case)) else { continue };
            if first.min(*second) < NOTHING {
                continue;
            }
            figures.ratios.insert(case.clone(), ours / f64::midpoint(*first, *second));
            figures.own.push(second / first);
        }
        figures
    }

    /// Whether half of its cases and more give the same figure.
    fn holds(&self) -> bool {
        let ratios: Vec<f64> = self.ratios.values().copied().collect();
        (median(&ratios) - 1.0).abs() <= APART
    }
}

fn within<'a>(ratios: impl Iterator<Item = &'a f64>) -> usize {
    ratios.filter(|ratio| (**ratio - 1.0).abs() <= APART).count()
}

/// The medians of criterion, from the files that it writes.
fn of_original(copy: &ForeignCopy<'_>, bench: &str) -> Result<Medians> {
    let home = copy.folder.join("criterion");
    let _ = fs::remove_dir_all(&home);
    let words = ["--", "--noplot", "--warm-up-time", "1", "--measurement-time", "1", "--sample-size", "30"];
    let end = copy.bench(&[bench], &words, RUN)?;
    ensure!(end.is_fine(), "the original `{} {bench}` failed: {}", copy.of.folder(), end.why());
    let mut medians = Medians::new();
    visit(&home, &mut |file| {
        if file.ends_with("new/benchmark.json") {
            let name = json(file)?["full_id"].as_str().context("no name")?.to_owned();
            let estimates = json(&file.with_file_name("estimates.json"))?;
            let nanoseconds = estimates["median"]["point_estimate"].as_f64().context("no median")?;
            medians.insert(name, nanoseconds * 1e-9);
        }
        Ok(())
    })?;
    Ok(medians)
}

/// The medians of the drop-in, from its case files.
fn of_drop_in(copy: &ForeignCopy<'_>, bench: &str) -> Result<Medians> {
    let data = copy.folder.join("measured");
    let _ = fs::remove_dir_all(&data);
    let data_text = data.display().to_string();
    let words = ["--", "--repeats", "1", "--min-time", "1", "--no-lock", "--quiet", "--data", &data_text];
    let end = copy.bench(&[bench], &words, RUN)?;
    ensure!(end.is_fine(), "`{} {bench}` failed: {}", copy.of.folder(), end.why());
    let mut medians = Medians::new();
    visit(&data.join("runs"), &mut |file| {
        if file.parent().is_some_and(|folder| folder.ends_with("cases")) {
            medians.extend(case(&json(file)?));
        }
        Ok(())
    })?;
    Ok(medians)
}

/// The name and the median of a case, if it was measured.
fn case(stored: &Value) -> Option<(String, f64)> {
    let record = &stored["record"];
    let metrics = record["metrics"].as_array()?;
    let wall = metrics.iter().find(|metric| metric["name"] == names::WALL_TIME)?;
    let median = wall["estimate"]["median"].as_f64()?;
    let values = record["id"]["point"].as_array().into_iter().flatten();
    let texts = values.filter_map(|value| value["value"].as_str().or_else(|| value["text"].as_str()));
    let name: Vec<&str> = record["id"]["scenario"].as_str().into_iter().chain(texts).collect();
    Some((name.join("/"), median))
}

fn json(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", file.display()))
}

/// Goes through the files below a folder.
fn visit(folder: &Path, each: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        match path.is_dir() {
            true => visit(&path, each)?,
            false => each(&path)?,
        }
    }
    Ok(())
}

/// The table of all targets, and what it says.
pub(super) fn page(all: &[TargetFigures]) -> String {
    let mut table =
        Columns::new(["target", "cases>", "within 5 %>", "share>", "median ratio>", "original with itself>"]);
    for figures in all {
        let ratios: Vec<f64> = figures.ratios.values().copied().collect();
        let (same, cases) = (within(ratios.iter()), ratios.len());
        table.row([
            figures.name.clone(),
            cases.to_string(),
            same.to_string(),
            format!("{:.0} %", same as f64 * 100.0 / cases as f64),
            format!("{:.3}", median(&ratios)),
            format!("{} of {cases}", within(figures.own.iter())),
        ]);
    }
    let holding = all.iter().filter(|figures| figures.holds()).count();
    format!(
        "{}\n{holding} of {} targets have a median ratio within 5 % of the original's\n",
        table.text(),
        all.len()
    )
}

/// Whether all targets give the figures of the original.
pub(super) fn is_fine(all: &[TargetFigures]) -> bool {
    all.iter().all(TargetFigures::holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn medians(values: &[(&str, f64)]) -> Medians {
        values.iter().map(|(name, median)| ((*name).to_owned(), *median)).collect()
    }

    #[test]
    fn cases_are_held_against_the_mean_of_the_originals_around_them() {
        let before = medians(&[("a", 0.9), ("b", 1.0), ("gone", 1.0)]);
        let after = medians(&[("a", 1.1), ("b", 1.0), ("gone", 1.0)]);
        let figures =
            TargetFigures::of("x".to_owned(), &before, &medians(&[("a", 1.02), ("b", 1.5)]), &after);
        assert_eq!(figures.ratios.len(), 2);
        assert!((figures.ratios["a"] - 1.02).abs() < 1e-9);
        assert!(!figures.holds());
        let page = page(&[figures]);
        assert!(page.contains("50 %") && page.contains("1 of 2"), "{page}");
        assert!(page.contains("0 of 1 targets"), "{page}");
    }
}
