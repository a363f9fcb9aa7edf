//! What a server by hand is asked, and what it answers.

use hyper::body::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use weighbridge::Result;
use weighbridge_training::workload::model::Shape;

use crate::contract::{OpenModel, greatest};
use crate::workload::{ModelInput, PredictionSpec, ids_of, letter_of};

/// One request, for the thread of the model.
pub(super) enum ServedJob {
    /// A text to go on with, and where its events go.
    Completion(Completion, mpsc::UnboundedSender<Bytes>),
    /// A sample, and where its logits go.
    Inference(ModelInput, oneshot::Sender<Vec<f32>>),
}

/// A text to go on with.
pub(super) struct Completion {
    prompt: Vec<i32>,
    tokens: usize,
    pub(super) stream: bool,
    counts: bool,
}

#[derive(Deserialize)]
struct CompletionBody {
    prompt: String,
    max_tokens: Option<usize>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: StreamOptions,
}

#[derive(Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// The tokens of an answer where none are asked for.
const TOKENS: usize = 16;

/// Reads a request to go on with a text.
///
/// # Errors
/// The body of the answer that says what is wrong with it.
pub(super) fn parse_completion(
    body: &[u8],
    spec: &PredictionSpec,
) -> std::result::Result<Completion, String> {
    let read: CompletionBody = serde_json::from_slice(body).map_err(|error| refusal(&error.to_string()))?;
    let prompt = ids_of(&read.prompt).map_err(|letter| refusal(&format!("{letter:?} is no token")))?;
    let (tokens, places) = (read.max_tokens.unwrap_or(TOKENS), spec.model.input.positions());
    if prompt.is_empty() || tokens == 0 || prompt.len() + tokens > places {
        return Err(refusal(&format!(
            "{} tokens and {tokens} after them do not fit into {places} places",
            prompt.len()
        )));
    }
    Ok(Completion { prompt, tokens, stream: read.stream, counts: read.stream_options.include_usage })
}

#[derive(Deserialize)]
struct InferenceBody {
    inputs: Vec<InferenceInput>,
}

#[derive(Deserialize)]
struct InferenceInput {
    data: Vec<f32>,
}

/// Reads a sample.
///
/// # Errors
/// The body of the answer that says what is wrong with it.
pub(super) fn parse_inference(body: &[u8], spec: &PredictionSpec) -> std::result::Result<ModelInput, String> {
    let read: InferenceBody = serde_json::from_slice(body).map_err(|error| refusal(&error.to_string()))?;
    let due = spec.input().count();
    let [input] = &read.inputs[..] else { return Err(refusal("there is one input")) };
    if input.data.len() != due {
        return Err(refusal(&format!("the input has {} numbers where {due} are due", input.data.len())));
    }
    Ok(match spec.model.input {
        Shape::Ids { .. } => ModelInput::Ids(input.data.iter().map(|&id| id as i32).collect()),
        _ => ModelInput::Numbers(input.data.clone()),
    })
}

fn refusal(why: &str) -> String {
    json!({ "error": { "message": why } }).to_string()
}

/// The body of an answer that has logits.
pub(super) fn inferred(logits: &[f32]) -> String {
    let output = json!({ "name": "logits", "shape": [1, logits.len()], "datatype": "FP32", "data": logits });
    json!({ "model_name": "model", "outputs": [output] }).to_string()
}

impl ServedJob {
    /// Answers it. A client that has gone hears nothing.
    pub(super) fn answer(self, model: &mut dyn OpenModel) {
        match self {
            Self::Inference(input, answer) => {
                if let Ok(logits) = model.predict(&input, 1) {
                    let _ = answer.send(logits);
                }
            }
            Self::Completion(completion, events) => {
                // A stream that ends without its last word is an answer that was cut.
                let _ = completion.answer(model, &events);
            }
        }
    }
}

impl Completion {
    fn answer(&self, model: &mut dyn OpenModel, events: &mpsc::UnboundedSender<Bytes>) -> Result<()> {
        let mut text = String::new();
        let mut logits = model.prefill(&self.prompt, 1)?;
        for number in 1..=self.tokens {
            let id = greatest(&logits);
            let letter = letter_of(id).map(String::from).unwrap_or_default();
            if self.stream && events.send(event(&choice(&letter))).is_err() {
                return Ok(()); // the client has gone
            }
            text.push_str(&letter);
            if number < self.tokens {
                logits = model.decode(&[id])?;
            }
        }
        let usage = json!({
            "prompt_tokens": self.prompt.len(),
            "completion_tokens": self.tokens,
            "total_tokens": self.prompt.len() + self.tokens,
        });
        if !self.stream {
            let mut whole = choice(&text);
            whole["usage"] = usage;
            let _ = events.send(whole.to_string().into());
            return Ok(());
        }
        if self.counts {
            let counts = json!({ "object": "text_completion", "choices": [], "usage": usage });
            let _ = events.send(event(&counts));
        }
        let _ = events.send(Bytes::from_static(b"data: [DONE]\n\n"));
        Ok(())
    }
}

fn choice(text: &str) -> serde_json::Value {
    json!({ "object": "text_completion", "choices": [{ "index": 0, "text": text }] })
}

fn event(json: &serde_json::Value) -> Bytes {
    format!("data: {json}\n\n").into()
}
