//! How many iterations a sample has: as many as fill a block, by the least of several samples.

use std::time::Duration;

/// The number of samples whose least settles the number of iterations: whatever disturbs a sample makes it
/// longer, and one alone may hold a wait of milliseconds.
const SAMPLES: u32 = 3;

/// A sample of more than so many blocks is taken once: a disturbance is hardly ever that long, and the body
/// may be.
const DEAR: u32 = 50;

/// Blocks that come out so many times too long or too short were calibrated wrongly.
const OFF: u32 = 4;

/// So often at most is the number found anew: a body may be of two kinds.
const MOST_AGAIN: u32 = 3;

/// Finds the number.
#[derive(Debug)]
pub(crate) struct Calibrator {
    /// The time that a sample should take.
    block: Duration,
    /// The least and the most iterations of a sample.
    bounds: (u64, u64),
    iterations: u64,
    /// The least of the samples of so many iterations, and how many there were.
    seen: Option<(Duration, u32)>,
    again: u32,
}

impl Calibrator {
    /// Begins with one iteration.
    pub(crate) fn new(block: Duration, bounds: (u64, u64)) -> Self {
        Self { block, bounds, iterations: 1, seen: None, again: 0 }
    }

    /// Iterations of the next sample.
    pub(crate) fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Lets a sample have no more iterations than these: they take long beside what is timed.
    pub(crate) fn at_most(&mut self, iterations: u64) {
        self.bounds.1 = self.bounds.1.min(iterations).max(self.bounds.0);
    }

    /// Takes in how long the next sample took; `true` once the number is found.
    pub(crate) fn took(&mut self, time: Duration) -> bool {
        let (least, samples) = self.seen.map_or((time, 1), |(least, samples)| (least.min(time), samples + 1));
        let (iterations, fills) = grow(self.iterations, least, self.block);
        if fills && samples < SAMPLES && least <= self.block * DEAR {
            self.seen = Some((least, samples));
            return false;
        }
        self.seen = None;
        self.set(iterations);
        fills || iterations >= self.bounds.1
    }

    /// Looks at the least sample of those that were taken with the number that was found; `false` where it is
    /// far off what a sample should take, and the number is to be found again.
    pub(crate) fn holds(&mut self, least: Duration) -> bool {
        let too_long = least > self.block * OFF && self.iterations > self.bounds.0;
        let too_short = least * OFF < self.block && self.iterations < self.bounds.1;
        if (!too_long && !too_short) || self.again == MOST_AGAIN {
            return true;
        }
        self.again += 1;
        let (iterations, _) = grow(self.iterations, least, self.block);
        self.set(iterations);
        false
    }

    fn set(&mut self, iterations: u64) {
        self.iterations = iterations.max(self.bounds.0).min(self.bounds.1);
    }
}

/// The number of iterations to try after a block of so many took this long, and whether it fills half of what
/// it should: the number grows at most tenfold a step until it does, then it is scaled to fill it.
fn grow(iterations: u64, took: Duration, block: Duration) -> (u64, bool) {
    let share = block.as_nanos() as f64 / took.as_nanos().max(1) as f64;
    let scaled = (iterations as f64 * share.min(10.0)).round().max(1.0) as u64;
    (scaled, share <= 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Duration = Duration::from_millis(1);
    const BOUNDS: (u64, u64) = (1, u64::MAX);

    /// The number that is found for a body of this many nanoseconds, whose samples are disturbed by so much,
    /// in turns.
    fn found(each: u64, disturbances: &[Duration]) -> u64 {
        let mut calibration = Calibrator::new(BLOCK, BOUNDS);
        let mut disturbances = disturbances.iter().cycle();
        loop {
            let took = Duration::from_nanos(each * calibration.iterations());
            if calibration.took(took + *disturbances.next().unwrap()) {
                return calibration.iterations();
            }
        }
    }

    #[test]
    fn one_disturbed_sample_settles_nothing() {
        let [none, wait] = [Duration::ZERO, Duration::from_millis(8)];
        assert_eq!(found(5, &[none]), 200_000);
        for disturbances in [[wait, none, none], [none, wait, none], [wait, wait, none]] {
            assert_eq!(found(5, &disturbances), 200_000, "{disturbances:?}");
        }
    }

    #[test]
    fn a_body_that_fills_a_block_has_one_iteration_and_a_long_one_is_looked_at_once() {
        assert_eq!(found(2_000_000, &[Duration::ZERO]), 1);
        let mut calibration = Calibrator::new(BLOCK, BOUNDS);
        assert!(calibration.took(Duration::from_secs(1)));
    }

    #[test]
    fn blocks_that_come_out_far_too_short_or_long_are_calibrated_again_and_not_for_ever() {
        let mut calibration = Calibrator::new(BLOCK, BOUNDS);
        while !calibration.took(Duration::from_nanos(500) * calibration.iterations() as u32) {}
        assert_eq!(calibration.iterations(), 2_000);
        assert!(calibration.holds(Duration::from_micros(400)) && calibration.holds(Duration::from_millis(3)));
        assert!(!calibration.holds(Duration::from_micros(100)), "ten times too short");
        assert_eq!(calibration.iterations(), 20_000);
        assert!(!calibration.holds(Duration::from_millis(10)), "ten times too long");
        assert_eq!(calibration.iterations(), 2_000);
        assert!(!calibration.holds(Duration::from_micros(1)));
        assert!(calibration.holds(Duration::from_micros(1)), "a body of two kinds is taken as it comes");
    }

    #[test]
    fn bounds_hold_whatever_the_body_takes() {
        let mut calibration = Calibrator::new(BLOCK, (50, 1024));
        while !calibration.took(Duration::from_nanos(1) * calibration.iterations() as u32) {}
        assert_eq!(calibration.iterations(), 1024);
        assert!(calibration.holds(Duration::from_micros(1)), "there are no more to be had");
        let mut calibration = Calibrator::new(BLOCK, (50, 1024));
        while !calibration.took(Duration::from_millis(1) * calibration.iterations() as u32) {}
        assert_eq!(calibration.iterations(), 50);
        assert!(calibration.holds(Duration::from_millis(50)));
    }

    #[test]
    fn what_takes_long_beside_the_clock_makes_samples_shorter_and_settles_them() {
        let mut calibration = Calibrator::new(BLOCK, BOUNDS);
        calibration.at_most(17);
        while !calibration.took(Duration::from_micros(8) * calibration.iterations() as u32) {}
        assert_eq!(calibration.iterations(), 17);
        assert!(calibration.holds(Duration::from_micros(136)));
    }
}
