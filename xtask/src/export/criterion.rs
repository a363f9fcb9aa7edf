//! The folders of criterion: `<group>/<function>/<value>/<name>/{benchmark,sample,tukey,estimates}.json`.
//!
//! critcmp looks for every `estimates.json` and dies of one without its `benchmark.json`, so the latter is
//! written first. It shows the mean: ours is that of the repeats. The median is the estimate that all else
//! here goes by.

use std::collections::HashSet;
use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};
use weighbridge::data::CaseRecord;
use weighbridge::data::names;

use super::time::Times;
use super::{ExportOutput, Job};

/// The longest part of a path, in bytes: as criterion cuts them.
const LONGEST: usize = 64;

pub(super) fn write(job: &Job<'_>) -> Result<ExportOutput> {
    let mut files = Vec::new();
    let mut taken = HashSet::new();
    for case in &job.run.cases {
        let Some(times) = Times::of(case) else { continue };
        let (parts, id) = parts(case);
        let plain = parts.iter().map(|part| safe(part)).collect::<Vec<_>>().join("/");
        let mut folder = plain.clone();
        // Two names may differ in letters that a path cannot have.
        let mut number = 2;
        while !taken.insert(folder.clone()) {
            folder = format!("{plain}_{number}");
            number += 1;
        }
        let place = PathBuf::from(&folder).join(job.name);
        let mut add =
            |name: &str, value: &Value| files.push((place.join(name), format!("{value}").into_bytes()));
        add("benchmark.json", &benchmark(case, &id, &parts, &folder));
        add("sample.json", &sample(case, &times));
        add("tukey.json", &json!(times.fences()));
        add("estimates.json", &estimates(&times));
    }
    anyhow::ensure!(!files.is_empty(), "no case of run {} has a time", job.run.manifest.id);
    Ok(ExportOutput::Files(files))
}

/// Group, function and value: the scenario, the system, the point; and the whole name.
fn parts(case: &CaseRecord) -> (Vec<String>, String) {
    let point = case.id.point.to_string();
    let parts = [
        Some(case.id.scenario.clone()),
        case.id.adapter.clone(),
        Some(point).filter(|point| !point.is_empty()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let id = parts.join("/");
    (parts, id)
}

/// A part of a path: what criterion replaces, what leads elsewhere, and what nobody can see, is an
/// underscore.
fn safe(part: &str) -> String {
    let bad = |letter: char| "?\"/\\*<>:|^".contains(letter) || letter.is_control();
    let mut text: String = part.chars().map(|letter| if bad(letter) { '_' } else { letter }).collect();
    while text.len() > LONGEST {
        text.pop();
    }
    match text.trim_matches(['.', ' ']).is_empty() {
        true => "_".repeat(text.len().max(1)),
        false => text,
    }
}

fn benchmark(case: &CaseRecord, id: &str, parts: &[String], folder: &str) -> Value {
    let of_one = |of: fn(&weighbridge::data::Blocks) -> f64| {
        let process = case.processes.first()?;
        Some(process.blocks.as_ref().map(of)?.round() as u64).filter(|amount| *amount > 0)
    };
    // What one item of a stream holds is the rate times its time.
    let of_item = |rate: &str| {
        let (rate, time) =
            (case.metric(rate)?.estimate?.median, case.metric(names::WALL_TIME)?.estimate?.median);
        Some((rate * time).round() as u64).filter(|amount| *amount > 0)
    };
    let elements = of_one(|blocks| blocks.elements).or_else(|| of_item(names::THROUGHPUT));
    let bytes = of_one(|blocks| blocks.bytes).or_else(|| of_item(names::THROUGHPUT_BYTES));
    let throughput = elements.map(|n| json!({"Elements": n})).or_else(|| bytes.map(|n| json!({"Bytes": n})));
    json!({
        "group_id": parts[0],
        // Of a case that is a name alone criterion writes null here, which cargo-bench-history dies of.
        "function_id": parts.get(1).map_or("", String::as_str),
        "value_str": parts.get(2),
        "throughput": throughput,
        "full_id": id,
        "directory_name": folder,
        "title": id,
    })
}

/// One sample for each repeat: its iterations, and what they took together.
fn sample(case: &CaseRecord, times: &Times) -> Value {
    let iterations =
        |at: usize| case.processes.get(at).map_or(1.0, |process| process.iterations.max(1) as f64);
    let iters: Vec<f64> = (0..times.values.len()).map(iterations).collect();
    let totals: Vec<f64> =
        iters.iter().zip(&times.values).map(|(iterations, time)| iterations * time).collect();
    json!({"sampling_mode": "Flat", "iters": iters, "times": totals})
}

fn estimates(times: &Times) -> Value {
    let n = times.values.len() as f64;
    let (mean, deviation) = (times.mean(), times.standard_deviation());
    let error = deviation / n.sqrt();
    let estimate = |point: f64, low: f64, high: f64, error: f64| {
        json!({
            "confidence_interval": {"confidence_level": 0.95, "lower_bound": low, "upper_bound": high},
            "point_estimate": point,
            "standard_error": error,
        })
    };
    let about = |point: f64, error: f64| estimate(point, point - 1.96 * error, point + 1.96 * error, error);
    let (low, high) = times.interval.unwrap_or_else(|| {
        let bound =
            |pick: fn(f64, f64) -> f64| times.values.iter().copied().reduce(pick).unwrap_or(times.median);
        (bound(f64::min), bound(f64::max))
    });
    json!({
        "mean": about(mean, error),
        "median": estimate(times.median, low, high, 1.2533 * error),
        "median_abs_dev": about(times.median_deviation(), 0.0),
        "slope": null,
        "std_dev": about(deviation, 0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_path_leads_nowhere_and_is_cut_at_a_letter() {
        for (part, expected) in
            [("Google Grain", "Google Grain"), ("a/b:c", "a_b_c"), ("..", "__"), ("", "_"), ("a\nb", "a_b")]
        {
            assert_eq!(safe(part), expected);
        }
        assert_eq!(safe(&"ä".repeat(60)).len(), 64);
    }
}
