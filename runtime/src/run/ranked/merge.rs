//! One repeat of all ranks as one: pure, and with one repeat in memory at a time.
//!
//! Where each rank does the whole by itself, the slowest stands for all: its observation and its evidence are
//! taken whole, so that figures and what proves them are of one process. Where all do one thing together, an
//! iteration takes as long as on its slowest rank, and the work is that of all. In both the metrics of every
//! rank stand beside, by rank.

use std::collections::HashMap;

use crate::bencher::{Evidence, SkipReason};
use crate::metric::{
    DEVICE_METRICS, Hardware, METRICS, Metric, Observation, RankMetric, RankSkew, RankStart, Reading,
};
use crate::run::{Failure, How, Outcome, Repeat};
use crate::stats;

/// The repeats of all ranks, put together one by one.
#[derive(Debug)]
pub(crate) struct RepeatMerge {
    ranks: usize,
    collective: bool,
    /// Ranks that have told something.
    told: usize,
    /// The repeat of the slowest rank so far, with its pace.
    standing: Option<(f64, Repeat)>,
    failed: Option<FailedRank>,
    skipped: Option<(Repeat, SkipReason)>,
    /// The values of the harness's own metrics, by rank.
    values: Vec<Vec<Option<f64>>>,
    custom: HashMap<String, RankMetric>,
    starts: Vec<Option<RankStart>>,
    /// The longest measured part.
    region: u64,
    together: CommonSamples,
    slot: u64,
    start: Option<u64>,
}

/// The failure that all fail by.
#[derive(Debug)]
struct FailedRank {
    /// True if it failed for another rank alone.
    is_of_others: bool,
    rank: usize,
    repeat: Repeat,
    failure: Failure,
}

/// The samples of ranks that do one thing together.
#[derive(Debug, Default)]
struct CommonSamples {
    /// The longest of each.
    longest: Option<Vec<u64>>,
    /// Iterations of a sample; `None` where ranks differ.
    iterations: Option<u64>,
    differs: bool,
    /// Elements, bytes and operations of one sample on all ranks.
    each: [f64; 3],
    usage: crate::device::Usage,
}

fn metrics() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().chain(DEVICE_METRICS)
}

impl RepeatMerge {
    pub(crate) fn new(ranks: usize, collective: bool) -> Self {
        Self {
            ranks,
            collective,
            told: 0,
            standing: None,
            failed: None,
            skipped: None,
            values: metrics().map(|_| vec![None; ranks]).collect(),
            custom: HashMap::new(),
            starts: vec![None; ranks],
            region: 0,
            together: CommonSamples { usage: crate::device::Usage::NONE, ..CommonSamples::default() },
            slot: 0,
            start: None,
        }
    }

    /// Takes in the repeat of a rank, on a machine of this name.
    pub(crate) fn add(&mut self, rank: usize, host: &str, repeat: Repeat) {
        self.told += 1;
        self.slot = self.slot.max(repeat.slot);
        self.start = self.start.max(repeat.start);
        match &repeat.outcome {
            Outcome::Measured { seen, .. } => {
                self.add_measured(rank, seen);
                let pace = pace(seen);
                // Of equal ones the first, in whatever order they come.
                let is_slower = |(slowest, _): &(f64, Repeat)| pace > *slowest;
                if self.standing.as_ref().is_none_or(is_slower) {
                    self.standing = Some((pace, repeat));
                }
            }
            Outcome::Failed(failure) => {
                let is_of_others = failure.how == How::Ranks;
                let failure = of_rank(rank, host, failure);
                let own = FailedRank { is_of_others, rank, repeat, failure };
                let weight = |of: &FailedRank| (of.is_of_others, of.rank);
                if self.failed.as_ref().is_none_or(|other| weight(&own) < weight(other)) {
                    self.failed = Some(own);
                }
            }
            Outcome::Skipped { why } => {
                let why = match why {
                    SkipReason::Stated(why) => SkipReason::Stated(format!("rank {rank} ({host}): {why}")),
                    other => other.clone(),
                };
                self.skipped.get_or_insert((repeat, why));
            }
        }
    }

    fn add_measured(&mut self, rank: usize, seen: &Observation) {
        for (metric, values) in metrics().zip(&mut self.values) {
            if let Reading::Value(value) = (metric.read)(seen) {
                values[rank] = Some(value).filter(|value| value.is_finite());
            }
        }
        for custom in &seen.custom {
            let name = format!("rank/{}", custom.name);
            let ranks = self.ranks;
            let of = self.custom.entry(name.clone()).or_insert_with(|| RankMetric {
                name,
                unit: custom.unit.clone(),
                direction: custom.direction,
                values: vec![None; ranks],
            });
            of.values[rank] = Some(custom.value);
        }
        self.starts[rank] = seen.met;
        self.region = self.region.max(seen.wall);
        if self.collective {
            self.together.add(seen);
        }
    }

