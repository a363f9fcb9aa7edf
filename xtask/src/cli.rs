//! The command line, as it is typed.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::baseline_path::LooksUp;
use crate::program::EXITS;

/// Judge, show and promote the runs of `cargo bench`.
#[derive(Debug, Parser)]
#[command(name = "weighbridge", after_help = EXITS, disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// The data directory [default: `weighbridge` in cargo's target directory].
    #[arg(long, global = true, value_name = "DIR", env = "WEIGHBRIDGE_DATA", hide_env_values = true)]
    pub(crate) data: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: XtaskCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum XtaskCommand {
    /// Judge every suite's latest run against its baseline of this name.
    CompareBaseline(LooksUp<crate::compare_baseline::CompareBaseline>),
    /// Show scenario, framework and metrics of the latest run, or of a named one.
    Summary(crate::summary::Summary),
    /// Tell the story of one case: samples, processes, disturbances, what decided about it and what would.
    Explain(LooksUp<crate::explain::Explain>),
    /// Promote runs to baselines, list, show and remove them.
    Baseline(LooksUp<crate::baseline::BaselineArgs>),
    /// List, show, judge and prune runs, and work digests out anew.
    Runs(crate::runs::RunsArgs),
    /// Write the ids that every suite must find to `benches/scenarios.lock`, or check them.
    Lock(crate::lock::Lock),
    /// Measure how often a duel is wrong on this machine, and what it finds.
    Calibrate(crate::calibrate::Calibrate),
    /// Write a report on a run.
    Report(crate::report::Report),
    /// Write a run in the format of another tool.
    Export(crate::export::Export),
    /// Follow a metric of a case from commit to commit, find where it changed and by which commit, and accept
    /// a change.
    History(crate::history::HistoryArgs),
    /// Read suite files, and run what they say.
    Suite(crate::suite::SuiteArgs),
    /// Run a bench program on the hosts that an engine gives, follow it, and tear down what it took.
    Launch(Box<weighbridge_launch::LaunchArgs>),
    /// Measure commands of the shell, each as a whole process, and judge them against the first.
    #[command(name = "command")]
    Shell(crate::command::CommandArgs),
    /// Say for a training script whether loading is its bottleneck, by how much, and what to do.
    Doctor(Box<weighbridge_doctor::DoctorArgs>),
    /// Drive an inference server, and refuse the rows that would mislead.
    #[cfg(feature = "load")]
    Load(Box<crate::load::LoadArgs>),
    /// Say how to get the load client, which this build does not have.
    #[cfg(not(feature = "load"))]
    #[command(hide = true)]
    Load(crate::no_load::NoLoad),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_names_every_command_and_the_exit_codes() {
        let help = Cli::command().render_help().to_string();
        for word in
            ["compare-baseline", "summary", "explain", "baseline", "runs", "lock", "--data", "3 regressed"]
        {
            assert!(help.contains(word), "{word} is missing in:\n{help}");
        }
    }

    #[test]
    fn a_misspelt_command_gets_the_nearest_one() {
        let error =
            Cli::try_parse_from(["xtask", "compare-baselin", "main"]).expect_err("misspelt").to_string();
        assert!(error.contains("compare-baseline"), "{error}");
        let error =
            Cli::try_parse_from(["xtask", "runs", "list", "--dta", "x"]).expect_err("misspelt").to_string();
        assert!(error.contains("--data"), "{error}");
    }
}
