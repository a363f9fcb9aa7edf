//! What the loop around a body takes by itself, and whether a body can be told from it.

use super::names;
use super::{Direction, Metric, Observation, Reading, SampleKind, Unit};
use crate::stats;

/// Time of one iteration of nothing.
pub(super) const METRIC: Metric = Metric {
    name: names::LOOP_TIME,
    unit: Unit::SECONDS,
    direction: Direction::Information,
    description: "time of one iteration of the empty loop: in wall_time, not in a bound (`below 0.1 ns` is \
        the body alone); in a worker, of its loop on a batch that is there",
    read: |seen| match seen.empty[..] {
        [] => Reading::absent(
            "no empty blocks: only `iter` has them, in samples of many iterations, and workers",
        ),
        _ => Reading::Value(median(&seen.empty).0 * 1e-9 / seen.iterations_per_sample as f64),
    },
};

/// The most that a worker's loop takes, in seconds: it is the worker's word, and no honest one takes longer.
const LONGEST: f64 = 5e-6;

/// The share of an item's time, by the wall or by processors, that is the worker's own loop and not the
/// system that it drives; `None` of bodies, of native streams, and of passes in one call.
pub(crate) fn own_share(seen: &Observation, by_processors: bool) -> Option<f64> {
    let [own] = seen.empty[..] else { return None };
    let is_remote = seen.taken == Some(SampleKind::Items) && seen.ran_elsewhere();
    let all = if by_processors { seen.usage.cpu.as_nanos() as f64 } else { seen.wall as f64 };
    let own = (own as f64).min(LONGEST * 1e9) * seen.samples.len() as f64;
    (is_remote && all > 0.0).then(|| (own / all).min(0.5))
}

/// A difference of so many standard errors is told from none.
const ERRORS: f64 = 3.0;

/// Nor is one that surely is less than this share of an empty iteration, about a quarter of a processor's
/// cycle: that much lies in where the compiler happened to place the two loops.
const PLACEMENT: f64 = 0.25;

/// The time in seconds that the body of an iteration takes less than, where it cannot be told from no body at
/// all.
///
/// Decided by the clock that tells it more exactly: on a busy machine the one on the wall says little, and
/// the processor's as much as ever.
pub(super) fn below(seen: &Observation) -> Option<f64> {
    let clocks = [(&seen.samples, &seen.empty), (&seen.cpu, &seen.empty_cpu)];
    let found = clocks.into_iter().filter_map(|(samples, empty)| EmptyBlockTimes::of(samples, empty));
    let beside = found.min_by(|one, other| one.error.total_cmp(&other.error))?;
    beside.below().map(|most| most * 1e-9 / seen.iterations_per_sample as f64)
}

/// Samples beside empty blocks, in nanoseconds.
struct EmptyBlockTimes {
    /// The median empty block.
    without: f64,
    /// The excess of the median sample over that.
    difference: f64,
    /// The same of quick samples and quick empty blocks.
    quick: f64,
    error: f64,
}

/// The quantile that stands for quick samples. A body that takes time takes it from them as well, while a
/// machine that changes between two speeds may show the median of one kind at one of them, and that of the
/// other at the other.
const QUICK: f64 = 0.1;

impl EmptyBlockTimes {
    /// The standard error of a median is that of normal values with the same median absolute deviation (sd =
    /// 1.4826 MAD; of the median, sd sqrt(pi / 2 n)).
    fn of(samples: &[u64], empty: &[u64]) -> Option<Self> {
        if samples.is_empty() || empty.is_empty() {
            return None;
        }
        let (with, with_error) = median(samples);
        let (without, without_error) = median(empty);
        // A clock of whole nanoseconds cannot tell less than one.
        let error = (ERRORS * with_error.hypot(without_error)).max(1.0);
        let quick =
            |of: &[u64]| stats::quantile(&of.iter().map(|time| *time as f64).collect::<Vec<_>>(), QUICK);
        Some(Self { without, difference: with - without, quick: quick(samples) - quick(empty), error })
    }

