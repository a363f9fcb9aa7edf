//! `TensorBoard`: a run of it for each case, below one for the whole, which has the cards.
//!
//! `<machine>/<run>/<case>`: so a metric has one series for each machine, and a second export of another run
//! stands beside the first. Names of metrics begin with the number of their group, so that a dashboard reads
//! top to bottom.

mod event;
mod proto;
mod record;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use weighbridge::data::names;
use weighbridge::data::{CaseRecord, MetricRecord, Outcome, Purpose, quantile};

use super::{ExportOutput, Job};
use crate::show;
use crate::table::Table;
use event::{EventParameter, Events};

/// Groups of metrics, in the order of a dashboard, by how their names begin.
const GROUPS: [(&str, &[&str]); 6] = [
    ("1_speed", &["throughput", names::WALL_TIME]),
    ("2_latency", &["latency", names::FIRST_ITEM, "restart"]),
    ("3_memory", &[names::PEAK_MEMORY, "memory", "allocat"]),
    (
        "4_processor",
        &[
            "cpu",
            "run_queue",
            names::MINOR_FAULTS,
            names::MAJOR_FAULTS,
            "voluntary",
            "involuntary",
            "instructions",
            "cycles",
        ],
    ),
    ("5_device", &["device", "gpu", "h2d", "d2h", "kernel"]),
    ("6_time", &["time/", "import", "convert", "set-up", "compile", "tear-down", "start"]),
];
/// All that is none of them: what authors measure.
const OWN: &str = "7_own";
const BINS: usize = 30;

pub(super) fn write(job: &Job<'_>) -> Result<ExportOutput> {
    let manifest = &job.run.manifest;
    let root = PathBuf::from(manifest.environment.machine_id().as_str()).join(manifest.id.as_str());
    let file = format!("events.out.tfevents.{}.weighbridge", manifest.started);
    let mut files = vec![(root.join(&file), overall(job))];
    for case in &job.run.cases {
        files.push((root.join(case.id.file_name()).join(&file), of_case(job, case)?));
    }
    Ok(ExportOutput::Files(files))
}

fn tag(metric: &MetricRecord) -> String {
    let starts = |(_, starts): &&(&str, &[&str])| starts.iter().any(|start| metric.name.starts_with(start));
    let group = GROUPS.iter().find(starts).map_or(OWN, |(group, _)| group);
    format!("{group}/{}", metric.name.strip_prefix("time/").unwrap_or(&metric.name))
}

/// The parameters of a case: what was asked of whom. A number is one for all cases or for none, so that it
/// can be filtered by.
fn parameters(case: &CaseRecord, numbers: &BTreeMap<String, bool>) -> Vec<(String, EventParameter)> {
    let text = |name: &str, text: &str| (name.to_owned(), EventParameter::Text(text.to_owned()));
    let mut all = vec![text("1_scenario", &case.id.scenario)];
    all.extend(case.id.adapter.as_deref().map(|adapter| text("2_system", adapter)));
    for value in &case.id.point {
        let name = format!("3_{}", value.axis);
        let number = value.text.parse().ok().filter(|_| numbers.get(&name).is_some_and(|number| *number));
        all.push((
            name,
            number.map_or_else(|| EventParameter::Text(value.text.clone()), EventParameter::Number),
        ));
    }
    all
}

/// Every axis of a run, and whether all its values are numbers.
fn axes(job: &Job<'_>) -> BTreeMap<String, bool> {
    let mut axes = BTreeMap::from([("1_scenario".to_owned(), false), ("2_system".to_owned(), false)]);
    for value in job.run.cases.iter().flat_map(|case| case.id.point.iter()) {
        let is_number = value.text.parse::<f64>().is_ok_and(f64::is_finite);
        axes.entry(format!("3_{}", value.axis)).and_modify(|all| *all &= is_number).or_insert(is_number);
    }
    axes
}