    /// The repeat of all of them.
    ///
    /// # Panics
    /// If no rank has told anything.
    pub(crate) fn finish(mut self) -> Repeat {
        let (slot, start) = (self.slot, self.start);
        if let Some(FailedRank { repeat, failure, .. }) = self.failed {
            return Repeat { slot, start, outcome: Outcome::Failed(failure), ..repeat };
        }
        if let Some((repeat, why)) = self.skipped {
            return Repeat { slot, start, outcome: Outcome::Skipped { why }, ..repeat };
        }
        let (_, mut standing) = self.standing.take().expect("a rank has told something");
        if let Outcome::Measured { seen, evidence, .. } = &mut standing.outcome {
            if self.collective && seen.taken.is_some() {
                if let Some(failure) = std::mem::take(&mut self.together).put_into(seen) {
                    return Repeat { slot, start, outcome: Outcome::Failed(failure), ..standing };
                }
                // What every rank did is held against what it delivered on that rank.
                **evidence = Evidence::default();
            }
            seen.skew = self.skew();
            seen.met = None;
            let own = self.own_metrics();
            seen.ranks.extend(own);
        }
        Repeat { slot, start, ..standing }
    }

    /// The metrics that every rank has, by rank.
    fn own_metrics(self) -> Vec<RankMetric> {
        let built_in = metrics().zip(self.values).filter(|(_, values)| values.iter().all(Option::is_some));
        let built_in = built_in.map(|(metric, values)| RankMetric {
            name: format!("rank/{}", metric.name),
            unit: metric.unit.clone(),
            direction: metric.direction,
            values,
        });
        let mut custom: Vec<RankMetric> = self.custom.into_values().collect();
        custom.sort_by(|a, b| a.name.cmp(&b.name));
        built_in.chain(custom).collect()
    }

    /// How far apart ranks began, where all have met.
    fn skew(&self) -> Option<RankSkew> {
        let starts: Vec<RankStart> = self.starts.iter().copied().collect::<Option<_>>()?;
        let left = || starts.iter().map(|start| start.left);
        let (last, shortest) = starts.iter().enumerate().min_by_key(|(rank, start)| (start.waited, *rank))?;
        let waited = starts.iter().map(|start| start.waited).max()?;
        Some(RankSkew {
            spread: left().max()? - left().min()?,
            unsure: starts.iter().map(|start| start.unsure).max()?,
            region: self.region,
            last,
            waited: waited - shortest.waited,
        })
    }
}

/// The time of an iteration, for telling the slowest.
fn pace(seen: &Observation) -> f64 {
    let samples: Vec<f64> = seen.samples.iter().map(|sample| *sample as f64).collect();
    if samples.is_empty() {
        return seen.wall as f64;
    }
    stats::median(&samples) / seen.iterations_per_sample.max(1) as f64
}

/// The failure, with the rank that it is of.
fn of_rank(rank: usize, host: &str, failure: &Failure) -> Failure {
    let detail = match &*failure.detail {
        "" => format!("rank {rank} ({host})"),
        detail => format!("rank {rank} ({host}): {detail}"),
    };
    Failure { detail, ..failure.clone() }
}

impl CommonSamples {
    fn add(&mut self, seen: &Observation) {
        let iterations = *self.iterations.get_or_insert(seen.iterations_per_sample);
        self.differs |= iterations != seen.iterations_per_sample;
        match &mut self.longest {
            None => self.longest = Some(seen.samples.clone()),
            Some(longest) => {
                longest.truncate(seen.samples.len());
                for (longest, own) in longest.iter_mut().zip(&seen.samples) {
                    *longest = (*longest).max(*own);
                }
            }
        }
        let samples = seen.samples.len().max(1) as f64;
        for (sum, own) in self.each.iter_mut().zip([seen.elements, seen.bytes, seen.flops]) {
            *sum += own as f64 / samples;
        }
        self.usage += seen.usage;
    }

    /// Puts what all did into the observation of one of them. Returns why that cannot be.
    fn put_into(self, seen: &mut Observation) -> Option<Failure> {
        let longest = self.longest.unwrap_or_default();
        if self.differs {
            let why = "ranks that do one thing together ran other numbers of iterations in a sample";
            let failure = Failure::plain(How::Error, crate::bencher::Phase::Timed);
            return Some(Failure { detail: why.to_owned(), ..failure });
        }
        let count = longest.len();
        let times = |each: f64| (each * count as f64).round() as u64;
        [seen.elements, seen.bytes, seen.flops] = self.each.map(times);
        let share = count as f64 / seen.samples.len().max(1) as f64;
        seen.passes = (seen.passes as f64 * share) as u64;
        seen.wall = longest.iter().sum();
        seen.samples = longest;
        seen.usage = self.usage;
        // Of the rest nobody knows what it would be for all together.
        (seen.cpu, seen.delayed, seen.empty, seen.empty_cpu) = (vec![], vec![], vec![], vec![]);
        (seen.own_cpu, seen.tags, seen.hardware) = (None, vec![], Hardware::default());
        seen.classify();
        None
    }
}
