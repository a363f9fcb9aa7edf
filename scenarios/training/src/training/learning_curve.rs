//! The learning curve of a training: how long it takes until samples that it has not learned from are known.

use std::time::{Duration, Instant};

use weighbridge::{Bencher, Direction, Error, Result, Unit};

use crate::contract::TrainingLoop;
use crate::workload::TrainingSpec;

/// Steps until the target; absent where it was not reached.
pub const STEPS_TO_TARGET: &str = "steps_to_target";

/// Seconds of those steps: without looking at how far it is.
pub const TIME_TO_TARGET: &str = "time_to_target";

/// The best share of labels that was right.
pub const BEST_ACCURACY: &str = "best_accuracy";

/// Before the steps that are done, in the name of a metric: the mean loss of the steps since the look before.
pub const LOSS_AT: &str = "loss_at/";

/// Likewise: the share of labels that was right.
pub const ACCURACY_AT: &str = "accuracy_at/";

/// Likewise: the seconds of the steps until there.
pub const TIME_AT: &str = "time_at/";

/// So many looks at most are told, evenly spread, the last one among them.
const TOLD: usize = 16;

/// A training, looked at every so many steps, until its target or the end of its data.
#[derive(Clone, Debug)]
pub(super) struct LearningCurve {
    pub(super) looks: Vec<CurveLook>,
    /// The mean loss of each step.
    pub(super) losses: Vec<f32>,
    /// Labels that are looked at.
    pub(super) labels: usize,
    pub(super) reached: bool,
}

/// A look at the training after some steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurveLook {
    pub(super) steps: usize,
    /// Of the steps alone.
    pub(super) took: Duration,
    pub(super) loss: f32,
    /// Labels that were right.
    pub(super) right: usize,
}

impl LearningCurve {
    /// Trains from the beginning. The clock runs while steps are done.
    ///
    /// # Errors
    /// A training without a target; as [`TrainingLoop::train`]; more labels right than there are.
    pub(super) fn follow(training: &mut dyn TrainingLoop, spec: &TrainingSpec) -> Result<Self> {
        let target = spec.target.ok_or_else(|| Error::new(format!("{} has no `[target]`", spec.name)))?;
        let (_, labels) = spec.layers()?.labels()?;
        let labels = target.held_out * labels.iter().product::<usize>();
        training.train(true, 0)?;
        let mut curve = Self { looks: Vec::new(), losses: Vec::new(), labels, reached: false };
        let mut took = Duration::ZERO;
        for steps in (target.every..=spec.steps).step_by(target.every) {
            let begun = Instant::now();
            let losses = training.train(false, target.every)?;
            took += begun.elapsed();
            let right = training.right()?;
            if right > labels {
                return Err(Error::new(format!("{right} labels are said to be right, of {labels}")));
            }
            let loss = losses.iter().sum::<f32>() / losses.len() as f32;
            curve.losses.extend(losses);
            curve.looks.push(CurveLook { steps, took, loss, right });
            curve.reached = right >= target.due(labels);
            if curve.reached {
                break;
            }
        }
        Ok(curve)
    }

    fn share(&self, look: &CurveLook) -> f64 {
        look.right as f64 / self.labels as f64
    }

    /// Hands in the steps and the time to the target, where it was reached, and some of the looks.
    pub(super) fn tell(&self, bencher: &Bencher) {
        let told = |name: &str, value: f64, unit, direction| bencher.metric(name, value, unit, direction);
        if let (true, Some(last)) = (self.reached, self.looks.last()) {
            told(STEPS_TO_TARGET, last.steps as f64, Unit::COUNT, Direction::Lower);
            told(TIME_TO_TARGET, last.took.as_secs_f64(), Unit::SECONDS, Direction::Lower);
        }
        let best = self.looks.iter().map(|look| self.share(look)).fold(0.0, f64::max);
        told(BEST_ACCURACY, best, Unit::RATIO, Direction::Higher);
        let apart = self.looks.len().div_ceil(TOLD).max(1);
        for look in self.looks.iter().rev().step_by(apart).collect::<Vec<_>>().into_iter().rev() {
            let CurveLook { steps, took, loss, .. } = look;
            let information = Direction::Information;
            told(&format!("{LOSS_AT}{steps}"), f64::from(*loss), Unit::COUNT, information);
            told(&format!("{ACCURACY_AT}{steps}"), self.share(look), Unit::RATIO, information);
            told(&format!("{TIME_AT}{steps}"), took.as_secs_f64(), Unit::SECONDS, information);
        }
    }
}
