//! `foreign`: bench files of published crates run with one line of their manifest changed.
//!
//! The crates of `tests/lab/foreign/crates.toml` are fetched by cargo, copied to a folder of their own, and
//! have what stands here in the place of criterion and divan. Each bench target is built, run under `--test`
//! and measured quickly. With `--figures` the original is measured beside it.

mod command;
mod fetch;
mod figures;
mod harvest;
mod list;
mod manifest;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weighbridge::data::Exit;

use crate::cli::Foreign;
use crate::output::Output;
use crate::place::Place;
use command::{Building, ForeignCopy};
pub(crate) use fetch::{copy, copy_folder, fetch};
use figures::TargetFigures;
use harvest::{HarvestedTarget, harvest};
pub(crate) use list::{ForeignCrate, chosen};

/// The targets whose figures are compared have no more cases: each of them is measured for a second, thrice.
const MOST_CASES: u64 = 40;

/// Runs the command.
///
/// # Errors
/// When the crates cannot be fetched or copied, and when cargo cannot be started.
pub(crate) fn run(args: &Foreign, place: &Place) -> Result<Output> {
    let crates = list::chosen(&args.crates)?;
    let scratch = place.target.join("foreign");
    let sources = fetch::fetch(&crates, &scratch)?;
    // One for all crates: what two of them need is built once.
    let target = scratch.join("target");
    let mut harvested = Vec::new();
    for one in &crates {
        let folder = scratch.join("crates").join(one.folder());
        fetch::copy(one, of(&sources, one)?, &folder, Some(&place.root))?;
        let building = if one.optimised { Building::AsWritten } else { Building::Cheap };
        let copy = ForeignCopy { of: one, folder: folder.clone(), target: &target, building };
        harvested.extend(harvest(&copy, &scratch.join("measured"))?);
        if !args.keep {
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
    let mut text = table::page(&harvested);
    let mut fine = table::is_fine(&harvested, args.crates.is_empty());
    if let Some(most) = args.figures {
        let all = compare(&picked(&harvested, most as usize), &crates, &sources, place, &scratch)?;
        text = format!("{text}\n{}", figures::page(&all));
        fine &= figures::is_fine(&all);
    }
    if !args.keep {
        let _ = std::fs::remove_dir_all(scratch.join("measured"));
    }
    let exit = if fine { Exit::Fine } else { Exit::Failed };
    Ok(Output { exit, ..Output::fine(text) })
}

fn of<'a>(sources: &'a BTreeMap<String, PathBuf>, one: &ForeignCrate) -> Result<&'a Path> {
    let found = sources.get(&one.folder()).map(PathBuf::as_path);
    found.with_context(|| format!("cargo fetched no `{}`", one.folder()))
}

/// One target of each crate, as many as are asked for.
fn picked(harvested: &[HarvestedTarget], most: usize) -> Vec<&HarvestedTarget> {
    let is_small = |target: &&HarvestedTarget| {
        target.works() && target.measured.is_some_and(|cases| cases <= MOST_CASES)
    };
    let mut picked: Vec<&HarvestedTarget> = Vec::new();
    for target in harvested.iter().filter(is_small) {
        if picked.len() < most && picked.iter().all(|other| other.krate != target.krate) {
            picked.push(target);
        }
    }
    picked
}

/// Measures these with the original and with what stands for it, built as their manifests say.
fn compare(
    picked: &[&HarvestedTarget],
    crates: &[ForeignCrate],
    sources: &BTreeMap<String, PathBuf>,
    place: &Place,
    scratch: &Path,
) -> Result<Vec<TargetFigures>> {
    let target = scratch.join("target-figures");
    let mut all = Vec::new();
    for picked in picked {
        let Some(one) = crates.iter().find(|one| one.folder() == picked.krate) else { continue };
        let side = |name: &str, product| -> Result<ForeignCopy<'_>> {
            let folder = scratch.join(name).join(one.folder());
            fetch::copy(one, of(sources, one)?, &folder, product)?;
            Ok(ForeignCopy { of: one, folder, target: &target, building: Building::AsWritten })
        };
        let (original, drop_in) = (side("originals", None)?, side("drop-ins", Some(&place.root))?);
        match TargetFigures::measure(&original, &drop_in, &picked.name) {
            Ok(figures) => all.push(figures),
            Err(error) => eprintln!("{error:#}"),
        }
        eprintln!("{} {} compared", picked.krate, picked.name);
    }
    Ok(all)
}
