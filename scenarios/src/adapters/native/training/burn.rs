//! `burn`: a training in operations on its tensors, with gradients that the library derives.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use burn_core::tensor::activation::log_softmax;
use burn_core::tensor::{Device, Int, Tensor, TensorData};
use weighbridge::{Delivery, Error, FieldKind, Kept, Result, adapter};

use super::burn_layers::BurnWay;
use super::by_hand::{Losses, handed, integers, singles};
use super::check_asked;
use super::clocked::clocked;
use crate::adapters::native::burn_data::version;
use crate::contract::{Batch, Epochs, Executed, First, Phases, Tensors, Trainer, TrainingLoop};
use crate::data::DataSet;
use crate::workload::model::{Layer, Model, Shape};
use crate::workload::{Compilation, Optimiser, Schedule, TrainingSpec};

/// A training in operations on tensors of `burn` (its CPU backend `flex`), with `burn`'s automatic differentiation, operation by
/// operation. Its optimisers are the formulae of the configuration on tensors of `burn`, since they are in a crate of their own.
#[derive(Clone, Copy, Debug, Default)]
pub struct BurnTrainer;

/// The tensors of `burn`, with gradients that it derives itself.
#[adapter(name = "burn (training)", tier = 1, probe = version)]
impl Trainer for BurnTrainer {
    fn open(
        &mut self,
        spec: &TrainingSpec,
        how: Compilation,
        data: &Arc<DataSet>,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        check_asked(spec, how)?;
        Ok(Box::new(BurnTraining::open(spec, data, weights)?))
    }
}

#[derive(Debug)]
struct BurnTraining {
    spec: TrainingSpec,
    model: Model,
    work: Vec<String>,
    data: Arc<DataSet>,
    weights: Arc<DataSet>,
    device: Device,
    parameters: Vec<Tensor<2>>,
    descent: BurnSteps,
    done: usize,
    losses: Losses,
}

/// What an optimiser has set, and what it keeps of each parameter.
#[derive(Debug)]
struct BurnSteps {
    set: Optimiser,
    schedule: Schedule,
    kept: Vec<[Tensor<2>; 2]>,
    steps: i32,
}

impl BurnSteps {
    fn new(set: Optimiser, schedule: Schedule, parameters: &[Tensor<2>]) -> Self {
        let zeros = |one: &Tensor<2>| {
            let none = one.clone().inner().zeros_like();
            [none.clone(), none]
        };
        Self { set, schedule, kept: parameters.iter().map(zeros).collect(), steps: 0 }
    }

    /// Takes the parameters a step down.
    fn step(&mut self, parameters: &mut [Tensor<2>], gradients: Vec<Tensor<2>>) {
        let set = self.set.slowed(self.schedule.share(self.steps as usize));
        self.steps += 1;
        for ((parameter, kept), slope) in parameters.iter_mut().zip(&mut self.kept).zip(gradients) {
            let weight = parameter.clone().inner();
            let [first, second] = kept.clone();
            let after = match set {
                Optimiser::Sgd { rate, momentum } => {
                    let velocity = first * momentum + slope;
                    kept[0] = velocity.clone();
                    weight - velocity * rate
                }
                Optimiser::Adamw { rate, beta1, beta2, epsilon, decay } => {
                    let mean = first * beta1 + slope.clone() * (1.0 - beta1);
                    let square = second * beta2 + slope.square() * (1.0 - beta2);
                    *kept = [mean.clone(), square.clone()];
                    let root = (square / (1.0 - beta2.powi(self.steps))).sqrt() + epsilon;
                    let change = mean / (1.0 - beta1.powi(self.steps)) / root + weight.clone() * decay;
                    weight - change * rate
                }
            };
            *parameter = after.autodiff().require_grad();
        }
    }
}

/// The numbers of a tensor, in order.
fn numbers<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>> {
    let unread = |why: String| Error::new(format!("burn's tensor cannot be read: {why}"));
    let data = tensor.try_into_data().map_err(|error| unread(format!("{error:?}")))?;
    data.try_to_vec::<f32>().map_err(|error| unread(format!("{error:?}")))
}

