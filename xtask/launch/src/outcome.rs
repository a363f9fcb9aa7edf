//! What came of a launch: validated from the files of the ranks, whatever the engine says, and written down.

use std::path::{Path, PathBuf};

use serde::Serialize;
use weighbridge::data::{Comparison, Exit, Layout, RunManifest, RunStatus, Runs, read_text};

use crate::agent::{PREFLIGHT, RankReport, RankResult, StageVerdict};
use crate::error::Result;
use crate::folder::{LaunchFolder, RankFiles, read_json, write_json};
use crate::follow::{Followed, reports, results};
use crate::machine::LaunchEnd;
use crate::spec::LaunchSpec;

/// The summary of a launch, good or bad.
#[derive(Debug, Serialize)]
pub(crate) struct LaunchSummary {
    pub(crate) schema: u32,
    pub(crate) launch: String,
    pub(crate) engine: String,
    pub(crate) job: Option<String>,
    pub(crate) plan: String,
    pub(crate) bundle: String,
    /// True if every stage was measured by every rank, and is what was asked for.
    pub(crate) ok: bool,
    pub(crate) end: &'static str,
    pub(crate) why: String,
    /// The state in which it came to its end.
    pub(crate) step: &'static str,
    pub(crate) restarts: u32,
    pub(crate) used_spot_fallback: bool,
    pub(crate) seconds: f64,
    pub(crate) errors: Vec<String>,
    pub(crate) notes: Vec<String>,
    pub(crate) hosts: Vec<RankReport>,
    pub(crate) stages: Vec<StageSummary>,
}

/// One stage, as the files of its ranks tell it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct StageSummary {
    pub(crate) name: String,
    pub(crate) ok: bool,
    pub(crate) results: Vec<RankResult>,
    pub(crate) requested_platform: Option<String>,
    pub(crate) active_backend: Option<String>,
    /// The number of ranks whose own records were looked at.
    pub(crate) samples_checked: usize,
    /// The run of rank 0.
    pub(crate) run: Option<String>,
    pub(crate) errors: Vec<String>,
    /// Verdicts of a comparison, rank by rank.
    pub(crate) verdicts: Vec<String>,
}

/// Holds what the ranks left against what was asked for, and writes the summary down.
pub(crate) fn conclude(
    spec: &LaunchSpec,
    folder: &LaunchFolder,
    followed: &Followed,
    plan: String,
) -> Result<(LaunchSummary, Exit)> {
    let files = folder.attempt(followed.attempt);
    let end = followed.machine.end().cloned().unwrap_or(LaunchEnd::Interrupted);
    let mut notes = followed.machine.notes().to_vec();
    let mut errors = Vec::new();
    if end != LaunchEnd::Completed {
        errors.push(end.told());
    }
    match read_json::<StageVerdict>(&files.verdict(PREFLIGHT))? {
        Some(verdict) => {
            errors.extend(verdict.wrong.iter().map(|line| format!("preflight: {line}")));
            notes.extend(verdict.notes.iter().map(|line| format!("preflight: {line}")));
        }
        None => errors.push("no rank judged the hosts".to_owned()),
    }
    let stages: Vec<StageSummary> =
        spec.stages.iter().map(|stage| validate(spec, folder, &files, &stage.name)).collect();
    for stage in &stages {
        errors.extend(stage.errors.iter().map(|error| format!("{}: {error}", stage.name)));
    }
    let ok = errors.is_empty();
    let mut exit = exit(&end, ok, &stages);
    let mut summary = LaunchSummary {
        schema: 1,
        launch: spec.launch.clone(),
        engine: spec.engine.clone(),
        job: followed.job.as_ref().map(|job| job.0.clone()),
        plan,
        bundle: spec.bundle.clone(),
        ok,
        end: end.name(),
        why: end.told(),
        step: followed.step.name(),
        restarts: followed.machine.restarts(),
        used_spot_fallback: followed.used_spot,
        seconds: followed.elapsed.as_secs_f64(),
        errors,
        notes,
        hosts: reports(&files, spec.ranks).into_iter().flatten().collect(),
        stages,
    };
    if let Err(error) = write_json(&folder.summary(), &summary) {
        // As when the shared folder is full: the caller tells all of it all the same.
        summary.errors.push(error.to_string());
        exit = exit.or(Exit::Unexpected);
    }
    Ok((summary, exit))
}

fn exit(end: &LaunchEnd, ok: bool, stages: &[StageSummary]) -> Exit {
    match end {
        LaunchEnd::Interrupted => Exit::Interrupted,
        LaunchEnd::NotSubmitted(_) => Exit::Unexpected,
        _ if !ok => Exit::Failed,
        _ => {
            let codes: Vec<u8> =
                stages.iter().flat_map(|stage| &stage.results).filter_map(|result| result.code).collect();
            let of = |exit: &Exit| codes.contains(&exit.code());
            Exit::BY_PRECEDENCE.into_iter().find(of).unwrap_or(Exit::Fine)
        }
    }
}

