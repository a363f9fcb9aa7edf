//! `device`: a kit for a machine that has a device and nothing to build with, and the runs that come back.
//!
//! `pack` puts programs, the worker's package and the scripts of `kit` into a folder. Its `run.sh` goes
//! through the files of `kit/steps` there. `unpack` stores the runs of the folder of results that it writes.

mod kit_folder;
mod kit_programs;
mod results;
mod unpack;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::place::Place;

/// Arguments of `device`.
#[derive(Debug, Args)]
pub(crate) struct DeviceArgs {
    #[command(subcommand)]
    pub(crate) action: DeviceAction,
}

/// The two ends of a day with a device.
#[derive(Debug, Subcommand)]
pub(crate) enum DeviceAction {
    /// Build what measures a device, and put it into a folder with one script: `./run.sh` there needs neither
    /// cargo nor a network, and takes at most 8 minutes.
    Pack {
        /// The folder to make. It must not be there yet, or be empty.
        folder: PathBuf,
        /// Take the programs from this folder, instead of building them.
        #[arg(long, value_name = "FOLDER")]
        programs: Option<PathBuf>,
    },
    /// Store the runs of a folder of results that came back, and say which steps failed. Exit 6: a step or a
    /// run did.
    Unpack {
        /// The folder that `run.sh` wrote.
        folder: PathBuf,
    },
}

pub(crate) fn run(args: &DeviceArgs, place: &Place) -> Result<CommandOutput> {
    match &args.action {
        DeviceAction::Pack { folder, programs } => kit_folder::pack(folder, programs.as_deref(), place),
        DeviceAction::Unpack { folder } => unpack::unpack(folder, place),
    }
}
