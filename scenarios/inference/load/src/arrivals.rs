//! When requests are due: in an open loop by a schedule, in a closed one by the users' answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weighbridge::data::SplitMix64;

/// A request of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The nanoseconds after the start at which it is due.
    pub at: u64,
    /// The words of its prompt, where a trace names them.
    pub words: Option<u32>,
    /// The tokens of its answer, where a trace names them.
    pub tokens: Option<u32>,
}

/// A rate that holds for a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Requests per second.
    pub rate: f64,
    /// The time that it holds.
    pub length: Duration,
}

/// The distances between requests of one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All equal.
    Constant,
    /// Drawn, as those of many users who know nothing of each other (exponential).
    Poisson,
    /// So many at once, and as long a rest as the rate asks for.
    Bursts(u32),
}

/// The time between an answer and the next request of the same user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// None: at once.
    None,
    /// Always the same.
    Constant(Duration),
    /// Drawn, with this mean (exponential).
    Exponential(Duration),
}

impl Think {
    /// The next time.
    pub(crate) fn draw(self, draws: &mut SplitMix64) -> Duration {
        match self {
            Think::None => Duration::ZERO,
            Think::Constant(time) => time,
            Think::Exponential(mean) => mean.mul_f64(exponential(draws)),
        }
    }
}

/// The load of a level.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// So many users, each of whom waits for the answer.
    Closed {
        /// Their number.
        users: u32,
        /// The rest between an answer and the next request.
        think: Think,
    },
    /// Requests that are due whatever the server does.
    Open {
        /// Rates, one after another.
        stages: Vec<Stage>,
        /// The distances within a stage.
        shape: Shape,
    },
    /// Requests as a trace has them.
    Trace(Vec<Arrival>),
}

impl Load {
    /// The schedule of an open loop; of a closed one it is empty.
    pub(crate) fn schedule(&self, seed: u64) -> Box<dyn Iterator<Item = Arrival> + Send> {
        match self {
            Load::Closed { .. } => Box::new(std::iter::empty()),
            Load::Open { stages, shape } => Box::new(Schedule::new(stages.clone(), *shape, seed)),
            Load::Trace(arrivals) => Box::new(arrivals.clone().into_iter()),
        }
    }

    /// A few words: `8 users`, `50/s poisson`.
    pub fn name(&self) -> String {
        match self {
            Load::Closed { users: 1, .. } => "1 user".to_owned(),
            Load::Closed { users, .. } => format!("{users} users"),
            Load::Open { stages, shape } => {
                let mut rates: Vec<String> = stages.iter().map(|stage| format!("{}/s", stage.rate)).collect();
                rates.dedup(); // a warm-up goes at the first rate
                let shape = match shape {
                    Shape::Constant => String::new(),
                    Shape::Poisson => " poisson".to_owned(),
                    Shape::Bursts(size) => format!(" in bursts of {size}"),
                };
                rates.join(" then ") + &shape
            }
            Load::Trace(arrivals) => format!("trace of {}", arrivals.len()),
        }
    }
}

/// The requests of stages, drawn one by one: a schedule takes no memory.
struct Schedule {
    stages: std::vec::IntoIter<Stage>,
    shape: Shape,
    draws: SplitMix64,
    /// The stage that holds, with its begin and its end in seconds.
    now: Option<(Stage, f64, f64)>,
    /// The next place in seconds, and how many are still due there.
    next: (f64, u32),
}

impl Schedule {
    fn new(stages: Vec<Stage>, shape: Shape, seed: u64) -> Self {
        let mut schedule = Self {
            stages: stages.into_iter(),
            shape,
            draws: SplitMix64::new(seed),
            now: None,
            next: (0.0, 0),
        };
        schedule.enter(0.0);
        schedule
    }

    /// Begins the next stage; the rest of a distance into it counts for nothing.
    fn enter(&mut self, begin: f64) {
        self.now = self.stages.next().map(|stage| (stage, begin, begin + stage.length.as_secs_f64()));
        let Some((stage, ..)) = self.now else { return };
        self.next = match self.shape {
            Shape::Constant => (begin, 1),
            Shape::Poisson => (begin + exponential(&mut self.draws) / stage.rate, 1),
            Shape::Bursts(size) => (begin, size),
        };
    }
}

impl Iterator for Schedule {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            let (stage, _, end) = self.now?;
            if self.next.0 >= end || stage.rate <= 0.0 {
                self.enter(end);
                continue;
            }
            let at = (self.next.0 * 1e9) as u64;
            self.next.1 -= 1;
            if self.next.1 == 0 {
                self.next = match self.shape {
                    Shape::Constant => (self.next.0 + 1.0 / stage.rate, 1),
                    Shape::Poisson => (self.next.0 + exponential(&mut self.draws) / stage.rate, 1),
                    Shape::Bursts(size) => (self.next.0 + f64::from(size) / stage.rate, size),
                };
            }
            return Some(Arrival { at, words: None, tokens: None });
        }
    }
}

/// A draw of the exponential distribution with mean 1.
fn exponential(draws: &mut SplitMix64) -> f64 {
    // From (0, 1]: the logarithm of 0 is none.
    let uniform = ((draws.draw() >> 11) as f64 + 1.0) / (1u64 << 53) as f64;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(shape: Shape, stages: &[(f64, u64)]) -> Vec<f64> {
        let stage =
            |(rate, seconds): &(f64, u64)| Stage { rate: *rate, length: Duration::from_secs(*seconds) };
        let load = Load::Open { stages: stages.iter().map(stage).collect(), shape };
        load.schedule(5).map(|arrival| arrival.at as f64 / 1e9).collect()
    }

    #[test]
    fn a_constant_rate_has_equal_distances_and_stages_follow_each_other() {
        let found = times(Shape::Constant, &[(2.0, 1), (0.0, 1), (4.0, 1)]);
        assert_eq!(found, [0.0, 0.5, 2.0, 2.25, 2.5, 2.75]);
    }

    #[test]
    fn bursts_come_at_once_and_keep_the_rate() {
        let found = times(Shape::Bursts(5), &[(10.0, 2)]);
        assert_eq!(found.len(), 20);
        assert_eq!(found[..6], [0.0, 0.0, 0.0, 0.0, 0.0, 0.5]);
    }

    /// 100,000 distances: the mean has a standard error of 0.3 %, and an exponential one deviates by its
    /// mean.
    #[test]
    fn poisson_arrivals_have_the_mean_and_the_deviation_of_their_rate() {
        let found = times(Shape::Poisson, &[(1000.0, 100)]);
        let gaps: Vec<f64> = found.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean * 1000.0 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{variance}");
    }

    #[test]
    fn think_times_are_none_constant_or_drawn_around_their_mean() {
        let mut draws = SplitMix64::new(1);
        let second = Duration::from_secs(1);
        assert_eq!(Think::None.draw(&mut draws), Duration::ZERO);
        assert_eq!(Think::Constant(second).draw(&mut draws), second);
        let sum: Duration = (0..10_000).map(|_| Think::Exponential(second).draw(&mut draws)).sum();
        assert!((sum.as_secs_f64() / 10_000.0 - 1.0).abs() < 0.05, "{sum:?}");
    }
}
