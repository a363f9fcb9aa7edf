//! How the rate of an optimiser changes with the steps of a training.

use std::f64::consts::PI;
use std::fmt;

use serde::{Deserialize, Serialize};
use weighbridge::{Error, Result};

/// A learning-rate schedule: the share of its rate that an optimiser takes in each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Schedule {
    /// The whole rate in every step.
    #[default]
    Constant,
    /// Up by a line, from one part of `warmup + 1`, then down by half a wave of a cosine (Loshchilov and
    /// Hutter 2017): at step `n`, from 0, `(n + 1) / (warmup + 1)` where `n` is below `warmup`, and else
    /// `least + (1 - least) (1 + cos(pi (n - warmup) / (until - warmup))) / 2`.
    Cosine {
        /// Steps of the way up; the one behind them has the whole rate.
        warmup: usize,
        /// The first step with the least rate, which all later ones have.
        until: usize,
        /// The least share of the rate.
        least: f64,
    },
}

impl Schedule {
    /// The share of the rate in a step, from 0.
    pub fn share(self, step: usize) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Cosine { warmup, .. } if step < warmup => (step + 1) as f64 / (warmup + 1) as f64,
            Self::Cosine { warmup, until, least } => {
                let gone = (step.min(until) - warmup) as f64 / (until - warmup) as f64;
                least + (1.0 - least) * (1.0 + (PI * gone).cos()) / 2.0
            }
        }
    }

    /// Steps whose rates a system tells, so that its schedule can be held against this one: the first, the
    /// greatest, one on the way down, the least. Of a rate that never changes it tells none.
    pub fn told(self) -> Vec<usize> {
        match self {
            Self::Constant => Vec::new(),
            Self::Cosine { warmup, until, .. } => {
                let mut steps = vec![0, warmup, usize::midpoint(warmup, until), until];
                steps.dedup();
                steps
            }
        }
    }

    /// The settings of an optimiser of this rate, as a system tells what it has set.
    pub fn settings(self, rate: f64) -> Vec<(String, f64)> {
        let told = self.told().into_iter();
        told.map(|step| (format!("optimiser.rate of step {step}"), rate * self.share(step))).collect()
    }

    /// Refuses what no schedule could be, and names the key.
    ///
    /// # Errors
    /// A way down that ends before it begins; a least share that is none.
    pub fn check(self) -> Result<()> {
        let Self::Cosine { warmup, until, least } = self else { return Ok(()) };
        if until <= warmup {
            return Err(Error::new(format!(
                "`schedule.until` is {until}: the way down begins at step {warmup} and must end behind it"
            )));
        }
        if !(0.0..=1.0).contains(&least) {
            return Err(Error::new(format!("`schedule.least` is {least}: it must be a share from 0 to 1")));
        }
        Ok(())
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("a constant rate"),
            Self::Cosine { warmup, until, least } => {
                write!(
                    f,
                    "a rate that rises for {warmup} steps and falls by a cosine to {least} of it at step \
                     {until}"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAVE: Schedule = Schedule::Cosine { warmup: 3, until: 11, least: 0.2 };

    #[test]
    fn a_rate_rises_by_a_line_and_falls_by_a_cosine_and_stays() {
        let due = [(0, 0.25), (1, 0.5), (2, 0.75), (3, 1.0), (7, 0.6), (11, 0.2), (12, 0.2), (500, 0.2)];
        for (step, share) in due {
            assert!((WAVE.share(step) - share).abs() < 1e-12, "step {step}: {}", WAVE.share(step));
        }
        assert!((Schedule::Constant.share(7) - 1.0).abs() < 1e-12);
        let at_once = Schedule::Cosine { warmup: 0, until: 1, least: 0.0 };
        assert!((at_once.share(0) - 1.0).abs() < 1e-12 && at_once.share(1).abs() < 1e-12);
    }

    #[test]
    fn rates_are_told_of_the_ends_the_top_and_the_way_down() {
        let told: Vec<String> =
            WAVE.settings(2.0).into_iter().map(|(key, rate)| format!("{key}: {rate:.2}")).collect();
        let due = ["0: 0.50", "3: 2.00", "7: 1.20", "11: 0.40"];
        assert_eq!(told, due.map(|step| format!("optimiser.rate of step {step}")));
        assert!(Schedule::Constant.settings(2.0).is_empty());
    }

    #[test]
    fn a_schedule_that_cannot_be_is_refused_by_its_key() {
        let refused = |schedule: Schedule| schedule.check().unwrap_err().to_string();
        WAVE.check().unwrap();
        assert!(
            refused(Schedule::Cosine { warmup: 3, until: 3, least: 0.0 }).contains("`schedule.until` is 3")
        );
        for least in [-0.1, 1.1, f64::NAN] {
            assert!(refused(Schedule::Cosine { warmup: 0, until: 3, least }).contains("`schedule.least` is"));
        }
    }
}