    /// The most that the body adds, where that cannot be told from nothing.
    fn below(&self) -> Option<f64> {
        let most = self.difference.max(0.0) + self.error;
        let told = self.difference.min(self.quick);
        let equal = told <= self.error || told + self.error <= PLACEMENT * self.without;
        equal.then_some(most)
    }
}

/// The median, and its standard error.
fn median(samples: &[u64]) -> (f64, f64) {
    let values: Vec<f64> = samples.iter().map(|sample| *sample as f64).collect();
    let median = stats::median(&values);
    let off: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let deviation = 1.4826 * stats::median(&off);
    (median, deviation * (std::f64::consts::FRAC_PI_2 / values.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::METRICS;

    /// Samples of a million iterations around these nanoseconds each, beside a loop of 0.3 ns.
    fn seen(each: f64) -> Observation {
        let around = |each: f64, count: u64| {
            (0..count).map(|at| ((each * 1e6) as u64) + (at * 7919) % 3000).collect::<Vec<u64>>()
        };
        Observation {
            samples: around(each, 100),
            empty: around(0.3, 25),
            iterations_per_sample: 1_000_000,
            ..Observation::default()
        }
    }

    fn wall_time(seen: &Observation) -> Reading {
        let metric = METRICS.iter().find(|metric| metric.name == "wall_time").unwrap();
        (metric.read)(seen)
    }

    #[test]
    fn a_body_of_nothing_is_below_a_bound_and_has_no_figure() {
        for each in [0.299, 0.3, 0.301, 0.33] {
            match wall_time(&seen(each)) {
                Reading::Below(bound) => assert!(bound > 0.0 && bound < 0.1e-9, "{each}: {bound}"),
                other => panic!("{each}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_body_that_takes_longer_than_the_loop_has_its_figure_with_the_loop_in_it() {
        for each in [0.5, 1.0, 5.0, 1000.0] {
            let figure = wall_time(&seen(each)).value().unwrap();
            assert!((figure / (each * 1e-9) - 1.0).abs() < 0.01, "{each}: {figure}");
        }
    }

    #[test]
    fn on_a_busy_machine_the_processors_clock_tells_a_body_from_none() {
        // Half of the samples by the wall were taken while somebody else had the processor.
        let others = |samples: Vec<u64>| -> Vec<u64> {
            samples.iter().zip(0..).map(|(took, at)| took + [0, 3_000_000][at % 2]).collect()
        };
        let busy = |each: f64| {
            let calm = seen(each);
            let (cpu, empty_cpu) = (calm.samples.clone(), calm.empty.clone());
            Observation { samples: others(calm.samples), cpu, empty_cpu, ..calm }
        };
        assert!(below(&Observation { cpu: Vec::new(), ..busy(0.3) }).is_none_or(|bound| bound > 1e-9));
        assert!(below(&busy(0.3)).is_some_and(|bound| bound < 0.1e-9), "{:?}", below(&busy(0.3)));
        assert_eq!(below(&busy(5.0)), None);
    }

    #[test]
    fn a_body_of_nothing_has_no_processor_time_either() {
        let read = |name: &str, seen: &Observation| {
            (METRICS.iter().find(|metric| metric.name == name).unwrap().read)(seen)
        };
        let with = Observation { elements: 7, ..seen(0.3) };
        assert!(matches!(read("cpu_time", &with), Reading::Below(_)));
        assert!(matches!(read("throughput_cpu", &with), Reading::Absent(_)));
        assert!(matches!(read("cpu_time", &seen(5.0)), Reading::Value(_)));
    }

    #[test]
    fn without_empty_blocks_nothing_is_below_anything() {
        assert_eq!(below(&Observation { empty: vec![], ..seen(0.3) }), None);
        assert_eq!(below(&Observation { samples: vec![], ..seen(0.3) }), None);
        let (median, error) = median(&[7; 9]);
        assert_eq!((median, error), (7.0, 0.0));
    }
}
