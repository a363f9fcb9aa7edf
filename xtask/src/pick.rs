//! The run or the case that was meant.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow};
use weighbridge::data::{CaseId, CaseRecord, RunId, RunManifest, RunRecord, RunStatus};

use crate::place::{Place, suite_of};
use crate::stop;
use crate::whose::ours;

/// The runs that were picked, and what there is to say about the picking.
#[derive(Debug, Default)]
pub struct PickedRuns {
    /// One of each suite at most, by suite.
    pub runs: Vec<RunManifest>,
    /// The runs that were passed over, each with the reason.
    pub remarks: Vec<String>,
}

/// A suite as it is typed: a bench target's name as cargo writes it, or as its crate is called, which is how
/// runs have it.
///
/// # Errors
/// None: a name that no run has is told with those that there are.
pub fn suite_name(typed: &str) -> Result<String, std::convert::Infallible> {
    Ok(match typed.rsplit_once('/') {
        Some((package, target)) => suite_of(package, target),
        None => typed.to_owned(),
    })
}

/// The run that `typed` names, or, when nothing (or `latest`) is typed, the latest complete run of every
/// suite.
///
/// # Errors
/// A run that is damaged, where it is named, or where it is newer than one that was picked: it may be of that
/// suite, and the latest is meant.
pub fn runs(place: &Place, typed: Option<&str>, suite: Option<&str>) -> Result<PickedRuns> {
    match typed {
        None | Some("latest") => latest(place, suite),
        Some(start) => named(place, start, suite),
    }
}

/// The latest complete run of every suite, or of the one that is named.
fn latest(place: &Place, suite: Option<&str>) -> Result<PickedRuns> {
    let listing = place.runs().list()?;
    let mut picked = PickedRuns::default();
    for broken in &listing.broken {
        picked.remarks.push(format!("warning: passed over `{}`: {}", broken.name, broken.why));
    }
    let (mut runs, others) = ours(place, listing.runs);
    picked.remarks.extend(others);
    match suite {
        Some(suite) if runs.iter().all(|run| run.suite != suite) => {
            return Err(stop::unknown("run of a suite", suite, runs.iter().map(|run| &*run.suite)));
        }
        Some(suite) => runs.retain(|run| run.suite == suite),
        None => {}
    }
    for run in runs {
        if picked.runs.iter().any(|newer| run.suite == newer.suite) {
            continue;
        }
        if run.status == RunStatus::Damaged {
            return Err(place.runs().load(&run.id).map_or_else(Into::into, |_| anyhow!(state(run.status))));
        }
        if run.status == RunStatus::Complete {
            picked.remarks.extend(in_the_future(&run));
            picked.runs.push(run);
        } else {
            picked.remarks.push(format!(
                "warning: passed over the newer run {} of {}: {}",
                run.id,
                run.suite,
                state(run.status)
            ));
        }
    }
    picked.runs.sort_by(|a, b| a.suite.cmp(&b.suite));
    let order = place.runs().ids()?;
    let place_of = |name: &str| order.iter().position(|id| id.as_str() == name);
    let newer = |name: &str| picked.runs.iter().find(|run| place_of(run.id.as_str()) > place_of(name));
    for broken in listing.broken.iter().filter(|broken| broken.name.parse::<RunId>().is_ok()) {
        if let Some(run) = newer(&broken.name) {
            let (name, folder) = (&broken.name, store_folder(place, &broken.name));
            return Err(anyhow!(
                "run {name} is newer than {} of {}, and cannot be read: {}; \
                 name the run that is meant, or remove {folder}",
                run.id,
                run.suite,
                broken.why
            ));
        }
    }
    Ok(picked)
}

/// The remark that the clock was ahead when a run began, or goes behind now.
fn in_the_future(run: &RunManifest) -> Option<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let is_ahead = run.started > now.saturating_add(CLOCKS_DIFFER);
    is_ahead.then(|| format!("warning: run {} began in the future: a clock was or is wrong", run.id))
}

/// So many seconds the clocks of two machines may differ.
const CLOCKS_DIFFER: u64 = 600;

