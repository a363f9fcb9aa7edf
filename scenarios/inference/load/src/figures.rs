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

    /// The percentile of this share as the sample has it, where at least one value lies beyond it: p99 takes
    /// 100 values. It is no statement on the server, and compared with that of another sample.
    pub fn sampled(&self, share: f64) -> Option<u64> {
        let count = self.sorted.len() as u64 + self.failed;
        let place = (share * count as f64).ceil() as usize;
        let is_inner = count as f64 * (1.0 - share) >= 1.0 - 1e-9;
        place.checked_sub(1).filter(|_| is_inner).and_then(|place| self.sorted.get(place).copied())
    }

    /// p99, or the greatest of too few for one.
    pub(crate) fn p99_or_greatest(&self) -> u64 {
        p99_or_greatest(&self.sorted)
    }

    /// The greatest.
    pub fn greatest(&self) -> Option<u64> {
        self.sorted.last().copied()
    }

    /// Their number.
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
    /// Good answers per second that became complete within the measured time, whenever they were due.
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
    /// Tokens per second in the answers of [`Figures::achieved_rate`], likewise.
    pub token_rate: Option<f64>,
    /// Events with tokens per second in the same.
    pub chunk_rate: f64,
    /// Tokens of prompts, as the server counts them.
    pub prompt_tokens: u64,
    /// Those of them that it had from a cache.
    pub cached_tokens: u64,
    /// Answers whose counts cannot be true of their text.
    pub contradictions: u64,
    /// Those answers of [`Figures::achieved_rate`] that met all goals; `None` without goals.
    pub goodput: Option<f64>,
    /// The requests that were due in the measured time and met all goals, whenever they became complete.
    pub met: u64,
    /// The measured seconds.
    pub seconds: f64,
}

impl Figures {
    /// The figures of answers that another tool has noted, all of which were due and complete in this time.
    pub fn of(answers: &[Answer], goals: Goals, length: Duration) -> Self {
        let mut gathering = Gathering::new(goals, length);
        for answer in answers {
            gathering.take_due(answer);
            gathering.take_within(answer);
        }
        gathering.finish()
    }

    /// Failures of all kinds.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
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
    within: Within,
    uncounted: u64,
    tokens: u64,
}