/// The cards of the whole run: how it was configured, what it measured, what is in it, where it ran.
fn overall(job: &Job<'_>) -> Vec<u8> {
    let manifest = &job.run.manifest;
    let mut events = Events::new(manifest.started);
    let parameters: Vec<(String, bool)> = axes(job).into_iter().collect();
    let mut metrics: Vec<String> =
        job.run.cases.iter().filter_map(|case| Some(tag(case.leading()?))).collect();
    metrics.sort();
    metrics.dedup();
    events.experiment(&format!("run {} of {}", manifest.id, manifest.suite), &parameters, &metrics);
    let facts = |facts: &mut dyn Iterator<Item = (String, String)>| {
        let mut table = Table::new(["fact", "value"]);
        facts.for_each(|(name, value)| table.row([name, value]));
        table.markdown()
    };
    let planned = &manifest.planned;
    let asked = [
        ("suite", manifest.suite.clone()),
        ("command", manifest.command.join(" ")),
        ("profile", manifest.profile.clone()),
        ("platform", manifest.active_backend.clone()),
        ("repeats", planned.repeats.to_string()),
        ("isolation", planned.isolation.clone()),
        ("order", planned.order.clone()),
        ("seed", manifest.seed.to_string()),
        ("how it ended", show::status(manifest.status).to_owned()),
    ];
    events.text(
        "1_configuration",
        &facts(&mut asked.into_iter().map(|(name, value)| (name.to_owned(), value))),
    );
    let mut measured = Table::new(["case", "metric", "median>", "repeats>"]);
    let mut inventory = Table::new(["case", "state", "description"]);
    for case in &job.run.cases {
        if let Some((metric, estimate)) = case.leading().and_then(|metric| Some((metric, metric.estimate?))) {
            measured.row([
                case.id.to_string(),
                metric.name.clone(),
                show::median(Some(metric)),
                estimate.n.to_string(),
            ]);
        }
        let state = show::trouble(case).unwrap_or_else(|| "measured".to_owned());
        inventory.row([case.id.to_string(), state, case.description.clone()]);
    }
    events.text("2_metrics", &measured.markdown());
    events.text("3_inventory", &inventory.markdown());
    let environment = &manifest.environment;
    let all = environment.machine.iter().chain(&environment.software).chain(&environment.variables);
    events.text("4_environment", &facts(&mut all.map(|(name, value)| (name.clone(), value.clone()))));
    events.finish()
}

fn of_case(job: &Job<'_>, case: &CaseRecord) -> Result<Vec<u8>> {
    let mut events = Events::new(job.run.manifest.started);
    let name = case.id.to_string();
    events.session(&name, &parameters(case, &axes(job)), !case.has_failed());
    for metric in &case.metrics {
        let about = format!("`{}` in {}, one step a repeat", metric.name, unit(metric));
        for (at, value) in metric.values.iter().enumerate() {
            if let Some(value) = value.value().filter(|value| value.is_finite()) {
                events.scalar(&tag(metric), &about, at as u64 + 1, value);
            }
        }
    }
    for repeat in job.repeats(case) {
        let repeat = repeat?;
        let Outcome::Measured { seen, .. } = &repeat.outcome else { continue };
        if repeat.purpose == Purpose::Measure && !seen.samples.is_empty() {
            let size = seen.iterations_per_sample.max(1) as f64;
            let times: Vec<f64> = seen.samples.iter().map(|sample| *sample as f64 * 1e-9 / size).collect();
            events.histogram(
                "2_latency/samples",
                "seconds of one iteration or item",
                u64::from(repeat.number),
                &bins(&times),
            );
        }
    }
    Ok(events.finish())
}

fn unit(metric: &MetricRecord) -> &str {
    match metric.unit.symbol() {
        "" => "counts",
        symbol => symbol,
    }
}

/// Bins of one width up to the 98th percentile, and one for all beyond: a single interruption must not make
/// all else one bin.
fn bins(times: &[f64]) -> Vec<[f64; 3]> {
    let (low, high, most) = (quantile(times, 0.0), quantile(times, 0.98), quantile(times, 1.0));
    if high <= low {
        return vec![[low, most, times.len() as f64]];
    }
    let width = (high - low) / BINS as f64;
    let mut bins: Vec<[f64; 3]> =
        (0..BINS).map(|at| [low + at as f64 * width, low + (at + 1) as f64 * width, 0.0]).collect();
    let mut beyond = 0.0;
    for time in times {
        match *time > high {
            true => beyond += 1.0,
            false => bins[(((time - low) / width) as usize).min(BINS - 1)][2] += 1.0,
        }
    }
    if beyond > 0.0 {
        bins.push([high, most, beyond]);
    }
    bins
}
