//! `bencher.learn`: a learner's steps as a stream that the harness can time; their blocks; the proof of their gradient.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weighbridge::{Bencher, Error, Result, See, Source};

use super::load::show;
use super::{Learner, LearningLoop, open_data};
use crate::data::DataSet;
use crate::workload::{LearningTask, Parameters};

/// Adds `learn` to the bencher.
pub trait Learn {
    /// Runs a learning task over its data through a learner, as [`open_learning_task`] gives both: opens the learning task, times its batches,
    /// hands in the work report.
    ///
    /// Timed: from the request for a batch (a group, where the pipeline regroups) until it is there with its gradient and
    /// the parameters are updated. Not timed: opening the learning task, going back to the start.
    ///
    /// # Errors
    /// What the learner declines (a skip) or says; what the stream says.
    fn learn(&self, learner: &mut dyn Learner, task: &LearningTask, data: &Arc<DataSet>) -> Result<()>;
}

/// The data of a learning task, and the learning task as it is run: cut as [`open_data`] cuts its pipeline.
///
/// # Errors
/// What is impossible in the learning task; as [`open_data`].
pub fn open_learning_task(bencher: &Bencher, task: &LearningTask) -> Result<(LearningTask, Arc<DataSet>)> {
    task.check()?;
    let (pipeline, data) = open_data(bencher, &task.pipeline)?;
    Ok((LearningTask { pipeline, ..task.clone() }, data))
}

impl Learn for Bencher {
    fn learn(&self, learner: &mut dyn Learner, task: &LearningTask, data: &Arc<DataSet>) -> Result<()> {
        let mut steps = self.open(|| learner.open(task, data))?;
        self.work(steps.executed().report(data, None));
        let start = Parameters::start(task.channels());
        self.stream(&mut LearningStream { steps: &mut *steps, start })
    }
}

/// Runs up to 32 steps once more, each as the block `step` with the blocks `step/forward`, `step/backward`, `step/update`.
///
/// # Errors
/// As [`Learn::learn`].
pub fn time_steps(
    bencher: &Bencher,
    learner: &mut dyn Learner,
    task: &LearningTask,
    data: &Arc<DataSet>,
) -> Result<()> {
    let mut steps = learner.open(task, data)?;
    steps.begin(0, &Parameters::start(task.channels()))?;
    for step in 0..task.batches().min(STEPS) {
        bencher.measure("step", || {
            if !bencher.measure("forward", || steps.forward())? {
                return Err(Error::new(format!("the epoch ended before its batch {step}")));
            }
            bencher.measure("backward", || steps.backward())?;
            bencher.measure("update", || steps.update())
        })?;
    }
    Ok(())
}

/// Steps that are told block by block.
const STEPS: usize = 32;

/// How long up to 8 steps take, after as many that do not count.
///
/// # Errors
/// As [`Learn::learn`].
pub fn time_steps_of(
    learner: &mut dyn Learner,
    task: &LearningTask,
    data: &Arc<DataSet>,
) -> Result<Duration> {
    let mut steps = learner.open(task, data)?;
    let mut took = Duration::ZERO;
    for _ in 0..2 {
        steps.begin(0, &Parameters::start(task.channels()))?;
        let start = Instant::now();
        for _ in 0..task.batches().min(COMPARED) {
            steps.forward()?;
            steps.backward()?;
            steps.update()?;
            black_box(steps.batch().elements());
        }
        took = start.elapsed();
    }
    Ok(took)
}

/// Steps that are timed together, to compare learning tasks.
const COMPARED: usize = 8;

/// Holds a learner's gradient of the first batch against finite differences of its own loss, and a step of gradient
/// descent against what it is by definition. Gives how many derivatives were looked at.
///
/// The loss is computed here, from what is delivered. It is a polynomial of the second degree in each parameter, so that
/// its central difference `(L(p + h) - L(p - h)) / 2h` is its derivative for any `h`, and only rounding is left.
///
/// # Errors
/// A derivative, a loss or a parameter that is another; as [`Learn::learn`].
pub fn check_gradient(learner: &mut dyn Learner, task: &LearningTask, data: &Arc<DataSet>) -> Result<usize> {
    let mut steps = learner.open(task, data)?;
    let start = Parameters::start(task.channels());
    let loss = loss_at(&mut *steps, &start)?;
    if !near(steps.loss(), loss) {
        let said = steps.loss();
        return Err(Error::new(format!("the loss of the first batch is said to be {said}, and is {loss}")));
    }
    steps.begin(0, &start)?;
    steps.forward()?;
    steps.backward()?;
    let gradient: Vec<f32> = steps.gradient().iter().collect();
    steps.update()?;
    let after = steps.parameters();
    let expected = start.iter().zip(&gradient).map(|(parameter, slope)| parameter - task.rate * slope);
    if !after.iter().zip(expected).all(|(found, expected)| near(f64::from(found), f64::from(expected))) {
        return Err(Error::new(format!(
            "after a step of gradient descent (rate {}) with the gradient {gradient:?} the parameters are {after:?}",
            task.rate
        )));
    }
    let count = start.iter().count();
    for number in 0..count {
        let mut at = |step: f32| {
            let mut parameters = start.clone();
            if let Some(parameter) = parameters.iter_mut().nth(number) {
                *parameter += step;
            }
            loss_at(&mut *steps, &parameters)
        };
        let difference = (at(STEP)? - at(-STEP)?) / (2.0 * f64::from(STEP));
        match gradient.get(number) {
            Some(said) if near(f64::from(*said), difference) => {}
            said => {
                return Err(Error::new(format!(
                    "the derivative of the loss to parameter {number} is said to be {said:?}, and by finite differences it \
                     is {difference}"
                )));
            }
        }
    }
    Ok(count)
}

/// How far a parameter is moved to either side.
const STEP: f32 = 0.25;

/// Within what rounding in `f32` leaves of sums over a batch.
fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-4 * expected.abs().max(1.0)
}

/// The loss of the first batch with these parameters, from the numbers that are delivered.
fn loss_at(steps: &mut dyn LearningLoop, parameters: &Parameters) -> Result<f64> {
    steps.begin(0, parameters)?;
    if !steps.forward()? {
        return Err(Error::new("the epoch has no batch"));
    }
    let mut loss = 0.0;
    loop {
        let (squares, count) =
            steps.batch().bytes(0).as_chunks().0.iter().fold((0.0, 0_u64), |(sum, count), four| {
                let y = f64::from(f32::from_le_bytes(*four));
                (sum + y * y, count + 1)
            });
        loss += squares / count.max(1) as f64 / 2.0;
        if !steps.regroup() {
            return Ok(loss);
        }
    }
}

/// Epoch 0 of an open learning task, from the same parameters again and again, so that every pass does the same work.
struct LearningStream<'a> {
    steps: &'a mut dyn LearningLoop,
    start: Parameters,
}

impl Source for LearningStream<'_> {
    fn rewind(&mut self) -> Result<()> {
        self.steps.begin(0, &self.start)
    }

    fn next(&mut self) -> Result<bool> {
        if !self.steps.regroup() {
            if !self.steps.forward()? {
                return Ok(false);
            }
            self.steps.backward()?;
            self.steps.update()?;
        }
        Ok(true)
    }

    fn look(&mut self, see: &mut See<'_>) -> Result<()> {
        show(self.steps.batch(), see);
        Ok(())
    }
}
