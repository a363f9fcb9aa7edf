//! The reasons to refuse a row. Each is a statement about this row, and none is a warning.

use std::fmt;
use std::time::Duration;

use crate::drive::ClientState;
use crate::failure::Failure;
use crate::figures::Figures;
use crate::percentile::p99_or_greatest;
use crate::probe::CacheProbe;

/// The bounds beyond which a row is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// The client's delay at p99: this time, or `delay_share` of the median time to the first token if
    /// that is longer.
    pub delay: Duration,
    /// See there.
    pub delay_share: f64,
    /// The share of the time in which a core of the client had its processor.
    pub busy: f64,
    /// The share of requests that fail.
    pub failed: f64,
    /// The share of prompt tokens that the server says it had from a cache.
    pub cached: f64,
    /// The change of the median latency from the first sentinel level to the last.
    pub order: f64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            delay: Duration::from_millis(1),
            delay_share: 0.02,
            busy: 0.9,
            failed: 0.01,
            cached: 0.05,
            order: 0.1,
        }
    }
}

/// A reason to refuse a row. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The client sent late.
    Delay {
        /// At p99.
        p99: u64,
        /// The bound.
        bound: u64,
    },
    /// The client's threads came late to what was due: to reads as well.
    Late {
        /// At p99.
        p99: u64,
        /// The bound.
        bound: u64,
    },
    /// The client's processors were busy for this share of the time.
    Busy(f64),
    /// So many requests were due while all connections were taken.
    Sockets(usize),
    /// So many requests were never sent or had no socket.
    Client(u64),
    /// So many records did not reach the disk.
    Lost(u64),
    /// A probe found that repeated prompts are answered faster.
    Cache,
    /// The probe for a cache got too few answers.
    NotProbed,
    /// The server says that this share of the prompts came from a cache.
    CachedTokens(f64),
    /// So many answers were cut, empty or shorter than asked.
    Cut(u64),
    /// This share of the requests failed.
    Failed(f64),
    /// The counts of so many answers cannot be true of their text.
    Contradictions(u64),
    /// The same level was this much slower or faster at the end than at the start.
    Order(f64),
    /// Nothing was answered.
    NoAnswers,
}

impl Reason {
    /// Tells whether the client is to blame: then the row says nothing of the server.
    pub fn is_of_client(&self) -> bool {
        use Reason::{Busy, Client, Delay, Late, Lost, Sockets};
        matches!(self, Delay { .. } | Late { .. } | Busy(_) | Sockets(_) | Client(_) | Lost(_))
    }
}

/// Milliseconds of nanoseconds.
fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e6
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: &f64| format!("{:.1} %", share * 100.0);
        match self {
            Reason::Delay { p99, bound } => write!(
                f,
                "the client is saturated: it sent {:.2} ms late at p99, the bound is {:.2} ms",
                milliseconds(*p99),
                milliseconds(*bound)
            ),
            Reason::Late { p99, bound } => write!(
                f,
                "the client is saturated: its threads came {:.2} ms late at p99, the bound is {:.2} ms",
                milliseconds(*p99),
                milliseconds(*bound)
            ),
            Reason::Busy(share) => {
                write!(f, "the client is saturated: a core was busy for {} of the time", percent(share))
            }
            Reason::Sockets(count) => write!(
                f,
                "the client is saturated: {count} requests were due while all connections were taken; allow \
                 more with --connections"
            ),
            Reason::Client(count) => {
                write!(f, "the client is saturated: {count} requests were never sent, or had no socket")
            }
            Reason::Lost(count) => write!(f, "the disk was too slow for {count} records"),
            Reason::Cache => f.write_str(
                "the server answers repeated prompts faster: turn its cache off, or say --allow-cache if it \
                 is meant",
            ),
            Reason::NotProbed => f.write_str("the probe for a cache got too few answers"),
            Reason::CachedTokens(share) => {
                write!(f, "the server had {} of the prompt tokens from a cache", percent(share))
            }
            Reason::Cut(count) => write!(f, "{count} answers were cut, empty or shorter than asked"),
            Reason::Failed(share) => write!(f, "{} of the requests failed", percent(share)),
            Reason::Contradictions(count) => {
                write!(f, "the server's token counts cannot be true of the text of {count} answers")
            }
            Reason::Order(change) => write!(
                f,
                "order matters: the first level took {:+.1} % at the end of what it took at the start",
                change * 100.0
            ),
            Reason::NoAnswers => f.write_str("no request was answered"),
        }
    }
}

