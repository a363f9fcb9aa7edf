//! `bencher.learn`: a learner's steps as a stream that the harness can time; their blocks; the proof of their
//! gradient.

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weighbridge::{Bencher, Direction, Error, ExpectedEpoch, Result, See, Source, Unit};
use weighbridge_data::DataSet;

use super::lives::live_learning;
use super::load::show;
use super::phases::tell_phases;
use super::{Learner, LearningLoop, NotedEpoch, NotedStep, open_data};
use crate::workload::{LearningTask, Parameters};

/// Adds `learn` to the bencher.
pub trait Learn {
    /// Runs a learning task over its data through a learner, as [`open_learning_task`] gives both: opens the
    /// learning task, times its batches, hands in the work report.
    ///
    /// Timed: from the request for a batch (a group, where the pipeline regroups) until it is there with its
    /// gradient and the parameters are updated. Not timed: opening the learning task, going back to the
    /// start.
    ///
    /// Returns what was noted of the steps while the clock ran, epoch by epoch, none of which comes twice.
    ///
    /// # Errors
    /// What the learner declines (a skip) or says; what the stream says.
    fn learn(
        &self,
        learner: &mut dyn Learner,
        task: &LearningTask,
        data: &Arc<DataSet>,
    ) -> Result<Vec<NotedEpoch>>;
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
    fn learn(
        &self,
        learner: &mut dyn Learner,
        task: &LearningTask,
        data: &Arc<DataSet>,
    ) -> Result<Vec<NotedEpoch>> {
        live_learning(self, learner, task, data)?;
        let mut noted = Vec::new();
        let mut steps = self.open(|| learner.open(task, data))?;
        let executed = steps.executed();
        executed.check_platform(self.platform())?;
        self.work(executed.report(data, steps.entry_point()));
        let before = steps.compilations()?;
        if let Some(remote) = steps.remote()? {
            self.stream_remote(remote, self.epoch())?;
            data.check_unchanged()?;
            noted = steps.noted()?;
        } else {
            let (start, expected) = (Parameters::start(task.channels()), task.expected()?);
            let (epoch, drawn) = (self.epoch(), RandomState::new());
            let (steps, noted) = (&mut *steps, &mut noted);
            self.stream(&mut LearningStream { steps, start, expected, epoch, noted, drawn })?;
        }
        tell_recompilations(self, before, steps.compilations()?);
        Ok(noted)
    }
}

/// Tells how often a system has compiled while its batches were timed, as the metric [`RECOMPILATIONS`] of
/// the repeat; nothing where it does not tell. `before` and `after` are its compilations so far.
pub fn tell_recompilations(bencher: &Bencher, before: Option<u64>, after: Option<u64>) {
    if let Some((before, after)) = before.zip(after) {
        let count = after.saturating_sub(before) as f64;
        bencher.metric(RECOMPILATIONS, count, Unit::COUNT, Direction::Lower);
    }
}

/// The metric that has how often a system has compiled from the first batch of the stream to its last.
pub const RECOMPILATIONS: &str = "recompilations";

