//! The whole page from records that are made here, against the page that was read and approved.
//!
//! After a change that is meant, `UPDATE_EXPECT=1 cargo test -p weighbridge-catalogue` writes the page
//! anew: read the difference before it is committed.

use std::collections::BTreeMap;

use expect_test::expect_file;
use weighbridge::data::{
    Agreement, AxisValue, CaseRecord, CaseStatus, Direction, Environment, Estimate, FailureReason,
    MetricRecord, Process, Reading, RunRecord, Unit, Work, WorkReport,
};
use weighbridge::{Delivery, Operator};

use super::comparison::page;
use crate::fixtures;

/// A verified case whose batch of `elements` takes `batch` seconds.
struct MeasuredCase<'a> {
    variant: &'a str,
    adapter: &'a str,
    batch: f64,
    elements: f64,
}

/// Seven factors around 1, in another order for each salt, so that no two systems are alike.
fn spread(salt: usize) -> Vec<f64> {
    let factors = [0.99, 1.01, 1.0, 0.985, 1.015, 0.995, 1.005];
    (0..7).map(|at| factors[(at * 3 + salt) % 7]).collect()
}

fn metric(name: &str, unit: Unit, direction: Direction, values: Vec<f64>) -> MetricRecord {
    MetricRecord {
        name: name.to_owned(),
        unit,
        direction,
        estimate: Estimate::of(&values),
        values: values.into_iter().map(Reading::Value).collect(),
        looped: None,
    }
}

impl MeasuredCase<'_> {
    fn record(&self) -> CaseRecord {
        let (scenario, variant) = self.variant.split_once('/').expect("scenario/variant");
        let peer = weighbridge_python::find(self.adapter);
        let times: Vec<f64> = spread(self.adapter.len()).iter().map(|factor| factor * self.batch).collect();
        let over = |value: f64| times.iter().map(|time| value / time).collect::<Vec<_>>();
        let seconds = |name: &str, factor: f64| {
            let values = times.iter().map(|time| time * factor).collect();
            metric(name, Unit::SECONDS, Direction::Lower, values)
        };
        let count = |name: &str, unit, value: f64| metric(name, unit, Direction::Information, vec![value; 7]);
        let mut case = fixtures::case(scenario, self.adapter, &fixtures::around(1.0));
        let value = AxisValue { axis: "variant".into(), text: variant.into(), labelled: true, debug: None };
        case.id.point.0 = vec![value];
        case.tier = Some(peer.map_or(0, |peer| peer.tier));
        case.version = peer.map(|_| "1.2.3".to_owned());
        case.agreement = if peer.is_some() { Agreement::Agrees } else { Agreement::Reference };
        case.metrics = vec![
            metric("throughput", Unit::ELEMENTS_PER_SECOND, Direction::Higher, over(self.elements)),
            metric(
                "throughput_bytes",
                Unit::BYTES_PER_SECOND,
                Direction::Higher,
                over(self.elements * 400.0),
            ),
            seconds("wall_time", 1.0),
            seconds("latency_p50", 1.0),
            seconds("cpu_time", 0.98),
            seconds("first_item", 5.0),
            metric("peak_memory", Unit::BYTES, Direction::Lower, fixtures::around(64.0 * 1024.0 * 1024.0)),
            count("minor_faults", Unit::COUNT, 10.0),
            count("run_queue_share", Unit::RATIO, 0.01),
            count("time/start", Unit::SECONDS, 0.02),
            count("time/measured", Unit::SECONDS, 0.5),
            count("time/unexplained", Unit::SECONDS, 0.005),
        ];
        if peer.is_some() {
            case.metrics.push(metric("import", Unit::SECONDS, Direction::Lower, fixtures::around(1.5)));
        }
        case.processes = vec![Process { iterations: 1000, ..Process::default() }; 7];
        let report = WorkReport {
            transforms: vec!["Normalize".into()],
            operators: vec![match self.adapter {
                "Reference" => Operator::Ours,
                "Datarax" | "Datarax-scan" if self.variant.starts_with("CV-1") => Operator::Native,
                _ => Operator::SharedNumpy,
            }],
            ran_on: "cpu".into(),
            synchronised: "on return".into(),
            ..WorkReport::default()
        };
        case.work = Some(Work { report, ..Work::default() });
        case
    }
}

