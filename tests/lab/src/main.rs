//! `cargo lab`: where the harness is tried. It lies to it, breaks it off, holds it against other harnesses,
//! and does what continuous integration does.

mod ci;
mod cli;
mod doctor;
mod evidence;
mod foreign;
mod lies;
mod originals;
mod output;
mod place;
mod programs;
mod rebuilds;
mod release;
mod storm;
mod supply;

use std::process::ExitCode;

use clap::Parser;
use weighbridge::data::Exit;

use cli::{Cli, LabCommand};
use output::Output;
use place::Place;

fn main() -> ExitCode {
    match answer(&Cli::parse()) {
        Ok(output) => {
            output.print();
            output.exit.into()
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            Exit::Unexpected.into()
        }
    }
}

fn answer(cli: &Cli) -> anyhow::Result<Output> {
    let place = &Place::find(cli.data.as_deref())?;
    match &cli.command {
        LabCommand::Lies(args) => lies::run(args, place),
        LabCommand::Storm(args) => storm::run(args, place),
        LabCommand::Originals(args) => originals::run(args, place),
        LabCommand::Foreign(args) => foreign::run(args, place),
        LabCommand::Evidence(args) => evidence::run(args, place),
        LabCommand::Rebuilds(args) => rebuilds::run(args, place),
        LabCommand::ReleaseCheck(args) => release::run(args, place),
        LabCommand::Doctor(args) => doctor::run(args, place),
        LabCommand::Bill(args) => supply::run(args, place),
        LabCommand::Ci(args) => ci::run(args, place),
    }
}
