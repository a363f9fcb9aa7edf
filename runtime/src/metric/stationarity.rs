//! How the samples of a repeat run: level, or not yet, or never.

pub use crate::stats::Stationarity;

use super::{Cause, DisturbedSamples, Observation};
use crate::stats;

impl Observation {
    /// Says how the samples run, by [`stats::steady_state`], and tags those that came before they were
    /// steady. Takes time: to be called when the clock has stopped.
    pub(crate) fn classify(&mut self) {
        let samples: Vec<f64> = self.samples.iter().map(|sample| *sample as f64).collect();
        self.classify_by(&samples, |place| place);
    }

    /// The same by these times, where another clock than the host's says how long samples took, or some are
    /// left out. `place_of` gives the place among all samples.
    pub(crate) fn classify_by(&mut self, times: &[f64], place_of: impl Fn(usize) -> usize) {
        let Some(steady) = stats::steady_state(times) else { return };
        self.stationarity = Some(steady.stationarity);
        let before = steady.start.map_or(0, place_of);
        if before > 0 {
            self.tags
                .push(DisturbedSamples { cause: Cause::Unsteady, samples: (0..before as u32).collect() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classified(samples: Vec<u64>) -> (Option<Stationarity>, usize) {
        let mut seen = Observation { samples, ..Observation::default() };
        seen.classify();
        (seen.stationarity, seen.tags.iter().map(|tag| tag.samples.len()).sum())
    }

    #[test]
    fn a_level_series_is_flat_and_tags_nothing() {
        let level = (0..64).map(|at| 1_000_000 + (at * 7919) % 900).collect();
        assert_eq!(classified(level), (Some(Stationarity::Flat), 0));
        assert_eq!(classified(vec![5; 3]), (None, 0), "too few to say");
    }

    #[test]
    fn samples_before_the_steady_part_are_tagged() {
        let warming: Vec<u64> = (0..64u64)
            .map(|at| 1_000_000 + (at * 7919) % 900 + if at < 16 { 500_000 - at * 20_000 } else { 0 })
            .collect();
        let (stationarity, tagged) = classified(warming);
        assert_eq!(stationarity, Some(Stationarity::WarmingUp));
        assert!((14..=32).contains(&tagged), "{tagged}");
    }

    #[test]
    fn a_series_that_climbs_to_the_end_is_unsteady() {
        let climbing = (0..64).map(|at| 1_000_000 + at * 20_000).collect();
        assert_eq!(classified(climbing).0, Some(Stationarity::Unsteady));
    }

    #[test]
    fn the_course_of_most_is_that_of_more_than_half() {
        use Stationarity::{Flat, Unsteady, WarmingUp};
        assert_eq!(Stationarity::of_most(&[Flat, Unsteady, Unsteady]), Some(Unsteady));
        assert_eq!(Stationarity::of_most(&[Flat, Unsteady, WarmingUp, Unsteady]), None);
        assert_eq!(Stationarity::of_most(&[]), None);
    }
}