/// The verdict on a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The row says what it seems to say.
    Valid,
    /// It does not, for these reasons.
    Invalid(Vec<Reason>),
}

impl Verdict {
    fn of(reasons: Vec<Reason>) -> Self {
        if reasons.is_empty() { Verdict::Valid } else { Verdict::Invalid(reasons) }
    }

    /// Tells whether the row stands.
    pub fn is_valid(&self) -> bool {
        *self == Verdict::Valid
    }

    /// The reasons against it.
    pub fn reasons(&self) -> &[Reason] {
        match self {
            Verdict::Valid => &[],
            Verdict::Invalid(reasons) => reasons,
        }
    }
}

/// Judges a row by itself, by the probe (`None` where a cache is allowed) and by the change from the first
/// sentinel to the last, if there were two.
pub(crate) fn judge(
    figures: &Figures,
    client: &ClientState,
    probe: Option<&CacheProbe>,
    order: Option<f64>,
    bounds: &Bounds,
) -> Verdict {
    let mut reasons = of_client(figures, client, bounds);
    reasons.extend(of_answers(figures, bounds));
    reasons.extend(of_cache(figures, probe, bounds));
    reasons.extend(order.filter(|change| change.abs() > bounds.order).map(Reason::Order));
    Verdict::of(reasons)
}

fn of_client(figures: &Figures, client: &ClientState, bounds: &Bounds) -> Vec<Reason> {
    let median = |times: &crate::figures::Times| times.at(0.5).map(|median| median.value);
    let usual = median(&figures.first_token).or(median(&figures.latency)).unwrap_or(0);
    let bound = (bounds.delay.as_nanos() as u64).max((usual as f64 * bounds.delay_share) as u64);
    let (delay, late) = (figures.delay.p99_or_greatest(), p99_or_greatest(&client.late));
    let count = |kind: Failure| figures.failures.get(&kind).copied().unwrap_or(0);
    let of_client: u64 = Failure::ALL.into_iter().filter(|kind| kind.is_of_client()).map(count).sum();
    [
        (delay > bound).then_some(Reason::Delay { p99: delay, bound }),
        (late > bound).then_some(Reason::Late { p99: late, bound }),
        (client.busy > bounds.busy).then_some(Reason::Busy(client.busy)),
        (client.backlog > 0).then_some(Reason::Sockets(client.backlog)),
        (of_client > 0).then_some(Reason::Client(of_client)),
        (client.lost > 0).then_some(Reason::Lost(client.lost)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_answers(figures: &Figures, bounds: &Bounds) -> Vec<Reason> {
    if figures.failed() == figures.requests {
        return vec![Reason::NoAnswers];
    }
    let cut = figures.failures.iter().filter(|(kind, _)| kind.is_cut()).map(|(_, count)| count).sum();
    let failed = figures.failed() as f64 / figures.requests as f64;
    [
        (cut > 0).then_some(Reason::Cut(cut)),
        (failed > bounds.failed).then_some(Reason::Failed(failed)),
        (figures.contradictions > 0).then_some(Reason::Contradictions(figures.contradictions)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_cache(figures: &Figures, probe: Option<&CacheProbe>, bounds: &Bounds) -> Vec<Reason> {
    let Some(probe) = probe else { return Vec::new() };
    let cached = figures.cached_tokens as f64 / figures.prompt_tokens.max(1) as f64;
    [
        probe.finds_cache().then_some(Reason::Cache),
        (!probe.is_complete()).then_some(Reason::NotProbed),
        (cached > bounds.cached).then_some(Reason::CachedTokens(cached)),
    ]
    .into_iter()
    .flatten()
    .collect()
}
