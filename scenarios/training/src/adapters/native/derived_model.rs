//! A training whose gradients a library derives: all of it but the operations of the library.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use weighbridge::{Delivery, Error, FieldKind, ItemCopy, Result};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};
use weighbridge_loaders::contract::{Phases, Tensors};

use super::by_hand::{Losses, handed, integers, singles};
use super::phase_clock::clocked;
use super::settings::settings;
use crate::contract::{First, TrainingLoop};
use crate::workload::model::Shape;
use crate::workload::{Optimiser, Schedule, TrainingSpec, step_order};

/// A model in operations of a library that derives gradients, with the optimiser of its parameters.
pub(super) trait DerivedModel: Sized {
    /// A tensor of the library.
    type Tensor: Clone;

    /// The part of the library that computes, for the record.
    const RAN_ON: &'static str;

    /// The model with these first parameters, and an optimiser that has seen nothing. A parameter is a
    /// matrix: its numbers, rows and columns.
    fn begin(spec: &TrainingSpec, parameters: Vec<(Vec<f32>, [usize; 2])>) -> Result<Self>;

    /// The parameters as the last step has left them.
    fn parameters(&self) -> Vec<Self::Tensor>;

    /// The logits of samples: a row for each prediction.
    fn forward(&self, input: &[u8]) -> Result<Self::Tensor>;

    /// The mean loss of logits: one number.
    fn loss(&self, logits: Self::Tensor, labels: Vec<i32>) -> Result<Self::Tensor>;

    /// The gradient of a loss to each parameter.
    fn backward(&self, loss: &Self::Tensor) -> Result<Vec<Self::Tensor>>;

    /// Takes the parameters a step down.
    fn descend(&mut self, gradients: Vec<Self::Tensor>) -> Result<()>;

    /// The optimiser as it is set, and how its rate changes.
    fn descent(&self) -> (Optimiser, Schedule);

    /// The kind of the parameters' numbers as the library has it, such as `f32`.
    fn precision(&self) -> String;

    /// Returns the count of numbers that are learned.
    fn size(&self) -> usize;

    /// The numbers of a tensor, in order.
    fn numbers(tensor: &Self::Tensor) -> Result<Vec<f32>>;
}

/// An open training of such a model.
#[derive(Debug)]
pub(super) struct DerivedTraining<M> {
    spec: TrainingSpec,
    work: Vec<String>,
    data: Arc<DataSet>,
    weights: Arc<DataSet>,
    model: M,
    /// The order of the epoch that was begun last.
    order: Vec<usize>,
    /// Steps since the beginning.
    done: usize,
    losses: Losses,
}

impl<M: DerivedModel> DerivedTraining<M> {
    /// Takes over weights and data.
    ///
    /// # Errors
    /// What is impossible in the training; data or weights that are others than its; what the library says.
    pub(super) fn open(spec: &TrainingSpec, data: &Arc<DataSet>, weights: &Arc<DataSet>) -> Result<Self> {
        spec.check()?;
        data.check_is(&spec.data()?)?;
        weights.check_is(&spec.weights()?)?;
        Ok(Self {
            work: spec.work()?,
            data: data.clone(),
            weights: weights.clone(),
            model: M::begin(spec, matrices(weights))?,
            order: step_order(0, spec.steps),
            done: 0,
            losses: Losses::none(),
            spec: spec.clone(),
        })
    }

    fn reset(&mut self) -> Result<()> {
        self.start_epoch(0)
    }

    fn start_epoch(&mut self, epoch: u64) -> Result<()> {
        self.order = step_order(epoch, self.spec.steps);
        self.model = M::begin(&self.spec, matrices(&self.weights))?;
        self.done = 0;
        Ok(())
    }

