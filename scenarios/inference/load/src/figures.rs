//! The figures of a row, from the answers of its level.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::percentile::{Percentile, p99_or_greatest, percentile};

/// Times within which an answer is a good one. Those that are `None` ask for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goals {
    /// To the first token, from the due time.
    pub first_token: Option<Duration>,
    /// Per token after the first, on average over the answer.
    pub per_token: Option<Duration>,
    /// To the end, from the due time.
    pub latency: Option<Duration>,
}

impl Goals {
    /// Tells whether there is a goal.
    pub fn any(&self) -> bool {
        *self != Goals::default()
    }

    fn are_met(&self, answer: &Answer) -> bool {
        let within = |goal: Option<Duration>, time: Option<u64>| match (goal, time) {
            (None, _) => true,
            (Some(goal), Some(time)) => u128::from(time) <= goal.as_nanos(),
            // A time that nobody can tell meets no goal.
            (Some(_), None) => false,
        };
        within(self.first_token, answer.first_token)
            && within(self.per_token, per_token(answer))
            && within(self.latency, Some(answer.latency))
    }
}

/// Times of one kind, in order, with the number of requests that failed and have none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    sorted: Vec<u64>,
    failed: u64,
}

impl Times {
    fn new(mut times: Vec<u64>, failed: u64) -> Self {
        times.sort_unstable();
        Self { sorted: times, failed }
    }

    /// The percentile of this share; `None` where the count does not bear it out.
    pub fn at(&self, share: f64) -> Option<Percentile> {
        percentile(&self.sorted, self.failed, share)
    }

    /// p99, or the greatest of too few for one.
    pub(crate) fn p99_or_greatest(&self) -> u64 {
        p99_or_greatest(&self.sorted)
    }

    /// The greatest.
    pub fn greatest(&self) -> Option<u64> {
        self.sorted.last().copied()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }
}

/// The figures of a row. All times are nanoseconds, and count from the due time unless they say otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Requests that were due in the measured time.
    pub requests: u64,
    /// Failures of them, by kind.
    pub failures: BTreeMap<Failure, u64>,
    /// Requests that were due per second.
    pub asked_rate: f64,
    /// Good answers per second that were complete within the measured time.
    pub achieved_rate: f64,
    /// To the end of the answer.
    pub latency: Times,
    /// To its first bytes.
    pub first_byte: Times,
    /// To its first token.
    pub first_token: Times,
    /// Between reads that brought tokens.
    pub gap: Times,
    /// Per token after the first: from the first to the last, by the server's count. One for each answer.
    pub per_token: Times,
    /// The client's delay.
    pub delay: Times,
    /// Events with tokens.
    pub chunks: u64,
    /// Those that share a read with one before.
    pub shared: u64,
    /// Events with reasoning.
    pub reasoning: u64,
    /// Events with calls of tools.
    pub tools: u64,
    /// Roles and empty events.
    pub empty: u64,
    /// Comments.
    pub pings: u64,
    /// Tokens that the server says it has made; `None` unless it says so of every answer.
    pub tokens: Option<u64>,
    /// Tokens of prompts, as the server counts them.
    pub prompt_tokens: u64,
    /// Those of them that it had from a cache.
    pub cached_tokens: u64,
    /// Answers whose counts cannot be true of their text.
    pub contradictions: u64,
    /// Answers that met all goals, per second; `None` without goals.
    pub goodput: Option<f64>,
    /// The measured seconds.
    pub seconds: f64,
}

impl Figures {
    /// Failures of all kinds.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Tokens per second.
    pub fn token_rate(&self) -> Option<f64> {
        self.tokens.map(|tokens| tokens as f64 / self.seconds)
    }
}

/// The mean time per token after the first.
fn per_token(answer: &Answer) -> Option<u64> {
    let tokens = answer.usage?.completion;
    let span = answer.last_token?.checked_sub(answer.first_token?)?;
    (tokens > 1).then(|| span / (tokens - 1))
}

/// Gathers answers, one after another.
pub(crate) struct Gathering {
    goals: Goals,
    length: Duration,
    figures: Figures,
    latency: Vec<u64>,
    first_byte: Vec<u64>,
    first_token: Vec<u64>,
    gap: Vec<u64>,
    per_token: Vec<u64>,
    delay: Vec<u64>,
    within: u64,
    good: u64,
    uncounted: u64,
    tokens: u64,
}

impl Gathering {
    /// For a measured time of this length.
    pub(crate) fn new(goals: Goals, length: Duration) -> Self {
        Self {
            goals,
            length,
            figures: Figures::default(),
            latency: Vec::new(),
            first_byte: Vec::new(),
            first_token: Vec::new(),
            gap: Vec::new(),
            per_token: Vec::new(),
            delay: Vec::new(),
            within: 0,
            good: 0,
            uncounted: 0,
            tokens: 0,
        }
    }

    /// Takes an answer; `is_within` tells whether it was complete within the measured time.
    pub(crate) fn take(&mut self, answer: &Answer, is_within: bool) {
        let figures = &mut self.figures;
        figures.requests += 1;
        self.delay.push(answer.delay);
        if let Some(failure) = answer.failure {
            *figures.failures.entry(failure).or_default() += 1;
            return;
        }
        figures.chunks += answer.chunks;
        figures.shared += answer.shared;
        figures.reasoning += answer.reasoning;
        figures.tools += answer.tools;
        figures.empty += answer.empty;
        figures.pings += answer.pings;
        figures.contradictions += u64::from(answer.contradicts);
        match answer.usage {
            Some(usage) => {
                self.tokens += usage.completion;
                figures.prompt_tokens += usage.prompt;
                figures.cached_tokens += usage.cached;
            }
            None => self.uncounted += 1,
        }
        self.within += u64::from(is_within);
        self.good += u64::from(is_within && self.goals.are_met(answer));
        self.latency.push(answer.latency);
        self.first_byte.extend(answer.first_byte);
        self.first_token.extend(answer.first_token);
        self.gap.extend_from_slice(&answer.gaps);
        self.per_token.extend(per_token(answer));
    }

    /// The figures.
    pub(crate) fn finish(self) -> Figures {
        let seconds = self.length.as_secs_f64().max(1e-9);
        let failed = self.figures.failed();
        let is_counted = self.uncounted == 0 && !self.latency.is_empty();
        Figures {
            asked_rate: self.figures.requests as f64 / seconds,
            achieved_rate: self.within as f64 / seconds,
            latency: Times::new(self.latency, failed),
            first_byte: Times::new(self.first_byte, failed),
            first_token: Times::new(self.first_token, failed),
            gap: Times::new(self.gap, 0),
            per_token: Times::new(self.per_token, failed),
            delay: Times::new(self.delay, 0),
            tokens: is_counted.then_some(self.tokens),
            goodput: self.goals.any().then(|| self.good as f64 / seconds),
            seconds,
            ..self.figures
        }
    }
}
