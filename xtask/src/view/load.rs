//! Reads from the data directory what a page shows.

use std::thread;

use anyhow::Result;
use weighbridge::data::{
    Baseline, CaseRecord, Comparison, History, RunId, RunManifest, RunRecord, Runs, judge,
};

use super::{Detail, DetailLimits};
use crate::place::Place;
use crate::{compare_baseline, duels, explain, history};

/// The number of earlier runs that are looked at: as many as a comparison takes for what is noise.
const PAST: usize = 20;
/// No more case files than that are read of earlier runs, so that a report of many cases is not slow.
const MOST: usize = 6_000;

/// The records that were read for a view.
pub(crate) struct ViewMaterial {
    pub(crate) run: RunRecord,
    /// Complete runs of the same suite in the same environment before it, the oldest first.
    pub(crate) past: Vec<RunRecord>,
    /// The run held against others.
    pub(crate) against: Vec<Against>,
    /// The details of the repeats, in the order of the run's cases; empty where they were not asked for.
    pub(crate) details: Vec<Detail>,
    pub(crate) room: DetailLimits,
    /// Remarks on the reading, for the reader.
    pub(crate) remarks: Vec<String>,
}

/// The run held against another.
pub(crate) struct Against {
    /// Its name in links: `baseline`, `last`, `duel`.
    pub(crate) key: String,
    /// The other run, in words.
    pub(crate) title: String,
    pub(crate) comparison: Comparison,
    /// The details of the other run, by the cases of this one; empty where they were not read.
    pub(crate) others: Vec<Detail>,
}

/// Reads a run and what belongs beside it: the baseline of its suite, the run before it, its last duel, and
/// `other` where a run to compare with is named. With `samples` also what the repeats saw.
pub(crate) fn load(
    place: &Place,
    manifest: &RunManifest,
    other: Option<&RunManifest>,
    samples: bool,
) -> Result<ViewMaterial> {
    let runs = place.runs();
    let run = runs.load(&manifest.id)?;
    let room = DetailLimits::of(run.cases.len());
    let mut remarks = Vec::new();
    let past = past(&runs, &run, &mut remarks)?;
    let mut against = Vec::new();
    if let Some(other) = other {
        let loaded = runs.load(&other.id)?;
        let title = format!("run {}", other.id);
        against.push(hold(
            place,
            "other",
            title,
            &Baseline::promote(other.id.as_str(), &loaded),
            &run,
            &past,
        )?);
    }
    if let Some(stored) = explain::last_baseline(place, manifest, &mut remarks)? {
        let title = format!("baseline {} (run {})", stored.baseline.name, stored.baseline.run);
        against.push(hold(place, "baseline", title, &stored.baseline, &run, &past)?);
    }
    let is_new =
        |id: &RunId| !against.iter().any(|against| against.comparison.baseline.run.as_ref() == Some(id));
    let last = earlier(&runs, manifest)?.next();
    if let Some(last) = last.filter(|last| is_new(&last.id)) {
        let title = format!("last run {}", last.id);
        let last = Baseline::promote("last run", &runs.load(&last.id)?);
        against.push(hold(place, "last", title, &last, &run, &past)?);
    }
    if let Some(comparison) = last_duel(place, &run)? {
        let title = format!("duel with {}", comparison.baseline.name);
        against.push(Against { key: "duel".to_owned(), title, comparison, others: Vec::new() });
    }
    let seen = if samples { details(&runs, &run.manifest, &run.cases, room)? } else { Vec::new() };
    // Distributions over each other: of the run that was named, else of the first that is there.
    if samples
        && let Some(first) = against.iter_mut().find(|against| against.comparison.baseline.run.is_some())
        && let Some(id) = &first.comparison.baseline.run
        && let Ok(there) = runs.manifest(id)
        && run.cases.len() <= 1_000
    {
        first.others = details(&runs, &there, &run.cases, room)?;
    }
    Ok(ViewMaterial { run, past, against, details: seen, room, remarks })
}

