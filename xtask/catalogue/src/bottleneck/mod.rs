//! `bottleneck`: what limits each pipeline of a run, as a sentence.

mod of_run;

use anyhow::Result;

use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::place::Place;

/// Arguments of `bottleneck`.
#[derive(Debug, clap::Args)]
pub(crate) struct Bottleneck {
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    run: Option<String>,
}

/// # Errors
/// A run that is not there or cannot be read; one without experiments.
pub(crate) fn run(args: &Bottleneck, place: &Place) -> Result<CommandOutput> {
    of_run::sentences(args.run.as_deref(), place)
}
