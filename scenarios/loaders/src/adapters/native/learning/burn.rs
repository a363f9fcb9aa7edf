//! `burn`: the same learning task over tensors, with gradients that the library derives.

use std::sync::Arc;

use burn_core as burn; // the name that the derived code of a module uses
use burn_core::module::{Module, ModuleMapper, Param};
use burn_core::tensor::{Device, Gradients, Tensor, TensorData};
use weighbridge::{Delivery, Error, Result, adapter};

use super::arithmetic::{ElementShape, WhichElements, corners, factors};
use super::stage::{TaskStage, stages};
use super::step_output::{StepOutput, no_batch, no_gradient};
use crate::adapters::native::burn_data::version;
use crate::adapters::native::prefetch::Batches;
use crate::contract::{Learner, LearningLoop};
use crate::workload::{Form, LearningTask, Parameters, Transform};
use weighbridge_data::DataSet;
use weighbridge_data::Draws;
use weighbridge_data::{Batch, ExecutedWork};

/// The learning task in operations on tensors of `burn` (its CPU backend `flex`), with `burn`'s automatic
/// differentiation. As modules: a derived `Module` with `Param`s, updated by a mapper, as burn's optimisers
/// do. As a function: two tensors.
///
/// Which numbers are dropped and which window is kept come from the draws that all learners share, as a
/// tensor and as ranges; the rest is burn's. It declines what the reference declines.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurnLearner;

/// The tensors of `burn`, with gradients that it derives itself.
#[adapter(name = "burn", tier = 1, probe = version)]
impl Learner for BurnLearner {
    fn open(&mut self, task: &LearningTask, data: &Arc<DataSet>) -> Result<Box<dyn LearningLoop + '_>> {
        Ok(Box::new(DerivedLoop::open(task, data)?))
    }
}

/// A cursor over steps.
#[derive(Debug)]
struct DerivedLoop {
    device: Device,
    stages: Vec<TaskStage>,
    shape: ElementShape,
    step: BurnStep,
    forward: Option<Forward>,
    gradient: Parameters,
    learned: StepOutput,
    batches: Batches,
    epoch: u64,
    next: usize,
    task: LearningTask,
    data: Arc<DataSet>,
}

/// The learnable step in one of its forms.
#[derive(Debug)]
enum BurnStep {
    Module(Box<BurnAffine>),
    Function(Box<[Tensor<1>; 2]>),
}

/// Scale and bias for each channel, as burn's own layers are written.
#[derive(Module, Debug)]
struct BurnAffine {
    scale: Param<Tensor<1>>,
    bias: Param<Tensor<1>>,
}

impl BurnAffine {
    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        affine(x, self.scale.val(), self.bias.val())
    }
}

fn affine(x: Tensor<4>, scale: Tensor<1>, bias: Tensor<1>) -> Tensor<4> {
    let channels = scale.dims()[0];
    x * scale.reshape([1, 1, 1, channels]) + bias.reshape([1, 1, 1, channels])
}

/// The tensors that a forward pass leaves for the backward pass.
#[derive(Debug)]
struct Forward {
    rows: Tensor<4>,
    loss: Tensor<1>,
    gradients: Option<TakenGradient>,
}

/// The gradients of a way back.
struct TakenGradient(Gradients);

impl std::fmt::Debug for TakenGradient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Taken")
    }
}

impl DerivedLoop {
    fn open(task: &LearningTask, data: &Arc<DataSet>) -> Result<Self> {
        let (stages, shape) = stages("burn", task, data)?;
        let device = Device::flex().autodiff();
        let start = Parameters::start(task.channels());
        Ok(Self {
            step: BurnStep::new(task.form, &start, &device),
            device,
            stages,
            shape,
            forward: None,
            gradient: Parameters::default(),
            learned: StepOutput::new(task)?,
            batches: Batches { all: task.pipeline.elements(), size: task.pipeline.batch_size },
            epoch: 0,
            next: 0,
            task: task.clone(),
            data: data.clone(),
        })
    }

    /// Through the transforms before the learnable step.
    fn transform(&self, rows: Tensor<4>, which: WhichElements) -> Tensor<4> {
        let ElementShape { rows: height, columns: width, channels } = self.shape;
        let constants = |numbers: &[f32]| {
            Tensor::<4>::from_data(TensorData::new(numbers.to_vec(), [1, 1, 1, channels]), &self.device)
        };
        self.stages.iter().fold(rows, |x, stage| match stage {
            TaskStage::Standardise { mean, scale } => (x - constants(mean)) * constants(scale),
            TaskStage::Crop { position } => {
                let (tall, wide) = (Transform::crop_window(height), Transform::crop_window(width));
                let elements = x.dims()[0];
                let windows = corners(which, elements, *position, self.shape).enumerate();
                let cropped = windows.map(|(element, (top, left))| {
                    let window = x.clone().slice([
                        element..element + 1,
                        top..top + tall,
                        left..left + wide,
                        0..channels,
                    ]);
                    let empty = Tensor::<4>::zeros([1, height, width, channels], &self.device);
                    empty.slice_assign([0..1, 0..tall, 0..wide, 0..channels], window)
                });
                Tensor::cat(cropped.collect(), 0)
            }
        })
    }
}