/// Runs up to 32 steps once more, each as the block `step` with the blocks `step/forward`, `step/backward`,
/// `step/update`. A learner in another process times the parts itself: the metrics `step/forward`,
/// `step/backward`, `step/update` and `step/data`, what a step takes its rows and draws in, are the
/// mean times of up to 32 steps, and `step/all` of whole ones.
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
    let count = task.batches().min(STEPS);
    if let Some(phases) = steps.phases(UNSEEN.min(task.batches() - count), count)? {
        return tell_phases(bencher, &phases);
    }
    steps.begin(0, &Parameters::start(task.channels()))?;
    for step in 0..count {
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

/// Steps before them, where there are more.
const UNSEEN: usize = 4;

/// Returns the time that up to 8 steps take, after as many that do not count.
///
/// # Errors
/// As [`Learn::learn`].
pub fn time_steps_of(
    learner: &mut dyn Learner,
    task: &LearningTask,
    data: &Arc<DataSet>,
) -> Result<Duration> {
    let mut steps = learner.open(task, data)?;
    if let Some(took) = steps.time(task.batches().min(COMPARED))? {
        return Ok(took);
    }
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

/// Holds a learner's gradient of the first batch against finite differences of its own loss, a step of
/// gradient descent against what it is by definition, and the step that is timed against its parts. Gives how
/// many derivatives were looked at.
///
/// The loss is computed here, from what is delivered. It is a polynomial of the second degree in each
/// parameter, so that its central difference `(L(p + h) - L(p - h)) / 2h` is its derivative for any `h`, and
/// only rounding is left.
///
/// # Errors
/// A derivative, a loss, a parameter or a number of the whole step that is another; as [`Learn::learn`].
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
    let parts = delivered(&mut *steps);
    steps.update()?;
    let after = steps.parameters();
    let expected: Vec<f32> =
        start.iter().zip(&gradient).map(|(parameter, slope)| parameter - task.rate * slope).collect();
    if !all_near(&after.iter().collect::<Vec<_>>(), &expected) {
        return Err(Error::new(format!(
            "after a step of gradient descent (rate {}) with the gradient {gradient:?} the parameters are \
             {after:?}",
            task.rate
        )));
    }
    steps.step(&start)?;
    let after = steps.parameters();
    if !all_near(&after.iter().collect::<Vec<_>>(), &expected) {
        return Err(Error::new(format!(
            "the step that is timed leaves the parameters {after:?}, and its parts leave {expected:?}"
        )));
    }
    let whole = delivered(&mut *steps);
    for ((name, whole), parts) in
        ["what comes out", "the gradient to the rows"].iter().zip(&whole).zip(&parts)
    {
        if !alike(whole, parts) {
            return Err(Error::new(format!(
                "the step that is timed delivers other numbers than its parts: {name}"
            )));
        }
    }
    let count = start.iter().count();
    let share = rounding_of_sum(task.terms());
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
            Some(said) if within(share, f64::from(*said), difference) => {}
            said => {
                return Err(Error::new(format!(
                    "the derivative of the loss to parameter {number} is said to be {said:?}, and by finite \
                     differences it is {difference}"
                )));
            }
        }
    }
    Ok(count)
}

/// The step of the finite differences: a parameter is moved by it to either side.
const STEP: f32 = 0.25;

/// Within what rounding in `f32` leaves of numbers.
fn near(found: f64, expected: f64) -> bool {
    within(NEAR, found, expected)
}

/// Within this share of a number, or of one.
pub(crate) fn within(share: f64, found: f64, expected: f64) -> bool {
    (found - expected).abs() <= share * expected.abs().max(1.0)
}

/// A share that rounding leaves nothing of.
const NEAR: f64 = 1e-4;

/// Returns the error that rounding in `f32` may leave in a sum of so many terms that are added one by one, as
/// a share of it: `8 u sqrt(n)` with `u` of 2^-24 (the probabilistic bound of Higham and Mary 2019, "A new
/// approach to probabilistic rounding error analysis", section 2, which holds but once in many thousands),
/// and at least [`NEAR`]. `TensorFlow` was found at 3.8e-4 for a million terms, where this is 4.9e-4; half
/// precision is 20 times as far off.
pub(crate) fn rounding_of_sum(terms: usize) -> f64 {
    (8.0 * (terms as f64).sqrt() / f64::from(1_u32 << 24)).max(NEAR)
}

/// Returns whether parameters are near, one by one.
pub(crate) fn all_near(found: &[f32], expected: &[f32]) -> bool {
    let mut pairs = found.iter().zip(expected);
    found.len() == expected.len()
        && pairs.all(|(found, expected)| near(f64::from(*found), f64::from(*expected)))
}

/// Returns whether the numbers of a field are near by its largest number: a gradient to rows is small all
/// over.
fn alike(found: &[f32], expected: &[f32]) -> bool {
    let largest = expected.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    let mut pairs = found.iter().zip(expected);
    found.len() == expected.len() && pairs.all(|(found, expected)| (found - expected).abs() <= 1e-4 * largest)
}

