//! `storm`: kills, full disks, damaged records and odd surroundings, and what they have cost.
//!
//! A bench program of a crate of its own is run as anybody's would be, and broken off. Every fault comes from a seed, and
//! what is looked at afterwards is the same for all: no finished repeat is gone, changed or measured twice, nothing is left
//! behind, and no command panics or hangs.

mod disks;
mod draw;
mod kills;
mod lab;
mod records;
mod surroundings;
mod toll;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cli::{FaultKind, Storm};
use crate::place::Place;
use crate::programs;
use crate::said::Said;
use crate::stop;
use draw::StormDraws;
use lab::Lab;

/// How many faults of a kind a whole storm has.
const KILLS: usize = 104;
const DISKS: usize = 48;
const RECORDS: usize = 126;

/// A small storm has one fault of so many.
const SMALL: usize = 13;

pub(crate) fn run(args: &Storm, place: &Place) -> Result<Said> {
    let folder = folder(place);
    let built = build(&folder, place)?;
    let Some(program) = built.iter().find(|program| program.suite.ends_with("/storm")) else {
        return Err(stop::nothing(format!("`{}` has no bench target `storm`", folder.display())));
    };
    let lab = Lab::new(program)?;
    let tolls = faults(args, place, &lab);
    lab.close();
    Ok(toll::said(&tolls?))
}

fn faults(args: &Storm, place: &Place, lab: &Lab) -> Result<Vec<toll::Toll>> {
    let share = if args.small { SMALL } else { 1 };
    let mut tolls = Vec::new();
    for kind in FaultKind::ALL.into_iter().filter(|kind| args.kind.is_none_or(|wanted| wanted == *kind)) {
        // Each kind has draws of its own: one alone has the same faults as in a whole storm.
        let draw = &mut StormDraws::new(args.seed.wrapping_add(kind as u64));
        tolls.push(match kind {
            FaultKind::Kills => kills::storm(lab, draw, KILLS / share)?,
            FaultKind::Disks => disks::storm(lab, draw, DISKS / share)?,
            FaultKind::Records => records::storm(lab, place, draw, RECORDS / share)?,
            FaultKind::Surroundings => surroundings::storm(lab, share)?,
        });
    }
    Ok(tolls)
}

/// Where the crate with the bench target is in a workspace.
pub(crate) fn folder(place: &Place) -> PathBuf {
    place.root.join("tests").join("external")
}

/// Builds it, with the versions of the workspace's crates.
fn build(folder: &Path, place: &Place) -> Result<Vec<programs::BuiltProgram>> {
    if !folder.join("Cargo.toml").exists() {
        return Err(stop::nothing(format!(
            "this workspace has no crate to be broken off: `{}`",
            folder.display()
        )));
    }
    let versions = |of: &Path| of.join("Cargo.lock");
    fs::copy(versions(&place.root), versions(folder))
        .with_context(|| format!("failed to copy the workspace's `Cargo.lock` to `{}`", folder.display()))?;
    // Where the tests build it, so that it is built once.
    programs::build(folder, Some(&place.target.join("tmp").join("external")), &["--bench", "storm"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::home;
    use weighbridge::data::Exit;

    #[test]
    fn a_workspace_without_the_crate_is_told() {
        let none = run(&Storm::SMALL, &home().place).expect_err("there is no crate");
        assert_eq!(stop::exit(&none), Exit::NothingToJudge, "{none}");
    }

    #[test]
    fn a_whole_storm_has_over_two_hundred_faults() {
        const { assert!(KILLS + DISKS + RECORDS >= 200) };
        assert!([KILLS, DISKS, RECORDS].iter().all(|faults| faults / SMALL >= 3));
    }
}
