//! `JUnit`: a test case for each case. What regressed or did not verify is a failure, what broke is an error,
//! what was not run is skipped.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};
use weighbridge::data::{CaseRecord, CaseStatus, Row, Verdict, quantity};

use super::{ExportOutput, Job};
use crate::show;
use crate::view;

pub(super) fn write(job: &Job<'_>) -> Result<ExportOutput> {
    let manifest = &job.run.manifest;
    // Judged as the pages are: by the baseline where there is one, else by the run before.
    let material = view::load(job.place, manifest, None, false)?;
    let judged = material.against.first();
    let rows: HashMap<String, &Row> = judged
        .iter()
        .flat_map(|against| &against.comparison.rows)
        .map(|row| (row.case.to_string(), row))
        .collect();
    let mut report = Report::new("weighbridge");
    let mut scenarios: Vec<(&str, TestSuite)> = Vec::new();
    for case in &job.run.cases {
        let name = case.id.scenario.as_str();
        let at = scenarios.iter().position(|(scenario, _)| *scenario == name).unwrap_or_else(|| {
            let mut suite = TestSuite::new(format!("{}: {name}", manifest.suite));
            suite.add_property(Property::new("run", manifest.id.as_str()));
            suite.add_property(Property::new("machine", manifest.environment.machine_id().as_str()));
            if let Some(commit) = manifest.environment.software.get("commit") {
                suite.add_property(Property::new("commit", commit.as_str()));
            }
            if let Some(against) = judged {
                suite.add_property(Property::new("against", against.title.as_str()));
            }
            scenarios.push((name, suite));
            scenarios.len() - 1
        });
        let mut test =
            TestCase::new(case.id.to_string(), status(case, rows.get(&case.id.to_string()).copied()));
        test.set_classname(name);
        test.set_time(Duration::from_secs_f64(life(case)));
        scenarios[at].1.add_test_case(test);
    }
    report.add_test_suites(scenarios.into_iter().map(|(_, suite)| suite));
    let text = report.to_string().context("failed to write JUnit")?;
    Ok(ExportOutput::Text(as_xml_has_it(&as_jenkins_has_it(&text))))
}

/// The same without the two characters that XML knows in no form (`Char` in its specification, 2.2) and that
/// the writer leaves in.
fn as_xml_has_it(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// The same without the count of skipped tests on the outermost element, which the schema of Jenkins
/// (`junit-10.xsd`) does not have there. Each suite in it has its own.
fn as_jenkins_has_it(report: &str) -> String {
    let Some((head, rest)) = report.split_once("<testsuites ") else { return report.to_owned() };
    let Some((attributes, suites)) = rest.split_once('>') else { return report.to_owned() };
    let kept = attributes.split_inclusive("\" ").filter(|attribute| !attribute.starts_with("skipped="));
    format!("{head}<testsuites {}>{suites}", kept.collect::<String>().trim_end())
}

fn status(case: &CaseRecord, row: Option<&Row>) -> TestCaseStatus {
    let failure = |kind: &str, message: String| {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type(kind).set_message(message);
        status
    };
    match &case.status {
        CaseStatus::Failed(why) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type("failed").set_message(why.to_string());
            status
        }
        CaseStatus::Skipped(_) | CaseStatus::Incomplete => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(show::trouble(case).unwrap_or_default());
            status
        }
        CaseStatus::Measured => {
            let rules: Vec<String> = case.failed_rules().map(ToString::to_string).collect();
            if !rules.is_empty() {
                return failure("not verified", rules.join("; "));
            }
            match row {
                Some(row) if row.verdict == Verdict::Regressed => {
                    let by = row.effect.map_or_else(String::new, |effect| {
                        let [low, high] = [effect.low, effect.high].map(quantity::change);
                        format!(" has a slowdown of {} [{low} .. {high}]", quantity::change(effect.estimate))
                    });
                    failure("regression", format!("{}{by}", row.metric))
                }
                _ => TestCaseStatus::success(),
            }
        }
    }
}

/// Seconds of all repeats, by the ledger.
fn life(case: &CaseRecord) -> f64 {
    let times = case.metrics.iter().filter(|metric| metric.name.starts_with("time/"));
    let sum: f64 =
        times.flat_map(|metric| metric.values.iter().filter_map(weighbridge::data::Reading::value)).sum();
    if sum.is_finite() { sum.clamp(0.0, 1e9) } else { 0.0 }
}