impl BurnStep {
    fn new(form: Form, parameters: &Parameters, device: &Device) -> Self {
        let tensor =
            |numbers: &[f32]| Tensor::<1>::from_data(TensorData::from(numbers), device).require_grad();
        let (scale, bias) = (tensor(&parameters.scale), tensor(&parameters.bias));
        match form {
            Form::Module => {
                let (scale, bias) = (Param::from_tensor(scale), Param::from_tensor(bias));
                Self::Module(Box::new(BurnAffine { scale, bias }))
            }
            Form::Function => Self::Function(Box::new([scale, bias])),
        }
    }

    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        match self {
            Self::Module(module) => module.forward(x),
            Self::Function(tensors) => {
                let [scale, bias] = &**tensors;
                affine(x, scale.clone(), bias.clone())
            }
        }
    }

    fn tensors(&self) -> [Tensor<1>; 2] {
        match self {
            Self::Module(module) => [module.scale.val(), module.bias.val()],
            Self::Function(tensors) => (**tensors).clone(),
        }
    }

    fn update(self, gradients: &Gradients, rate: f32) -> Self {
        match self {
            Self::Module(module) => Self::Module(Box::new(module.map(&mut BurnDescent { gradients, rate }))),
            Self::Function(tensors) => {
                Self::Function(Box::new(tensors.map(|tensor| descend(tensor, gradients, rate))))
            }
        }
    }
}

/// Takes every parameter of a module a step down.
struct BurnDescent<'a> {
    gradients: &'a Gradients,
    rate: f32,
}

impl ModuleMapper for BurnDescent<'_> {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<D>>) -> Param<Tensor<D>> {
        parameter.map(|tensor| descend(tensor, self.gradients, self.rate))
    }
}

/// A parameter a step down its gradient; one without a gradient stays.
fn descend<const D: usize>(tensor: Tensor<D>, gradients: &Gradients, rate: f32) -> Tensor<D> {
    match tensor.grad(gradients) {
        None => tensor,
        Some(slope) => (tensor.inner() - slope * rate).autodiff().require_grad(),
    }
}

/// The numbers of a tensor, in order.
fn numbers<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    let unread = |why: String| Error::new(format!("burn's tensor cannot be read: {why}"));
    let data = tensor.inner().try_into_data().map_err(|error| unread(format!("{error:?}")))?;
    data.try_to_vec::<f32>().map_err(|error| unread(format!("{error:?}")))
}

impl LearningLoop for DerivedLoop {
    fn begin(&mut self, epoch: u64, parameters: &Parameters) -> Result<()> {
        self.step = BurnStep::new(self.task.form, parameters, &self.device);
        self.learned.clear();
        (self.epoch, self.next, self.forward) = (epoch, 0, None);
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
        let ElementShape { rows: height, columns: width, channels } = self.shape;
        let shape = [elements.len(), height, width, channels];
        let tensor =
            |numbers: Vec<f32>| Tensor::<4>::from_data(TensorData::new(numbers, shape), &self.device);
        let rows = bytemuck::cast_slice(self.data.rows(0, elements.clone())).to_vec();
        let rows = tensor(rows).require_grad();
        let mut kept = Vec::new();
        factors(which, elements.len(), self.shape.numbers(), &mut kept);
        let out = self.step.forward(self.transform(rows.clone(), which)) * tensor(kept);
        self.learned.numbers = numbers(out.clone())?;
        self.learned.made(elements.len());
        let row = self.shape.numbers();
        let losses = self.learned.groups().map(|group| {
            let (start, count) = (group.start / row, group.len() / row);
            out.clone().narrow(0, start, count).square().mean() * 0.5
        });
        let loss = losses.reduce(|sum, loss| sum + loss).ok_or_else(|| Error::new("the batch is empty"))?;
        self.forward = Some(Forward { rows, loss, gradients: None });
        Ok(true)
    }

