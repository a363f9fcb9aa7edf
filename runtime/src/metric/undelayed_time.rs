//! Wall time of one iteration on a machine that would have had a processor for it at once.

use super::names;
use super::observation::NO_SAMPLES;
use super::{Direction, Metric, Observation, Reading, SampleKind, Unit, overhead};
use crate::stats;

/// Median over the samples of wall time less the time in which the thread was ready and waited for a
/// processor, per iteration. What sleeps keeps its sleep, what computes has the processor's time: it says the
/// same on a busy machine as on a calm one, as far as others leave caches and clock alone. What a thread
/// waits for *other* threads of the body that wait is in it.
pub(super) const METRIC: Metric = Metric {
    name: names::UNDELAYED_TIME,
    unit: Unit::SECONDS,
    direction: Direction::Lower,
    description: "wall_time without the time in which the body's thread was ready and waited for a processor",
    read,
};

fn read(seen: &Observation) -> Reading {
    if seen.samples.is_empty() {
        return Reading::absent(NO_SAMPLES);
    }
    if seen.taken != Some(SampleKind::Iterations) || seen.delayed.len() != seen.samples.len() {
        return Reading::absent("only bodies on one thread have it, where the kernel says how long it waits");
    }
    if let Some(share) = seen.done_by_others() {
        // Those that run while this thread waits for its turn are no delay of it.
        return Reading::absent(format!("other threads had {:.0} % of the processor time", share * 100.0));
    }
    if let Some(bound) = overhead::below(seen) {
        return Reading::Below(bound);
    }
    let samples = seen.samples.iter().zip(&seen.delayed);
    let samples: Vec<f64> = samples.map(|(sample, delayed)| sample.saturating_sub(*delayed) as f64).collect();
    Reading::Value(stats::median(&samples) * 1e-9 / seen.iterations_per_sample as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_that_ended_late_and_a_loop_that_was_interrupted_take_what_they_take() {
        let seen = |samples: &[u64], delayed: &[u64]| Observation {
            taken: Some(SampleKind::Iterations),
            samples: samples.to_vec(),
            delayed: delayed.to_vec(),
            iterations_per_sample: 1,
            ..Observation::default()
        };
        let sleep = read(&seen(&[1_060_000, 3_060_000, 2_560_000], &[0, 2_000_000, 1_500_000]));
        assert_eq!(sleep, Reading::Value(1.06e-3));
        assert!(matches!(read(&seen(&[1], &[])), Reading::Absent(_)), "the kernel says nothing");
    }
}
