//! `report`: pages made from the records of a run, and from nothing else: the same records make the same
//! bytes.

pub(crate) mod charts;
pub(crate) mod comment;
pub(crate) mod html;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::baseline_path::LooksUp;
use crate::command_output::CommandOutput;
use crate::place::Place;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    #[command(subcommand)]
    pub(crate) what: ReportKind,
}

/// Kinds of reports.
#[derive(Debug, Subcommand)]
pub(crate) enum ReportKind {
    /// Write a run as one page that needs nothing else: tables, charts, the run beside earlier ones.
    Html(LooksUp<crate::report::html::ReportHtml>),
    /// Write the comment of a pull request: the verdict, what changed, the rest folded.
    Comment(LooksUp<crate::report::comment::ReportComment>),
    /// Draw a run: bars, radar, latencies, memory, curves, a heat map, as SVG and PNG.
    Charts(crate::report::charts::ReportCharts),
}

pub(crate) fn run(args: &Report, place: &Place) -> Result<CommandOutput> {
    match &args.what {
        ReportKind::Charts(args) => charts::run(args, place),
        ReportKind::Comment(args) => comment::run(&args.command, &args.at(place)?),
        ReportKind::Html(args) => html::run(&args.command, &args.at(place)?),
    }
}