    /// One whole step on these samples; `phase` hears which phase has ended.
    fn step_on(&mut self, [input, labels]: [&[u8]; 2], phase: &mut dyn FnMut(&'static str)) -> Result<f32> {
        let loss = self.model.loss(self.model.forward(input)?, integers(labels))?;
        let mean = number::<M>(&loss)?;
        phase("forward");
        let gradients = self.model.backward(&loss)?;
        phase("backward");
        if !mean.is_finite() {
            return Err(Error::new(format!("the loss of step {} is {mean}", self.done)));
        }
        self.model.descend(gradients)?;
        self.done += 1;
        self.losses.set(mean, self.spec.batch);
        phase("optimiser");
        Ok(mean)
    }

    /// The samples of the step that is due; `None` at the end of the data.
    fn due(&self) -> Option<Range<usize>> {
        let from = self.order.get(self.done)? * self.spec.batch;
        Some(from..from + self.spec.batch)
    }

    fn step(&mut self, phase: &mut dyn FnMut(&'static str)) -> Result<bool> {
        let Some(samples) = self.due() else { return Ok(false) };
        let data = self.data.clone();
        let samples = [data.rows(0, samples.clone()), data.rows(1, samples)];
        phase("data");
        self.step_on(samples, phase)?;
        Ok(true)
    }

    fn named(&self, tensors: &[M::Tensor]) -> Result<Tensors> {
        let names = self.weights.kinds().map(|kind| kind.name.clone());
        names.zip(tensors).map(|(name, one)| Ok((name, M::numbers(one)?))).collect()
    }
}

/// The parameters of a data set of weights.
fn matrices(weights: &DataSet) -> Vec<(Vec<f32>, [usize; 2])> {
    let read = |(field, kind): (usize, &FieldKind)| {
        let numbers = singles(weights.rows(field, 0..1));
        let columns = kind.shape.last().copied().unwrap_or(1);
        let shape = [numbers.len() / columns, columns];
        (numbers, shape)
    };
    weights.kinds().enumerate().map(read).collect()
}

fn number<M: DerivedModel>(loss: &M::Tensor) -> Result<f32> {
    M::numbers(loss)?.first().copied().ok_or_else(|| Error::new("the loss has no number"))
}

impl<M: DerivedModel> Epochs for DerivedTraining<M> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.start_epoch(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        self.step(&mut |_| {})
    }

    fn batch(&self) -> &dyn Batch {
        &self.losses
    }

    fn executed(&self) -> ExecutedWork {
        // Products of matrices may be on all of them.
        let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
        ExecutedWork {
            ran_on: M::RAN_ON.into(),
            synchronised: "read back to memory".into(),
            ..ExecutedWork::ours(self.work.clone(), Delivery::Owned, threads)
        }
    }
}

impl<M: DerivedModel> TrainingLoop for DerivedTraining<M> {
    fn settings(&self) -> BTreeMap<String, String> {
        let model = &self.model;
        settings(model.descent(), model.precision(), self.spec.batch, model.size())
    }

    fn left(&mut self) -> Result<(usize, Tensors)> {
        Ok((self.done, self.named(&self.model.parameters())?))
    }

    fn phases(&mut self, skip: usize, steps: usize) -> Result<Phases> {
        self.reset()?;
        clocked(skip, steps, |phase| self.step(phase))
    }

    fn first(&mut self) -> Result<First> {
        self.reset()?;
        let samples = self.due().ok_or_else(|| Error::new("there is no data"))?;
        let logits = self.model.forward(self.data.rows(0, samples.clone()))?;
        let loss = self.model.loss(logits.clone(), integers(self.data.rows(1, samples)))?;
        let gradients = self.named(&self.model.backward(&loss)?)?;
        Ok(First { loss: number::<M>(&loss)?, logits: M::numbers(&logits)?, gradients })
    }

    fn train(&mut self, anew: bool, steps: usize) -> Result<Vec<f32>> {
        if anew {
            self.reset()?;
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

    fn feed(&mut self, batch: &ItemCopy, _place: &Path) -> Result<f32> {
        let samples = handed(&self.data, self.spec.batch, batch)?;
        self.step_on(samples, &mut |_| {})
    }

    fn right(&mut self) -> Result<usize> {
        let held_out = self.spec.batch * self.spec.steps..self.data.elements();
        let labels = integers(self.data.rows(1, held_out.clone()));
        let logits = M::numbers(&self.model.forward(self.data.rows(0, held_out))?)?;
        let greatest =
            |row: &[f32]| (0..row.len()).fold(0, |most, at| if row[at] > row[most] { at } else { most });
        let Some(classes) = logits.len().checked_div(labels.len()) else { return Ok(0) };
        let rows = logits.chunks_exact(classes).map(greatest);
        Ok(rows.zip(labels).filter(|(row, label)| *row as i32 == *label).count())
    }
}

/// Squares of a grid from top to bottom, and from left to right.
pub(super) fn grid(input: Shape, size: usize) -> Result<(usize, usize)> {
    match input {
        Shape::Grid { rows, columns, .. } => Ok((rows / size, columns / size)),
        other => Err(Error::new(format!("{other} is no grid"))),
    }
}
