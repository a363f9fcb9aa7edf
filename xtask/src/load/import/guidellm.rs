//! Reports of guidellm 0.8 (`--output kind=json`): a window for each benchmark.

use serde::Deserialize;
use serde_json::Value;

use super::foreign::{FROM_DUE, ForeignRequest, ForeignWindow, answers, length, users};

#[derive(Deserialize)]
struct GuideReport {
    benchmarks: Vec<GuideBenchmark>,
}

#[derive(Deserialize)]
struct GuideBenchmark {
    config: GuideConfig,
    requests: GuideRequests,
    duration: f64,
}

#[derive(Deserialize)]
struct GuideConfig {
    strategy: GuideStrategy,
    #[serde(default)]
    backend: Value,
}

#[derive(Deserialize)]
struct GuideStrategy {
    type_: String,
    streams: Option<u64>,
    rate: Option<f64>,
}

#[derive(Deserialize)]
struct GuideRequests {
    successful: Option<Vec<GuideRequest>>,
    errored: Option<Vec<GuideRequest>>,
    incomplete: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct GuideRequest {
    info: GuideInfo,
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct GuideInfo {
    timings: GuideTimings,
}

/// Seconds of one clock.
#[derive(Deserialize)]
struct GuideTimings {
    targeted_start: Option<f64>,
    request_start: Option<f64>,
    first_token_iteration: Option<f64>,
    request_end: Option<f64>,
    resolve_end: Option<f64>,
}

/// The windows of a report.
pub(super) fn read(report: Value) -> Result<Vec<ForeignWindow>, String> {
    let of_other = |error: serde_json::Error| format!("it is no report of guidellm 0.8: {error}");
    let report: GuideReport = serde_json::from_value(report).map_err(of_other)?;
    if report.benchmarks.is_empty() {
        return Err("it has no benchmark".to_owned());
    }
    report.benchmarks.into_iter().map(window).collect()
}

fn window(benchmark: GuideBenchmark) -> Result<ForeignWindow, String> {
    let GuideBenchmark { config, requests, duration } = benchmark;
    let good = requests.successful.unwrap_or_default().into_iter().map(|one| request(&one, false));
    let bad = requests.errored.unwrap_or_default().into_iter().map(|one| request(&one, true));
    let requests_read = good.chain(bad).collect::<Result<Vec<_>, _>>()?;
    let mut notes = vec![FROM_DUE.to_owned()];
    let cut = requests.incomplete.map_or(0, |all| all.len());
    if cut > 0 {
        notes.push(format!("{cut} requests were underway at the end, and are left out"));
    }
    let model = config.backend.get("model").and_then(Value::as_str);
    Ok(ForeignWindow {
        tool: "guidellm",
        level: level(&config.strategy),
        meaning: model.map_or_else(String::new, |model| format!("model {model}")),
        answers: answers(requests_read)?,
        length: length(duration)?,
        notes,
    })
}

fn request(request: &GuideRequest, failed: bool) -> Result<ForeignRequest, String> {
    let timings = &request.info.timings;
    let due = timings.targeted_start.or(timings.request_start).ok_or("a request has no start")?;
    let end = timings.request_end.or(timings.resolve_end).ok_or("a request has no end")?;
    // Two clocks of processes may differ by some microseconds.
    let since = |time: f64| if (-1e-3..0.0).contains(&(time - due)) { 0.0 } else { time - due };
    Ok(ForeignRequest {
        delay: timings.request_start.map(since),
        first_token: timings.first_token_iteration.map(since),
        latency: since(end),
        gaps: Vec::new(), // it notes their mean alone
        tokens: request.output_tokens,
        prompt: request.prompt_tokens.unwrap_or(0),
        failed,
    })
}

fn level(strategy: &GuideStrategy) -> String {
    match (strategy.type_.as_str(), strategy.streams, strategy.rate) {
        ("synchronous", ..) => users(1),
        (_, Some(streams), _) => users(streams),
        ("poisson" | "async", _, Some(rate)) => format!("{rate} per s poisson"),
        (_, _, Some(rate)) => format!("{rate} per s"),
        ("throughput", ..) => "all at once".to_owned(),
        (other, ..) => other.to_owned(),
    }
}
