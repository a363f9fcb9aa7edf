//! A window and its requests as other tools tell them, in seconds, checked before anything is made of them.

use std::time::Duration;

use weighbridge_load::{Answer, Failure, Usage};

/// A request as another tool tells it. Times are seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct ForeignRequest {
    /// From the moment at which it was due until it was sent, where the tool notes both.
    pub(super) delay: Option<f64>,
    /// From when it was due, or else sent, to its first token.
    pub(super) first_token: Option<f64>,
    /// To its end.
    pub(super) latency: f64,
    /// Between its chunks.
    pub(super) gaps: Vec<f64>,
    /// The tokens of its answer.
    pub(super) tokens: Option<u64>,
    /// The tokens of its prompt.
    pub(super) prompt: u64,
    /// It failed.
    pub(super) failed: bool,
}

/// A window as another tool tells it.
#[derive(Clone, Debug)]
pub(super) struct ForeignWindow {
    /// The tool.
    pub(super) tool: &'static str,
    /// Its load in words, as levels are called.
    pub(super) level: String,
    /// The model, or whatever else must be the same.
    pub(super) meaning: String,
    /// The answers.
    pub(super) answers: Vec<Answer>,
    /// The time that they took together.
    pub(super) length: Duration,
    /// Things to know of them.
    pub(super) notes: Vec<String>,
}

/// The longest time that is believed: a week.
const LONGEST: f64 = 7.0 * 86_400.0;

/// Nanoseconds of a time.
fn nanoseconds(what: &str, seconds: f64) -> Result<u64, String> {
    if (0.0..=LONGEST).contains(&seconds) {
        Ok((seconds * 1e9) as u64)
    } else {
        Err(format!("{what} of a request is {seconds} s, which cannot be"))
    }
}

impl ForeignRequest {
    fn answer(self) -> Result<Answer, String> {
        let mut answer = Answer::of_latency(nanoseconds("the latency", self.latency)?);
        answer.delay = nanoseconds("the delay", self.delay.unwrap_or(0.0))?;
        if self.failed {
            answer.failure = Some(Failure::OtherTool);
            return Ok(answer);
        }
        answer.first_token = self.first_token.map(|time| nanoseconds("the first token", time)).transpose()?;
        if answer.first_token > Some(answer.latency) {
            return Err("the first token of a request comes after its end".to_owned());
        }
        let gaps = self.gaps.into_iter().map(|gap| nanoseconds("a gap", gap));
        answer.gaps = gaps.collect::<Result<_, _>>()?;
        answer.last_token = answer.first_token.map(|_| answer.latency);
        answer.chunks = if answer.first_token.is_some() { answer.gaps.len() as u64 + 1 } else { 0 };
        answer.usage = self.tokens.map(|completion| Usage { prompt: self.prompt, completion, cached: 0 });
        // A few tools call it a success.
        answer.failure = (self.tokens == Some(0)).then_some(Failure::NoContent);
        Ok(answer)
    }
}

/// The answers of requests.
pub(super) fn answers(requests: Vec<ForeignRequest>) -> Result<Vec<Answer>, String> {
    if requests.is_empty() {
        return Err("it has no requests".to_owned());
    }
    requests.into_iter().map(ForeignRequest::answer).collect()
}

/// The time of a window.
pub(super) fn length(seconds: f64) -> Result<Duration, String> {
    Some(seconds)
        .filter(|seconds| *seconds > 0.0 && *seconds <= LONGEST)
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("it took {seconds} s, which cannot be"))
}

/// The name of a closed loop.
pub(super) fn users(users: u64) -> String {
    if users == 1 { "1 user".to_owned() } else { format!("{users} users") }
}

/// The note on where times count from.
pub(super) const FROM_SENT: &str =
    "times count from the moment at which a request was sent: the tool does not note when it was due";

/// The same.
pub(super) const FROM_DUE: &str =
    "times count from the moment at which a request was due, as the tool notes it";
