//! `Reference` of learners: gradients written by hand.

use std::sync::Arc;

use weighbridge::{Delivery, Result, adapter};
use weighbridge_data::{Batch, DataSet, Draws, ExecutedWork};

use super::arithmetic::{ElementShape, WhichElements};
use super::modules::{LearnedModule, modules};
use super::stage::{TaskStage, stages};
use super::step_output::{StepOutput, no_batch, no_gradient};
use crate::adapters::native::learning::function;
use crate::adapters::native::learning::function::KeptForward;
use crate::adapters::native::prefetch::Batches;
use crate::contract::{Learner, LearningLoop};
use crate::workload::{Form, LearningTask, Parameters};

/// The learner that others are verified against: loops over the batch, with derivatives that somebody worked
/// out. It is what a library that derives them itself is held to. Both forms run the same loops: as modules
/// in a list, and as a function.
///
/// It declines transforms other than `Normalize` and `RandomCrop`, workers, and rows that are not in memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceLearner;

/// Loops over the batch, with gradients written by hand.
#[adapter(name = "Reference", tier = 0)]
impl Learner for ReferenceLearner {
    fn open(&mut self, task: &LearningTask, data: &Arc<DataSet>) -> Result<Box<dyn LearningLoop + '_>> {
        Ok(Box::new(LearnerByHand::open(task, data)?))
    }
}

/// A cursor over steps.
#[derive(Debug)]
struct LearnerByHand {
    pipeline: FormedPipeline,
    shape: ElementShape,
    learned: StepOutput,
    batches: Batches,
    epoch: u64,
    next: usize,
    /// The batch at hand, and its loss.
    which: Option<WhichElements>,
    loss: f64,
    /// `true` from the batch's backward pass until its update.
    has_gradient: bool,
    task: LearningTask,
    data: Arc<DataSet>,
}

/// A learning task's pipeline in one of its forms.
#[derive(Debug)]
enum FormedPipeline {
    Modules(Vec<Box<dyn LearnedModule>>),
    Function { stages: Vec<TaskStage>, parameters: Parameters, gradient: Parameters, kept: KeptForward },
}

impl LearnerByHand {
    fn open(task: &LearningTask, data: &Arc<DataSet>) -> Result<Self> {
        let (stages, shape) = stages("Reference", task, data)?;
        let start = Parameters::start(task.channels());
        let mut pipeline = match task.form {
            Form::Module => FormedPipeline::Modules(modules(&stages, shape)),
            Form::Function => FormedPipeline::Function {
                stages,
                parameters: start.clone(),
                gradient: Parameters::default(),
                kept: KeptForward::default(),
            },
        };
        pipeline.set(&start);
        Ok(Self {
            pipeline,
            shape,
            learned: StepOutput::new(task)?,
            batches: Batches { all: task.pipeline.elements(), size: task.pipeline.batch_size },
            epoch: 0,
            next: 0,
            which: None,
            loss: f64::NAN,
            has_gradient: false,
            task: task.clone(),
            data: data.clone(),
        })
    }
}

impl FormedPipeline {
    fn set(&mut self, to: &Parameters) {
        match self {
            Self::Modules(modules) => {
                for module in modules {
                    if let Some(learnable) = module.learnable() {
                        learnable.parameters.clone_from(to);
                    }
                }
            }
            Self::Function { parameters, .. } => parameters.clone_from(to),
        }
    }

    fn forward(&mut self, shape: ElementShape, which: WhichElements, numbers: &mut [f32]) {
        match self {
            Self::Modules(modules) => {
                for module in modules {
                    module.forward(which, numbers);
                }
            }
            Self::Function { stages, parameters, kept, .. } => {
                function::forward(stages, shape, parameters, which, numbers, kept);
            }
        }
    }

    fn backward(&mut self, shape: ElementShape, which: WhichElements, slopes: &mut [f32]) {
        match self {
            Self::Modules(modules) => {
                for module in modules.iter_mut().rev() {
                    module.backward(slopes);
                }
            }
            Self::Function { stages, parameters, gradient, kept } => {
                function::backward(stages, shape, parameters, which, slopes, kept, gradient);
            }
        }
    }

    fn update(&mut self, rate: f32) {
        match self {
            Self::Modules(modules) => {
                for learnable in modules.iter_mut().filter_map(|module| module.learnable()) {
                    for (parameter, slope) in learnable.parameters.iter_mut().zip(learnable.gradient.iter()) {
                        *parameter -= rate * slope;
                    }
                }
            }
            Self::Function { parameters, gradient, .. } => {
                *parameters = function::update(parameters, gradient, rate);
            }
        }
    }
}

impl LearningLoop for LearnerByHand {
    fn begin(&mut self, epoch: u64, parameters: &Parameters) -> Result<()> {
        self.pipeline.set(parameters);
        self.learned.clear();
        (self.epoch, self.next, self.which, self.has_gradient) = (epoch, 0, None, false);
        Ok(())
    }

    fn forward(&mut self) -> Result<bool> {
        if self.next >= self.batches.count() {
            return Ok(false);
        }
        let elements = self.batches.elements(self.next);
        self.next += 1;
        let which =
            WhichElements { draws: Draws::new(self.task.pipeline.seed, self.epoch), first: elements.start };
        let numbers = &mut self.learned.numbers;
        numbers.clear();
        numbers.extend_from_slice(bytemuck::cast_slice(self.data.rows(0, elements.clone())));
        self.pipeline.forward(self.shape, which, numbers);
        self.learned.made(elements.len());
        self.loss = self.learned.loss();
        (self.which, self.has_gradient) = (Some(which), false);
        Ok(true)
    }

