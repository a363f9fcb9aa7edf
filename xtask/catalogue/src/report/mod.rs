//! `report`: pages made from the records of a run, and from nothing else: the same records make the same
//! bytes.

mod advice;
mod batch_spending;
mod comparison;
mod configuration;
mod curves;
mod environments;
pub(crate) mod feeding;
mod field;
mod label;
mod ledger;
mod operators;
mod optimisation;
pub(crate) mod scaling;
mod sections;
mod target;
mod training;

#[cfg(test)]
mod golden;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::place::Place;
use weighbridge_xtask::{inert, pick, stop};

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct CatalogueReport {
    #[command(subcommand)]
    what: CatalogueReportKind,
}

/// The reports.
#[derive(Debug, Subcommand)]
enum CatalogueReportKind {
    /// Compare a framework with all others: strengths, parity, gaps, and what to do about them. Markdown.
    Comparison(ReportComparison),
    /// Write the training steps of a run: throughput mode by mode, where a step goes, operations and peaks.
    /// Markdown.
    Training(ReportTraining),
}

/// Arguments of `report comparison`.
#[derive(Debug, Args)]
pub(crate) struct ReportComparison {
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    pub(crate) run: Option<String>,
    /// This suite alone: `<package>/<bench target>`.
    #[arg(long)]
    pub(crate) suite: Option<String>,
    /// The adapter whose strengths and gaps these are [default: `Datarax`, or the reference where that was
    /// not measured].
    #[arg(long, value_name = "NAME")]
    pub(crate) subject: Option<String>,
    /// Compare it with these alone (repeat for more) [default: for a framework all other frameworks].
    #[arg(long, value_name = "NAME")]
    pub(crate) rival: Vec<String>,
    /// Write it to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// Arguments of `report training`.
#[derive(Debug, Args)]
pub(crate) struct ReportTraining {
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    pub(crate) run: Option<String>,
    /// This suite alone: `<package>/<bench target>`.
    #[arg(long)]
    pub(crate) suite: Option<String>,
    /// Write it to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

pub(crate) fn run(args: &CatalogueReport, place: &Place) -> Result<CommandOutput> {
    match &args.what {
        CatalogueReportKind::Comparison(args) => comparison(args, place),
        CatalogueReportKind::Training(args) => training(args, place),
    }
}

fn comparison(args: &ReportComparison, place: &Place) -> Result<CommandOutput> {
    let picked = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?;
    let mut said = CommandOutput { remarks: picked.remarks, ..CommandOutput::fine("") };
    let mut page = String::new();
    let subject = args.subject.as_deref().map(inert::markdown);
    let rivals: Vec<String> = args.rival.iter().map(|rival| inert::markdown(rival)).collect();
    for manifest in &picked.runs {
        let run = inert::run(&place.runs().load(&manifest.id)?)?;
        // A suite without adapters has nobody to compare.
        if run.cases.iter().any(|case| case.id.adapter.is_some()) {
            let (text, remark) = comparison::page(&run, subject.as_deref(), &rivals)?;
            page.push_str(&text);
            said.remarks.extend(remark);
        }
    }
    if page.is_empty() {
        return Err(stop::nothing(
            "there is no complete run of adapters to compare: make one with `cargo bench`",
        ));
    }
    written(said, page, args.out.as_deref())
}

fn training(args: &ReportTraining, place: &Place) -> Result<CommandOutput> {
    let picked = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?;
    let said = CommandOutput { remarks: picked.remarks, ..CommandOutput::fine("") };
    let mut page = String::new();
    for manifest in &picked.runs {
        page.push_str(&training::page(&inert::run(&place.runs().load(&manifest.id)?)?)?);
    }
    if page.is_empty() {
        return Err(stop::nothing(
            "there is no complete run with training in it: make one with `cargo bench -- --set training`",
        ));
    }
    written(said, page, args.out.as_deref())
}

/// The page as the answer, or in a file.
fn written(mut said: CommandOutput, page: String, out: Option<&Path>) -> Result<CommandOutput> {
    match out {
        None => said.text = page,
        Some(file) => {
            fs::write(file, page).with_context(|| format!("failed to write `{}`", file.display()))?;
            said.text = format!("{} is written\n", file.display());
        }
    }
    Ok(said)
}
