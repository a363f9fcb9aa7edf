//! Plants stalls in pipelines of real threads, and holds what `bottleneck` says against them: each is to be
//! named, what its removal brings is to be foretold, and no pipeline without one is to be accused. Exit 6:
//! too few are.
//!
//! `cargo run --manifest-path tests/lab/Cargo.toml --package stalls` takes some minutes; `-- --dry-run` lists
//! what is planted.

mod pipeline;
mod planted;

use std::process::ExitCode;

use clap::Parser;
use weighbridge::data::{Columns, Exit};

use planted::{Plant, PlantedOutcome};

/// Plant stalls, and see whether each is named and no clean pipeline is accused.
#[derive(Debug, Parser)]
struct Cli {
    /// Only say what would be planted.
    #[arg(long)]
    dry_run: bool,
}

/// Of 21 stalls, so many must be named right.
const NAMED: usize = 18;

/// The gain of so many of them must be foretold within [`WITHIN`] of the real one.
const FORETOLD: usize = 15;

/// A share of the real gain.
const WITHIN: f64 = 0.15;

fn main() -> ExitCode {
    let plants = planted::all();
    if Cli::parse().dry_run {
        for plant in &plants {
            println!("{}: {}", name(plant), plant.size);
        }
        return ExitCode::SUCCESS;
    }
    let mut buffers = planted::buffers();
    let outcomes: Vec<PlantedOutcome> = plants.iter().map(|plant| plant.try_out(&mut buffers)).collect();
    let (text, is_fine) = told(&plants, &outcomes);
    print!("{text}");
    if is_fine { ExitCode::SUCCESS } else { Exit::Failed.into() }
}

fn name(plant: &Plant) -> String {
    plant.resource.map_or_else(|| "none".to_owned(), |resource| resource.to_string())
}

fn told(plants: &[Plant], outcomes: &[PlantedOutcome]) -> (String, bool) {
    let mut table = Columns::new(["planted", "size", "named", "expected>", "without it>", "off>"]);
    let (mut named, mut foretold, mut accused) = (0, 0, 0);
    let (mut sentences, mut shown) = (String::new(), Vec::new());
    for (plant, outcome) in plants.iter().zip(outcomes) {
        let found = outcome.diagnosis.map(|found| found.resource);
        let off = outcome.off();
        if plant.resource.is_none() {
            accused += usize::from(found.is_some());
        } else if found == plant.resource {
            named += 1;
            foretold += usize::from(off.is_some_and(|off| off.abs() <= WITHIN));
        }
        table.row([
            name(plant),
            plant.size.clone(),
            found.map_or_else(|| "none".to_owned(), |found| found.to_string()),
            outcome.diagnosis.map_or_else(String::new, |found| format!("{:.2}x", found.gain())),
            format!("{:.2}x", outcome.gain),
            off.map_or_else(String::new, |off| format!("{:+.0} %", 100.0 * off)),
        ]);
        // One sentence for each resource.
        if let Some(found) = outcome.diagnosis.filter(|_| !shown.contains(&plant.resource)) {
            shown.push(plant.resource);
            sentences += &format!("{}: {found}\n", name(plant));
        }
    }
    let stalls = plants.iter().filter(|plant| plant.resource.is_some()).count();
    let clean = plants.len() - stalls;
    let text = format!(
        "{}\n{sentences}\n{named} of {stalls} stalls are named right ({NAMED} are due), \
         {accused} of {clean} clean pipelines are accused (none may be), and the gain of {foretold} is \
         foretold within {:.0} % ({FORETOLD} are due)\n",
        table.text(),
        100.0 * WITHIN
    );
    let is_fine = named >= NAMED && foretold >= FORETOLD && accused == 0;
    (text, is_fine)
}
