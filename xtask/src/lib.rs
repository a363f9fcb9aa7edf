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
//! `cargo weighbridge`, by `cargo install weighbridge-xtask --bin cargo-weighbridge`.
//!
//! Each command is a file with a function from its arguments and a place (workspace and data directory) to
//! what it has to say; it prints nothing itself, so that tests can read it.

mod baseline;
mod baseline_path;
mod bottleneck;
mod calibrate;
mod catalogue;
mod cli;
mod command;
mod compare_baseline;
mod coverage;
mod data;
mod digest;
mod dry;
mod duels;
mod explain;
mod export;
mod fight;
mod flops;
mod history;
mod inert;
mod judge;
mod lock;
mod peers;
mod pick;
mod place;
mod plot;
mod programs;
mod prune;
mod report;
mod repository;
mod runs;
mod said;
mod show;
mod stop;
mod suite;
mod summary;
mod svg;
mod table;
mod truth;
mod view;
mod whole;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod hostile;

// What the laboratory plants stalls for.
pub use bottleneck::{Diagnosis, Experiments, Resource, diagnose};

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use cli::{Cli, XtaskCommand};
use place::Place;
use said::Said;
use weighbridge::data::Exit;

/// Reads the command line, does what it says, and ends with one of the documented exit codes.
pub fn main() -> ExitCode {
    if let Some(ended) = command::bench() {
        return ended;
    }
    let mut line: Vec<OsString> = std::env::args_os().collect();
    // Cargo names the subcommand once more: `cargo-weighbridge weighbridge ...`.
    if weighbridge::tool() == "cargo weighbridge" && line.get(1).is_some_and(|word| word == "weighbridge") {
        line.remove(1);
    }
    run(line)
}

/// The same with a command line that is handed in, program first.
pub fn run<T: Into<OsString> + Clone>(line: impl IntoIterator<Item = T>) -> ExitCode {
    let command = Cli::command().bin_name(weighbridge::tool());
    let cli = match command.try_get_matches_from(line).and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => {
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Fine };
            drop(error.print());
            return exit.into();
        }
    };
    match dispatch(cli) {
        Ok(said) => {
            said.print();
            said.exit.into()
        }
        Err(error) => {
            eprint!("{}", inert::lines(&format!("error: {}", stop::told(&error))));
            stop::exit(&error).into()
        }
    }
}

fn dispatch(cli: Cli) -> anyhow::Result<Said> {
    // Commands of the shell are of no workspace.
    if let XtaskCommand::Shell(args) = &cli.command {
        return command::run(args, cli.data);
    }
    let place = Place::find(cli.data.as_deref())?;
    answer(cli.command, &place)
}

/// What a command says at a place.
fn answer(command: XtaskCommand, place: &Place) -> anyhow::Result<Said> {
    match command {
        XtaskCommand::CompareBaseline(args) => compare_baseline::run(&args.command, &args.at(place)?),
        XtaskCommand::Summary(args) => summary::run(&args, place),
        XtaskCommand::Baseline(args) => baseline::run(&args.command, &args.at(place)?),
        XtaskCommand::Explain(args) => explain::run(&args.command, &args.at(place)?),
        XtaskCommand::Runs(args) => runs::run(&args, place),
        XtaskCommand::Lock(args) => lock::run(&args, place),
        XtaskCommand::Calibrate(args) => calibrate::run(&args, place),
        XtaskCommand::Truth(args) => truth::run(&args, place),
        XtaskCommand::Catalogue(args) => catalogue::run(&args, place),
        XtaskCommand::RealData(args) => data::run(&args),
        XtaskCommand::Report(args) => report::run(&args, place),
        XtaskCommand::Export(args) => export::run(&args, place),
        XtaskCommand::History(args) => history::run(&args, place),
        XtaskCommand::Flops(args) => flops::run(&args),
        XtaskCommand::Bottleneck(args) => bottleneck::run(&args, place),
        XtaskCommand::Coverage(args) => coverage::run(&args, place),
        XtaskCommand::Peers(args) => peers::run(&args, place),
        XtaskCommand::Suite(args) => suite::run(&args, place),
        XtaskCommand::Shell(args) => command::run(&args, None),
    }
}
