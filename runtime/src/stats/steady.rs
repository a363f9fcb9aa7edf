//! Whether a series of times settles, and where.

use serde::{Deserialize, Serialize};

use super::median;
use super::trend::suffix_trends;

/// Fewer values say nothing of a trend.
const LEAST: usize = 8;

/// Longer series are thinned out to at most this many points.
const MOST_POINTS: usize = 256;

/// A part whose trend scores below this has none: one order by chance in ten scores more.
const TRENDLESS: f64 = 1.64;

/// Medians nearer to each other than this share of the smaller are one level.
const SAME_LEVEL: f64 = 0.01;

/// The course of a series of times (after the classes of Barrett and others, *Virtual Machine Warmup
/// Blows Hot and Cold*, 2017).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stationarity {
    /// One level from the first to the last.
    Flat,
    /// Slower at first: it gets faster and settles.
    WarmingUp,
    /// Faster at first: it gets slower and settles.
    Drifting,
    /// It does not settle.
    Unsteady,
}

impl Stationarity {
    /// The word that people read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flat => "flat",
            Self::WarmingUp => "warming up",
            Self::Drifting => "drifting",
            Self::Unsteady => "unsteady",
        }
    }

    /// Returns the class of more than half of them; `None` where there is none such.
    pub fn of_most(stationarities: &[Self]) -> Option<Self> {
        let all = [Self::Flat, Self::WarmingUp, Self::Drifting, Self::Unsteady];
        all.into_iter().find(|stationarity| {
            let count = stationarities.iter().filter(|other| *other == stationarity).count();
            2 * count > stationarities.len()
        })
    }
}

/// The course of a series and from where on it is steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// The class.
    pub stationarity: Stationarity,
    /// The first value of the steady part: 0 where the series is flat, `None` where it is unsteady.
    pub start: Option<usize>,
}

/// Finds where a whole series of times becomes steady: from the first value from which on it runs level, if
/// that leaves at least a quarter of the series (so Barrett and others 2017: 500 of 2,000 iterations). Level
/// is no trend by [`mann_kendall`](super::mann_kendall) (below 1.64), and medians of both halves within 1 %.
/// `None` for fewer than eight values and where one is NaN.
///
/// Its beginning, the first sixteenth but at least four values, decides the class by its median: within 1 %
/// of the steady part's all is flat. So a slow first value does not part a series that is level otherwise: it
/// is a metric of its own.
///
/// A series of more than 256 values is cut from its end into blocks of equal length, at most 256, and each
/// stands in with its median: an interruption moves no median, and 100,000 values take milliseconds. `start`
/// is then right to one block.
pub fn steady_state(values: &[f64]) -> Option<Steady> {
    if values.len() < LEAST || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let (points, starts) = thin_out(values);
    let trends = suffix_trends(&points);
    let last = points.len() - (points.len() / 4).max(LEAST / 2);
    let mut at = 0;
    while !is_level(&points[at..], trends[at]) {
        at += 1;
        if at > last {
            return Some(Steady { stationarity: Stationarity::Unsteady, start: None });
        }
    }
    let beginning = median(&points[..(points.len() / 16).max(LEAST / 2)]);
    let steady = median(&points[at..]);
    let stationarity = if at == 0 || same_level(beginning, steady) {
        Stationarity::Flat
    } else if beginning > steady {
        Stationarity::WarmingUp
    } else {
        Stationarity::Drifting
    };
    Some(Steady {
        stationarity,
        start: Some(if stationarity == Stationarity::Flat { 0 } else { starts[at] }),
    })
}

/// The medians of at most [`MOST_POINTS`] blocks, and where each begins. Only the first block may be shorter.
fn thin_out(values: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let block = values.len().div_ceil(MOST_POINTS).max(1);
    let mut points = Vec::new();
    let mut starts = Vec::new();
    let mut end = match values.len() % block {
        0 => block,
        rest => rest,
    };
    let mut start = 0;
    while end <= values.len() {
        points.push(median(&values[start..end]));
        starts.push(start);
        start = end;
        end += block;
    }
    (points, starts)
}

/// No trend, and both halves on one level.
fn is_level(points: &[f64], trend: f64) -> bool {
    let (first, second) = points.split_at(points.len() / 2);
    trend.abs() < TRENDLESS && same_level(median(first), median(second))
}

