//! `report training`: steps of training of a run, mode by mode and phase by phase, with the operations that
//! follow from the model.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::Result;
use weighbridge::data::names;
use weighbridge::data::{CaseRecord, CaseStatus, MetricRecord, Reading, RunRecord, Unit, machine, quantity};
use weighbridge_training::training::{
    DEVICE_MEMORY, FORWARD_MEMORY, MEASURED_PEAK, NAMED_PEAKS, NamedPeak, OPERATOR, PEAK, PHASE, PROFILED,
    Preset, TRAINING_MEMORY, WHOLE_STEP,
};
use weighbridge_training::workload::TrainingSpec;
use weighbridge_training::workload::model::Dimensions;

use super::configuration::{STATE, axis, row_name, state_name, value, ways};
use super::field::name;
use super::{environments, feeding, optimisation, scaling, target};
use weighbridge_xtask::show::trouble;
use weighbridge_xtask::table::Table;

const FITS: &str = "a String takes all that is written";

/// The scenario whose cases these are.
pub(super) const SCENARIO: &str = "TRAIN-1";

/// Modes as they are told, in the order of the page: what is written before, what it brings to compile it
/// after.
const MODES: [&str; 4] = ["eager", "compiled", "autotuned", "xla"];

/// The page of a run; nothing where it has no training.
///
/// # Errors
/// None of its own: the models of the page fit together.
pub(super) fn page(run: &RunRecord) -> Result<String> {
    // The reference has one way to compute, whatever mode others are held against it in.
    let again = |case: &&CaseRecord| {
        let other = |name, first| axis(case, name).is_some_and(|value| value != first);
        case.tier == Some(0)
            && (other("mode", MODES[0]) || other(STATE, "original") || !ways(case).is_empty())
    };
    let of_scenario = |scenario: &str| -> Vec<&CaseRecord> {
        run.cases.iter().filter(|case| case.id.scenario == scenario && !again(case)).collect()
    };
    let (cases, targets) = (of_scenario(SCENARIO), of_scenario(target::SCENARIO));
    let (fed, scaled) = (feeding::section(run), scaling::section(run));
    if cases.is_empty() && targets.is_empty() && fed.is_empty() && scaled.is_empty() {
        return Ok(String::new());
    }
    let mut page = format!(
        "# Training steps\n\nMade by `cargo catalogue report training` from run {} of {} and nothing \
         else.\n\n- {}\n- Profile `{}`, platform {}; {} repeats of each case\n",
        run.manifest.id,
        run.manifest.suite,
        machine(&run.manifest.environment),
        run.manifest.profile,
        run.manifest.active_backend,
        run.manifest.planned.repeats,
    );
    for (variant, of) in by_variant(&cases) {
        page.push_str(&throughput(variant, &of, &MfuPeak::of(run, variant, &of)));
        page.push_str(&optimisation::section(variant, &of));
        page.push_str(&memory(variant, &of));
        page.push_str(&phases(variant, &of));
        page.push_str(&operators(variant, &of));
        page.push_str(&crashes(&of));
    }
    page.push_str(&precisions(&cases));
    for (variant, of) in by_variant(&targets) {
        page.push_str(&target::section(variant, &of));
        page.push_str(&crashes(&of));
    }
    page.push_str(&scaled);
    page.push_str(&fed);
    page.push_str(&versions(run));
    page.push_str(&environments::section(run.cases.iter().filter(|case| is_training(case))));
    let trained: BTreeSet<&str> =
        cases.iter().chain(&targets).filter_map(|case| axis(case, "variant")).collect();
    page.push_str(&operations(&trained, measured_peak(&cases))?);
    page.push_str(&not_measured(&cases, scaled.is_empty()));
    Ok(page)
}

fn by_variant<'a>(cases: &[&'a CaseRecord]) -> BTreeMap<&'a str, Vec<&'a CaseRecord>> {
    let mut of: BTreeMap<&str, Vec<&CaseRecord>> = BTreeMap::new();
    for case in cases {
        of.entry(axis(case, "variant").unwrap_or_default()).or_default().push(case);
    }
    of
}

fn shown(value: Option<f64>, unit: &Unit) -> String {
    value.map_or_else(String::new, |value| quantity::show(value, unit))
}

