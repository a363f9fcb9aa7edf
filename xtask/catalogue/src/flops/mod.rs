//! `flops`: how many operations a model takes, component by component; what a device could do of them at
//! best; and which cells of a table cannot all be true.

mod check;
mod interval;
pub(crate) mod mixers;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weighbridge::data::{Exit, read_text};
use weighbridge_training::training::{NAMED_PEAKS, NamedPeak, named_peaks};
use weighbridge_training::workload::TrainingSpec;
use weighbridge_training::workload::model::{Dimensions, Flops};

use weighbridge_xtask::command_output::CommandOutput;
use weighbridge_xtask::stop;
use weighbridge_xtask::table::Table;

/// Arguments of `flops`.
#[derive(Debug, clap::Args)]
pub(crate) struct FlopsArgs {
    /// A model by name (vit5-tiny, vit5-small, vit5-base, resnet50), or a training's configuration: a file
    /// that ends in `.toml` [default: the three sizes of ViT-5].
    pub(crate) model: Vec<String>,
    /// The peak that the most samples in a second are of: `L4, fp8, dense`; or a device by the name that its
    /// driver tells, whose dense rate of bf16 it is.
    #[arg(long, value_name = "NAME", default_value = "H100 SXM, bf16, dense")]
    pub(crate) peak: String,
    /// Print every peak that is known, with the document that has it, instead.
    #[arg(long, conflicts_with_all = ["model", "check", "mixers"])]
    pub(crate) peaks: bool,
    /// Hold the tables of this file (CSV or Markdown) against their own equations instead.
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub(crate) check: Option<PathBuf>,
    /// Count what mixing tokens costs by their number instead: attention, Hyena and `CKConv`.
    #[arg(long, conflicts_with_all = ["model", "check"])]
    pub(crate) mixers: bool,
    /// Draw the mixers to this file (SVG).
    #[arg(long, value_name = "FILE", requires = "mixers")]
    pub(crate) chart: Option<PathBuf>,
}

/// Models that have a name.
const NAMED: [(&str, Dimensions); 4] = [
    ("vit5-tiny", Dimensions::VIT5_TINY),
    ("vit5-small", Dimensions::VIT5_SMALL),
    ("vit5-base", Dimensions::VIT5_BASE),
    ("resnet50", Dimensions::Resnet50 { image: 224, width: 64, classes: 1_000 }),
];

pub(crate) fn run(args: &FlopsArgs) -> Result<CommandOutput> {
    if let Some(file) = &args.check {
        let text = read_text(file).with_context(|| format!("failed to read `{}`", file.display()))?;
        return Ok(told(&check::check(&text)?));
    }
    if args.mixers {
        return mixers::run(args.chart.as_deref());
    }
    if args.peaks {
        return Ok(CommandOutput::fine(peaks()));
    }
    let (peak_name, peak) = peak(&args.peak)?;
    let models = if args.model.is_empty() {
        NAMED[..3].iter().map(|(name, _)| (*name).to_owned()).collect()
    } else {
        args.model.clone()
    };
    let pages: Result<Vec<String>> = models.iter().map(|name| page(name, &peak_name, peak)).collect();
    Ok(CommandOutput::fine(pages?.join("\n")))
}

/// The peak that a text names: itself, or the dense one of a device's bf16.
fn peak(text: &str) -> Result<(String, f64)> {
    let of_device = || NamedPeak::of_device(text).ok()?.dense("bf16");
    let known = named_peaks().find(|(name, _)| name.eq_ignore_ascii_case(text)).or_else(of_device);
    known.ok_or_else(|| {
        let names: Vec<String> = named_peaks().map(|(name, _)| name).collect();
        stop::unknown("peak", text, names.iter().map(String::as_str))
    })
}

