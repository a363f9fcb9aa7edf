//! What requests ask. No two prompts of a session are equal, by construction.

use std::fmt;
use std::sync::Arc;

use hyper::body::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};
use weighbridge::data::SplitMix64;

use crate::target::{Api, Target};

/// Words that every tokenizer knows.
const WORDS: [&str; 64] = [
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school",
    "state", "family", "student", "group", "country", "problem", "hand", "part", "place", "case", "week",
    "company", "system", "program", "question", "work", "number", "night", "point", "home", "water", "room",
    "mother", "area", "money", "story", "fact", "month", "lot", "right", "study", "book", "eye", "job",
    "word", "business", "issue", "side", "kind", "head", "house", "service", "friend", "father", "power",
    "hour", "game", "line", "end", "member", "law", "car",
];

/// The fields of a body that the client sets itself.
const OWN_FIELDS: [&str; 8] =
    ["model", "messages", "prompt", "max_tokens", "min_tokens", "ignore_eos", "stream", "stream_options"];

/// The reason that a field is none.
#[derive(Debug, thiserror::Error)]
pub enum FieldError {
    /// No name, or no value.
    #[error("`{0}` is no field of a request: write it as NAME=VALUE, such as top_p=0.9")]
    Form(String),
    /// A name that the client sets.
    #[error("the client sets the field `{0}` itself: see --model, --words, --tokens, --no-stream")]
    Own(String),
}

/// One request: which prompt, and how long prompt and answer are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The number of the prompt in its session: no two requests of a row have the same.
    pub number: u64,
    /// The words of the prompt.
    pub words: u32,
    /// The tokens of the answer, if they are asked for.
    pub tokens: Option<u32>,
}

/// The bodies of requests to a server that speaks no `OpenAI` protocol: one for each request, so that no two
/// are equal.
#[derive(Clone)]
pub struct RequestBodies(Arc<dyn Fn(Ask) -> Vec<u8> + Send + Sync>);

impl RequestBodies {
    /// Bodies that are made so, by the number of the request.
    pub fn new(make: impl Fn(Ask) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }
}

impl fmt::Debug for RequestBodies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestBodies")
    }
}

/// Prompts and answers as they are asked for.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Prompts are drawn from it.
    pub seed: u64,
    /// The seed was named: a server may have seen its prompts before.
    pub is_repeatable: bool,
    /// The words of a prompt.
    pub words: u32,
    /// The tokens that an answer is to have; `None` leaves it to the model.
    pub tokens: Option<u32>,
    /// The answers are to come event by event.
    pub stream: bool,
    /// Models may end before they have said as many tokens as were asked for.
    pub may_end_early: bool,
    /// Fields of each request's body beside those that the client sets.
    pub fields: Map<String, Value>,
    /// The whole bodies, where the API is [`Api::Posted`].
    pub bodies: Option<RequestBodies>,
}

impl Workload {
    /// 64 words, 64 tokens, streamed, from a seed that no server has seen.
    pub fn fresh() -> Self {
        let mut bytes = [0; 8];
        // Without randomness of the system the address and the time of the process will do: it is no secret.
        if getrandom::fill(&mut bytes).is_err() {
            bytes = (crate::clock::Stamp::now().0 ^ u64::from(std::process::id()) << 40).to_le_bytes();
        }
        Self { is_repeatable: false, ..Self::of_seed(u64::from_le_bytes(bytes)) }
    }

    /// The same from a seed that was named.
    pub fn of_seed(seed: u64) -> Self {
        Self {
            seed,
            is_repeatable: true,
            words: 64,
            tokens: Some(64),
            stream: true,
            may_end_early: false,
            fields: Map::new(),
            bodies: None,
        }
    }

    /// Adds a field to each body, as it is typed: `top_p=0.9`. A value that is no JSON is a text.
    ///
    /// # Errors
    ///
    /// If it has no name, or one that the client sets itself.
    pub fn add_field(&mut self, typed: &str) -> Result<(), FieldError> {
        let none = || FieldError::Form(typed.to_owned());
        let (name, value) = typed.split_once('=').ok_or_else(none)?;
        if name.trim().is_empty() {
            return Err(none());
        }
        if OWN_FIELDS.contains(&name) {
            return Err(FieldError::Own(name.to_owned()));
        }
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        self.fields.insert(name.to_owned(), value);
        Ok(())
    }

    /// The prompt of this number. Its first word is the number, put through a one-to-one map of 64 bits that
    /// the seed chooses: two prompts differ there, so that they share no beginning that a server could keep.
    pub fn prompt(&self, ask: Ask) -> String {
        let first = SplitMix64::new(ask.number ^ SplitMix64::new(self.seed).draw()).draw();
        let mut prompt = format!("{first:016x}");
        let mut draws = SplitMix64::new(first);
        for _ in 1..ask.words.max(1) {
            prompt.push(' ');
            prompt.push_str(WORDS[draws.below(WORDS.len() as u64) as usize]);
        }
        prompt
    }

