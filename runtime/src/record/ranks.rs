//! What several ranks told of themselves, as one: the only place where anything is aggregated over ranks.

use serde::{Deserialize, Serialize};

use crate::metric::{DEVICE_METRICS, Direction, METRICS, Observation, RankMetric, Reading, Unit};
use crate::stats;

/// A metric over the ranks of a case: first the mean of each rank over the repeats, then these over the
/// ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankAggregate {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// The direction that is better: the slowest rank stands for all.
    pub direction: Direction,
    /// The number of ranks there were to be.
    pub ranks: usize,
    /// Over those that told it; null where none did.
    pub over: Option<OverRanks>,
    /// The machines of the ranks that have the smallest and the largest, where ranks are on several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<[String; 2]>,
    /// The ranks that did not tell it in every repeat, from 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<usize>,
}

/// Statistics of one number for each rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverRanks {
    /// The smallest.
    pub min: f64,
    /// The rank that has it, the first of several.
    pub min_rank: usize,
    /// The arithmetic mean.
    pub mean: f64,
    /// The largest.
    pub max: f64,
    /// The rank that has it, the first of several.
    pub max_rank: usize,
    /// The standard deviation of these ranks, divided by their number: `numpy.std` with `ddof=0`.
    pub std: f64,
    /// The median: `numpy.percentile` with its default, `linear`.
    pub p50: f64,
    /// The 99th percentile, likewise.
    pub p99: f64,
}

impl OverRanks {
    /// Returns the statistics over the values of the ranks, by rank; `None` where none told anything.
    pub fn of(values: &[Option<f64>]) -> Option<Self> {
        let told = || values.iter().enumerate().filter_map(|(rank, value)| Some((rank, (*value)?)));
        let (min_rank, min) = told().min_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let (max_rank, max) = told().rev().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        let known: Vec<f64> = told().map(|(_, value)| value).collect();
        let count = known.len() as f64;
        let mean = known.iter().sum::<f64>() / count;
        let std = (known.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
        let [p50, p99] = [0.5, 0.99].map(|share| stats::quantile(&known, share));
        Some(Self { min, min_rank, mean, max, max_rank, std, p50, p99 })
    }

    /// The number that stands for all ranks: of what should be low the largest, of what should be high the
    /// smallest.
    pub fn standing(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Lower => self.max,
            Direction::Higher => self.min,
            Direction::Information => self.mean,
        }
    }
}

/// Every metric of ranks over these repeats, in the order in which they first came.
pub(super) fn aggregates(repeats: &[&Observation]) -> Vec<RankAggregate> {
    // A rank that never came is missed by those that others told.
    let ranks =
        repeats.iter().flat_map(|seen| &seen.ranks).map(|metric| metric.values.len()).max().unwrap_or(0);
    let mut found: Vec<RankAggregate> = Vec::new();
    for first in repeats.iter().flat_map(|seen| &seen.ranks) {
        if found.iter().any(|one| one.name == first.name) || lacks_a_value(repeats, ranks, &first.name) {
            continue;
        }
        let told = |rank: usize| {
            repeats
                .iter()
                .map(move |seen| value(named(seen, &first.name)?, rank))
                .collect::<Vec<Option<f64>>>()
        };
        let mean = |values: Vec<Option<f64>>| {
            let known: Vec<f64> = values.into_iter().flatten().collect();
            (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        let values: Vec<Option<f64>> = (0..ranks).map(|rank| mean(told(rank))).collect();
        found.push(RankAggregate {
            name: first.name.clone(),
            unit: first.unit.clone(),
            direction: first.direction,
            ranks,
            over: OverRanks::of(&values),
            hosts: None,
            missing: (0..ranks).filter(|rank| told(*rank).contains(&None)).collect(),
        });
    }
    found
}

/// Tells whether a metric of the harness's own has no value somewhere: then it is no metric of ranks, as it
/// is none of a case. It is no rank's fault.
fn lacks_a_value(repeats: &[&Observation], ranks: usize, name: &str) -> bool {
    let own = name.strip_prefix("rank/");
    let is_built_in =
        METRICS.iter().chain(DEVICE_METRICS).any(|metric| own.is_some_and(|own| own == metric.name));
    let is_whole = |seen: &&Observation| {
        named(seen, name).is_some_and(|of| of.values.len() == ranks && of.values.iter().all(Option::is_some))
    };
    is_built_in && !repeats.iter().all(is_whole)
}

impl RankAggregate {
    /// Names the machines of both ends, where ranks are on several.
    pub fn name_hosts(&mut self, hosts: &[String]) {
        let is_of_several = hosts.iter().any(|host| *host != hosts[0]) && hosts.len() == self.ranks;
        let ends = self.over.filter(|_| is_of_several).map(|over| [over.min_rank, over.max_rank]);
        self.hosts = ends.map(|ends| ends.map(|rank| hosts[rank].clone()));
    }
}

/// Returns the value that stands for all ranks in one repeat; the reason for none where a rank is missing,
/// since that one may be the slowest.
pub(super) fn standing(seen: &Observation, name: &str) -> Reading {
    let Some(metric) = named(seen, name) else { return Reading::absent("this repeat did not hand it in") };
    let missing = metric.values.iter().enumerate().filter(|(_, value)| value.is_none());
    let missing: Vec<usize> = missing.map(|(rank, _)| rank).collect();
    match OverRanks::of(&metric.values) {
        Some(over) if missing.is_empty() => Reading::Value(over.standing(metric.direction)),
        _ => Reading::absent(format!("{} did not tell it", listed(&missing, metric.values.len()))),
    }
}

fn listed(ranks: &[usize], of: usize) -> String {
    let each: Vec<String> = ranks.iter().map(usize::to_string).collect();
    format!("rank {} of {of} (from 0)", each.join(", "))
}

fn named<'a>(seen: &'a Observation, name: &str) -> Option<&'a RankMetric> {
    seen.ranks.iter().find(|metric| metric.name == name)
}