/// Every peak, by its device.
fn peaks() -> String {
    let mut table = Table::new(["device", "numbers", "dense TFLOPS>", "sparse TFLOPS>", "source"]);
    for known in NAMED_PEAKS {
        for rate in known.rates {
            table.row([
                known.name.to_owned(),
                rate.precision.to_owned(),
                rate.dense.to_string(),
                rate.sparse.map_or_else(String::new, |sparse| sparse.to_string()),
                known.source.to_owned(),
            ]);
        }
    }
    table.text()
}

/// Returns an error of usage: what is wrong with a configuration is the user's.
fn usage(error: weighbridge::Error) -> anyhow::Error {
    stop::usage(error.to_string())
}

/// The dimensions that a name or a file stands for.
fn dimensions(name: &str) -> Result<Dimensions> {
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        let text = read_text(Path::new(name)).with_context(|| format!("failed to read `{name}`"))?;
        return Ok(TrainingSpec::read(&text).map_err(usage)?.model);
    }
    let known = NAMED.iter().find(|(known, _)| *known == name);
    let (_, dimensions) =
        known.ok_or_else(|| stop::unknown("model", name, NAMED.iter().map(|(name, _)| *name)))?;
    Ok(dimensions.clone())
}

fn page(name: &str, peak_name: &str, peak: f64) -> Result<String> {
    let model = dimensions(name)?.model().map_err(usage)?;
    let flops = Flops::of(&model).map_err(usage)?;
    let mut table = Table::new([
        "component",
        "forward GFLOPs>",
        "train GFLOPs>",
        "computed GFLOPs>",
        "pointwise GFLOPs>",
    ]);
    let giga = |operations: u64| format!("{:.6}", operations as f64 / 1e9);
    let rows = flops.components.iter().map(|(component, operations)| (component.name(), *operations));
    for (name, operations) in rows.chain([("all", flops.total())]) {
        let computed = operations.matrix + operations.gradients;
        table.row([
            name.to_owned(),
            giga(operations.matrix),
            giga(3 * operations.matrix),
            giga(computed),
            giga(operations.pointwise),
        ]);
    }
    Ok(format!(
        "{name}: {} parameters, {} in, {} out\n\n{}\nat most {:.0} samples/s on {peak_name} ({:.0} TFLOPS)\n",
        model.size().map_err(usage)?,
        model.input,
        model.output().map_err(usage)?,
        table.text(),
        flops.most_samples(peak),
        peak / 1e12
    ))
}

fn told(found: &check::CheckedModel) -> CommandOutput {
    let mut text = String::new();
    for wrong in &found.wrong {
        text += &format!("wrong  {wrong}\n");
    }
    text += &format!("{} equations hold, {} do not\n", found.held, found.wrong.len());
    let exit = if found.wrong.is_empty() { Exit::Fine } else { Exit::Failed };
    CommandOutput { exit, ..CommandOutput::fine(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_all_columns_from_one_model() {
        let said = page("vit5-small", "H100 SXM, bf16, dense", 989e12).unwrap();
        let all = said.lines().find(|line| line.starts_with("all")).unwrap();
        assert!(all.contains("9.396978"), "{said}");
        assert!(said.contains("at most 35082 samples/s on H100 SXM, bf16, dense (989 TFLOPS)"), "{said}");
    }

    #[test]
    fn hardware_and_models_that_are_not_known_are_refused() {
        let run = |model: &[&str], peak: &str| {
            let model = model.iter().map(|name| (*name).to_owned()).collect();
            run(&FlopsArgs {
                model,
                peak: peak.into(),
                peaks: false,
                check: None,
                mixers: false,
                chart: None,
            })
            .map(|said| said.text)
        };
        assert!(run(&[], "H100 NVL").unwrap_err().to_string().contains("there is no peak `H100 NVL`"));
        assert!(run(&["vit5-small"], "NVIDIA H200").unwrap().contains("on H200, bf16, dense"));
        let said = run(&["vit5-smal"], "H100 SXM, bf16, dense").unwrap_err().to_string();
        assert!(said.contains("did you mean `vit5-small`"), "{said}");
        assert_eq!(run(&[], "H100 SXM, bf16, dense").unwrap().matches("at most").count(), 3);
    }
}