/// The peak that the steps of a run are a share of.
enum MfuPeak {
    /// The product that the host measured beside each case.
    Measured,
    /// A device's, as its vendor prints it, and the operations of a sample by the convention of papers.
    Named { name: String, peak: f64, spec: Box<TrainingSpec> },
    /// There is none, and why.
    Unknown(String),
}

impl MfuPeak {
    fn of(run: &RunRecord, variant: &str, cases: &[&CaseRecord]) -> Self {
        let is_host = run.manifest.active_backend == "cpu" || cases.is_empty();
        let Some(device) = run.manifest.environment.machine.get("gpu").filter(|_| !is_host) else {
            return Self::Measured;
        };
        let Some(preset) = Preset::of_variant(variant) else {
            return Self::Unknown(format!("the model of `{variant}` is not known here"));
        };
        let spec = Box::new(preset.spec());
        let precision = spec.precision.to_string();
        match NamedPeak::of_device(device) {
            Ok(known) => match known.dense(&precision) {
                Some((name, peak)) => Self::Named { name, peak, spec },
                None => Self::Unknown(format!("{} prints no rate of {precision}", known.source)),
            },
            Err(why) => Self::Unknown(why),
        }
    }

    /// The share of it that the steps of the stream are.
    fn share(&self, case: &CaseRecord) -> Option<f64> {
        match self {
            Self::Measured => Some(value(case, names::THROUGHPUT_FLOPS)? / value(case, PEAK)?),
            Self::Named { peak, spec, .. } => {
                Some(spec.flops().ok()?.utilisation(value(case, names::THROUGHPUT)?, *peak))
            }
            Self::Unknown(_) => None,
        }
    }

    fn text(&self, cases: &[&CaseRecord]) -> String {
        match self {
            Self::Measured => measured_peak(cases).map_or_else(String::new, |peak| {
                format!(" MFU is of {}: {}.", MEASURED_PEAK, quantity::show(peak, &Unit::FLOPS))
            }),
            Self::Named { name, peak, .. } => format!(
                " MFU is of {name}: {}, and of three times the operations forward.",
                quantity::show(*peak, &Unit::FLOPS)
            ),
            Self::Unknown(why) => format!(" There is no MFU: {why}."),
        }
    }
}

/// The repeat whose steps, done phase by phase, took the median: its mean step, and its phases. Phases of
/// several repeats do not add up to a step of any.
fn phased(case: &CaseRecord) -> Option<(f64, Vec<(&str, f64)>)> {
    let whole = case.metric(&format!("{PHASE}{WHOLE_STEP}"))?;
    let mut steps: Vec<(usize, f64)> = whole
        .values
        .iter()
        .map(Reading::value)
        .enumerate()
        .filter_map(|(at, step)| Some((at, step?)))
        .collect();
    steps.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let (repeat, step) = *steps.get(steps.len().saturating_sub(1) / 2)?;
    let phase = |metric: &'_ MetricRecord| metric.values.get(repeat).and_then(Reading::value);
    let named =
        case.metrics.iter().filter_map(|metric| Some((metric.name.strip_prefix(PHASE)?, phase(metric)?)));
    Some((step, named.filter(|(name, _)| *name != WHOLE_STEP).collect()))
}

