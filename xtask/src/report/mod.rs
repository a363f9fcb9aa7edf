//! `report`: pages made from the records of a run, and from nothing else: the same records make the same bytes.

mod advice;
pub(crate) mod charts;
pub(crate) mod comment;
mod comparison;
mod curves;
mod field;
pub(crate) mod html;
mod label;
mod ledger;
mod operators;
mod sections;
mod spent;
pub(crate) mod view;

#[cfg(test)]
mod golden;

use std::fs;

use anyhow::{Context, Result};

use crate::cli::{Report, ReportComparison, ReportKind};
use crate::place::Place;
use crate::said::Said;
use crate::{pick, stop};

pub(crate) fn run(args: &Report, place: &Place) -> Result<Said> {
    match &args.what {
        ReportKind::Comparison(args) => comparison(args, place),
        ReportKind::Charts(args) => charts::run(args, place),
        ReportKind::Comment(args) => comment::run(args, place),
        ReportKind::Html(args) => html::run(args, place),
    }
}

fn comparison(args: &ReportComparison, place: &Place) -> Result<Said> {
    let picked = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?;
    let mut said = Said { remarks: picked.remarks, ..Said::fine("") };
    let mut page = String::new();
    for manifest in &picked.runs {
        let run = place.runs().load(&manifest.id)?;
        // A suite without adapters has nobody to compare.
        if run.cases.iter().any(|case| case.id.adapter.is_some()) {
            let (text, remark) = comparison::page(&run, args.subject.as_deref(), &args.rival)?;
            page.push_str(&text);
            said.remarks.extend(remark);
        }
    }
    if page.is_empty() {
        return Err(stop::nothing(
            "there is no complete run of adapters to compare: make one with `cargo bench`",
        ));
    }
    match &args.out {
        None => said.text = page,
        Some(file) => {
            fs::write(file, page).with_context(|| format!("failed to write `{}`", file.display()))?;
            said.text = format!("{} is written\n", file.display());
        }
    }
    Ok(said)
}