impl BurnTraining {
    fn open(spec: &TrainingSpec, data: &Arc<DataSet>, weights: &Arc<DataSet>) -> Result<Self> {
        spec.check()?;
        data.check_is(&spec.data()?)?;
        weights.check_is(&spec.weights()?)?;
        let mut opened = Self {
            model: spec.layers()?,
            work: spec.work()?,
            data: data.clone(),
            weights: weights.clone(),
            device: Device::flex().autodiff(),
            parameters: Vec::new(),
            descent: BurnSteps::new(spec.optimiser, spec.schedule, &[]),
            done: 0,
            losses: Losses::none(),
            spec: spec.clone(),
        };
        opened.reset();
        Ok(opened)
    }

    fn reset(&mut self) {
        let read = |(field, kind): (usize, &FieldKind)| {
            let numbers = singles(self.weights.rows(field, 0..1));
            let last = kind.shape.last().copied().unwrap_or(1);
            let shape = [numbers.len() / last, last];
            Tensor::<2>::from_data(TensorData::new(numbers, shape), &self.device).require_grad()
        };
        self.parameters = self.weights.kinds().enumerate().map(read).collect();
        self.descent = BurnSteps::new(self.spec.optimiser, self.spec.schedule, &self.parameters);
        self.done = 0;
    }

    /// The logits of samples: a row for each prediction.
    fn forward(&self, input: &[u8]) -> Result<Tensor<2>> {
        let (shape, layers) = (self.model.input, &self.model.layers[..]);
        let numbers = input.len() / size_of::<f32>();
        let batch = numbers / shape.count();
        let mut way = BurnWay { parameters: self.parameters.iter(), batch, device: &self.device };
        if let (Shape::Ids { .. }, [table @ Layer::Embed { .. }, rest @ ..]) = (shape, layers) {
            let ids = Tensor::<1, Int>::from_data(TensorData::new(integers(input), [numbers]), &self.device);
            let rows = way.embed(ids)?;
            return Ok(way.through(rest, rows, table.output(shape, "0")?, "")?.0);
        }
        let data = TensorData::new(singles(input), [numbers / shape.last(), shape.last()]);
        Ok(way.through(layers, Tensor::from_data(data, &self.device), shape, "")?.0)
    }

    fn loss(&self, logits: Tensor<2>, labels: &[u8]) -> Tensor<1> {
        let labels = integers(labels);
        let shape = [labels.len(), 1];
        let labels = Tensor::<2, Int>::from_data(TensorData::new(labels, shape), &self.device);
        -log_softmax(logits, 1).gather(1, labels).mean()
    }

    fn backward(&self, loss: &Tensor<1>) -> Result<Vec<Tensor<2>>> {
        let gradients = loss.backward();
        let lost = || Error::new("burn has no gradient of a parameter");
        self.parameters.iter().map(|one| one.grad(&gradients).ok_or_else(lost)).collect()
    }

