//! `summary`: scenario, framework and metrics of the latest run, or of a named one.

use anyhow::Result;
use clap::Args;
use weighbridge::data::names;
use weighbridge::data::{CaseRecord, CaseStatus, MetricRecord, RunRecord, fake_device, visible_in_line};

use crate::command_output::CommandOutput;
use crate::place::Place;
use crate::table::Table;
use crate::{pick, show, stop};

/// Arguments of `summary`.
#[derive(Debug, Args)]
pub(crate) struct Summary {
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    pub(crate) run: Option<String>,
    /// This suite alone: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
}

/// The metrics that are shown where a case of the run has them, in this order.
const COLUMNS: [(&str, &str); 8] = [
    (names::THROUGHPUT, "throughput>"),
    (names::WALL_TIME, "wall time>"),
    (names::LATENCY_P50, "p50>"),
    (names::LATENCY_P95, "p95>"),
    (names::LATENCY_P99, "p99>"),
    (names::FIRST_ITEM, "first item>"),
    (names::CPU_TIME, "CPU time>"),
    (names::PEAK_MEMORY, "peak memory>"),
];

pub(crate) fn run(args: &Summary, place: &Place) -> Result<CommandOutput> {
    let picked = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?;
    if picked.runs.is_empty() {
        return Err(stop::nothing("there is no complete run to sum up: make one with `cargo bench`"));
    }
    let mut said = CommandOutput { remarks: picked.remarks, ..CommandOutput::fine("") };
    for (at, manifest) in picked.runs.iter().enumerate() {
        if at > 0 {
            said.text.push('\n');
        }
        said.text.push_str(&of(&place.runs().load(&manifest.id)?));
    }
    Ok(said)
}

/// The summary of one run.
pub(crate) fn of(run: &RunRecord) -> String {
    let manifest = &run.manifest;
    let head = format!(
        "run {} of {}: {}, profile {}, {} on {}",
        manifest.id,
        manifest.suite,
        show::status(manifest.status),
        manifest.profile,
        manifest.active_backend,
        manifest.environment.machine_id(),
    );
    let mut text = format!("{}\n\n", visible_in_line(&head));
    if let Some(fake) = fake_device(&manifest.environment) {
        text.push_str(&format!("{}\n\n", visible_in_line(&fake)));
    }
    let columns: Vec<(&str, &str)> = COLUMNS
        .into_iter()
        .filter(|(name, _)| {
            run.cases.iter().any(|case| case.metric(name).is_some_and(|metric| metric.estimate.is_some()))
        })
        .collect();
    // A case may be stood for by a metric that no other has: of a device, of its author, of another tool.
    let own = |case: &CaseRecord| {
        case.primary_metric()
            .filter(|primary_metric| !COLUMNS.iter().any(|(name, _)| *name == primary_metric.name))
            .cloned()
    };
    let has_own = run.cases.iter().any(|case| own(case).is_some());
    let titles = columns.iter().map(|(_, title)| *title).chain(has_own.then_some("its own>"));
    let mut table = Table::new(["scenario", "framework"].into_iter().chain(titles));
    for case in run.cases.iter().filter(|case| case.status == CaseStatus::Measured) {
        let (scenario, framework) = show::scenario_and_framework(&case.id);
        let metrics = columns.iter().map(|(name, _)| show::median(case.metric(name)));
        let figure = |own: MetricRecord| format!("{} {}", own.name, show::median(Some(&own)));
        let own = has_own.then(|| own(case).map_or_else(|| "-".to_owned(), figure));
        table.row([scenario, framework].into_iter().chain(metrics).chain(own));
    }
    if !table.is_empty() {
        text.push_str(&table.text());
    }
    for case in &run.cases {
        if let Some(trouble) = show::trouble(case) {
            text.push_str(&visible_in_line(&format!("{}: {trouble}", case.id)));
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use weighbridge::data::RunStatus;

    use super::*;
    use crate::fixtures::{home, plain};
    use weighbridge::data::Exit;

    fn args(run: Option<&str>) -> Summary {
        Summary { run: run.map(str::to_owned), suite: None }
    }

    #[test]
    fn the_latest_run_is_summed_up_with_scenario_framework_and_metrics() {
        let home = home();
        home.store(&plain(1_000, 1.0, 1.0));
        let mut latest = plain(2_000, 8.0e6, 12.0e6);
        latest.cases[1].status = CaseStatus::Skipped("not installed: pip install fused".into());
        home.store(&latest);
        let said = run(&args(None), &home.place).expect("there are runs");
        let machine = latest.manifest.environment.machine_id();
        let expected = format!(
            "run 19700101-003320-000007 of toy/suite: complete, profile ci_cpu, cpu on {machine}\n\n\
             scenario    framework     throughput  peak memory\n\
             CV-1/small  Reference  8.00 M elem/s     32.0 MiB\n\
             CV-1/small/Reference (fused): skipped: not installed: pip install fused\n"
        );
        assert_eq!(said.text, expected);
    }

    #[test]
    fn a_named_run_is_summed_up_by_the_start_of_its_name() {
        let home = home();
        home.store(&plain(1_000, 8.0e6, 12.0e6));
        home.store(&plain(2_000, 1.0, 1.0));
        let said = run(&args(Some("19700101-0016")), &home.place).expect("there is one");
        assert!(said.text.contains("8.00 M elem/s") && said.text.contains("12.0 M elem/s"), "{}", said.text);
        let error = run(&args(Some("19700101-00")), &home.place).expect_err("two start so").to_string();
        assert!(error.contains("19700101-001640-000007 or 19700101-003320-000007"), "{error}");
        let error = run(&args(Some("../../etc")), &home.place).expect_err("no run");
        assert_eq!(stop::exit(&error), Exit::Usage);
    }

    #[test]
    fn without_a_complete_run_there_is_nothing_to_sum_up() {
        let home = home();
        let mut running = plain(1_000, 1.0, 1.0);
        running.manifest.status = RunStatus::Running;
        home.store(&running);
        let error = run(&args(None), &home.place).expect_err("it is not complete");
        assert_eq!(stop::exit(&error), Exit::NothingToJudge);
    }
}
