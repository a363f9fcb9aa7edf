//! `--resume RUN`: what a run was told is kept beside it until it is complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use weighbridge::data::{Duels, Layout, Runs};

use super::handed::HandedLoad;
use crate::stop;

/// The run that a program is measuring.
#[derive(Clone, Debug)]
pub(super) enum MeasuredRun {
    /// This one, which was begun before.
    Known(String),
    /// The first one that is none of these.
    Beside(Vec<String>),
}

/// The rest between two looks at a run that begins.
const REST: Duration = Duration::from_millis(20);

/// The folder of what runs were told.
fn kept(data: &Path) -> PathBuf {
    data.join("load")
}

/// The file of a run. Its name comes from a line, so that nothing but a name is one.
fn file(data: &Path, run: &str) -> Result<PathBuf> {
    let is_name =
        !run.is_empty() && run.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    match is_name {
        true => Ok(kept(data).join(format!("{run}.json"))),
        false => Err(stop::usage(format!("`{run}` is no name of a run: `runs list` has them"))),
    }
}

/// A folder for the windows of a run, which outlives this process if the run does not end.
///
/// # Errors
/// Those of the file system.
pub(super) fn folder(data: &Path) -> Result<PathBuf> {
    let kept = kept(data);
    fs::create_dir_all(&kept).with_context(|| format!("failed to make {}", kept.display()))?;
    let folder = tempfile::Builder::new().prefix("windows-").tempdir_in(&kept);
    Ok(folder.with_context(|| format!("failed to make a folder in {}", kept.display()))?.keep())
}

/// Waits for the program, and keeps what it was told under the name of its run as soon as it has one.
///
/// # Errors
/// Those of the file system; of a program that cannot be waited for.
pub(super) fn wait(
    mut bench: Child,
    data: &Path,
    measured: MeasuredRun,
    handed: &HandedLoad,
) -> Result<(ExitStatus, Option<String>)> {
    let mut run = None;
    loop {
        let ended = bench.try_wait().context("failed to wait for this program")?;
        let begun = match &measured {
            MeasuredRun::Known(run) => Some(run.clone()),
            MeasuredRun::Beside(before) => runs(data).into_iter().find(|run| !before.contains(run)),
        };
        if run.is_none()
            && let Some(begun) = begun
        {
            let path = file(data, &begun)?;
            let text = serde_json::to_string(handed).context("failed to write the line down")?;
            fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
            run = Some(begun);
        }
        match (ended, &run) {
            (Some(status), _) => return Ok((status, run)),
            (None, Some(_)) => {
                return Ok((bench.wait().context("failed to wait for this program")?, run));
            }
            (None, None) => thread::sleep(REST),
        }
    }
}

/// Reads back what a run was told.
///
/// # Errors
/// That nothing is kept of it: it is complete, or another command's.
pub(super) fn told(data: &Path, run: &str) -> Result<HandedLoad> {
    let path = file(data, run)?;
    let text = weighbridge::data::read_text(&path).map_err(|_| {
        stop::usage(format!(
            "there is nothing to go on with: run `{run}` is complete, is not in {}, or is none of `load`",
            data.display()
        ))
    })?;
    serde_json::from_str(&text).with_context(|| format!("failed to read {}", path.display()))
}

/// Drops what was kept of a run that is complete, or never began.
pub(super) fn drop_kept(data: &Path, run: Option<&str>, handed: &HandedLoad) {
    let _ = fs::remove_dir_all(&handed.folder);
    if let Some(path) = run.and_then(|run| file(data, run).ok()) {
        let _ = fs::remove_file(path);
    }
}

/// The runs of this data directory, and the duels that are under way.
pub(super) fn runs(data: &Path) -> Vec<String> {
    both(data).iter().flat_map(Runs::newest_first).flatten().map(|manifest| manifest.id.to_string()).collect()
}

/// The folders of runs, and of the journals of duels.
pub(super) fn both(data: &Path) -> [Runs; 2] {
    let layout = Layout::new(data);
    [Runs::new(layout.clone()), Duels::new(layout).journals()]
}