    fn backward(&mut self) -> Result<()> {
        let which = self.which.ok_or_else(no_batch)?;
        self.learned.slope_of_loss();
        self.pipeline.backward(self.shape, which, &mut self.learned.slopes);
        self.has_gradient = true;
        Ok(())
    }

    fn update(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.has_gradient) {
            return Err(no_gradient());
        }
        self.pipeline.update(self.task.rate);
        Ok(())
    }

    fn regroup(&mut self) -> bool {
        self.learned.regroup()
    }

    fn batch(&self) -> &dyn Batch {
        &self.learned
    }

    fn loss(&self) -> f64 {
        self.loss
    }

    fn gradient(&self) -> Parameters {
        match &self.pipeline {
            FormedPipeline::Modules(modules) => {
                modules.iter().find_map(|module| module.gradient()).unwrap_or_default()
            }
            FormedPipeline::Function { gradient, .. } => gradient.clone(),
        }
    }

    fn parameters(&self) -> Parameters {
        match &self.pipeline {
            FormedPipeline::Modules(modules) => {
                modules.iter().find_map(|module| module.parameters()).unwrap_or_default()
            }
            FormedPipeline::Function { parameters, .. } => parameters.clone(),
        }
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(self.task.work(), Delivery::Owned, 0)
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_data::{Cache, DataSpec};

    use super::*;
    use crate::workload::{PipelineSpec, Transform};

    fn task(form: Form) -> LearningTask {
        let images = DataSpec::normal("image", 30, vec![9, 8, 3]);
        let pipeline = PipelineSpec::new(images, 12).map(Transform::Normalize).map(Transform::RandomCrop);
        LearningTask::new(pipeline.rebatch(4)).form(form)
    }

    fn open(task: &LearningTask) -> (tempfile::TempDir, LearnerByHand) {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path()).open(&task.pipeline.source).unwrap());
        (place, LearnerByHand::open(task, &data).unwrap())
    }

    #[test]
    fn the_gradient_to_the_rows_is_what_finite_differences_say() {
        for form in [Form::Module, Form::Function] {
            let (_place, mut steps) = open(&task(form));
            // The last batch: its last group is short.
            steps.begin(3, &Parameters::start(3)).unwrap();
            for _ in 0..3 {
                assert!(steps.forward().unwrap());
            }
            steps.backward().unwrap();
            let (slopes, which) = (steps.learned.slopes.clone(), steps.which.unwrap());
            let rows: Vec<f32> = bytemuck::cast_slice(steps.data.rows(0, 24..30)).to_vec();
            let mut loss = |rows: &[f32]| {
                let mut numbers = rows.to_vec();
                steps.pipeline.forward(steps.shape, which, &mut numbers);
                steps.learned.numbers = numbers;
                steps.learned.made(6);
                steps.learned.loss()
            };
            let mut with_slope = 0;
            for number in 0..rows.len() {
                let mut at = |step: f32| {
                    let mut moved = rows.clone();
                    moved[number] += step;
                    loss(&moved)
                };
                // The loss is of the second degree in each number: any step gives the derivative.
                let difference = (at(0.5) - at(-0.5)) / 1.0;
                let slope = f64::from(slopes[number]);
                assert!((slope - difference).abs() < 1e-6, "{form}, number {number}: {slope}, {difference}");
                with_slope += usize::from(slope != 0.0);
            }
            assert!(
                (rows.len() / 3..rows.len()).contains(&with_slope),
                "some are dropped or cut away: {with_slope}"
            );
        }
    }

    #[test]
    fn learning_makes_the_loss_less() {
        let (_place, mut steps) = open(&LearningTask { rate: 0.2, ..task(Form::Module) });
        let mut losses = Vec::new();
        let mut parameters = Parameters::start(3);
        for _ in 0..4 {
            steps.begin(0, &parameters).unwrap();
            steps.forward().unwrap();
            losses.push(steps.loss());
            steps.backward().unwrap();
            steps.update().unwrap();
            parameters = steps.parameters();
        }
        assert!(losses.windows(2).all(|two| two[1] < 0.9 * two[0]), "{losses:?}");
    }

    #[test]
    fn what_has_no_gradient_is_declined_by_name() {
        let declined = |change: fn(PipelineSpec) -> PipelineSpec| {
            let task = LearningTask { pipeline: change(task(Form::Module).pipeline), ..task(Form::Module) };
            let place = tempfile::tempdir().unwrap();
            let data = Arc::new(Cache::at(place.path()).open(&task.pipeline.source).unwrap());
            let error = LearnerByHand::open(&task, &data).map(drop).unwrap_err();
            assert!(error.is_skip(), "{error}");
            error.to_string()
        };
        assert!(declined(|spec| spec.map(Transform::GaussianBlur)).contains("no gradient of GaussianBlur"));
        assert!(declined(|spec| spec.workers(2)).contains("2 workers"));
        assert!(declined(PipelineSpec::cached).contains("cache"));
    }
}