    fn backward(&mut self) -> Result<()> {
        let forward = self.forward.as_mut().ok_or_else(no_batch)?;
        if forward.gradients.is_some() {
            return Ok(()); // it was gone back from: burn goes through a graph once
        }
        let mut gradients = forward.loss.backward();
        let lost = || Error::new("burn has no gradient of a leaf of the graph");
        self.learned.slopes = numbers(forward.rows.grad_remove(&mut gradients).ok_or_else(lost)?)?;
        let [scale, bias] =
            self.step.tensors().map(|tensor| numbers(tensor.grad(&gradients).ok_or_else(lost)?));
        self.gradient = Parameters { scale: scale?, bias: bias? };
        forward.gradients = Some(TakenGradient(gradients));
        Ok(())
    }

    fn update(&mut self) -> Result<()> {
        let taken = self.forward.as_mut().and_then(|forward| forward.gradients.take());
        let TakenGradient(gradients) = taken.ok_or_else(no_gradient)?;
        let start = Parameters::default();
        let step = std::mem::replace(&mut self.step, BurnStep::new(Form::Function, &start, &self.device));
        self.step = step.update(&gradients, self.task.rate);
        Ok(())
    }

    fn regroup(&mut self) -> bool {
        self.learned.regroup()
    }

    fn batch(&self) -> &dyn Batch {
        &self.learned
    }

    fn loss(&self) -> f64 {
        self.forward
            .as_ref()
            .and_then(|forward| numbers(forward.loss.clone()).ok())
            .map_or(f64::NAN, |loss| loss.first().map_or(f64::NAN, |loss| f64::from(*loss)))
    }

    fn gradient(&self) -> Parameters {
        self.gradient.clone()
    }

    fn parameters(&self) -> Parameters {
        let [scale, bias] = self.step.tensors().map(|tensor| numbers(tensor).unwrap_or_default());
        Parameters { scale, bias }
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork {
            ran_on: "cpu (flex)".into(),
            synchronised: "read back to memory".into(),
            ..ExecutedWork::ours(self.task.work(), Delivery::Owned, 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_data::{Cache, DataSpec};

    use super::*;
    use crate::adapters::native::ReferenceLearner;
    use crate::workload::PipelineSpec;

    fn task(form: Form) -> LearningTask {
        let images = DataSpec::normal("image", 30, vec![9, 8, 3]);
        let pipeline = PipelineSpec::new(images, 12).map(Transform::Normalize).map(Transform::RandomCrop);
        LearningTask::new(pipeline.rebatch(4)).form(form)
    }

    fn near(name: &str, found: impl IntoIterator<Item = f32>, expected: impl IntoIterator<Item = f32>) {
        let (found, expected): (Vec<f32>, Vec<f32>) =
            (found.into_iter().collect(), expected.into_iter().collect());
        assert_eq!(found.len(), expected.len(), "{name}");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(
                (found - expected).abs() <= 1e-5 * expected.abs().max(0.1),
                "{name}: {found}, {expected}"
            );
        }
    }

    #[test]
    fn what_burn_derives_is_what_was_written_by_hand() {
        for form in [Form::Module, Form::Function] {
            let task = task(form);
            let place = tempfile::tempdir().unwrap();
            let data = Arc::new(Cache::at(place.path()).open(&task.pipeline.source).unwrap());
            let (mut one, mut other) = (BurnLearner, ReferenceLearner);
            let (mut derived, mut by_hand) =
                (one.open(&task, &data).unwrap(), other.open(&task, &data).unwrap());
            let mut groups = 0;
            for epoch in 0..2 {
                let start = Parameters::start(3);
                derived.begin(epoch, &start).unwrap();
                by_hand.begin(epoch, &start).unwrap();
                while by_hand.forward().unwrap() {
                    assert!(derived.forward().unwrap());
                    derived.backward().unwrap();
                    by_hand.backward().unwrap();
                    near("loss", [derived.loss() as f32], [by_hand.loss() as f32]);
                    near("gradient", derived.gradient().iter(), by_hand.gradient().iter());
                    loop {
                        let (found, expected) = (derived.batch(), by_hand.batch());
                        assert_eq!(
                            (found.elements(), found.kinds()),
                            (expected.elements(), expected.kinds())
                        );
                        for field in 0..2 {
                            let numbers = |batch: &dyn Batch| -> Vec<f32> {
                                bytemuck::cast_slice(batch.bytes(field)).to_vec()
                            };
                            near(&found.kinds()[field].name, numbers(found), numbers(expected));
                        }
                        groups += 1;
                        if !by_hand.regroup() {
                            assert!(!derived.regroup());
                            break;
                        }
                        assert!(derived.regroup());
                    }
                    derived.update().unwrap();
                    by_hand.update().unwrap();
                    near("parameters", derived.parameters().iter(), by_hand.parameters().iter());
                }
                assert!(!derived.forward().unwrap());
            }
            assert_eq!(groups, 16, "two epochs of batches of 12, 12 and 6 in groups of 4");
        }
    }
}
