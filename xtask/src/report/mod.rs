//! `report`: pages made from the records of a run, and from nothing else: the same records make the same bytes.

mod advice;
pub(crate) mod charts;
pub(crate) mod comment;
mod comparison;
mod configuration;
mod curves;
mod environments;
pub(crate) mod feeding;
mod field;
pub(crate) mod html;
mod label;
pub(crate) mod learning_curve;
mod ledger;
mod operators;
pub(crate) mod scaling;
mod sections;
mod spent;
mod target;
mod training;
pub(crate) mod view;

#[cfg(test)]
mod golden;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cli::{Report, ReportComparison, ReportKind, ReportTraining};
use crate::place::Place;
use crate::said::Said;
use crate::{inert, pick, stop};

pub(crate) fn run(args: &Report, place: &Place) -> Result<Said> {
    match &args.what {
        ReportKind::Comparison(args) => comparison(args, place),
        ReportKind::Charts(args) => charts::run(args, place),
        ReportKind::Comment(args) => comment::run(&args.command, &args.at(place)?),
        ReportKind::Training(args) => training(args, place),
        ReportKind::Html(args) => html::run(&args.command, &args.at(place)?),
    }
}

fn comparison(args: &ReportComparison, place: &Place) -> Result<Said> {
    let picked = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?;
    let mut said = Said { remarks: picked.remarks, ..Said::fine("") };
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

fn training(args: &ReportTraining, place: &Place) -> Result<Said> {
    let picked = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?;
    let said = Said { remarks: picked.remarks, ..Said::fine("") };
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
fn written(mut said: Said, page: String, out: Option<&Path>) -> Result<Said> {
    match out {
        None => said.text = page,
        Some(file) => {
            fs::write(file, page).with_context(|| format!("failed to write `{}`", file.display()))?;
            said.text = format!("{} is written\n", file.display());
        }
    }
    Ok(said)
}