fn plain(variant: &str, adapter: &str, batch: f64) -> CaseRecord {
    MeasuredCase { variant, adapter, batch, elements: 64.0 }.record()
}

/// Datarax has 180 µs a batch and twice the fastest one's work, Grain 20 µs and 1.5 times, Deep Lake 10 µs
/// and 1.2 times.
fn records() -> RunRecord {
    let mut cases = Vec::new();
    for (variant, work) in
        [("NLP-1/small", 1e-6), ("TAB-1/small", 4e-6), ("CV-1/small", 60e-6), ("HCV-1/imagenet_small", 2e-3)]
    {
        cases.push(plain(variant, "Reference", work));
        cases.push(plain(variant, "Datarax", 180e-6 + 2.0 * work));
        cases.push(plain(variant, "Google Grain", 20e-6 + 1.5 * work));
        cases.push(plain(variant, "Deep Lake", 10e-6 + 1.2 * work));
        cases.push(plain(variant, "NumPy", 2e-6 + work));
    }
    let mut scan = plain("NLP-1/small", "Datarax-scan", 8e-6);
    scan.metrics.retain(|metric| !["wall_time", "latency_p50", "cpu_time"].contains(&metric.name.as_str()));
    scan.metrics.push(metric("compile", Unit::SECONDS, Direction::Lower, fixtures::around(0.15)));
    cases.push(scan);
    // A strength, a tie, parity, and a gap between a view and a copy.
    cases.push(plain("AUG-1/small", "Reference", 200e-6));
    cases.push(plain("AUG-1/small", "Datarax", 400e-6));
    cases.push(plain("AUG-1/small", "Google Grain", 1e-3));
    cases.push(plain("MM-1/default", "Datarax", 300e-6));
    cases.push(plain("MM-1/default", "Google Grain", 301e-6));
    cases.push(plain("MM-1/default", "Deep Lake", 302e-6));
    cases.push(plain("TAB-2/default", "Datarax", 300e-6));
    cases.push(plain("TAB-2/default", "Google Grain", 330e-6));
    cases.push(plain("IO-1/memory_source", "Datarax", 300e-6));
    let mut view = plain("IO-1/memory_source", "Google Grain", 100e-6);
    if let Some(work) = &mut view.work {
        work.report.delivery = Delivery::View;
    }
    cases.push(view);
    // Nobody else, other work, a decline, a failure, another setting of workers.
    cases.push(plain("HPC-1/ssl_small", "Datarax", 1e-3));
    let mut wraps = plain("HPC-1/ssl_small", "Google Grain", 1e-4);
    wraps.agreement = Agreement::Differs(vec!["elements: 10048, the reference has 10000".into()]);
    cases.push(wraps);
    let mut declines = plain("HPC-1/ssl_small", "Deep Lake", 1.0);
    declines.status = CaseStatus::Skipped("RandomResizedCrop: no operator of it is exact".into());
    cases.push(declines);
    let mut breaks = plain("AUG-1/small", "Deep Lake", 1.0);
    breaks.status =
        CaseStatus::Failed(FailureReason::Unwritable("exit 1: the worker ended\nTraceback".into()));
    cases.push(breaks);
    for (workers, batch) in [("0", 20e-6), ("2", 500e-6)] {
        let mut case = plain("PR-1/small", "Google Grain", batch);
        let value = AxisValue { axis: "workers".into(), text: workers.into(), labelled: false, debug: None };
        case.id.point.0.push(value);
        cases.push(case);
    }
    let mut run = fixtures::run(1_000, cases);
    let text = |facts: &[(&str, &str)]| -> BTreeMap<String, String> {
        facts.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    run.manifest.environment = Environment {
        machine: text(&[("cpu model", "Abacus 9"), ("cores", "2"), ("memory", "24 GiB")]),
        software: text(&[("commit", "0123abc"), ("kernel", "6.1")]),
        moment: text(&[("load average", "0.10 0.20 0.30")]),
        ..Environment::default()
    };
    run
}

#[test]
fn the_page_is_the_one_that_was_approved_and_the_same_each_time() {
    let run = records();
    let (made, remark) = page(&run, None, &[]).expect("there is a subject");
    assert_eq!(remark, None);
    assert_eq!(made, page(&run, Some("Datarax"), &[]).expect("the same").0);
    expect_file!["golden.md"].assert_eq(&made);
}

/// The rankings of a variant.
fn rankings(run: &RunRecord, variant: &str) -> String {
    let (page, _) = page(run, None, &[]).expect("there is a subject");
    let rankings = page.split("## Rankings").nth(1).expect("it is there").to_owned();
    let from = rankings.find(&format!("### {variant}")).expect("it is ranked");
    rankings[from..].split("\n\n").take(2).collect::<Vec<_>>().join("\n")
}

#[test]
fn with_three_repeats_whoever_is_within_a_fifth_of_the_best_is_first_as_well() {
    let mut run = records();
    assert!(
        rankings(&run, "HCV-1/imagenet_small")
            .contains("| Deep Lake | shared numpy | 26.6 k elem/s (3, +21 %)")
    );
    for metric in run.cases.iter_mut().flat_map(|case| &mut case.metrics) {
        metric.values.truncate(3);
    }
    let made = rankings(&run, "HCV-1/imagenet_small");
    assert!(made.contains("| Deep Lake | shared numpy | 26.6 k elem/s (1, +2"), "{made}");
    assert!(made.contains("| Google Grain | shared numpy | 21.2 k elem/s (4, +5"), "{made}");
}

#[test]
fn the_median_latency_has_a_column_where_it_tells_more_than_the_time_of_a_batch() {
    let mut run = records();
    assert!(!rankings(&run, "NLP-1/small").contains("p50"));
    let metrics = run.cases.iter_mut().flat_map(|case| &mut case.metrics);
    for value in metrics.filter(|metric| metric.name == "latency_p50").flat_map(|metric| &mut metric.values) {
        *value = Reading::Value(1e-3);
    }
    assert!(rankings(&run, "NLP-1/small").contains("| batch | p50 |"));
}

#[test]
fn a_gap_is_labelled_by_what_was_measured_and_not_by_its_name() {
    let line = gap;
    let mut run = records();
    assert!(line(&run, "NLP-1/small").contains("**iteration-bound**"));
    assert!(line(&run, "HCV-1/imagenet_small").contains("**unexplained**: a batch takes"));
    assert!(line(&run, "IO-1/memory_source").contains("**unequal-work**"));
    assert!(line(&run, "HPC-1/ssl_small").contains("**no-peer**"));
    // The same variant on a device; and on the host, brought to one.
    let mut on = |place: &str| {
        for case in &mut run.cases {
            if case.id.to_string() == "NLP-1/small/Datarax"
                && let Some(work) = &mut case.work
            {
                work.report.ran_on = place.into();
            }
        }
        line(&run, "NLP-1/small")
    };
    assert!(on("cuda:0").contains("**host-versus-device**: Datarax ran on `cuda:0`"));
    assert!(on("cpu, delivered to cuda:0").contains("**iteration-bound**"));
    // Of one variant alone nothing can be told.
    run.cases.retain(|case| case.id.scenario == "TAB-1");
    assert!(line(&run, "TAB-1/small").contains("too few variants"));
}

#[test]
fn the_backlog_has_the_largest_gap_first_with_its_severity() {
    let (page, _) = page(&records(), None, &[]).expect("there is a subject");
    let backlog =
        page.split("## Backlog").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("it is there");
    let rows: Vec<&str> = backlog
        .lines()
        .filter(|line| line.starts_with("| action") || line.starts_with("| warning"))
        .collect();
    assert!(rows[0].contains("NLP-1/small") && rows[0].starts_with("| action"), "{rows:?}");
    assert!(rows.last().is_some_and(|row| row.starts_with("| warning") && row.contains("HCV-1")), "{rows:?}");
}

#[test]
fn other_work_is_told_apart_and_wins_nothing() {
    let (page, _) = page(&records(), None, &[]).expect("there is a subject");
    assert!(page.contains("- HPC-1/ssl_small/Google Grain: elements: 10048, the reference has 10000\n"));
    let ranking =
        page.split("### HPC-1/ssl_small").nth(1).and_then(|rest| rest.split("###").next()).expect("ranked");
    assert!(ranking.contains("Datarax") && !ranking.contains("Google Grain"), "{ranking}");
}

#[test]
fn a_tie_is_called_a_tie_and_few_repeats_are_said() {
    let mut run = records();
    let line = |run: &RunRecord| {
        let (page, _) = page(run, None, &[]).expect("there is a subject");
        page.lines().find(|line| line.starts_with("| MM-1/default")).expect("it is there").to_owned()
    };
    assert!(line(&run).ends_with("| a tie |"), "{}", line(&run));
    for metric in run.cases.iter_mut().flat_map(|case| &mut case.metrics) {
        metric.values.truncate(3);
    }
    assert!(line(&run).ends_with("| too few repeats for an interval |"), "{}", line(&run));
}

#[test]
fn a_misspelt_subject_gets_the_nearest_and_a_run_without_the_usual_one_takes_the_reference() {
    let mut run = records();
    let error = page(&run, Some("Dataraks"), &[]).expect_err("misspelt").to_string();
    assert!(error.contains("did you mean `Datarax`?"), "{error}");
    run.cases.retain(|case| case.id.adapter.as_deref() != Some("Datarax"));
    let (page, remark) = page(&run, None, &[]).expect("the reference is there");
    assert!(page.starts_with("# Comparison of 5 systems: where Reference leads"), "{page}");
    assert!(remark.is_some_and(|remark| remark.contains("--subject")));
}

/// Makes the cases that `which` names wait for a processor, and gives all of them rates by processor time.
fn busy(run: &mut RunRecord, which: impl Fn(&CaseRecord) -> bool) {
    for case in &mut run.cases {
        let waits = which(case);
        for metric in case.metrics.iter_mut().filter(|metric| waits && metric.name == "run_queue_share") {
            metric.values = vec![Reading::Value(0.7); 7];
            metric.estimate = Estimate::of(&[0.7; 7]);
        }
        if let Some(rate) = case.metric("throughput").cloned() {
            let unit = Unit::ELEMENTS_PER_CPU_SECOND;
            case.metrics.push(MetricRecord { name: "throughput_cpu".into(), unit, ..rate });
        }
    }
}

#[test]
fn a_scenario_of_which_each_case_waited_is_compared_by_processor_time_and_no_other() {
    let mut run = records();
    run.cases.push(plain("CV-1/medium", "Datarax", 400e-6));
    run.cases.push(plain("CV-1/medium", "Google Grain", 100e-6));
    busy(&mut run, |case| case.id.scenario == "CV-1");
    let (page, _) = page(&run, None, &[]).expect("there is a subject");
    let head = page.split("\n## ").next().unwrap_or_default();
    let clock = "waited so long for a processor that wall times say more of the machine: CV-1; \
                 all others by the wall clock\n";
    assert!(head.contains(clock), "{head}");
    for line in page.split("## Rankings").next().unwrap_or_default().lines() {
        if line.starts_with("| CV-1/") {
            assert!(line.contains("elem/CPU-s") && !line.contains("elem/s"), "{line}");
        } else {
            assert!(!line.contains("elem/CPU-s"), "{line}");
        }
    }
    let ranking =
        page.split("### CV-1/small (ordered by `throughput_cpu`)").nth(1).expect("the heading says it");
    let row = ranking.lines().find(|line| line.starts_with("| Datarax")).expect("ranked");
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert_eq!(cells[3], "213 k elem/s", "shown, and no rank: {row}");
    assert!(cells[4].contains("elem/CPU-s ("), "{row}");
}

/// The line of the page that says what kind the gap of a variant is.
fn gap(run: &RunRecord, variant: &str) -> String {
    let (page, _) = page(run, None, &[]).expect("there is a subject");
    let line = page.lines().find(|line| line.starts_with(&format!("- {variant}: **")));
    line.unwrap_or_else(|| panic!("{variant}: {page}")).to_owned()
}

/// Makes this metric of the cases that `which` names take so many times as long.
fn slower(run: &mut RunRecord, name: &str, factor: f64, which: impl Fn(&CaseRecord) -> bool) {
    for case in run.cases.iter_mut().filter(|case| which(case)) {
        for metric in case.metrics.iter_mut().filter(|metric| metric.name == name) {
            let values: Vec<f64> =
                metric.values.iter().filter_map(Reading::value).map(|value| factor * value).collect();
            metric.estimate = Estimate::of(&values);
            metric.values = values.into_iter().map(Reading::Value).collect();
        }
    }
}

#[test]
fn a_gap_goes_by_the_clock_of_its_own_scenario_alone() {
    let mut run = records();
    // By the processor's clock everything takes half as long again, and what the disturbed scenario has on
    // the wall is noise.
    slower(&mut run, "cpu_time", 1.5 / 0.98, |_| true);
    slower(&mut run, "wall_time", 7.0, |case| case.id.scenario == "CV-1");
    busy(&mut run, |case| case.id.scenario == "CV-1");
    let on_the_wall = gap(&run, "NLP-1/small");
    assert!(on_the_wall.contains("of 171 µs more wall time for each batch, 170 µs"), "{on_the_wall}");
    assert!(on_the_wall.contains("180 µs fixed against 10.0 µs (over 4 variants)"), "{on_the_wall}");
    assert!(gap(&run, "HCV-1/imagenet_small").contains("a batch takes 4.18 ms against 2.41 ms"));
    let by_cpu = gap(&run, "CV-1/small");
    assert!(by_cpu.contains("of 327 µs more processor time for each batch, 255 µs"), "{by_cpu}");
    assert!(by_cpu.contains("270 µs fixed against 15.0 µs (over 5 variants)"), "{by_cpu}");
    let (page, _) = page(&run, None, &[]).expect("there is a subject");
    let row = |variant: &str| {
        let backlog = page.split("## Backlog").nth(1).expect("it is there");
        backlog.lines().find(|line| line.contains(variant)).expect("a gap").to_owned()
    };
    assert!(row("NLP-1/small").contains("(180 µs)") && row("CV-1/small").contains("(270 µs)"), "{page}");
}

#[test]
fn batches_that_take_no_longer_do_not_explain_a_gap() {
    let mut run = records();
    slower(&mut run, "wall_time", 0.5, |case| case.id.to_string() == "HCV-1/imagenet_small/Datarax");
    let line = gap(&run, "HCV-1/imagenet_small");
    assert!(line.contains("**unexplained**: a batch takes 2.09 ms against 2.41 ms"), "{line}");
    assert!(line.contains("the gap is not in the wall time of single batches"), "{line}");
    assert!(!line.contains("grows with the work"), "{line}");
}

#[test]
fn a_number_that_grows_is_a_curve_with_what_a_batch_costs_whatever_it_is_and_what_one_more_adds() {
    let mut run = records();
    for (variant, elements) in [("CV-1/batch_1", 1.0), ("CV-1/batch_8", 8.0), ("CV-1/batch_512", 512.0)] {
        for (adapter, fixed) in [("Datarax", 180e-6), ("Google Grain", 20e-6)] {
            let batch = fixed + elements * 1e-6;
            run.cases.push(MeasuredCase { variant, adapter, batch, elements }.record());
        }
    }
    run.cases.push(plain("TAB-1/batch_64", "Datarax", 1e-3));
    for (variant, batch) in [("PC-1/depth_1", 1e-4), ("PC-1/depth_5", 5e-4), ("PC-1/depth_10", 10e-4)] {
        run.cases.push(plain(variant, "Datarax", batch));
    }
    let (page, _) = page(&run, None, &[]).expect("there is a subject");
    let section = page.split("## Curves").nth(1).and_then(|rest| rest.split("\n## ").next());
    let section = section.expect("it is there");
    assert!(section.contains("### CV-1: batch\n\n| adapter | 1 | 8 | 512 | any | one more |"), "{section}");
    assert!(
        section.contains("| Datarax | 5.52 k elem/s | 42.6 k elem/s | 740 k elem/s | 180 µs |"),
        "{section}"
    );
    assert!(section.contains("| 20.0 µs | 1.00 µs |"), "{section}");
    let depths = section.split("### PC-1: depth").nth(1).expect("another number has another curve");
    assert!(
        depths.contains("| adapter | 1 | 5 | 10 | any | one more |") && depths.contains("| 100 µs |"),
        "{depths}"
    );
    assert!(!section.contains("TAB-1"), "one size is no sweep: {section}");
}

#[test]
fn on_a_busy_machine_batches_are_timed_by_the_processor_and_waiting_is_nobodys_fault() {
    let mut run = records();
    busy(&mut run, |_| true);
    let (page, _) = page(&run, None, &[]).expect("there is a subject");
    assert!(page.contains("elem/CPU-s") && page.contains("a batch takes the processor"), "{page}");
    let backlog =
        page.split("## Backlog").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("it is there");
    assert!(!backlog.contains("wait for a processor"), "{backlog}");
    assert!(backlog.contains("profile it on a machine that does nothing else"), "{backlog}");
}
