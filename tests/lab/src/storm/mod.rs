//! `storm`: kills, full disks, damaged records and odd surroundings, and what they have cost.
//!
//! A bench program of a crate of its own is run as anybody's would be, and broken off. Every fault comes from
//! a seed, and what is looked at afterwards is the same for all: no finished repeat is gone, changed or
//! measured twice, nothing is left behind, and no command panics or hangs.

mod disks;
mod draw;
mod kills;
mod lab;
mod records;
mod surroundings;
mod toll;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cli::{FaultKind, Storm};
use crate::output::Output;
use crate::place::Place;
use crate::programs::{self, BuiltProgram};
use draw::StormDraws;
use lab::Lab;

/// How many faults of a kind a whole storm has.
const KILLS: usize = 104;
const DISKS: usize = 48;
const RECORDS: usize = 126;

/// A small storm has one fault of so many.
const SMALL: usize = 13;

pub(crate) fn run(args: &Storm, place: &Place) -> Result<Output> {
    let lab = Lab::new(&victim(place)?, programs::of_product(place, "xtask")?)?;
    let tolls = faults(args, &lab);
    lab.close();
    Ok(toll::said(&tolls?))
}

fn faults(args: &Storm, lab: &Lab) -> Result<Vec<toll::Toll>> {
    let share = if args.small { SMALL } else { 1 };
    let mut tolls = Vec::new();
    for kind in FaultKind::ALL.into_iter().filter(|kind| args.kind.is_none_or(|wanted| wanted == *kind)) {
        // Each kind has draws of its own: one alone has the same faults as in a whole storm.
        let draw = &mut StormDraws::new(args.seed.wrapping_add(kind as u64));
        tolls.push(match kind {
            FaultKind::Kills => kills::storm(lab, draw, KILLS / share)?,
            FaultKind::Disks => disks::storm(lab, draw, DISKS / share)?,
            FaultKind::Records => records::storm(lab, draw, RECORDS / share)?,
            FaultKind::Surroundings => surroundings::storm(lab, share)?,
        });
    }
    Ok(tolls)
}

/// Builds the bench program that is broken off, with the versions of the product's crates.
fn victim(place: &Place) -> Result<BuiltProgram> {
    let folder = place.root.join("tests").join("external");
    let versions = |of: &Path| of.join("Cargo.lock");
    fs::copy(versions(&place.root), versions(&folder))
        .with_context(|| format!("failed to copy the workspace's `Cargo.lock` to `{}`", folder.display()))?;
    // Where the tests build it, so that it is built once.
    let target = place.target.join("tmp").join("external");
    let built = programs::build(&folder, &target, &["bench", "--no-run", "--bench", "storm"])?;
    programs::of_target(&built, "storm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_storm_has_over_two_hundred_faults() {
        const { assert!(KILLS + DISKS + RECORDS >= 200) };
        assert!([KILLS, DISKS, RECORDS].iter().all(|faults| faults / SMALL >= 3));
    }
}