    /// One whole step on these samples; `phase` hears which phase has ended.
    fn step_on(&mut self, [input, labels]: [&[u8]; 2], phase: &mut dyn FnMut(&'static str)) -> Result<f32> {
        let loss = self.loss(self.forward(input)?, labels);
        let mean = number(loss.clone())?;
        phase("forward");
        let gradients = self.backward(&loss)?;
        phase("backward");
        if !mean.is_finite() {
            return Err(Error::new(format!("the loss of step {} is {mean}", self.done)));
        }
        self.descent.step(&mut self.parameters, gradients);
        self.done += 1;
        self.losses.set(mean, self.spec.batch);
        phase("optimiser");
        Ok(mean)
    }

    /// The samples of the step that is due; `None` at the end of the data.
    fn due(&self) -> Option<Range<usize>> {
        let from = self.done * self.spec.batch;
        (self.done < self.spec.steps).then_some(from..from + self.spec.batch)
    }

    fn step(&mut self, phase: &mut dyn FnMut(&'static str)) -> Result<bool> {
        let Some(samples) = self.due() else { return Ok(false) };
        let data = self.data.clone();
        let samples = [data.rows(0, samples.clone()), data.rows(1, samples)];
        phase("data");
        self.step_on(samples, phase)?;
        Ok(true)
    }

    fn named(&self, tensors: impl IntoIterator<Item = Tensor<2>>) -> Result<Tensors> {
        let names = self.weights.kinds().map(|kind| kind.name.clone());
        names.zip(tensors).map(|(name, one)| Ok((name, numbers(one)?))).collect()
    }
}

fn number(tensor: Tensor<1>) -> Result<f32> {
    numbers(tensor.inner())?.first().copied().ok_or_else(|| Error::new("burn's tensor is empty"))
}

impl Epochs for BurnTraining {
    fn begin(&mut self, _epoch: u64) -> Result<()> {
        self.reset();
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        self.step(&mut |_| {})
    }

    fn batch(&self) -> &dyn Batch {
        &self.losses
    }

    fn executed(&self) -> Executed {
        Executed {
            ran_on: "cpu (flex)".into(),
            synchronised: "read back to memory".into(),
            ..Executed::ours(self.work.clone(), Delivery::Owned, 0)
        }
    }
}

impl TrainingLoop for BurnTraining {
    fn settings(&self) -> BTreeMap<String, String> {
        let size: usize = self.parameters.iter().map(|one| one.dims().iter().product::<usize>()).sum();
        let set = self.descent.set;
        let dtype = self.parameters.first().map_or_else(String::new, |one| format!("{:?}", one.dtype()));
        let words = [
            ("optimiser", set.name().to_owned()),
            ("precision", dtype.to_lowercase()),
            ("batch", self.spec.batch.to_string()),
            ("parameters", size.to_string()),
        ];
        let numbers = set.settings().into_iter().map(|(key, value)| (key, value.to_string()));
        let rates = self.descent.schedule.settings(set.rate());
        let rates = rates.into_iter().map(|(key, rate)| (key, rate.to_string()));
        words.into_iter().chain(numbers).map(|(key, value)| (key.to_owned(), value)).chain(rates).collect()
    }

    fn left(&mut self) -> Result<(usize, Tensors)> {
        Ok((self.done, self.named(self.parameters.iter().map(|one| one.clone().inner()))?))
    }

    fn phases(&mut self, skip: usize, steps: usize) -> Result<Phases> {
        self.reset();
        clocked(skip, steps, |phase| self.step(phase))
    }

    fn first(&mut self) -> Result<First> {
        self.reset();
        let samples = self.due().ok_or_else(|| Error::new("there is no data"))?;
        let logits = self.forward(self.data.rows(0, samples.clone()))?;
        let loss = self.loss(logits.clone(), self.data.rows(1, samples));
        let gradients = self.backward(&loss)?;
        Ok(First { loss: number(loss)?, logits: numbers(logits.inner())?, gradients: self.named(gradients)? })
    }

    fn train(&mut self, anew: bool, steps: usize) -> Result<Vec<f32>> {
        if anew {
            self.reset();
        }
        let mut losses = Vec::with_capacity(steps);
        for _ in 0..steps {
            if !self.advance()? {
                return Err(Error::new(format!("the data end after {} steps", self.done)));
            }
            losses.extend(self.losses.mean());
        }
        Ok(losses)
    }

    fn feed(&mut self, batch: &Kept, _place: &Path) -> Result<f32> {
        let samples = handed(&self.data, self.spec.batch, batch)?;
        self.step_on(samples, &mut |_| {})
    }

    fn right(&mut self) -> Result<usize> {
        let held_out = self.spec.batch * self.spec.steps..self.data.elements();
        let logits = self.forward(self.data.rows(0, held_out.clone()))?.inner();
        let classes = logits.dims()[1];
        let labels = integers(self.data.rows(1, held_out));
        let greatest =
            |row: &[f32]| (0..row.len()).fold(0, |most, at| if row[at] > row[most] { at } else { most });
        let logits = numbers(logits)?;
        let rows = logits.chunks_exact(classes).map(greatest);
        Ok(rows.zip(labels).filter(|(row, label)| *row as i32 == *label).count())
    }
}
