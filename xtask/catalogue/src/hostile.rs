//! What an author could write to break out of a format, fed through everything here that prints what runs
//! hold.

use clap::{CommandFactory, Parser};
use weighbridge::data::{CaseRecord, Unit};
use weighbridge_loaders::contract::Experiment;
use weighbridge_xtask::command_output::CommandOutput;

use crate::answer;
use crate::cli::Cli;
use crate::fixtures::hostile::{is_markdown, is_plain, stored};
use crate::fixtures::{Home, around, case, fed, metric};

/// Commands that show nothing of what a run holds; `device` is tried beside its code.
const OTHERS: [&str; 8] = ["coverage", "data", "device", "flops", "peers", "scenarios", "suite", "truth"];

/// A loader that experiments were made on, and one beside a training.
fn more(rate: f64) -> Vec<CaseRecord> {
    let mut tried = case("CV-1", "tried", &around(rate));
    tried.metrics.push(metric(&Experiment::AsItIs.metric(), Unit::SECONDS, 1.0 / rate));
    vec![tried, fed("first", &[("variant", "tiny"), ("workers", "0")], [rate, rate * 1.1, rate * 4.0])]
}

fn said(home: &Home, line: &[&str]) -> CommandOutput {
    let cli =
        Cli::try_parse_from([&["cargo-catalogue"], line].concat()).unwrap_or_else(|error| panic!("{error}"));
    answer(&cli.command, &home.place).unwrap_or_else(|error| panic!("{line:?}: {error:#}"))
}

#[test]
fn every_command_is_tried_or_shows_nothing_of_a_run() {
    let tried = ["bottleneck", "report"];
    for command in Cli::command().get_subcommands() {
        let name = command.get_name();
        assert!(tried.contains(&name) != OTHERS.contains(&name), "{name}: is what it prints tried here?");
    }
}

#[test]
fn what_is_printed_stays_in_its_line() {
    let (home, _) = stored(more);
    let said = said(&home, &["bottleneck"]);
    assert!(!said.text.is_empty(), "{:?}", said.remarks);
    is_plain(&said.text, "bottleneck");
    is_plain(&said.printed_remarks(), "bottleneck");
}

#[test]
fn what_is_markdown_is_text_in_its_cells() {
    let (home, _) = stored(more);
    for line in [["report", "comparison"], ["report", "training"]] {
        let said = said(&home, &line);
        assert!(!said.text.is_empty(), "{line:?}: {:?}", said.remarks);
        is_markdown(&said.text, line[1]);
    }
}
