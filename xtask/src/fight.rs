//! A bench program that measures another in turns with itself.

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use weighbridge::data::{Comparison, Duels, EnvironmentChange, read_file};

use crate::place::Place;
use crate::programs::BuiltProgram;
use crate::stop;

/// Lets one bench program measure another in turns with itself. Progress goes to stderr. The program knows
/// the other one by its path; the comparison, and what is stored of it, call it by this name, and name what
/// changed in how the two are built.
///
/// # Errors
/// When it ends without a comparison: with its own exit code where that is documented. When the name cannot
/// be stored.
pub(crate) fn fight(
    candidate: &BuiltProgram,
    baseline: &BuiltProgram,
    name: String,
    changes: &[EnvironmentChange],
    place: &Place,
    flags: &[String],
) -> Result<Comparison> {
    let folder = place.layout.duels();
    fs::create_dir_all(&folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    let file = folder.join(format!(".comparison-{}.json", std::process::id()));
    let mut command = Command::new(&candidate.path);
    command.current_dir(&candidate.directory).arg("--bench").args(flags);
    command.arg("--versus").arg(&baseline.path).arg("--comparison").arg(&file);
    command.arg("--data").arg(place.layout.data()).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().with_context(|| format!("failed to start {}", candidate.suite))?;
    let read = read_file(&file);
    let _ = fs::remove_file(&file);
    match (status.code(), read) {
        (Some(0 | 3..=6), Ok(bytes)) => {
            let read = serde_json::from_slice(&bytes);
            let mut comparison: Comparison =
                read.with_context(|| format!("{} wrote no comparison", candidate.suite))?;
            comparison.baseline.name = name;
            comparison.environment_changes.extend_from_slice(changes);
            Duels::new(place.layout.clone()).write(&comparison.candidate, &comparison)?;
            Ok(comparison)
        }
        (Some(2), _) => Err(stop::usage(format!("{} refused what was asked (see above)", candidate.suite))),
        (Some(4), _) => Err(stop::nothing(format!("{} had nothing to judge (see above)", candidate.suite))),
        (Some(130), _) => Err(stop::interrupted()),
        _ => bail!("{} ended with {status} and no comparison", candidate.suite),
    }
}