/// Good answers that became complete within the measured time.
#[derive(Default)]
struct Within {
    answers: u64,
    good: u64,
    chunks: u64,
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
            within: Within::default(),
            uncounted: 0,
            tokens: 0,
        }
    }

    /// Takes the measured time to be shorter.
    pub(crate) fn shorten(&mut self, length: Duration) {
        self.length = length;
    }

    /// Takes an answer that became complete within the measured time, whenever it was due.
    pub(crate) fn take_within(&mut self, answer: &Answer) {
        if answer.failure.is_some() {
            return;
        }
        self.within.answers += 1;
        self.within.good += u64::from(self.goals.are_met(answer));
        self.within.chunks += answer.chunks;
        let tokens = answer.usage.map_or(0, |usage| usage.completion);
        self.within.tokens = self.within.tokens.saturating_add(tokens);
    }

    /// Takes an answer that was due in the measured time, whenever it became complete.
    pub(crate) fn take_due(&mut self, answer: &Answer) {
        let figures = &mut self.figures;
        figures.requests += 1;
        self.delay.push(answer.delay);
        if let Some(failure) = answer.failure {
            *figures.failures.entry(failure).or_default() += 1;
            return;
        }
        figures.met += u64::from(self.goals.are_met(answer));
        figures.chunks += answer.chunks;
        figures.shared += answer.shared;
        figures.reasoning += answer.reasoning;
        figures.tools += answer.tools;
        figures.empty += answer.empty;
        figures.pings += answer.pings;
        figures.contradictions += u64::from(answer.contradicts);
        match answer.usage {
            Some(usage) => {
                // A server may say any number.
                self.tokens = self.tokens.saturating_add(usage.completion);
                figures.prompt_tokens = figures.prompt_tokens.saturating_add(usage.prompt);
                figures.cached_tokens = figures.cached_tokens.saturating_add(usage.cached);
            }
            None => self.uncounted += 1,
        }
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
            achieved_rate: self.within.answers as f64 / seconds,
            token_rate: is_counted.then_some(self.within.tokens as f64 / seconds),
            chunk_rate: self.within.chunks as f64 / seconds,
            latency: Times::new(self.latency, failed),
            first_byte: Times::new(self.first_byte, failed),
            first_token: Times::new(self.first_token, failed),
            gap: Times::new(self.gap, 0),
            per_token: Times::new(self.per_token, failed),
            delay: Times::new(self.delay, 0),
            tokens: is_counted.then_some(self.tokens),
            goodput: self.goals.any().then_some(self.within.good as f64 / seconds),
            seconds,
            ..self.figures
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Class;
    use crate::tokens::Usage;

    fn answer(latency: u64, failure: Option<Failure>) -> Answer {
        Answer {
            class: Class::Measured,
            failure,
            latency,
            first_byte: Some(1),
            first_token: Some(latency / 2),
            last_token: Some(latency),
            gaps: vec![latency / 2],
            chunks: 2,
            shared: 0,
            reasoning: 0,
            tools: 0,
            empty: 0,
            pings: 0,
            made: 10,
            usage: Some(Usage { prompt: 3, completion: 2, cached: 0 }),
            contradicts: false,
            delay: 0,
        }
    }

    fn gathered(due: &[Answer], within: &[Answer], goals: Goals) -> Figures {
        let mut gathering = Gathering::new(goals, Duration::from_secs(2));
        for answer in due {
            gathering.take_due(answer);
        }
        for answer in within {
            gathering.take_within(answer);
        }
        gathering.finish()
    }

    /// An overloaded server: twice as many were due as it answered.
    #[test]
    fn rates_are_of_what_was_answered_in_the_time_and_latencies_of_what_was_due_in_it() {
        let all = vec![answer(100, None); 20];
        let figures = gathered(&all, &all[..10], Goals::default());
        assert_eq!((figures.asked_rate, figures.achieved_rate), (10.0, 5.0));
        assert_eq!((figures.token_rate, figures.chunk_rate), (Some(10.0), 10.0));
        assert_eq!((figures.latency.count(), figures.tokens, figures.goodput), (20, Some(40), None));
    }

    #[test]
    fn goodput_is_of_answers_that_met_every_goal_and_of_no_failure() {
        let all = [answer(100, None), answer(300, None), answer(100, Some(Failure::Short))];
        let goal = |first_token, latency| Goals {
            first_token: Some(Duration::from_nanos(first_token)),
            latency: Some(Duration::from_nanos(latency)),
            per_token: None,
        };
        assert_eq!(gathered(&all, &all, goal(50, 100)).goodput, Some(0.5));
        assert_eq!(gathered(&all, &all, goal(200, 300)).goodput, Some(1.0));
        assert_eq!(gathered(&all, &all, goal(200, 99)).goodput, Some(0.0));
    }

    #[test]
    fn counts_that_no_number_holds_do_not_panic() {
        let huge = Usage { prompt: u64::MAX, completion: u64::MAX, cached: u64::MAX };
        let all = vec![Answer { usage: Some(huge), ..answer(100, None) }; 2];
        assert_eq!(gathered(&all, &all, Goals::default()).tokens, Some(u64::MAX));
    }

    #[test]
    fn a_sampled_percentile_takes_a_value_beyond_it_and_counts_failures_as_such() {
        let times = |count: u64, failed| Times::new((1..=count).collect(), failed);
        assert_eq!((times(99, 0).sampled(0.99), times(100, 0).sampled(0.99)), (None, Some(99)));
        assert_eq!((times(0, 0).sampled(0.5), times(2, 0).sampled(0.5)), (None, Some(1)));
        assert_eq!(times(98, 2).sampled(0.99), None, "the 99th of 100 failed");
    }

    #[test]
    fn a_failure_is_a_latency_beyond_all_others() {
        let mut all = vec![answer(100, None); 400];
        assert!(gathered(&all, &all, Goals::default()).latency.at(0.99).is_some());
        all.extend(vec![answer(1, Some(Failure::Limited)); 8]);
        assert_eq!(gathered(&all, &all, Goals::default()).latency.at(0.99), None);
    }
}
