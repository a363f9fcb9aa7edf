//! What earlier runs measured of each case, and where it changed.

use std::collections::HashMap;

use weighbridge::data::{ChangePoint, Direction, MetricRecord, RunRecord, Unit, change_points};

use super::ViewMaterial;
use crate::history;

/// A case from run to run, the oldest first, the shown run last.
pub(crate) struct SeriesView<'a> {
    /// The case's place in the run's list.
    pub(crate) case: usize,
    pub(crate) metric: &'a str,
    pub(crate) unit: &'a Unit,
    pub(crate) direction: Direction,
    pub(crate) commits: Vec<CommitView<'a>>,
    /// Its change points: places among `commits`.
    pub(crate) changes: Vec<ChangePoint>,
}

/// The measurement of one run.
pub(crate) struct CommitView<'a> {
    pub(crate) run: &'a RunRecord,
    pub(crate) name: String,
    pub(crate) median: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

/// The series of every case that an earlier run measured as well.
pub(super) fn series(material: &ViewMaterial) -> Vec<SeriesView<'_>> {
    let run = &material.run;
    if material.past.is_empty() {
        return Vec::new();
    }
    let runs: Vec<&RunRecord> = material.past.iter().chain([run]).collect();
    let index = |run: &'_ RunRecord| -> HashMap<String, usize> {
        run.cases.iter().enumerate().map(|(at, case)| (case.id.to_string(), at)).collect()
    };
    let places: Vec<HashMap<String, usize>> = runs.iter().map(|run| index(run)).collect();
    let names: Vec<String> = runs.iter().map(|run| commit(run)).collect();
    let mut series = Vec::new();
    for (at, case) in run.cases.iter().enumerate() {
        let Some(metric) = case.leading().filter(|metric| metric.estimate.is_some()) else { continue };
        let name = case.id.to_string();
        let mut commits = Vec::new();
        for ((run, places), commit) in runs.iter().zip(&places).zip(&names) {
            let there = places.get(&name).and_then(|place| run.cases[*place].metric(&metric.name));
            let Some(estimate) = there.and_then(|there: &MetricRecord| there.estimate) else { continue };
            let (median, interval) = (estimate.median, estimate.interval);
            commits.push(CommitView { run, name: commit.clone(), median, interval });
        }
        if commits.len() > 1 {
            let values: Vec<f64> = commits.iter().map(|commit| commit.median).collect();
            let changes = change_points(&values, history::CHANGE);
            let MetricRecord { name: metric, unit, direction, .. } = metric;
            series.push(SeriesView { case: at, metric, unit, direction: *direction, commits, changes });
        }
    }
    series
}

/// The commit of a run, twelve digits of it, and whether the tree was changed.
pub(crate) fn commit(run: &RunRecord) -> String {
    let software = &run.manifest.environment.software;
    let Some(commit) = software.get("commit") else { return "no commit".to_owned() };
    let short = commit.get(..12).unwrap_or(commit);
    let dirty = software.get("working tree").is_some_and(|tree| tree == "dirty");
    format!("{short}{}", if dirty { ", changed" } else { "" })
}
