//! The log of a training in `MLPerf`'s form, a file for each repeat of each case that trains to a target:
//! `:::MLLOG` and a JSON document a line, with the keys of its training benchmarks. No compliance is claimed:
//! the rules ask for other models and data.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};
use weighbridge::data::CaseRecord;
use weighbridge::data::names;

use super::{ExportOutput, Job};
use crate::view::learning_curve::{BEST_ACCURACY, ShownCurve};

pub(super) fn write(job: &Job<'_>) -> Result<ExportOutput> {
    let mut files = Vec::new();
    for case in job.run.cases.iter().filter(|case| case.ranked()) {
        let repeats = case.metric(BEST_ACCURACY).map_or(0, |metric| metric.values.len());
        for place in 0..repeats {
            let curve = ShownCurve::of_repeat(case, place);
            if !curve.looks.is_empty() {
                let path = PathBuf::from(case.id.file_name()).join(format!("result_{place}.txt"));
                files.push((path, log(job, case, &curve).into_bytes()));
            }
        }
    }
    if files.is_empty() {
        return Ok(ExportOutput::Skipped(format!(
            "run {} has no training to a target: `cargo bench -- --set convergence` makes one",
            job.run.manifest.id
        )));
    }
    Ok(ExportOutput::Files(files))
}

fn log(job: &Job<'_>, case: &CaseRecord, curve: &ShownCurve) -> String {
    let begun = job.run.manifest.started * 1_000;
    let batch = batch(case);
    let mut text = String::new();
    let mut line = |seconds: f64, kind: &str, key: &str, value: Value, more: Value| {
        let mut metadata = json!({"file": case.id.to_string(), "lineno": 0});
        if let (Value::Object(metadata), Value::Object(more)) = (&mut metadata, more) {
            metadata.extend(more);
        }
        let line = json!({
            "namespace": "",
            "time_ms": begun + (seconds * 1e3).round() as u64,
            "event_type": kind,
            "key": key,
            "value": value,
            "metadata": metadata,
        });
        text.push_str(&format!(":::MLLOG {line}\n"));
    };
    let axis = |name: &str| case.id.point.get(name).map(|value| value.text.clone());
    let point = "POINT_IN_TIME";
    let settings = [
        ("submission_benchmark", json!(axis("variant").unwrap_or_else(|| case.id.scenario.clone()))),
        ("submission_platform", json!(weighbridge::data::machine(&job.run.manifest.environment))),
        ("submission_division", json!("none: not a submission")),
        ("framework", json!(case.id.adapter)),
        ("seed", json!(axis("seed"))),
        ("global_batch_size", json!(batch)),
    ];
    for (key, value) in settings {
        line(0.0, point, key, value, json!({}));
    }
    line(0.0, "INTERVAL_START", "run_start", Value::Null, json!({}));
    for look in &curve.looks {
        let at = json!({"samples_count": look.steps * batch, "step_num": look.steps});
        line(look.time, point, "train_loss", json!(look.loss), at.clone());
        line(look.time, point, "eval_accuracy", json!(look.accuracy), at);
    }
    let last = curve.looks.last().map_or(0.0, |look| look.time);
    let status = if curve.reached { "success" } else { "aborted" };
    line(last, "INTERVAL_END", "run_stop", Value::Null, json!({"status": status}));
    text
}

/// Samples of a step: the rate times its time.
fn batch(case: &CaseRecord) -> u64 {
    let median = |name: &str| Some(case.metric(name)?.estimate?.median);
    let samples = || Some(median(names::THROUGHPUT)? * median(names::WALL_TIME)?);
    samples().map_or(0, |samples| samples.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{args, files};
    use crate::fixtures::{home, run, training};

    #[test]
    fn each_repeat_has_a_log_that_ends_with_whether_it_came_to_the_target() {
        let home = home();
        let cases =
            vec![training("Swift", 1, 5_000.0, Some((64.0, 0.8))), training("Lost", 1, 9_000.0, None)];
        home.store(&run(1_000, cases));
        let out = home.directory.path().join("logs");
        let said = super::super::run(&args("mlperf", Some(&out)), &home.place).expect("exported");
        assert!(said.text.starts_with("14 files are written"), "{}", said.text);
        let texts: Vec<String> =
            files(&out).iter().map(|file| std::fs::read_to_string(file).expect("written")).collect();
        assert!(texts.iter().all(|text| text.lines().all(|line| line.starts_with(":::MLLOG {"))));
        let ended = |how: &str| texts.iter().filter(|text| text.contains(how)).count();
        assert_eq!((ended(r#""status":"success""#), ended(r#""status":"aborted""#)), (7, 7), "{texts:?}");
        let reached = texts.iter().find(|text| text.contains("success")).expect("one");
        for part in [
            concat!(
                r#""key":"eval_accuracy","metadata":{"file":"TRAIN-2/eager/1/Swift","lineno":0,"#,
                r#""samples_count":2048,"step_num":64}"#
            ),
            r#""time_ms":1000800,"value":0.91}"#,
        ] {
            assert!(reached.contains(part), "{part} in {reached}");
        }
    }
}
