//! The commands of `cargo xtask`: judge runs, show them, promote them, tidy them up.
//!
//! A workspace gets them all with a package `xtask` whose `main.rs` is three lines:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     weighbridge_xtask::main()
//! }
//! ```
//!
//! and an alias in `.cargo/config.toml`: `xtask = "run --quiet --package xtask --"`; or without either, as
//! `cargo weighbridge`, by `cargo install --locked --path xtask --bin cargo-weighbridge`.
//!
//! What knows the scenarios of the catalogue is in a crate of its own, `weighbridge-catalogue`; it takes its
//! runs, tables and exit codes from the public modules here, and so may any other program of commands.
//!
//! Each command is a file with a function from its arguments and a place (workspace and data directory) to
//! what it has to say; it prints nothing itself, so that tests can read it.

mod baseline;
mod baseline_path;
mod build_facts;
mod build_options;
mod calibrate;
mod checkout;
mod cli;
mod command;
pub mod command_output;
mod compare_baseline;
mod digest;
mod doctor;
mod duels;
mod explain;
mod export;
mod fight;
mod git;
mod history;
pub mod inert;
mod judge;
mod launch;
#[cfg(feature = "load")]
mod load;
mod lock;
#[cfg(not(feature = "load"))]
mod no_load;
pub mod pick;
pub mod place;
mod plot;
pub mod program;
pub mod programs;
mod prune;
mod relink;
mod report;
mod repository;
mod runs;
pub mod show;
pub mod stop;
pub mod suite;
mod summary;
pub mod svg;
pub mod table;
mod toolchain;
mod view;
mod whose;

#[cfg(test)]
extern crate self as weighbridge_xtask; // the fixtures are those of the catalogue's crate as well
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod hostile;

pub use view::learning_curve;

use std::process::ExitCode;

use anyhow::Result;
use cli::{Cli, XtaskCommand};
use command_output::CommandOutput;
#[cfg(feature = "load")]
use load::run as loaded;
#[cfg(not(feature = "load"))]
use no_load::run as loaded;
use place::Place;

/// Reads the command line, does what it says, and ends with one of the documented exit codes.
pub fn main() -> ExitCode {
    if let Some(ended) = weighbridge_launch::rank() {
        return ended;
    }
    if let Some(ended) = command::bench() {
        return ended;
    }
    if let Some(ended) = weighbridge_doctor::started_anew() {
        return ended;
    }
    #[cfg(feature = "load")]
    if let Some(ended) = load::bench() {
        return ended;
    }
    program::run(weighbridge::tool(), std::env::args_os(), |cli: Cli| match &cli.command {
        // Commands of the shell, scripts and servers are of no workspace.
        XtaskCommand::Doctor(args) => doctor::run(args),
        XtaskCommand::Shell(args) => command::run(args, cli.data.clone()),
        XtaskCommand::Load(args) => loaded(args, cli.data.clone()),
        // One that is built already is of none either.
        XtaskCommand::Launch(args) if launch::needs_no_workspace(args) => {
            launch::run(args, &launch::anywhere(cli.data.as_deref())?)
        }
        command => answer(command, &Place::find(cli.data.as_deref())?),
    })
}

/// Carries a command out at a place, and returns its answer.
fn answer(command: &XtaskCommand, place: &Place) -> Result<CommandOutput> {
    match command {
        XtaskCommand::CompareBaseline(args) => compare_baseline::run(&args.command, &args.at(place)?),
        XtaskCommand::Summary(args) => summary::run(args, place),
        XtaskCommand::Baseline(args) => baseline::run(&args.command, &args.at(place)?),
        XtaskCommand::Explain(args) => explain::run(&args.command, &args.at(place)?),
        XtaskCommand::Runs(args) => runs::run(args, place),
        XtaskCommand::Lock(args) => lock::run(args, place),
        XtaskCommand::Calibrate(args) => calibrate::run(args, place),
        XtaskCommand::Report(args) => report::run(args, place),
        XtaskCommand::Export(args) => export::run(args, place),
        XtaskCommand::History(args) => history::run(args, place),
        XtaskCommand::Suite(args) => suite::run(args, place),
        XtaskCommand::Launch(args) => launch::run(args, place),
        XtaskCommand::Shell(args) => command::run(args, None),
        XtaskCommand::Doctor(args) => doctor::run(args),
        XtaskCommand::Load(args) => loaded(args, None),
    }
}