fn same_level(one: f64, other: f64) -> bool {
    (one - other).abs() <= SAME_LEVEL * one.abs().min(other.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::SplitMix64;

    /// Values about `level(i)`, up to 1 % above and below it.
    fn series(count: usize, seed: u64, level: fn(f64) -> f64) -> Vec<f64> {
        let mut random = SplitMix64::new(seed);
        let noisy = |i| level(f64::from(i)) * (0.99 + 0.02 * random.below(1_000) as f64 / 999.0);
        (0..count as u32).map(noisy).collect()
    }

    fn stationarity(values: &[f64]) -> Stationarity {
        steady_state(values).unwrap().stationarity
    }

    #[test]
    fn levels_steps_and_slopes_have_their_classes() {
        for seed in 0..20 {
            assert_eq!(stationarity(&series(200, seed, |_| 5.0)), Stationarity::Flat);
            assert_eq!(stationarity(&series(200, seed, |i| 1.0 + i / 100.0)), Stationarity::Unsteady);
            let warming = steady_state(&series(200, seed, |i| if i < 40.0 { 8.0 } else { 5.0 })).unwrap();
            assert_eq!(warming.stationarity, Stationarity::WarmingUp, "{seed}");
            let slowing = steady_state(&series(200, seed, |i| if i < 40.0 { 3.0 } else { 5.0 })).unwrap();
            assert_eq!(slowing.stationarity, Stationarity::Drifting, "{seed}");
            for found in [warming, slowing] {
                // The earliest suffix without a trend holds a few values of the old level still.
                assert!((15..=70).contains(&found.start.unwrap()), "{seed} {found:?}");
            }
            let decay = |i: f64| 5.0 + 5.0 * (-i / 20.0).exp();
            assert_eq!(stationarity(&series(400, seed, decay)), Stationarity::WarmingUp, "{seed}");
            let late = |i: f64| if i < 180.0 { 5.0 } else { 7.0 };
            assert_eq!(stationarity(&series(200, seed, late)), Stationarity::Unsteady, "{seed}");
        }
    }

    #[test]
    fn one_slow_first_value_leaves_a_series_flat() {
        let mut values = series(100, 1, |_| 5.0);
        values[0] = 500.0;
        assert_eq!(steady_state(&values), Some(Steady { stationarity: Stationarity::Flat, start: Some(0) }));
    }

    #[test]
    fn long_series_start_where_a_block_does_and_interruptions_do_not_matter() {
        let mut values = series(100_000, 2, |i| if i < 30_000.0 { 8.0 } else { 5.0 });
        for i in (0..values.len()).step_by(50) {
            values[i] *= 100.0;
        }
        let found = steady_state(&values).unwrap();
        assert_eq!(found.stationarity, Stationarity::WarmingUp);
        assert!((20_000..40_000).contains(&found.start.unwrap()), "{found:?}");
        let (points, starts) = thin_out(&values);
        assert!(points.len() <= MOST_POINTS && points.len() == starts.len());
        assert!(starts[2] - starts[1] == starts[255] - starts[254] && starts[255] + 391 == values.len());
    }

    #[test]
    fn scaling_changes_nothing_and_turning_round_swaps_warming_and_slowing() {
        let warming = series(64, 3, |i| if i < 16.0 { 8.0 } else { 5.0 });
        let scaled: Vec<f64> = warming.iter().map(|value| value * 1024.0).collect();
        assert_eq!(steady_state(&scaled), steady_state(&warming));
        let inverse: Vec<f64> = warming.iter().map(|value| 40.0 / value).collect();
        assert_eq!(stationarity(&warming), Stationarity::WarmingUp);
        assert_eq!(stationarity(&inverse), Stationarity::Drifting);
    }

    #[test]
    fn few_equal_and_missing_values_are_defined() {
        assert_eq!(steady_state(&[]), None);
        assert_eq!(steady_state(&[1.0; 7]), None);
        assert_eq!(steady_state(&[f64::NAN; 9]), None);
        assert_eq!(
            steady_state(&[0.0; 9]),
            Some(Steady { stationarity: Stationarity::Flat, start: Some(0) })
        );
    }
}
