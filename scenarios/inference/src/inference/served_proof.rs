//! Are the answers of a server those of the model that it was given? Looked at after it was loaded, answer by
//! answer, among all that it gave.

use std::time::{Duration, Instant};

use serde::Deserialize;
use weighbridge::{Dtype, Error, FieldCopy, ItemCopy, Result};
use weighbridge_load::{Events, StreamItem};

use super::proof::{prove_call, prove_tokens};
use crate::adapters::native::HandModel;
use crate::contract::{NotedAnswer, NotedCall, ServedAnswer, ServedLoad};
use crate::workload::{ServingSpec, ids_of};

/// For so long answers are looked at: so many at least, where there are as many.
const LOOK: (Duration, usize) = (Duration::from_millis(500), 4);

/// The longest line of a stream.
const LINE: usize = 1 << 20;

/// Holds the answers that were drawn against the model by hand in `f64`: what was answered offline is what it
/// computes. Returns one of them as what was delivered, and the ids that were as good as the greatest.
///
/// # Errors
/// What differs; that nothing was answered.
pub fn prove_served(spec: &ServingSpec, load: &ServedLoad) -> Result<(ItemCopy, usize)> {
    let mut reference = HandModel::<f64>::open(&spec.prediction, &load.weights)?;
    let (begun, mut ties, mut delivered) = (Instant::now(), 0, None);
    for (number, answer) in load.answers.iter().enumerate() {
        if number >= LOOK.1 && begun.elapsed() > LOOK.0 {
            break;
        }
        let found = read(spec, answer)?;
        ties += match &found {
            NotedAnswer::Logits(_) => {
                let call = answer.number;
                let note = NotedCall { epoch: load.seed, call, samples: 0..1, answer: found.clone() };
                prove_call(&spec.prediction, &note, &mut reference)?
            }
            NotedAnswer::Tokens(made) => {
                let prompt = ids(&answer.prompt)?;
                prove_tokens(&spec.prediction, answer.number, &prompt, made, &mut reference)?
            }
        };
        delivered.get_or_insert(found);
    }
    let delivered =
        delivered.ok_or_else(|| Error::new("the server answered nothing that could be looked at"))?;
    Ok((item(&delivered), ties))
}

/// An answer as an element: so many numbers of one kind.
fn item(answer: &NotedAnswer) -> ItemCopy {
    let (name, dtype, numbers, bytes): (_, _, _, Vec<u8>) = match answer {
        NotedAnswer::Logits(logits) => {
            let bytes = logits.iter().flat_map(|logit| logit.to_le_bytes()).collect();
            ("logits", Dtype::F32, logits.len(), bytes)
        }
        NotedAnswer::Tokens(made) => {
            let bytes = made.iter().flat_map(|id| id.to_le_bytes()).collect();
            ("token", Dtype::I32, made.len(), bytes)
        }
    };
    let field = FieldCopy { name: name.into(), dtype, shape: vec![numbers], bytes };
    ItemCopy { elements: 1, fields: vec![field] }
}

fn read(spec: &ServingSpec, answer: &ServedAnswer) -> Result<NotedAnswer> {
    match spec.prediction.generation {
        None => Ok(NotedAnswer::Logits(logits(answer)?)),
        Some(generation) => {
            let made = ids(&text(answer)?)?;
            if made.len() != generation.tokens {
                return Err(Error::new(format!(
                    "the text of answer {} has {} letters where {} are due, a letter for each id",
                    answer.number,
                    made.len(),
                    generation.tokens
                )));
            }
            Ok(NotedAnswer::Tokens(made))
        }
    }
}

fn ids(text: &str) -> Result<Vec<i32>> {
    ids_of(text).map_err(|letter| Error::new(format!("{letter:?} in the text of an answer stands for no id")))
}

#[derive(Deserialize)]
struct InferredAnswer {
    outputs: Vec<InferredOutput>,
}

#[derive(Deserialize)]
struct InferredOutput {
    data: Vec<f32>,
}

/// The logits of an answer in the form of the Open Inference Protocol.
fn logits(answer: &ServedAnswer) -> Result<Vec<f32>> {
    let none = |why: &dyn std::fmt::Display| {
        Error::new(format!("answer {} of those that were timed has no logits: {why}", answer.number))
    };
    let read: InferredAnswer = serde_json::from_slice(&answer.body).map_err(|error| none(&error))?;
    match <[InferredOutput; 1]>::try_from(read.outputs) {
        Ok([output]) => Ok(output.data),
        Err(others) => Err(none(&format!("it has {} outputs", others.len()))),
    }
}

#[derive(Deserialize)]
struct CompletionEvent {
    #[serde(default)]
    choices: Vec<CompletionChoice>,
}

#[derive(Deserialize)]
struct CompletionChoice {
    #[serde(default)]
    text: String,
}

/// The text of an answer that came event by event.
fn text(answer: &ServedAnswer) -> Result<String> {
    let mut text = String::new();
    for item in Events::new(&answer.body, LINE) {
        let StreamItem::Event { data, .. } = item else { continue };
        if data.trim_ascii() == b"[DONE]" {
            break;
        }
        let event: CompletionEvent = serde_json::from_slice(&data)
            .map_err(|error| Error::new(format!("an event of answer {} is none: {error}", answer.number)))?;
        text.extend(event.choices.into_iter().map(|choice| choice.text));
    }
    Ok(text)
}
