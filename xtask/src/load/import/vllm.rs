//! Results of `vllm bench serve --save-result --save-detailed`.

use serde::Deserialize;
use serde_json::Value;

use super::foreign::{FROM_SENT, ForeignRequest, ForeignWindow, answers, length, users};

/// The fields that are read. Times are seconds.
#[derive(Deserialize)]
struct VllmResult {
    duration: f64,
    model_id: Option<String>,
    request_rate: Option<Value>,
    max_concurrency: Option<u64>,
    #[serde(default)]
    input_lens: Vec<u64>,
    output_lens: Option<Vec<u64>>,
    ttfts: Option<Vec<f64>>,
    itls: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    errors: Vec<Option<String>>,
}

/// The window of a result.
pub(super) fn read(result: Value) -> Result<ForeignWindow, String> {
    if result.get("request_throughput").is_none() {
        return Err("it is no result of `vllm bench serve`".to_owned());
    }
    let result: VllmResult = serde_json::from_value(result).map_err(|error| error.to_string())?;
    let (Some(ttfts), Some(itls), Some(tokens)) = (&result.ttfts, &result.itls, &result.output_lens) else {
        return Err(
            "it has no requests, but their summary: run `vllm bench serve` with --save-detailed".to_owned()
        );
    };
    if ttfts.len() != itls.len() || ttfts.len() != tokens.len() {
        return Err(format!(
            "it has {} first tokens, gaps of {} and tokens of {} requests",
            ttfts.len(),
            itls.len(),
            tokens.len()
        ));
    }
    let request = |place: usize| ForeignRequest {
        delay: None,
        first_token: Some(ttfts[place]),
        // The tool's end of an answer is that of its last chunk.
        latency: ttfts[place] + itls[place].iter().sum::<f64>(),
        gaps: itls[place].clone(),
        tokens: Some(tokens[place]),
        prompt: result.input_lens.get(place).copied().unwrap_or(0),
        failed: result
            .errors
            .get(place)
            .is_some_and(|error| error.as_ref().is_some_and(|why| !why.is_empty())),
    };
    Ok(ForeignWindow {
        tool: "vllm",
        level: level(&result),
        meaning: result.model_id.clone().map_or_else(String::new, |model| format!("model {model}")),
        answers: answers((0..ttfts.len()).map(request).collect())?,
        length: length(result.duration)?,
        notes: vec![FROM_SENT.to_owned()],
    })
}

/// A rate is what the tool was asked for; `inf` is all at once, or as many as may be underway.
fn level(result: &VllmResult) -> String {
    match (result.request_rate.as_ref().and_then(Value::as_f64), result.max_concurrency) {
        (Some(rate), None) => format!("{rate} per s"),
        (Some(rate), Some(most)) => format!("{rate} per s, {} at most", users(most)),
        (None, Some(most)) => users(most),
        (None, None) => "all at once".to_owned(),
    }
}
