//! `bottleneck`: what limits each pipeline of a run, as a sentence; tried on stalls that are planted.

mod diagnosis;
mod of_run;
mod pipeline;
mod planted;

pub(crate) use diagnosis::{EXPLAINS, Experiments, diagnose};

use anyhow::Result;
use weighbridge::data::Exit;

use crate::place::Place;
use crate::said::Said;
use crate::table::Table;

use planted::{Plant, PlantedOutcome};

/// Arguments of `bottleneck`.
#[derive(Debug, clap::Args)]
pub(crate) struct Bottleneck {
    /// Plant stalls in pipelines of real threads, and see whether each is named and no clean pipeline is accused.
    #[arg(long, conflicts_with = "run")]
    planted: bool,
    /// Only say what would be planted.
    #[arg(long, requires = "planted")]
    dry_run: bool,
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    run: Option<String>,
}

/// Of 21 stalls, so many must be named right.
const NAMED: usize = 18;

/// The gain of so many of them must be foretold within [`WITHIN`] of the real one.
const FORETOLD: usize = 15;

/// A share of the real gain.
const WITHIN: f64 = 0.15;

/// # Errors
/// A run that is not there or cannot be read; one without experiments.
pub(crate) fn run(args: &Bottleneck, place: &Place) -> Result<Said> {
    if !args.planted {
        return of_run::sentences(args.run.as_deref(), place);
    }
    let plants = planted::all();
    if args.dry_run {
        let line = |plant: &Plant| format!("{}: {}\n", name(plant), plant.size);
        return Ok(Said::fine(plants.iter().map(line).collect::<String>()));
    }
    let mut buffers = planted::buffers();
    let outcomes: Vec<PlantedOutcome> = plants.iter().map(|plant| plant.try_out(&mut buffers)).collect();
    Ok(told(&plants, &outcomes))
}

fn name(plant: &Plant) -> String {
    plant.resource.map_or_else(|| "none".to_owned(), |resource| resource.to_string())
}

fn told(plants: &[Plant], outcomes: &[PlantedOutcome]) -> Said {
    let mut table = Table::new(["planted", "size", "named", "expected>", "without it>", "off>"]);
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
        "{}\n{sentences}\n{named} of {stalls} stalls are named right ({NAMED} are due), {accused} of {clean} clean pipelines are accused (none \
         may be), and the gain of {foretold} is foretold within {:.0} % ({FORETOLD} are due)\n",
        table.text(),
        100.0 * WITHIN
    );
    let is_fine = named >= NAMED && foretold >= FORETOLD && accused == 0;
    Said { exit: if is_fine { Exit::Fine } else { Exit::Failed }, ..Said::fine(text) }
}