/// Judges the run by another, as `compare-baseline` does.
fn hold(
    place: &Place,
    key: &str,
    title: String,
    baseline: &Baseline,
    run: &RunRecord,
    past: &[RunRecord],
) -> Result<Against> {
    let mut history = History::default();
    for earlier in past.iter().filter(|earlier| History::belongs(&earlier.manifest, baseline)) {
        earlier.cases.iter().for_each(|case| history.add(&earlier.manifest.id, case));
    }
    let comparison = if key == "baseline" {
        let rules = compare_baseline::rules_beside(place, baseline)?;
        Comparison { notes: rules.told, ..judge(baseline, run, &history, &rules.policy) }
    } else {
        judge(baseline, run, &history, &compare_baseline::stated_policy(place)?)
    };
    Ok(Against { key: key.to_owned(), title, comparison, others: Vec::new() })
}

/// The newest complete runs before this one whose figures can be held against it, the oldest first.
fn past(runs: &Runs, run: &RunRecord, remarks: &mut Vec<String>) -> Result<Vec<RunRecord>> {
    let most = PAST.min(MOST / run.cases.len().max(1));
    let mut found = Vec::new();
    for manifest in earlier(runs, &run.manifest)? {
        if !history::around(&manifest, &run.manifest).is_empty() {
            continue;
        }
        if found.len() == most {
            remarks.push(format!("note: of earlier runs the newest {most} are shown"));
            break;
        }
        // What cannot be read is left out: history informs, it does not judge.
        match runs.load(&manifest.id) {
            Ok(earlier) => found.push(earlier),
            Err(error) => remarks.push(format!("warning: passed over run {}: {error}", manifest.id)),
        }
    }
    found.reverse();
    Ok(found)
}

/// The runs of the same suite that came to their end and are earlier, the newest first.
fn earlier(runs: &Runs, than: &RunManifest) -> Result<impl Iterator<Item = RunManifest>> {
    let before = runs.newest_first()?.skip_while(|run| run.id != than.id).skip(1);
    let suite = than.suite.clone();
    Ok(before.filter(move |run| run.is_measured() && run.suite == suite))
}

/// The newest duel of the run's suite that shares a case with it.
fn last_duel(place: &Place, run: &RunRecord) -> Result<Option<Comparison>> {
    let duels = last_duels(place, Some(&run.manifest.suite))?;
    let shares =
        |duel: &Comparison| duel.rows.iter().any(|row| run.cases.iter().any(|case| case.id == row.case));
    Ok(duels.into_iter().find(shares))
}

/// The newest duel of every suite, or of one.
pub(crate) fn last_duels(place: &Place, suite: Option<&str>) -> Result<Vec<Comparison>> {
    let mut found: Vec<Comparison> = Vec::new();
    // `explain` tells of one that is damaged; here the others are enough.
    for duel in duels::newest_first(place, &mut Vec::new())? {
        let is_new = !found.iter().any(|newer| newer.suite == duel.suite);
        if is_new && suite.is_none_or(|suite| suite == duel.suite) {
            found.push(duel);
        }
    }
    found.sort_by(|a, b| a.suite.cmp(&b.suite));
    Ok(found)
}

/// The details of each of these cases in a run, read on all processors, one repeat at a time. Of many cases
/// the median repeat alone is read: the records are large.
fn details(runs: &Runs, run: &RunManifest, cases: &[CaseRecord], room: DetailLimits) -> Result<Vec<Detail>> {
    let detail = |case: &CaseRecord| -> Result<Detail> {
        let (numbers, expected) = match case.median_repeat.filter(|_| !room.all_repeats) {
            Some(median) => (median..=median, 1),
            None => (1..=u32::MAX, run.planned.repeats.max(1)),
        };
        let mut broken = None;
        let repeats = numbers.map_while(|number| match runs.repeat(run, &case.id, number) {
            Ok(repeat) => repeat,
            Err(error) => {
                broken = Some(error);
                None
            }
        });
        let detail = Detail::of(repeats, expected as usize, room);
        broken.map_or(Ok(detail), |error| Err(error.into()))
    };
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let chunk = cases.len().div_ceil(processors).max(1);
    thread::scope(|scope| {
        let workers: Vec<_> = cases
            .chunks(chunk)
            .map(|cases| scope.spawn(move || cases.iter().map(detail).collect::<Result<Vec<_>>>()))
            .collect();
        let mut all = Vec::with_capacity(cases.len());
        for worker in workers {
            all.extend(worker.join().expect("reading does not panic")?);
        }
        Ok(all)
    })
}
