//! `report html`: a run as one self-contained page. It asks nothing of anybody, reads as tables without
//! JavaScript, and holds what its charts need as data.
//!
//! One file for each page of it; what they show is a [`View`], and they compute nothing.

mod case;
mod cells;
mod comparison;
mod coverage;
mod data;
mod history;
mod machine;
mod mark;
mod overview;
mod page;
mod scenarios;
mod share;
mod shell;
mod trade_off;
mod warnings;

#[cfg(test)]
mod browser;
#[cfg(test)]
mod looks;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use weighbridge::data::{is_unseen, visible_in_line};

use crate::command_output::CommandOutput;
use crate::pick::{self, ShownRun};
use crate::place::Place;
use crate::stop;
use crate::view::{self, View};
use page::Page;

/// Arguments of `report html`.
#[derive(Debug, Args)]
pub(crate) struct ReportHtml {
    /// The run: an id, its start, or `latest` [default: the latest of every suite]. A second one of the same
    /// suite is compared with the first.
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// This suite alone: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// Write it to this file [default: `report.html` in the data directory].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Leave out whose it is: the host, its user, the repository's address and all paths. Names of scenarios
    /// stay.
    #[arg(long)]
    pub(crate) share: bool,
}

pub(crate) fn run(args: &ReportHtml, place: &Place) -> Result<CommandOutput> {
    let (picked, remarks) = pick::shown(place, &args.runs, args.suite.as_deref())?;
    if picked.is_empty() {
        return Err(stop::nothing("there is no run to report on: make one with `cargo bench`"));
    }
    let out = args.out.clone().unwrap_or_else(|| place.layout.data().join("report.html"));
    let mut said = CommandOutput { remarks, ..CommandOutput::fine("") };
    for (at, shown) in picked.iter().enumerate() {
        let (text, remarks) = page(place, shown, args.share)?;
        said.remarks.extend(remarks);
        let file = match picked.len() {
            1 => out.clone(),
            _ => numbered(&out, at, &shown.run.suite),
        };
        fs::write(&file, text).with_context(|| format!("failed to write `{}`", file.display()))?;
        said.text.push_str(&format!("{} is written\n", file.display()));
    }
    Ok(said)
}

/// One page of one run: runs of several suites have a file each, `report.html` and `report-<suite>.html`.
fn numbered(out: &std::path::Path, at: usize, suite: &str) -> PathBuf {
    let safe: String =
        suite.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    match (at, out.file_stem()) {
        (0, _) | (_, None) => out.to_owned(),
        (_, Some(stem)) => out.with_file_name(format!("{}-{safe}.html", stem.to_string_lossy())),
    }
}

/// The page of a run, and what there is to say of reading it.
fn page(place: &Place, shown: &ShownRun, share: bool) -> Result<(String, Vec<String>)> {
    let mut material = view::load(place, &shown.run, shown.against.as_ref(), true)?;
    if share {
        share::without_own_names(&mut material)?;
    }
    let remarks = std::mem::take(&mut material.remarks);
    Ok((of(&View::of(&material)), remarks))
}

/// The page of a view. The same view makes the same bytes.
pub(super) fn of(view: &View<'_>) -> String {
    let pages = [
        Page { key: "overview", title: "Overview", body: overview::page(view) },
        Page { key: "cases", title: "Cases", body: case::page(view) },
        Page { key: "scenarios", title: "Scenarios", body: scenarios::page(view) },
        Page { key: "comparison", title: "Comparison", body: comparison::page(view) },
        Page { key: "history", title: "History", body: history::page(view) },
        Page { key: "coverage", title: "Coverage", body: coverage::page(view) },
        Page { key: "warnings", title: "Warnings", body: warnings::page(view) },
        Page { key: "machine", title: "Machine", body: machine::page(view) },
    ];
    let pages: Vec<Page> = pages.into_iter().filter(|page| !page.body.0.is_empty()).collect();
    let mut page = shell::page(view, &pages, &data::islands(view));
    // Tags are escaped where they stand. What no one sees, and what turns the direction of writing, is
    // written out.
    if page.contains(is_foreign) {
        let each = |letter: char| {
            if is_foreign(letter) { visible_in_line(&letter.to_string()) } else { letter.into() }
        };
        page = page.chars().map(each).collect();
    }
    page
}

/// Tells whether a letter is none that the page has of itself.
fn is_foreign(letter: char) -> bool {
    is_unseen(letter) && !matches!(letter, '\n' | '\t')
}