/// The numbers of both fields, of all groups of the batch from the current one on.
fn delivered(steps: &mut dyn LearningLoop) -> [Vec<f32>; 2] {
    let mut numbers = [Vec::new(), Vec::new()];
    loop {
        for (field, numbers) in numbers.iter_mut().enumerate() {
            numbers.extend(
                steps.batch().bytes(field).as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)),
            );
        }
        if !steps.regroup() {
            return numbers;
        }
    }
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

/// Epochs of an open learning task, from the same parameters again and again, so that every pass does as much
/// work. Each has another number, and so draws of its own: what a step has come to is worth nothing later.
struct LearningStream<'a> {
    steps: &'a mut dyn LearningLoop,
    start: Parameters,
    expected: ExpectedEpoch,
    /// The number of the next one.
    epoch: u64,
    noted: &'a mut Vec<NotedEpoch>,
    drawn: RandomState,
}

impl LearningStream<'_> {
    /// Notes a step that has been done, while the clock runs: what is put off is done now, or never.
    fn note(&mut self) -> Result<()> {
        let epoch = self.noted.last_mut().ok_or_else(|| Error::new("no epoch is begun"))?;
        let slopes = self.steps.batch().bytes(1).as_chunks().0;
        let place = self.drawn.hash_one(epoch.steps.len()) as usize % slopes.len().max(1);
        let slope = slopes.get(place).map(|four| f32::from_le_bytes(*four));
        let slope = slope.ok_or_else(|| Error::new("a step handed out no gradient to its rows"))?;
        let (loss, parameters) = (self.steps.loss(), self.steps.parameters());
        epoch.steps.push(NotedStep { loss, parameters, slope: (place, slope) });
        Ok(())
    }
}