fn throughput(variant: &str, cases: &[&CaseRecord], peak: &MfuPeak) -> String {
    let mut table = Table::new([
        "configuration",
        "samples/s>",
        "interval",
        "mean step>",
        "median step>",
        "MFU>",
        "beside eager>",
        "peak memory>",
        "first step>",
    ]);
    let eager: BTreeMap<(&str, String), f64> = cases
        .iter()
        .filter(|case| axis(case, "mode") == Some(MODES[0]) && case.ranked())
        .filter_map(|case| Some((system(case)?, value(case, names::THROUGHPUT)?)))
        .collect();
    for mode in MODES {
        for case in cases.iter().filter(|case| axis(case, "mode") == Some(mode)) {
            let trained = value(case, names::THROUGHPUT);
            match &case.status {
                CaseStatus::Measured if case.ranked() => {
                    let interval = case.metric(names::THROUGHPUT).and_then(|metric| {
                        let (low, high) = metric.estimate.as_ref()?.interval?;
                        Some(quantity::range(low, high, &metric.unit))
                    });
                    let beside = system(case).and_then(|system| Some(trained? / eager.get(&system)?));
                    table.row([
                        row_name(case),
                        shown(trained, &Unit::other("samples/s")),
                        interval.unwrap_or_default(),
                        shown(value(case, names::WALL_TIME), &Unit::SECONDS),
                        shown(value(case, names::LATENCY_P50), &Unit::SECONDS),
                        peak.share(case).map_or_else(String::new, |share| format!("{:.1} %", 100.0 * share)),
                        shown(beside, &Unit::RATIO),
                        shown(value(case, names::PEAK_MEMORY), &Unit::BYTES),
                        shown(value(case, names::FIRST_ITEM), &Unit::SECONDS),
                    ]);
                }
                CaseStatus::Measured => table.row(unranked(case, "not verified")),
                CaseStatus::Failed(_) => table.row(unranked(case, "CRASH")),
                CaseStatus::Skipped(_) | CaseStatus::Incomplete => {}
            }
        }
    }
    let peak = peak.text(cases);
    format!(
        "\n## Throughput: {variant}\n\nSamples in memory, one device. Samples a second are of the mean step \
         of the stream; a median step stands beside it. `beside eager` is what a mode brings over the same \
         system operation by operation.{peak}\n\n{}",
        table.markdown()
    )
}

/// A system with its components as they are.
fn system(case: &CaseRecord) -> Option<(&str, String)> {
    Some((case.id.adapter.as_deref()?, state_name(case)))
}

fn unranked(case: &CaseRecord, what: &str) -> [String; 9] {
    let mut cells: [String; 9] = std::array::from_fn(|_| String::new());
    (cells[0], cells[1]) = (row_name(case), what.to_owned());
    cells
}

/// Returns the section of the memory that it takes to go forward alone, and to train.
fn memory(variant: &str, cases: &[&CaseRecord]) -> String {
    let [forward, training] = [FORWARD_MEMORY, TRAINING_MEMORY].map(|name| format!("{name}>"));
    let mut table =
        Table::new(["configuration", &*forward, &*training, "beside forward>", "device, training>"]);
    for case in cases.iter().filter(|case| case.ranked()) {
        let [forward, training] = [FORWARD_MEMORY, TRAINING_MEMORY].map(|metric| value(case, metric));
        let not_told =
            |told: Option<f64>| told.map_or_else(|| "not told".into(), |it| quantity::show(it, &Unit::BYTES));
        table.row([
            row_name(case),
            not_told(forward),
            not_told(training),
            shown(training.zip(forward).map(|(training, forward)| training / forward), &Unit::RATIO),
            value(case, names::DEVICE_PEAK_MEMORY)
                .or_else(|| value(case, &format!("{DEVICE_MEMORY}framework")))
                .map_or_else(|| "no device".into(), |it| quantity::show(it, &Unit::BYTES)),
        ]);
    }
    format!(
        "\n## Memory: {variant}\n\nThe most memory that the process which trains has resident on the host: \
         with its interpreter, libraries and compiled code, all samples and the weights. \
         `{FORWARD_MEMORY}` is while three batches go through the model before anything is trained, with \
         nothing kept for a way back; what an optimiser keeps from the beginning is in it. \
         `{TRAINING_MEMORY}` is in three steps, with gradients, what the way back needs and what \
         the optimiser keeps. Neither has what compiling takes \
         for a moment. A trainer of Rust shares its process with the harness, \
         and its mark is since that began.\n\n{}",
        table.markdown()
    )
}

fn phases(variant: &str, cases: &[&CaseRecord]) -> String {
    let mut table = Table::new(["configuration", "phase", "time>", "of the step>"]);
    for case in cases.iter().filter(|case| case.ranked()) {
        let Some((step, parts)) = phased(case) else { continue };
        let mut sum = 0.0;
        for (phase, time) in parts {
            sum += time;
            table.row([
                row_name(case),
                phase.to_owned(),
                quantity::show(time, &Unit::SECONDS),
                format!("{:.1} %", 100.0 * time / step),
            ]);
        }
        table.row([
            row_name(case),
            "sum, of the step that they are phases of".to_owned(),
            quantity::show(sum, &Unit::SECONDS),
            format!("{:.1} %", 100.0 * sum / step),
        ]);
    }
    format!(
        "\n## Where a step goes: {variant}\n\n\
         Mean times of steps that were done phase by phase, each phase complete before the next one began, \
         in the repeat of the median step. Phases that a mode cannot separate are one row; \
         none was estimated.\n\n{}",
        table.markdown()
    )
}

