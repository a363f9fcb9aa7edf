//! Records of aiperf (`profile_export.jsonl`): a request on each line.

use serde::Deserialize;
use serde_json::Value;

use super::foreign::{FROM_DUE, ForeignRequest, ForeignWindow, answers, length, users};

#[derive(Deserialize)]
struct PerfRecord {
    metadata: PerfMetadata,
    #[serde(default)]
    metrics: Value,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct PerfMetadata {
    #[serde(default)]
    benchmark_phase: String,
    credit_issued_ns: Option<i64>,
    request_start_ns: i64,
    request_end_ns: i64,
    #[serde(default)]
    was_cancelled: bool,
}

/// The window of a file of records, whose summaries say what the load was.
pub(super) fn read(text: &str, summaries: &Value) -> Result<ForeignWindow, String> {
    let mut requests = Vec::new();
    let (mut begin, mut end, mut cancelled) = (i64::MAX, i64::MIN, 0);
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let record: PerfRecord =
            serde_json::from_str(line).map_err(|error| format!("line {number} is no record: {error}"))?;
        let PerfRecord { metadata, metrics, error } = record;
        if metadata.benchmark_phase == "warmup" {
            continue;
        }
        if metadata.was_cancelled {
            cancelled += 1;
            continue;
        }
        let due = metadata.credit_issued_ns.unwrap_or(metadata.request_start_ns);
        (begin, end) = (begin.min(due), end.max(metadata.request_end_ns));
        let wrong = |why: String| format!("line {number}: {why}");
        requests.push(request(&metadata, due, &metrics, error.is_some()).map_err(wrong)?);
    }
    let mut notes = vec![FROM_DUE.to_owned()];
    if cancelled > 0 {
        notes.push(format!("{cancelled} requests were cancelled at the end, and are left out"));
    }
    let answers = answers(requests)?;
    let model = summaries["input_config"]["models"]["items"][0]["name"].as_str();
    Ok(ForeignWindow {
        tool: "aiperf",
        level: level(summaries),
        meaning: model.map_or_else(String::new, |model| format!("model {model}")),
        answers,
        length: length(end.saturating_sub(begin) as f64 * 1e-9)?,
        notes,
    })
}

fn request(
    metadata: &PerfMetadata,
    due: i64,
    metrics: &Value,
    failed: bool,
) -> Result<ForeignRequest, String> {
    let since = |time: i64| time.saturating_sub(due) as f64 * 1e-9;
    let delay = since(metadata.request_start_ns);
    let first = milliseconds(metrics, "time_to_first_token")?;
    let gaps = metrics.get("inter_chunk_latency").map(all).transpose()?;
    let latency = since(metadata.request_end_ns);
    Ok(ForeignRequest {
        delay: Some(delay),
        first_token: first.map(|first| (delay + first).min(latency)),
        latency,
        gaps: gaps.unwrap_or_default(),
        tokens: metrics["usage_completion_tokens"]["value"]
            .as_u64()
            .or(metrics["output_sequence_length"]["value"].as_u64()),
        prompt: metrics["input_sequence_length"]["value"].as_u64().unwrap_or(0),
        failed,
    })
}

/// A time that is told in milliseconds.
fn milliseconds(metrics: &Value, name: &str) -> Result<Option<f64>, String> {
    let Some(metric) = metrics.get(name) else { return Ok(None) };
    in_milliseconds(metric)?;
    Ok(metric["value"].as_f64().map(|value| value * 1e-3))
}

/// A list of them.
fn all(metric: &Value) -> Result<Vec<f64>, String> {
    in_milliseconds(metric)?;
    let values = metric["value"].as_array().into_iter().flatten();
    Ok(values.filter_map(Value::as_f64).map(|value| value * 1e-3).collect())
}

fn in_milliseconds(metric: &Value) -> Result<(), String> {
    match metric["unit"].as_str() {
        Some("ms") => Ok(()),
        other => Err(format!("a time is in {}, and not in ms", other.unwrap_or("no unit"))),
    }
}

/// The load, where the summaries lie beside the records.
fn level(summaries: &Value) -> String {
    let mut phases = summaries["input_config"]["phases"].as_array().into_iter().flatten();
    let phase = phases.rfind(|phase| phase["kind"] == "profiling");
    let of = |name: &str| phase.and_then(|phase| phase[name].as_f64());
    match (of("rate").or(of("request_rate")), of("concurrency")) {
        (Some(rate), _) => format!("{rate} per s"),
        (None, Some(concurrency)) => users(concurrency as u64),
        (None, None) => "load".to_owned(),
    }
}
