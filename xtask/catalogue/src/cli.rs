//! The command line, as it is typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use weighbridge_xtask::program::EXITS;

/// Install, check and report on what the catalogue compares.
#[derive(Debug, Parser)]
#[command(name = "catalogue", after_help = EXITS, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// The data directory [default: `weighbridge` in cargo's target directory].
    #[arg(long, global = true, value_name = "DIR", env = "WEIGHBRIDGE_DATA", hide_env_values = true)]
    pub(crate) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: CatalogueCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CatalogueCommand {
    /// List, install, check and remove the Python frameworks that are compared.
    Peers(crate::peers::PeersArgs),
    /// List, verify and find the real data sets.
    #[command(name = "data")]
    RealData(crate::data::DataArgs),
    /// Write a report on a run: frameworks beside each other, or trainings.
    Report(crate::report::CatalogueReport),
    /// Say what limits each loader and training of a run, by the experiments that were made.
    Bottleneck(crate::bottleneck::Bottleneck),
    /// Say how many operations a model takes, and which cells of a table of throughputs cannot all be true.
    Flops(crate::flops::FlopsArgs),
    /// Pack a kit for a machine with a device and without cargo, and store the runs that come back.
    Device(crate::device::DeviceArgs),
    /// Read suites of Orbax's benchmarks, and run what they say.
    Suite(crate::suite::OrbaxSuiteArgs),
    /// Write the page of all scenarios, `scenarios/docs/catalogue.md`, or check it.
    Scenarios(crate::scenarios::ScenariosArgs),
    /// Write the page of what each adapter can do, `scenarios/docs/coverage.md`, or check it.
    Coverage(crate::coverage::CoverageArgs),
    /// Write the page of all rules that can take a rank away, `docs/truth.md`, or check it.
    Truth(crate::truth::TruthArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