/// Returns the section of the operators that the steps of each system are made of; nothing where no profiler
/// told.
fn operators(variant: &str, cases: &[&CaseRecord]) -> String {
    let mut table = Table::new(["configuration", "operator", "own time in a step>", "of all operators>"]);
    for case in cases.iter().filter(|case| case.ranked()) {
        let told = case.metrics.iter().filter_map(|metric| {
            Some((metric.name.strip_prefix(OPERATOR)?, metric.estimate.as_ref()?.median))
        });
        let mut told: Vec<(&str, f64)> = told.collect();
        told.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let all: f64 = told.iter().map(|(_, time)| time).sum();
        for (operator, time) in told.into_iter().take(30) {
            let share = format!("{:.1} %", 100.0 * time / all);
            table.row([row_name(case), operator.to_owned(), quantity::show(time, &Unit::SECONDS), share]);
        }
        if let Some(step) = value(case, PROFILED).filter(|_| all > 0.0) {
            let step = quantity::show(step, &Unit::SECONDS);
            table.row([row_name(case), "the step that they are of".to_owned(), step, String::new()]);
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "\n## Operators: {variant}\n\nThe 30 that take the most time of a step, as the system's own profiler \
         sees them, on all of its threads. What runs while the profiler looks on is slower than what is \
         timed: read the shares. Where operators are far from the step that they are of, the rest is the \
         interpreter's and the framework's own.\n\n{}",
        table.markdown()
    )
}

fn crashes(cases: &[&CaseRecord]) -> String {
    let mut text = String::new();
    let mut said = BTreeSet::new(); // of several seeds the same once
    for case in cases {
        let Some(what) = trouble(case).filter(|what| said.insert((row_name(case), what.clone()))) else {
            continue;
        };
        // Of a traceback the last line is the cause.
        let what = match what.lines().collect::<Vec<_>>()[..] {
            [first, .., last] => format!("{first} ... {last}"),
            _ => what,
        };
        writeln!(text, "- {}: {what}", row_name(case)).expect(FITS);
    }
    if text.is_empty() { text } else { format!("\n### Not in the ranks\n\n{text}") }
}

fn measured_peak(cases: &[&CaseRecord]) -> Option<f64> {
    // Of the same machine: the best that any case has seen of it.
    cases.iter().filter_map(|case| value(case, PEAK)).max_by(f64::total_cmp)
}

/// The same training with products in `bf16`, beside the one in `f32`; nothing where a run has not both.
fn precisions(cases: &[&CaseRecord]) -> String {
    let mut table = Table::new(["configuration", "training", "f32>", "bf16>", "speed>", "peak memory>"]);
    for half in cases.iter().filter(|case| case.ranked() && case.tier != Some(0)) {
        let Some(variant) = axis(half, "variant").and_then(|variant| variant.strip_suffix("_bf16")) else {
            continue;
        };
        let whole = cases.iter().find(|case| {
            case.ranked()
                && case.id.adapter == half.id.adapter
                && axis(case, "mode") == axis(half, "mode")
                && state_name(case) == state_name(half)
                && axis(case, "variant") == Some(variant)
        });
        let Some(whole) = whole else { continue };
        let ratio = |metric: &str| Some(value(half, metric)? / value(whole, metric)?);
        let rate = Unit::other("samples/s");
        table.row([
            row_name(half),
            variant.to_owned(),
            shown(value(whole, names::THROUGHPUT), &rate),
            shown(value(half, names::THROUGHPUT), &rate),
            shown(ratio(names::THROUGHPUT), &Unit::RATIO),
            shown(ratio(names::PEAK_MEMORY), &Unit::RATIO),
        ]);
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "\n## Precisions\n\nThe same training with products in `bf16`, weights and their changes in `f32`, \
         beside `f32` all along: above 1x is faster, and more memory.\n\n{}",
        table.markdown()
    )
}

/// Returns whether a case is of a training without a loader, so that its adapter is the system that trains.
fn is_training(case: &CaseRecord) -> bool {
    [SCENARIO, target::SCENARIO, scaling::SCENARIO].contains(&case.id.scenario.as_str())
}

/// Returns the section of what else decides such figures: the versions of what computes, and of what it runs
/// on.
fn versions(run: &RunRecord) -> String {
    let mut systems: BTreeSet<String> = BTreeSet::new();
    for case in run.cases.iter().filter(|case| is_training(case)) {
        let (Some(version), Some(work)) = (case.version.as_deref(), &case.work) else { continue };
        let below =
            work.report.library.as_deref().map_or_else(String::new, |library| format!(" on {library}"));
        systems.insert(format!("- {} {version}{below}\n", name(case)));
    }
    let environment = &run.manifest.environment;
    let about = ["gpu driver", "os", "kernel", "libc", "rustc"].iter().filter_map(|key| {
        let said =
            [&environment.software, &environment.machine].into_iter().find_map(|facts| facts.get(*key))?;
        Some(format!("- {key}: {said}\n"))
    });
    format!("\n## Versions\n\n{}{}", systems.into_iter().collect::<String>(), about.collect::<String>())
}

/// Operations of what was trained, and what they allow at best.
fn operations(variants: &BTreeSet<&str>, measured: Option<f64>) -> Result<String> {
    let mut parts = Table::new([
        "training",
        "component",
        "forward GFLOPs>",
        "train GFLOPs>",
        "gradients computed>",
        "pointwise GFLOPs>",
    ]);
    let mut trained = Vec::new();
    for variant in variants {
        let Some(preset) = Preset::of_variant(variant) else { continue };
        let flops = preset.spec().flops().map_err(|error| anyhow::anyhow!("{error}"))?;
        let giga = |operations: u64| format!("{:.6}", operations as f64 / 1e9);
        let of_all = [("all", flops.total())];
        for (component, of) in
            flops.components.iter().map(|(component, of)| (component.name(), *of)).chain(of_all)
        {
            parts.row([
                (*variant).to_owned(),
                component.to_owned(),
                giga(of.matrix),
                giga(3 * of.matrix),
                giga(of.gradients),
                giga(of.pointwise),
            ]);
        }
        trained.push((*variant, flops));
    }
    if trained.is_empty() {
        return Ok(String::new());
    }
    let mut most = Table::new(["training", "peak", "TFLOPS>", "most samples/s>", "source"]);
    for (variant, flops) in &trained {
        let measured = measured.map(|peak| (MEASURED_PEAK.to_owned(), peak, "measured in this run"));
        let named = NAMED_PEAKS.iter().filter_map(|known| {
            let (name, peak) = known.dense("bf16")?;
            Some((name, peak, known.source))
        });
        for (name, peak, source) in measured.into_iter().chain(named) {
            most.row([
                (*variant).to_owned(),
                name,
                format!("{:.3}", peak / 1e12),
                format!("{:.1}", flops.most_samples(peak)),
                source.to_owned(),
            ]);
        }
    }
    Ok(format!(
        "\n## Operations\n\nOf one sample of what was trained here, from its dimensions. A multiplication \
         and an addition are two operations. `train` is three times forward; \
         `gradients computed` leaves out the \
         gradient of the model's input, which nobody computes. Tests hold these counts against those of \
         PyTorch and of XLA.{}\n\n{}\n\
         What a device could train at best, if every operation ran at its peak. A vendor's peak is of \
         products without zeros that are skipped:\n\n{}",
        assumptions(variants),
        parts.markdown(),
        most.markdown()
    ))
}

/// Returns what is taken for ViT-5 where no source says it, if that was trained.
fn assumptions(variants: &BTreeSet<&str>) -> String {
    let is_there = variants.iter().any(|variant| variant.starts_with("vit5_"));
    if is_there { format!(" {}", Dimensions::VIT5_ASSUMPTIONS) } else { String::new() }
}

/// Returns the section of what a reader may miss.
fn not_measured(cases: &[&CaseRecord], alone: bool) -> String {
    let mut text = String::from("\n## Not measured here\n\n- Several devices of a kind.\n");
    for (size, variant) in [("Small", "vit5_small"), ("Base", "vit5_base")] {
        if !cases.iter().any(|case| axis(case, "variant") == Some(variant) && case.ranked()) {
            writeln!(
                text,
                "- ViT-5 {size}: its operations follow from its dimensions; nothing of its speed does. \
                 `--param TRAIN-1.variant={variant}` trains it where memory allows."
            )
            .expect(FITS);
        }
    }
    if alone {
        text.push_str(
            "- Ranks: no case of TRAIN-4 is here (`--set ranks`), and with it no communication and no \
             efficiency of scaling.\n",
        );
    }
    if cases.is_empty() {
        return text;
    }
    let ran = |mode| cases.iter().any(|case| axis(case, "mode") == Some(mode) && case.ranked());
    for mode in MODES.into_iter().filter(|mode| !ran(mode)) {
        writeln!(text, "- The mode `{mode}`: no case of it is ranked.").expect(FITS);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, axis, metric};
    use weighbridge::data::FailureReason;

    fn case(adapter: &str, mode: &str, samples: f64) -> CaseRecord {
        let mut case = fixtures::case(SCENARIO, adapter, &fixtures::around(1.0));
        case.tier = Some(1);
        case.id.point.0 = vec![axis("variant", "vit5_tiny"), axis("mode", mode)];
        let step = 32.0 / samples;
        case.metrics = vec![
            metric("throughput", Unit::ELEMENTS_PER_SECOND, samples),
            metric("throughput_flops", Unit::FLOPS, samples * 6e7),
            metric("wall_time", Unit::SECONDS, step),
            metric("step/forward", Unit::SECONDS, 0.3 * step),
            metric("step/backward", Unit::SECONDS, 0.7 * step),
            metric("step/all", Unit::SECONDS, step),
            metric("peak_flops", Unit::FLOPS, 2e11),
            metric("memory/forward", Unit::BYTES, 4e8),
            metric("memory/training", Unit::BYTES, 6e8),
            metric("operator/addmm", Unit::SECONDS, 0.3 * step),
            metric("operator/native_layer_norm", Unit::SECONDS, 0.1 * step),
        ];
        case
    }

    #[test]
    fn phases_are_of_one_repeat_so_that_they_add_up_to_its_step() {
        let mut case = case("PyTorch", "eager", 1_000.0);
        for (name, values) in [
            ("step/forward", [1.0, 2.0, 3.0]),
            ("step/backward", [3.0, 1.0, 2.0]),
            ("step/all", [4.0, 3.0, 5.0]),
        ] {
            let metric = case.metrics.iter_mut().find(|metric| metric.name == name).unwrap();
            metric.values = values.map(Reading::Value).to_vec();
        }
        assert_eq!(phased(&case), Some((4.0, vec![("forward", 1.0), ("backward", 3.0)])));
    }

    #[test]
    fn memory_of_training_stands_beside_that_of_forward_alone_and_what_is_not_there_is_said_so() {
        let mut untold = case("Untold", "eager", 1_000.0);
        untold.metrics.retain(|metric| metric.name != FORWARD_MEMORY);
        untold.metrics.push(metric(names::DEVICE_PEAK_MEMORY, Unit::BYTES, 2e9));
        let page = page(&fixtures::run(1, vec![case("PyTorch", "eager", 1_000.0), untold])).unwrap();
        assert!(page.contains("| PyTorch, eager | 381 MiB | 572 MiB | 1.50x | no device |"), "{page}");
        assert!(page.contains("| Untold, eager | not told | 572 MiB |  | 1.86 GiB |"), "{page}");
    }

    #[test]
    fn a_precision_stands_beside_the_other_with_what_it_brings_and_versions_are_told() {
        let mut half = case("PyTorch", "eager", 1_500.0);
        half.id.point.0[0].text = "vit5_tiny_bf16".into();
        let mut alone = half.clone();
        alone.id.adapter = Some("Half alone".into());
        let cases = vec![case("PyTorch", "eager", 1_000.0), half, alone];
        let page = page(&fixtures::run(1, cases)).unwrap();
        let row = "| PyTorch, eager | vit5_tiny | 1.00 k samples/s | 1.50 k samples/s | 1.50x |";
        assert!(page.contains(row), "{page}");
        assert!(!page.contains("| Half alone, eager | vit5_tiny |"), "{page}");
        let alone = self::page(&fixtures::run(1, vec![case("PyTorch", "eager", 1_000.0)])).unwrap();
        assert!(!alone.contains("## Precisions") && alone.contains("## Versions"), "{alone}");
    }

    #[test]
    fn modes_stand_before_and_after_with_a_crash_in_its_place() {
        let mut crashed = case("PyTorch", "autotuned", 1.0);
        crashed.status = CaseStatus::Failed(FailureReason::Unwritable(
            "a traceback\nNoValidChoicesError: no kernel fits".into(),
        ));
        let reference = ["eager", "compiled"]
            .map(|mode| CaseRecord { tier: Some(0), ..case("Reference", mode, 500.0) })
            .to_vec();
        let cases = vec![case("PyTorch", "eager", 1_000.0), case("PyTorch", "compiled", 2_000.0), crashed];
        let page = page(&fixtures::run(1, [reference, cases].concat())).unwrap();
        assert!(page.contains("| Reference, eager |") && !page.contains("Reference, compiled"), "{page}");
        let row = |begin: &str| page.lines().find(|line| line.starts_with(begin)).unwrap_or(&page).to_owned();
        // 1,000 samples/s of 0.06 GFLOPs are 60 of 200 GFLOP/s.
        let eager = row("| PyTorch, eager |");
        assert!(
            eager.contains("1.00 k samples/s") && eager.contains("32.0 ms") && eager.contains("30.0 %"),
            "{eager}"
        );
        let compiled = row("| PyTorch, compiled |");
        assert!(compiled.contains("2.00x") && compiled.contains("60.0 %"), "{compiled}");
        assert!(row("| PyTorch, autotuned |").contains("CRASH"), "{page}");
        assert!(page.contains("| PyTorch, eager | addmm | 9.60 ms | 75.0 % |"), "{page}");
        assert!(page.contains("failed: a traceback ... NoValidChoicesError: no kernel fits"), "{page}");
        assert!(page.contains("| PyTorch, eager | backward | 22.4 ms | 70.0 % |"), "{page}");
    }

    #[test]
    fn operations_are_of_what_was_trained_and_of_nothing_else() {
        let mut gpt = case("PyTorch", "eager", 1_000.0);
        gpt.id.point.0[0].text = "gpt_tiny".into();
        let page = page(&fixtures::run(1, vec![gpt])).unwrap();
        let flops = Preset::GptTiny.spec().flops().unwrap();
        let all = format!("| gpt_tiny | all | {:.6} |", flops.forward() as f64 / 1e9);
        assert!(page.contains(&all), "{page}");
        let most = format!("| 989.000 | {:.1} |", flops.most_samples(989e12));
        assert!(page.contains("| gpt_tiny | H100 SXM, bf16, dense |") && page.contains(&most), "{page}");
        assert!(!page.contains("| vit5_tiny |"), "{page}");
    }

    #[test]
    fn on_a_device_the_share_is_of_its_named_peak_and_a_device_without_one_has_none() {
        let page_on = |device: &str| {
            let mut half = case("PyTorch", "eager", 1_000_000.0);
            half.id.point.0[0].text = "vit5_tiny_bf16".into();
            let mut run = fixtures::run(1, vec![half]);
            run.manifest.active_backend = "gpu".into();
            run.manifest.environment.machine.insert("gpu".into(), device.into());
            page(&run).unwrap()
        };
        let known = page_on("NVIDIA H100 80GB HBM3");
        let share = Preset::Vit5TinyBf16.spec().flops().unwrap().utilisation(1e6, 989e12);
        let cell = format!("| {:.1} % |", 100.0 * share);
        assert!(known.contains("MFU is of H100 SXM, bf16, dense: 989") && known.contains(&cell), "{known}");
        let unknown = page_on("NVIDIA H100 NVL");
        assert!(
            unknown.contains("no peak is known of the device `NVIDIA H100 NVL`") && !unknown.contains(&cell),
            "{unknown}"
        );
    }
}