fn value(metric: &RankMetric, rank: usize) -> Option<f64> {
    metric.values.get(rank).copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::UnfinishedReason;
    use crate::stats::SplitMix64;

    fn metric(name: &str, values: &[Option<f64>]) -> RankMetric {
        RankMetric {
            name: name.to_owned(),
            unit: Unit::SECONDS,
            direction: Direction::Lower,
            values: values.to_vec(),
        }
    }

    fn seen(ranks: Vec<RankMetric>) -> Observation {
        Observation { ranks, ..Observation::default() }
    }

    fn near(found: f64, due: f64) {
        assert!((found - due).abs() < 1e-9, "{found} where {due} is due");
    }

    /// ```python
    /// x = [3.5, 1.25, 9.0, 4.0, 4.0, 2.5, 7.75, 1.25]
    /// numpy.mean(x), numpy.std(x), numpy.percentile(x, [50, 99])   # NumPy 2
    /// ```
    #[test]
    fn statistics_over_ranks_are_those_of_numpy_with_the_ranks_of_the_ends() {
        let over = OverRanks::of(&[3.5, 1.25, 9.0, 4.0, 4.0, 2.5, 7.75, 1.25].map(Some)).unwrap();
        assert_eq!((over.min_rank, over.max_rank), (1, 2), "the first of several");
        near(over.min, 1.25);
        near(over.max, 9.0);
        near(over.mean, 4.156_25);
        near(over.std, 2.657_352_712_287_174);
        near(over.p50, 3.75);
        near(over.p99, 8.9125);
    }

    #[test]
    fn whatever_the_ranks_tell_the_ends_hold_the_rest_and_moving_all_moves_all() {
        let mut random = SplitMix64::new(145);
        for ranks in 1..40_usize {
            let values: Vec<Option<f64>> = (0..ranks)
                .map(|rank| (rank == 0 || random.below(5) > 0).then(|| random.below(1_000) as f64 / 8.0))
                .collect();
            let over = OverRanks::of(&values).unwrap();
            let moved: Vec<_> = values.iter().map(|value| value.map(|value| 2.0 * value + 1.0)).collect();
            let after = OverRanks::of(&moved).unwrap();
            assert!(over.min <= over.p50 && over.p50 <= over.p99 && over.p99 <= over.max, "{over:?}");
            assert!(over.min <= over.mean && over.mean <= over.max && over.std <= over.max - over.min);
            assert_eq!(values[over.min_rank], Some(over.min));
            assert_eq!(values[over.max_rank], Some(over.max));
            for (before, after) in [(over.mean, after.mean), (over.p50, after.p50), (over.p99, after.p99)] {
                near(after, 2.0 * before + 1.0);
            }
            near(after.std, 2.0 * over.std);
            assert_eq!((after.min_rank, after.max_rank), (over.min_rank, over.max_rank));
        }
        assert_eq!(OverRanks::of(&[None, None]), None);
    }

    #[test]
    fn the_slowest_rank_stands_for_all_and_none_does_where_one_is_missing() {
        let over = OverRanks::of(&[Some(1.0), Some(3.0)]).unwrap();
        for (direction, due) in
            [(Direction::Lower, 3.0), (Direction::Higher, 1.0), (Direction::Information, 2.0)]
        {
            near(over.standing(direction), due);
        }
        let whole = seen(vec![metric("step", &[Some(1.0), Some(3.0)])]);
        assert_eq!(standing(&whole, "step"), Reading::Value(3.0));
        let part = seen(vec![metric("step", &[Some(1.0), None, Some(2.0), None])]);
        assert_eq!(standing(&part, "step"), Reading::absent("rank 1, 3 of 4 (from 0) did not tell it"));
    }

    #[test]
    fn the_mean_of_each_rank_over_repeats_comes_first_and_ranks_that_are_missing_are_named() {
        let first = seen(vec![
            metric("step", &[Some(1.0), Some(9.0), None]),
            metric("other", &[Some(1.0), None, None]),
        ]);
        let second = seen(vec![
            metric("step", &[Some(3.0), Some(1.0), None]),
            metric("other", &[Some(1.0), None, None]),
        ]);
        let found = aggregates(&[&first, &second]);
        assert_eq!(found.len(), 2);
        let over = found[0].over.unwrap();
        assert_eq!((found[0].ranks, over.min, over.min_rank, over.max, over.max_rank), (3, 2.0, 0, 5.0, 1));
        assert_eq!((&found[0].missing[..], &found[1].missing[..]), (&[2][..], &[1, 2][..]));
        let words = "rank 2 of 3 (from 0) is missing; rank 1 of 3 (from 0) did not tell `other`";
        assert_eq!(UnfinishedReason::of(&found).to_string(), words);
        let all = seen(vec![metric("step", &[Some(1.0), Some(9.0)])]);
        assert_eq!(UnfinishedReason::of(&aggregates(&[&all])), UnfinishedReason::Ended);
        // A rank that came once and not the next time is missing too.
        let found = aggregates(&[&all, &seen(vec![metric("step", &[Some(1.0)])])]);
        assert_eq!(found[0].missing, [1]);
        assert!(aggregates(&[]).is_empty() && UnfinishedReason::of(&[]) == UnfinishedReason::Ended);
    }
}