impl Source for LearningStream<'_> {
    fn rewind(&mut self) -> Result<()> {
        self.noted.push(NotedEpoch { epoch: self.epoch, steps: Vec::new() });
        self.epoch += 1;
        self.steps.begin(self.epoch - 1, &self.start)
    }

    fn next(&mut self) -> Result<bool> {
        if !self.steps.regroup() {
            if !self.steps.forward()? {
                return Ok(false);
            }
            self.steps.backward()?;
            self.steps.update()?;
            self.note()?;
        }
        Ok(true)
    }

    fn look(&mut self, see: &mut See<'_>) -> Result<()> {
        show(self.steps.batch(), see);
        Ok(())
    }

    fn expected(&self) -> Option<ExpectedEpoch> {
        Some(self.expected)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use weighbridge::{Purpose, Settings};
    use weighbridge_data::{Batch, ExecutedWork};

    use super::*;
    use crate::adapters::native::ReferenceLearner;
    use crate::contract::Phases;
    use crate::contract::changed_loader::{bencher, metrics};
    use crate::workload::{Form, Images, PipelineSpec, Transform};

    /// The reference, which tells of itself what one in another process does: it compiles for every batch,
    /// and a step takes as many seconds as are said of its form.
    pub(crate) struct TellingLearner {
        honest: ReferenceLearner,
        seconds: fn(Form) -> u64,
    }

    impl TellingLearner {
        pub(crate) fn of(seconds: fn(Form) -> u64) -> Self {
            Self { honest: ReferenceLearner, seconds }
        }
    }

    /// A loop, how often it has compiled, and the seconds of a step.
    struct ToldLoop<'a>(Box<dyn LearningLoop + 'a>, u64, u64);

    /// The number of compilations before it is opened.
    const SO_FAR: u64 = 1000;

    impl Learner for TellingLearner {
        fn open(&mut self, task: &LearningTask, data: &Arc<DataSet>) -> Result<Box<dyn LearningLoop + '_>> {
            Ok(Box::new(ToldLoop(self.honest.open(task, data)?, SO_FAR, (self.seconds)(task.form))))
        }
    }

    impl LearningLoop for ToldLoop<'_> {
        fn begin(&mut self, epoch: u64, parameters: &Parameters) -> Result<()> {
            self.0.begin(epoch, parameters)
        }
        fn forward(&mut self) -> Result<bool> {
            let some = self.0.forward()?;
            self.1 += u64::from(some);
            Ok(some)
        }
        fn backward(&mut self) -> Result<()> {
            self.0.backward()
        }
        fn update(&mut self) -> Result<()> {
            self.0.update()
        }
        fn regroup(&mut self) -> bool {
            self.0.regroup()
        }
        fn batch(&self) -> &dyn Batch {
            self.0.batch()
        }
        fn loss(&self) -> f64 {
            self.0.loss()
        }
        fn gradient(&self) -> Parameters {
            self.0.gradient()
        }
        fn parameters(&self) -> Parameters {
            self.0.parameters()
        }
        fn executed(&self) -> ExecutedWork {
            self.0.executed()
        }
        fn compilations(&mut self) -> Result<Option<u64>> {
            Ok(Some(self.1))
        }
        fn time(&mut self, steps: usize) -> Result<Option<Duration>> {
            Ok(Some(Duration::from_secs(self.2 * steps as u64)))
        }
        fn phases(&mut self, _skip: usize, steps: usize) -> Result<Option<Phases>> {
            let seconds = |seconds| vec![Duration::from_secs(seconds); steps];
            let phases = [("data", 0), ("forward", 1), ("backward", 2), ("update", 1)];
            let phases = phases.map(|(name, each)| (name.to_owned(), seconds(each))).into();
            Ok(Some(Phases { step: seconds(4), phases }))
        }
    }

    #[test]
    fn what_a_learner_tells_of_itself_is_told_as_metrics() {
        let images = PipelineSpec::images(&Images::floats(64, 8, 16)).map(Transform::Normalize);
        let bencher = bencher();
        let (task, data) = open_learning_task(&bencher, &LearningTask::new(images)).unwrap();
        let mut learner = TellingLearner::of(|_| 4);
        bencher.learn(&mut learner, &task, &data).unwrap();
        time_steps(&bencher, &mut learner, &task, &data).unwrap();
        assert_eq!(time_steps_of(&mut learner, &task, &data).unwrap(), Duration::from_secs(4 * 4));
        let told = metrics(bencher).unwrap();
        let of = |name: &str| told.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        // At least the batch of the warm-up and the two that are measured; none of what was compiled before.
        assert!(of(RECOMPILATIONS).is_some_and(|count| count >= 3.0 && count < SO_FAR as f64), "{told:?}");
        let phases = ["data", "forward", "backward", "update", "all"];
        assert_eq!(phases.map(|name| of(&format!("step/{name}"))), [0.0, 1.0, 2.0, 1.0, 4.0].map(Some));
        assert_eq!(of("step"), None);
    }

    #[test]
    fn an_epoch_of_a_learner_in_this_process_is_held_against_its_task() {
        let images = PipelineSpec::images(&Images::floats(64, 8, 16)).map(Transform::Normalize);
        let bencher = Bencher::new(Settings::new(Purpose::Verify, bencher().budget()));
        let (task, data) = open_learning_task(&bencher, &LearningTask::new(images)).unwrap();
        bencher.learn(&mut ReferenceLearner, &task, &data).unwrap();
        let found = bencher.finish().unwrap();
        let expected = found.evidence.expected.expect("told");
        let seen = found.work.unwrap().content;
        assert_eq!((seen.elements, seen.bytes), (expected.elements, expected.bytes));
        assert!(expected.in_order);
        assert_eq!(found.evidence.miscounted, None);
    }

    #[test]
    fn a_derivative_may_be_off_by_what_rounding_leaves_of_so_many_terms_and_by_no_more() {
        let million = rounding_of_sum(256 * 64 * 64);
        assert!(
            within(million, 2.957_217, 2.956_099_158),
            "what TensorFlow said, which adds one by one in f32"
        );
        assert!(!within(million, 2.959, 2.956_099_158));
        assert!(!within(rounding_of_sum(256 * 32), 2.957_217, 2.956_099_158), "no such sum has so few terms");
        assert!((rounding_of_sum(1) - NEAR).abs() < 1e-12);
    }

    #[test]
    fn who_does_not_tell_has_no_recompilations() {
        let bencher = bencher();
        tell_recompilations(&bencher, None, Some(3));
        tell_recompilations(&bencher, Some(3), None);
        bencher.iter(|| 1);
        assert!(metrics(bencher).unwrap().iter().all(|(name, _)| name != RECOMPILATIONS));
    }
}
