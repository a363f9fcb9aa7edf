//! One repeat of all ranks as one: pure, and with one repeat in memory at a time.
//!
//! Where each rank does the whole by itself, the slowest stands for all: its observation and its evidence are
//! taken whole, so that figures and what proves them are of one process. Where all do one thing together, an
//! iteration takes as long as on its slowest rank, and the work is that of all. In both the metrics of every
//! rank stand beside, by rank. Where rank 0 measured for all, its repeat is that of all.

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
    /// Ranks that rank 0 has measured with its own.
    led: usize,
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
            led: 0,
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
            Outcome::Measured { seen, .. } if seen.led => self.led += 1,
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
        // Who waited in vain for a rank that skips it has not failed.
        let is_skipped = self.skipped.is_some();
        if let Some(FailedRank { repeat, failure, .. }) =
            self.failed.take().filter(|failed| !failed.is_of_others || !is_skipped)
        {
            return Repeat { slot, start, outcome: Outcome::Failed(failure), ..repeat };
        }
        if let Some((repeat, why)) = self.skipped.take() {
            return Repeat { slot, start, outcome: Outcome::Skipped { why }, ..repeat };
        }
        let Some((_, mut standing)) = self.standing.take() else {
            unreachable!("rank 0 is led by nobody, and has told something");
        };
        if self.led > 0 {
            return Repeat { slot, start, ..standing };
        }
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

    /// The distance between ranks when they began, where all have met.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{Phase, Purpose};
    use crate::device::{peak_memory, thread_time};
    use crate::json;
    use crate::metric::{Custom, Direction, SampleKind, Unit, names};

    /// A repeat of a body whose samples took this long.
    fn repeat(samples: &[u64]) -> Repeat {
        let seen = Observation {
            taken: Some(SampleKind::Iterations),
            samples: samples.to_vec(),
            iterations_per_sample: 10,
            passes: 1,
            elements: 100 * samples.len() as u64,
            wall: samples.iter().sum(),
            ..Observation::default()
        };
        of(Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::default() })
    }

    fn of(outcome: Outcome) -> Repeat {
        Repeat {
            number: 1,
            purpose: Purpose::Measure,
            slot: 7,
            start: None,
            tree: None,
            utilisation: None,
            surroundings: 0,
            outcome,
        }
    }

    fn failed(how: How, detail: &str) -> Repeat {
        of(Outcome::Failed(Failure { detail: detail.to_owned(), ..Failure::plain(how, Phase::Timed) }))
    }

    fn seen(repeat: &Repeat) -> &Observation {
        let Outcome::Measured { seen, .. } = &repeat.outcome else { panic!("{repeat:?}") };
        seen
    }

    /// Puts repeats together in this order of ranks.
    fn merged(collective: bool, repeats: &[Repeat], order: &[usize]) -> Repeat {
        let mut merge = RepeatMerge::new(repeats.len(), collective);
        for rank in order {
            merge.add(*rank, &format!("node{rank}"), repeats[*rank].clone());
        }
        merge.finish()
    }

    fn values<'a>(repeat: &'a Repeat, name: &str) -> &'a [Option<f64>] {
        let found = seen(repeat).ranks.iter().find(|metric| metric.name == name);
        &found.unwrap_or_else(|| panic!("no {name}")).values
    }

    #[test]
    fn where_each_does_the_whole_the_slowest_stands_whole_whatever_the_order_in_which_they_answer() {
        let repeats = [repeat(&[1_000, 1_000]), repeat(&[3_000, 3_100]), repeat(&[2_000, 2_000])];
        for order in [[0, 1, 2], [0, 2, 1], [2, 1, 0], [1, 0, 2]] {
            let one = merged(false, &repeats, &order);
            assert_eq!(seen(&one).samples, [3_000, 3_100], "{order:?}");
            assert_eq!(seen(&one).elements, 200, "of one of them");
            let rates = values(&one, &format!("rank/{}", names::THROUGHPUT));
            assert!(rates[0] > rates[2] && rates[2] > rates[1] && rates.len() == 3, "{rates:?}");
        }
    }

    #[test]
    fn where_all_do_one_thing_an_iteration_takes_as_long_as_on_its_slowest_rank_and_the_work_is_of_all() {
        let repeats = [repeat(&[1_000, 9_000]), repeat(&[3_000, 1_000]), repeat(&[2_000, 2_000])];
        let one = merged(true, &repeats, &[2, 0, 1]);
        assert_eq!((&seen(&one).samples[..], seen(&one).wall), (&[3_000, 9_000][..], 12_000));
        assert_eq!(seen(&one).elements, 600);
        // One of them went through fewer passes: what all did counts, in samples and in work.
        let one = merged(true, &[repeat(&[5_000, 1_000]), repeat(&[4_000])], &[0, 1]);
        assert_eq!((&seen(&one).samples[..], seen(&one).elements), (&[5_000][..], 200));
    }

    #[test]
    fn where_rank_0_measured_for_all_its_repeat_is_that_of_all_and_who_failed_fails_it() {
        let mut led = repeat(&[]);
        let Outcome::Measured { seen: own, .. } = &mut led.outcome else { unreachable!() };
        (own.led, own.taken) = (true, None);
        let repeats = [repeat(&[1_000, 9_000]), led.clone(), led.clone()];
        for order in [[0, 1, 2], [0, 2, 1]] {
            let one = merged(true, &repeats, &order);
            assert_eq!((&seen(&one).samples[..], seen(&one).elements), (&[1_000, 9_000][..], 200));
            assert!(
                seen(&one).ranks.is_empty() && !one.is_led(),
                "what ranks told rank 0 is in its own repeat"
            );
        }
        let one = merged(true, &[repeat(&[1_000]), led, failed(How::Panic, "planted")], &[0, 1, 2]);
        assert!(matches!(one.outcome, Outcome::Failed(_)), "{one:?}");
    }

    #[test]
    fn ranks_that_ran_other_numbers_of_iterations_together_have_no_figure() {
        let mut other = repeat(&[1_000]);
        let Outcome::Measured { seen, .. } = &mut other.outcome else { unreachable!() };
        seen.iterations_per_sample = 11;
        let one = merged(true, &[repeat(&[1_000]), other], &[0, 1]);
        let Outcome::Failed(failure) = one.outcome else { panic!("{one:?}") };
        assert!(failure.to_string().contains("other numbers of iterations"), "{failure}");
    }

    #[test]
    fn a_failure_of_a_ranks_own_outweighs_a_skip_and_both_outweigh_waiting_in_vain() {
        let own = || failed(How::Panic, "planted");
        let vain = || failed(How::Ranks, "rank 2 has failed");
        let skip = || of(Outcome::Skipped { why: SkipReason::Stated("no such thing".to_owned()) });
        let told = |repeats: &[Repeat]| match merged(false, repeats, &[0, 1, 2]).outcome {
            Outcome::Failed(failure) => (failure.how.clone(), failure.detail),
            Outcome::Skipped { why } => (How::Error, why.to_string()),
            Outcome::Measured { .. } => panic!("it is measured"),
        };
        assert_eq!(told(&[vain(), repeat(&[1]), own()]), (How::Panic, "rank 2 (node2): planted".to_owned()));
        assert_eq!(told(&[skip(), vain(), own()]).0, How::Panic);
        assert_eq!(told(&[vain(), skip(), vain()]).1, "rank 1 (node1): no such thing");
        assert_eq!(told(&[repeat(&[1]), vain(), vain()]).1, "rank 1 (node1): rank 2 has failed");
    }

    #[test]
    fn the_distance_of_ranks_at_their_start_is_told_with_the_one_that_came_last() {
        let at = |left: u64, waited: u64| {
            let mut one = repeat(&[1_000_000]);
            let Outcome::Measured { seen, .. } = &mut one.outcome else { unreachable!() };
            seen.met = Some(RankStart { left, unsure: 3, waited });
            one
        };
        let one = merged(false, &[at(1_000, 500), at(1_400, 20), at(900, 700)], &[0, 1, 2]);
        let due = RankSkew { spread: 500, unsure: 3, region: 1_000_000, last: 1, waited: 680 };
        assert_eq!(seen(&one).skew, Some(due));
        assert_eq!(seen(&merged(false, &[at(1, 2), repeat(&[5])], &[0, 1])).skew, None);
    }

    #[test]
    fn a_value_of_the_authors_own_stands_by_rank_and_one_that_a_rank_lacks_is_missed() {
        let with = |value: Option<f64>| {
            let mut one = repeat(&[1_000]);
            let Outcome::Measured { seen, .. } = &mut one.outcome else { unreachable!() };
            let custom = |value| Custom {
                name: "loss".to_owned(),
                value,
                unit: Unit::COUNT,
                direction: Direction::Lower,
            };
            seen.custom.extend(value.map(custom));
            one
        };
        let one = merged(false, &[with(Some(1.0)), with(None), with(Some(3.0))], &[0, 1, 2]);
        assert_eq!(values(&one, "rank/loss"), [Some(1.0), None, Some(3.0)]);
    }

    /// The text of a repeat as large as those of real runs, as a rank tells it.
    fn told(rank: u64) -> String {
        let samples: Vec<u64> = (0..500).map(|at| 1_000_000 + at * rank % 977).collect();
        let mut one = repeat(&samples);
        let Outcome::Measured { seen, .. } = &mut one.outcome else { unreachable!() };
        (seen.cpu, seen.met) = (samples, Some(RankStart { left: rank, unsure: 1, waited: rank }));
        json::write(&one).unwrap()
    }

    /// Reads and puts together the repeats of so many ranks. Returns processor time in seconds and the growth
    /// of the most memory that the process has had, in bytes.
    fn merge_of(ranks: usize) -> (f64, f64) {
        let (before, began) = (peak_memory().unwrap_or(0), thread_time());
        let mut merge = RepeatMerge::new(ranks, true);
        for rank in 0..ranks {
            merge.add(rank, "node", json::read(told(rank as u64).as_bytes()).unwrap());
        }
        let one = merge.finish();
        assert_eq!(seen(&one).ranks[0].values.len(), ranks);
        let used = (thread_time() - began).as_secs_f64();
        (used, (peak_memory().unwrap_or(0) - before) as f64)
    }

    #[test]
    fn a_thousand_ranks_are_read_and_put_together_in_ten_seconds_and_a_gigabyte() {
        let (seconds, bytes) = merge_of(1_000);
        assert!(seconds < 10.0 && bytes < 1e9, "{seconds} s, {bytes} bytes");
    }

    #[test]
    #[ignore = "a figure for the page on clusters, and no promise"]
    fn ten_thousand_ranks_are_put_together_in_a_hundred_seconds_and_a_gigabyte() {
        let (seconds, bytes) = merge_of(10_000);
        assert!(seconds < 100.0 && bytes < 1e9, "{seconds} s, {bytes} bytes");
    }
}
