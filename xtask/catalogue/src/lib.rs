//! The commands of `cargo catalogue`: what knows the scenarios, adapters and data sets of the catalogue.
//!
//! `cargo weighbridge` shows and judges the runs of anybody and knows no scenario by name; what is here reads
//! the same records by what the catalogue says of them: which framework an adapter is of, which metric is a
//! phase of a training, what an experiment replaces. It also writes the catalogue's own pages: scenarios,
//! coverage, rules.

mod bottleneck;
mod cli;
mod coverage;
mod data;
mod declared;
mod device;
mod diagnosis;
mod dry;
mod flops;
mod peers;
mod report;
mod scenarios;
mod suite;
mod truth;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod hostile;

// What the laboratory plants stalls for.
pub use diagnosis::{Diagnosis, Experiments, Resource, diagnose};

use std::process::ExitCode;

use anyhow::Result;
use cli::{CatalogueCommand, Cli};
use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::place::Place;
use weighbridge_xtask::program;

/// Reads the command line, does what it says, and ends with one of the documented exit codes.
pub fn main() -> ExitCode {
    program::run("cargo catalogue", std::env::args_os(), |cli: Cli| match &cli.command {
        // It is of no workspace.
        CatalogueCommand::Flops(args) => flops::run(args),
        CatalogueCommand::RealData(args) => data::run(args),
        command => answer(command, &Place::find(cli.data.as_deref())?),
    })
}

/// Runs a command at a place, and returns what it says.
fn answer(command: &CatalogueCommand, place: &Place) -> Result<CommandOutput> {
    match command {
        CatalogueCommand::Peers(args) => peers::run(args, place),
        CatalogueCommand::RealData(args) => data::run(args),
        CatalogueCommand::Report(args) => report::run(args, place),
        CatalogueCommand::Bottleneck(args) => bottleneck::run(args, place),
        CatalogueCommand::Flops(args) => flops::run(args),
        CatalogueCommand::Device(args) => device::run(args, place),
        CatalogueCommand::Suite(args) => suite::run(args, place),
        CatalogueCommand::Scenarios(args) => scenarios::run(args, place),
        CatalogueCommand::Coverage(args) => coverage::run(args, place),
        CatalogueCommand::Truth(args) => truth::run(args, place),
    }
}