/// The run whose id begins so.
fn named(place: &Place, start: &str, suite: Option<&str>) -> Result<PickedRuns> {
    let store = place.runs();
    let ids = store.ids()?;
    let is_of_another =
        |id: &RunId| suite.is_some_and(|suite| store.manifest(id).is_ok_and(|run| run.suite != suite));
    let starts_so = |id: &&RunId| !start.is_empty() && id.as_str().starts_with(start) && !is_of_another(id);
    let alike: Vec<&RunId> = ids.iter().filter(starts_so).collect();
    match alike[..] {
        [] => Err(stop::unknown("run", start, ids.iter().map(RunId::as_str))),
        [id] => {
            let run = store.manifest(id).map_err(|error| anyhow!("run {id} cannot be read: {error}"))?;
            Ok(PickedRuns { runs: vec![run], remarks: Vec::new() })
        }
        [..] => {
            let ids: Vec<&str> = alike.iter().rev().map(|id| id.as_str()).collect();
            Err(stop::usage(format!("`{start}` may be {}: type more of it", ids.join(" or "))))
        }
    }
}

fn store_folder(place: &Place, name: &str) -> String {
    place.layout.runs().join(name).display().to_string()
}

/// A run to show.
pub(crate) struct ShownRun {
    pub(crate) run: RunManifest,
    /// The run of its suite that it is to be held against, where one is named.
    pub(crate) against: Option<RunManifest>,
}

/// Runs to show, and what there is to remark on them. Where two of one suite are named, the second is held
/// against the first.
///
/// # Errors
/// Three runs of one suite; what [`runs`] refuses.
pub(crate) fn shown(
    place: &Place,
    typed: &[String],
    suite: Option<&str>,
) -> Result<(Vec<ShownRun>, Vec<String>)> {
    let mut picked = PickedRuns::default();
    if typed.is_empty() {
        picked = runs(place, None, suite)?;
    }
    for one in typed {
        let found = runs(place, Some(one), suite)?;
        picked.runs.extend(found.runs);
        // The same files are broken each time.
        picked.remarks.extend(found.remarks);
        picked.remarks.dedup();
    }
    let mut shown: Vec<ShownRun> = Vec::new();
    for run in picked.runs {
        match shown.iter_mut().find(|other| other.run.suite == run.suite) {
            None => shown.push(ShownRun { run, against: None }),
            Some(first) if first.against.is_none() => {
                first.against = Some(std::mem::replace(&mut first.run, run));
            }
            Some(_) => {
                return Err(stop::usage(format!(
                    "name two runs of {} at most: the second is held against the first",
                    run.suite
                )));
            }
        }
    }
    Ok((shown, picked.remarks))
}

/// The case that `typed` names, and the first of these runs that has it.
pub(crate) fn case_of_any<'a>(
    place: &Place,
    runs: &'a [RunManifest],
    typed: &str,
) -> Result<(&'a RunManifest, CaseRecord)> {
    let mut known = Vec::new();
    for manifest in runs {
        let run = place.runs().load(&manifest.id)?;
        if let Ok(case) = case(&run, typed) {
            return Ok((manifest, case.clone()));
        }
        known.extend(run.cases.iter().map(|case| case.id.to_string()));
    }
    Err(stop::unknown("case", typed, known.iter().map(String::as_str)))
}

/// The cases whose names for people begin with `typed`, part by part, of the first of these runs that has
/// some.
pub(crate) fn cases_below<'a>(
    place: &Place,
    runs: &'a [RunManifest],
    typed: &str,
) -> Result<Option<(&'a RunManifest, Vec<CaseRecord>)>> {
    let is_below = |case: &CaseRecord| {
        let name = case.id.to_string();
        name.get(..typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(typed))
            && name.as_bytes().get(typed.len()) == Some(&b'/')
    };
    for manifest in runs {
        let mut run = place.runs().load(&manifest.id)?;
        run.cases.retain(is_below);
        if !run.cases.is_empty() {
            return Ok(Some((manifest, run.cases)));
        }
    }
    Ok(None)
}

/// The case of a run that `typed` names: as people, as programs, or as files call it.
pub(crate) fn case<'a>(run: &'a RunRecord, typed: &str) -> Result<&'a CaseRecord> {
    let named = |id: &CaseId| [id.to_string(), id.slug(), id.file_name()].iter().any(|name| name == typed);
    run.cases.iter().find(|case| named(&case.id)).ok_or_else(|| {
        let known: Vec<String> = run.cases.iter().map(|case| case.id.to_string()).collect();
        stop::unknown("case", typed, known.iter().map(String::as_str))
    })
}

/// Returns the status of a run, in words.
pub(crate) fn state(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Running => "it did not come to its end, or is running",
        RunStatus::Complete => "complete",
        RunStatus::Interrupted => "it was interrupted",
        RunStatus::Damaged => "it is damaged",
    }
}
