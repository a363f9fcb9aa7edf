//! `report charts`: a run as static pictures, SVG and PNG. One file for each kind; what they show is a
//! [`View`].

mod bars;
mod cdf;
mod chart;
mod curves;
mod heatmap;
mod loss;
mod palette;
mod png;
mod radar;
mod tradeoff;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use weighbridge::data::RunManifest;

use crate::command_output::CommandOutput;
use crate::pick::{self, ShownRun};
use crate::place::Place;
use crate::stop;
use crate::view::{self, View};
use chart::{Chart, source, stem};
use palette::Palette;
use png::Fonts;

/// Arguments of `report charts`.
#[derive(Debug, Args)]
pub(crate) struct ReportCharts {
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    #[arg(value_name = "RUN")]
    pub(crate) runs: Vec<String>,
    /// This suite alone: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// The folder that they are written to; of several suites each has a folder in it.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// SVG, PNG or both; PNG where the command was built with the feature `png`.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ChartPicture,
}

/// The formats of pictures that are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChartPicture {
    /// SVG alone.
    #[default]
    Svg,
    /// PNG alone.
    Png,
    /// Both.
    Both,
}

/// A kind of chart: its name, and the charts of it that a run has something for.
type ChartKind = (&'static str, fn(&View<'_>, &Palette<'_>) -> Vec<Chart>);

/// Every kind, in the order in which they are written.
const KINDS: [ChartKind; 9] = [
    ("throughput bars", bars::throughput),
    ("throughput radar", radar::charts),
    ("latency CDF", cdf::charts),
    ("memory", bars::memory),
    ("scaling curves", curves::scaling),
    ("chain depth", curves::depth),
    ("feature heat map", heatmap::charts),
    ("latency against throughput", tradeoff::charts),
    ("loss curves", loss::charts),
];

pub(crate) fn run(args: &ReportCharts, place: &Place) -> Result<CommandOutput> {
    let (picked, remarks) = pick::shown(place, &args.runs, args.suite.as_deref())?;
    if picked.is_empty() {
        return Err(stop::nothing("there is no run to draw: make one with `cargo bench`"));
    }
    let mut said = CommandOutput { remarks, ..CommandOutput::fine("") };
    let fonts = if args.format == ChartPicture::Svg { None } else { Some(Fonts::find()?) };
    if fonts.as_ref().is_some_and(Fonts::is_empty) {
        said.remarks.push(
            "warning: this machine has no fonts: the PNG files have no text, the SVG files do".to_owned(),
        );
    }
    for ShownRun { run: manifest, .. } in &picked {
        let folder = match picked.len() {
            1 => args.out.clone(),
            _ => args.out.join(manifest.suite.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")),
        };
        fs::create_dir_all(&folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
        let mut material = view::load(place, manifest, None, true)?;
        said.remarks.append(&mut material.remarks);
        for (kind, charts) in drawn(&View::of(&material)) {
            if charts.is_empty() {
                said.remarks.push(format!("note: run {} has nothing to draw for: {kind}", manifest.id));
            }
            for chart in charts {
                let file = folder.join(format!("{}.svg", chart.stem));
                let write = |file: &PathBuf, bytes: &[u8]| {
                    fs::write(file, bytes).with_context(|| format!("failed to write `{}`", file.display()))
                };
                if args.format != ChartPicture::Png {
                    write(&file, chart.svg.as_bytes())?;
                }
                if let Some(fonts) = &fonts {
                    write(&file.with_extension("png"), &fonts.render(&chart.svg)?)?;
                }
                said.text.push_str(&format!("{}\n", folder.join(&chart.stem).display()));
            }
        }
    }
    if said.text.is_empty() {
        return Err(stop::nothing("no run has anything to draw: a chart needs a case that was verified"));
    }
    Ok(said)
}

/// Every kind, with the charts of it that the run has something for.
fn drawn(view: &View<'_>) -> Vec<(&'static str, Vec<Chart>)> {
    let palette = Palette::of(view);
    KINDS.iter().map(|(kind, charts)| (*kind, charts(view, &palette))).collect()
}

/// All charts of a run as PNG, each with the stem of its file. On a machine without fonts they have no text;
/// a build without the feature `png` has none.
///
/// # Errors
/// When the run's records cannot be read.
pub(crate) fn pictures(place: &Place, manifest: &RunManifest) -> Result<Vec<(String, Vec<u8>)>> {
    let Ok(fonts) = Fonts::find() else { return Ok(Vec::new()) };
    let material = view::load(place, manifest, None, true)?;
    let charts = drawn(&View::of(&material)).into_iter().flat_map(|(_, charts)| charts);
    charts.map(|chart| Ok((chart.stem, fonts.render(&chart.svg)?))).collect()
}
