//! `storm`: kills, full disks, damaged records, odd surroundings and mishaps, and what they have cost.
//!
//! A bench program of a crate of its own is run as anybody's would be, and broken off. Every fault comes from
//! a seed, and what is looked at afterwards is the same for all: no finished repeat is gone, changed or
//! measured twice, nothing is left behind, and no command panics or hangs.

mod disks;
mod draw;
mod kills;
mod lab;
mod mishaps;
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

/// How many faults of a kind a whole storm has, and a small one.
const COUNTS: [(FaultKind, [usize; 2]); 5] = [
    (FaultKind::Kills, [305, 5]),
    (FaultKind::Disks, [144, 3]),
    (FaultKind::Records, [378, 5]),
    (FaultKind::Surroundings, [surroundings::ALL, 3]),
    (FaultKind::Mishaps, [117, mishaps::KINDS]),
];

pub(crate) fn run(args: &Storm, place: &Place) -> Result<Output> {
    let lab = Lab::new(&victim(place)?, programs::of_product(place, "xtask")?)?;
    let tolls = faults(args, &lab);
    lab.close();
    Ok(toll::said(&tolls?))
}

fn faults(args: &Storm, lab: &Lab) -> Result<Vec<toll::Toll>> {
    let mut tolls = Vec::new();
    for (kind, [whole, small]) in COUNTS {
        if args.kind.is_some_and(|wanted| wanted != kind) {
            continue;
        }
        let faults = if args.small { small } else { whole };
        // Each kind has draws of its own: one alone has the same faults as in a whole storm.
        let draw = &mut StormDraws::new(args.seed.wrapping_add(kind as u64));
        tolls.push(match kind {
            FaultKind::Kills => kills::storm(lab, draw, faults)?,
            FaultKind::Disks => disks::storm(lab, draw, faults)?,
            FaultKind::Records => records::storm(lab, draw, faults)?,
            FaultKind::Surroundings => surroundings::storm(lab, faults)?,
            FaultKind::Mishaps => mishaps::storm(lab, draw, faults)?,
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
    fn a_whole_storm_has_a_thousand_faults_and_a_small_one_twenty_five_of_every_kind_some() {
        let sum = |at: usize| COUNTS.iter().map(|(_, counts)| counts[at]).sum::<usize>();
        assert_eq!([sum(0), sum(1)], [1_000, 25]);
        assert!(COUNTS.iter().all(|(_, [whole, small])| *small >= 3 && small < whole));
    }
}