    /// The body of the request; empty for [`Api::Plain`].
    pub(crate) fn body(&self, target: &Target, ask: Ask) -> Bytes {
        match target.api {
            Api::Plain => return Bytes::new(),
            Api::Posted => {
                return self.bodies.as_ref().map_or_else(Bytes::new, |bodies| bodies.0(ask).into());
            }
            Api::Chat | Api::Completions => {}
        }
        let prompt = self.prompt(ask);
        let fixed = ask.tokens.filter(|_| !self.may_end_early);
        let body = RequestBody {
            model: target.model.as_deref(),
            messages: (target.api == Api::Chat).then(|| [Message { role: "user", content: &prompt }]),
            prompt: (target.api == Api::Completions).then_some(&*prompt),
            max_tokens: ask.tokens,
            min_tokens: fixed,
            ignore_eos: fixed.map(|_| true),
            temperature: (!self.fields.contains_key("temperature")).then_some(0),
            stream: self.stream,
            stream_options: self.stream.then_some(StreamOptions { include_usage: true }),
            fields: &self.fields,
        };
        // A struct of texts and numbers always has its JSON.
        serde_json::to_vec(&body).unwrap_or_default().into()
    }
}

#[derive(Serialize)]
struct RequestBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<[Message<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    /// vLLM and `SGLang`: no end before so many.
    #[serde(skip_serializing_if = "Option::is_none")]
    min_tokens: Option<u32>,
    /// vLLM, `SGLang` and llama.cpp.
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_eos: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(flatten)]
    fields: &'a Map<String, Value>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn ask(number: u64) -> Ask {
        Ask { number, words: 5, tokens: Some(7) }
    }

    #[test]
    fn no_two_prompts_begin_alike_and_a_seed_gives_them_again() {
        let workload = Workload::of_seed(3);
        let first = |number| workload.prompt(ask(number)).split(' ').next().unwrap().to_owned();
        let all: BTreeSet<String> = (0..10_000).chain((1 << 40)..(1 << 40) + 10_000).map(first).collect();
        assert_eq!(all.len(), 20_000);
        assert_eq!(workload.prompt(ask(1)), Workload::of_seed(3).prompt(ask(1)));
        assert_ne!(workload.prompt(ask(1)), Workload::of_seed(4).prompt(ask(1)));
        assert_ne!(Workload::fresh().seed, Workload::fresh().seed);
        assert_eq!(workload.prompt(ask(1)).split(' ').count(), 5);
    }

    #[test]
    fn a_body_asks_for_the_tokens_and_for_their_count() {
        let chat = Target::parse("http://a", None).unwrap();
        let body: serde_json::Value =
            serde_json::from_slice(&Workload::of_seed(1).body(&chat, ask(1))).unwrap();
        assert_eq!(body["max_tokens"], 7);
        assert_eq!(body["ignore_eos"], true);
        assert_eq!(body["stream_options"]["include_usage"], true);
        assert!(body["messages"][0]["content"].is_string() && body.get("prompt").is_none());
        let plain = Target::parse("http://a/x", None).unwrap();
        assert!(Workload::of_seed(1).body(&plain, ask(1)).is_empty());
    }

    #[test]
    fn bodies_of_ones_own_are_posted_as_they_are_made() {
        let posted = Target::parse("http://a/x", Some(Api::Posted)).unwrap();
        let bodies = RequestBodies::new(|ask| format!("{{\"number\":{}}}", ask.number).into_bytes());
        let workload = Workload { bodies: Some(bodies), ..Workload::of_seed(1) };
        assert_eq!(workload.body(&posted, ask(7)), &b"{\"number\":7}"[..]);
        assert!(Workload::of_seed(1).body(&posted, ask(7)).is_empty());
    }

    #[test]
    fn a_field_of_ones_own_is_in_the_body_and_one_of_the_clients_is_refused() {
        let mut workload = Workload::of_seed(1);
        for typed in ["top_p=0.9", "temperature=0.5", "lora=red=1"] {
            workload.add_field(typed).unwrap();
        }
        let chat = Target::parse("http://a", None).unwrap();
        let body = String::from_utf8(workload.body(&chat, ask(1)).to_vec()).unwrap();
        assert_eq!(body.matches("temperature").count(), 1, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((&body["top_p"], &body["temperature"]), (&Value::from(0.9), &Value::from(0.5)));
        assert_eq!(body["lora"], "red=1");
        for (typed, words) in [("top_p", "NAME=VALUE"), ("=1", "NAME=VALUE"), ("stream=false", "--no-stream")]
        {
            let error = workload.add_field(typed).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
