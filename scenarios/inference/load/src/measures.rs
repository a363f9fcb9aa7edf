//! The figures of a row as metrics: names, units and directions as records have them.

use weighbridge::{Direction, Unit};

use crate::drive::ClientState;
use crate::figures::{Figures, Times};

/// A figure with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The name, in snake case: `ttft_p50`.
    pub name: &'static str,
    /// The value, in the unit.
    pub value: f64,
    /// The unit.
    pub unit: Unit,
    /// The direction in which it is better.
    pub direction: Direction,
}

/// Requests per second.
const REQUESTS: Unit = Unit::other("req/s");

/// Tokens per second.
const TOKENS: Unit = Unit::other("tok/s");

/// Events with tokens per second.
const CHUNKS: Unit = Unit::other("chunk/s");

/// A kind of time of a row.
type TimesOf = fn(&Figures) -> &Times;

/// The percentiles of each kind of time, those that verdicts go by first.
const TIMES: [(&str, f64, TimesOf); 16] = [
    ("answer_p50", 0.5, |figures| &figures.latency),
    ("answer_p90", 0.9, |figures| &figures.latency),
    ("answer_p99", 0.99, |figures| &figures.latency),
    ("answer_p99_9", 0.999, |figures| &figures.latency),
    ("ttft_p50", 0.5, |figures| &figures.first_token),
    ("ttft_p90", 0.9, |figures| &figures.first_token),
    ("ttft_p99", 0.99, |figures| &figures.first_token),
    ("ttft_p99_9", 0.999, |figures| &figures.first_token),
    ("gap_p50", 0.5, |figures| &figures.gap),
    ("gap_p90", 0.9, |figures| &figures.gap),
    ("gap_p99", 0.99, |figures| &figures.gap),
    ("per_token_p50", 0.5, |figures| &figures.per_token),
    ("per_token_p90", 0.9, |figures| &figures.per_token),
    ("per_token_p99", 0.99, |figures| &figures.per_token),
    ("first_byte_p50", 0.5, |figures| &figures.first_byte),
    ("first_byte_p99", 0.99, |figures| &figures.first_byte),
];

/// The purpose of the figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To state them: percentiles that the count does not bear out are none.
    State,
    /// To compare them with those of another server, window by window: percentiles are those of the sample.
    /// The rounds bear out the verdict, and not the window.
    Compare,
}

/// The figures that there are. The first is the median time to the end of an answer.
pub fn measures(figures: &Figures, client: &ClientState, purpose: Purpose) -> Vec<Measure> {
    let at = |times: &Times, share: f64| match purpose {
        Purpose::State => times.at(share).map(|found| found.value),
        Purpose::Compare => times.sampled(share),
    };
    let seconds = |name, nanoseconds: u64| Measure {
        name,
        value: nanoseconds as f64 * 1e-9,
        unit: Unit::SECONDS,
        direction: Direction::Lower,
    };
    let mut all: Vec<Measure> =
        TIMES.iter().filter_map(|(name, share, of)| Some(seconds(*name, at(of(figures), *share)?))).collect();
    let failed = figures.failed() as f64 / figures.requests.max(1) as f64;
    let rates = [
        ("answer_rate", Some(figures.achieved_rate), REQUESTS),
        ("goodput", figures.goodput, REQUESTS),
        ("token_rate", figures.token_rate, TOKENS),
        ("chunk_rate", (figures.chunks > 0).then_some(figures.chunk_rate), CHUNKS),
    ];
    all.extend(rates.into_iter().filter_map(|(name, value, unit)| {
        Some(Measure { name, value: value?, unit, direction: Direction::Higher })
    }));
    all.push(Measure { name: "failed_share", value: failed, unit: Unit::RATIO, direction: Direction::Lower });
    let told = [
        ("due_rate", figures.asked_rate, REQUESTS),
        ("requests", figures.requests as f64, Unit::COUNT),
        ("shared_chunks", figures.shared as f64 / figures.chunks.max(1) as f64, Unit::RATIO),
        ("reasoning_chunks", figures.reasoning as f64, Unit::COUNT),
        ("tool_chunks", figures.tools as f64, Unit::COUNT),
        ("client_delay_p99", figures.delay.p99_or_greatest() as f64 * 1e-9, Unit::SECONDS),
        ("client_busy", client.busy, Unit::RATIO),
        ("connections_opened", client.opened as f64, Unit::COUNT),
    ];
    all.extend(told.into_iter().map(|(name, value, unit)| Measure {
        name,
        value,
        unit,
        direction: Direction::Information,
    }));
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_row_without_answers_has_no_times_and_says_that_all_failed() {
        let failures = [(crate::Failure::Refused, 3)].into();
        let figures = Figures { requests: 3, failures, ..Figures::default() };
        let all = measures(&figures, &ClientState::default(), Purpose::State);
        let of = |name: &str| all.iter().find(|one| one.name == name).map(|one| one.value);
        assert_eq!((of("answer_p50"), of("ttft_p50"), of("goodput")), (None, None, None));
        assert_eq!((of("failed_share"), of("requests")), (Some(1.0), Some(3.0)));
        let names: BTreeSet<&str> = all.iter().map(|one| one.name).collect();
        assert_eq!(names.len(), all.len(), "no name twice");
    }
}