/// Holds one stage against what was asked for.
fn validate(spec: &LaunchSpec, folder: &LaunchFolder, files: &RankFiles, name: &str) -> StageSummary {
    let mut stage = StageSummary { name: name.to_owned(), ..StageSummary::default() };
    for (rank, result) in (0..).zip(results(files, name, spec.ranks)) {
        let Some(result) = result else {
            stage.errors.push(format!("rank {rank} left no result"));
            continue;
        };
        if !result.is_measured() {
            stage.errors.push(result.told());
        } else if spec.duel.is_some() {
            match verdicts(&files.comparison(name, rank)) {
                Ok(lines) => {
                    stage.samples_checked += 1;
                    stage.verdicts.extend(lines.iter().map(|line| format!("rank {rank}: {line}")));
                }
                Err(why) => stage.errors.push(format!("rank {rank}: {why}")),
            }
        } else if let Some(manifest) = newest_run(&own_data(spec, folder.data(name, rank), rank)) {
            stage.samples_checked += 1;
            stage.errors.extend(backend(spec, &manifest).map(|why| format!("rank {rank}: {why}")));
            if rank == 0 {
                stage.requested_platform = Some(manifest.requested_platform.clone());
                stage.active_backend = Some(manifest.active_backend.clone());
                stage.run = Some(manifest.id.to_string());
            }
        } else if rank == 0 {
            stage.errors.push("rank 0 left no run".to_owned());
        }
        stage.results.push(result);
    }
    stage.ok = stage.errors.is_empty();
    stage
}

/// The directory in which a rank keeps its own repeats: of several, those other than rank 0 have one below
/// their data directory.
fn own_data(spec: &LaunchSpec, data: PathBuf, rank: u32) -> PathBuf {
    match rank {
        1.. if spec.ranks > 1 => data.join("ranks").join(format!("{rank:05}")),
        _ => data,
    }
}

/// The newest run of a data directory.
fn newest_run(data: &Path) -> Option<RunManifest> {
    Runs::new(Layout::new(data)).newest_first().ok()?.next()
}

/// The reason why a run is not of what was asked for.
fn backend(spec: &LaunchSpec, manifest: &RunManifest) -> Option<String> {
    if manifest.status != RunStatus::Complete {
        return Some(format!("its run {} did not come to its end", manifest.id));
    }
    let (asked, found) = (&manifest.requested_platform, &manifest.active_backend);
    if asked != found {
        return Some(format!("it asked for the platform {asked} and measured on {found}"));
    }
    (spec.gpus.is_some() && found != "gpu").then(|| {
        format!(
            "devices were reserved and it measured on {found}: add `--platform gpu` to the bench arguments"
        )
    })
}

/// The verdicts of a comparison, a line each.
fn verdicts(file: &Path) -> Result<Vec<String>, String> {
    let text = read_text(file).map_err(|error| error.to_string())?;
    let comparison: Comparison = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(comparison.rows.iter().map(|row| format!("{}: {}", row.case, row.verdict)).collect())
}

/// Copies rank 0's runs to a data directory, where they are judged and shown as all others are.
pub(crate) fn keep_runs(
    summary: &LaunchSummary,
    folder: &LaunchFolder,
    data: &Path,
) -> std::io::Result<Vec<PathBuf>> {
    let mut kept = Vec::new();
    for stage in &summary.stages {
        let Some(run) = &stage.run else { continue };
        let from = folder.data(&stage.name, 0).join("runs").join(run);
        let to = data.join("runs").join(run);
        if !to.exists() {
            // It gets its name when it is whole.
            let part = data.join("runs").join(format!(".new-{run}"));
            copy(&from, &part)?;
            std::fs::rename(&part, &to)?;
            kept.push(to);
        }
    }
    Ok(kept)
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

impl LaunchSummary {
    /// The summary for people.
    pub(crate) fn told(&self, folder: &LaunchFolder) -> String {
        let mut text = String::new();
        for stage in &self.stages {
            let state = if stage.ok { "ok" } else { "failed" };
            let run = stage.run.as_ref().map(|run| format!(", run {run}")).unwrap_or_default();
            text.push_str(&format!("{}: {state}, {} ranks{run}\n", stage.name, stage.results.len()));
            for result in &stage.results {
                text.push_str(&format!(
                    "  rank {} on {}: {:.1} s\n",
                    result.rank, result.host, result.seconds
                ));
            }
            text.extend(stage.verdicts.iter().map(|line| format!("  {line}\n")));
        }
        let state = if self.ok { "ok" } else { self.end };
        text.push_str(&format!("launch {}: {state}, plan {}\n", self.launch, self.plan));
        text.push_str(&format!("files: {}\n", folder.root().display()));
        text
    }
}
