//! A training by hand: a network, a loss, an optimiser, and the samples of a data set.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use ndarray::ArrayView1;
use weighbridge::{Delivery, Dtype, Error, FieldKind, ItemCopy, Result};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};
use weighbridge_loaders::contract::{Phases, Tensors};

use super::meeting::RankSeat;
use super::phase_clock::clocked;
use super::settings::settings;
use crate::contract::{First, TrainingLoop};
use crate::network::{Descent, Gradients, Network, NetworkParameters, Real, cross_entropy, matrix};
use crate::workload::{TrainingSpec, step_order};

/// An open training that computes in `T`.
#[derive(Debug)]
pub(crate) struct ByHand<T> {
    spec: TrainingSpec,
    work: Vec<String>,
    data: Arc<DataSet>,
    names: Vec<String>,
    start: NetworkParameters<T>,
    network: Network<T>,
    parameters: NetworkParameters<T>,
    descent: Descent<T>,
    /// The order of the epoch that was begun last.
    order: Vec<usize>,
    /// Steps since the beginning.
    done: usize,
    losses: Losses,
    /// The seat among several ranks; `None` where it trains alone.
    seat: Option<RankSeat<T>>,
}

/// The batch that a step hands out: the mean loss, once for each of its samples.
#[derive(Debug)]
pub(crate) struct Losses {
    kinds: [FieldKind; 1],
    bytes: Vec<u8>,
}

impl<T: Real> ByHand<T> {
    /// Takes over weights and data.
    ///
    /// # Errors
    /// What is impossible in the training; data or weights that are others than its.
    pub(crate) fn open(spec: &TrainingSpec, data: &Arc<DataSet>, weights: &Arc<DataSet>) -> Result<Self> {
        spec.check()?;
        data.check_is(&spec.data()?)?;
        weights.check_is(&spec.weights()?)?;
        let read =
            |(field, kind): (usize, &FieldKind)| matrix(&kind.shape, &singles(weights.rows(field, 0..1)));
        let start: NetworkParameters<T> = weights.kinds().enumerate().map(read).collect();
        Ok(Self {
            work: spec.work()?,
            data: data.clone(),
            names: weights.kinds().map(|kind| kind.name.clone()).collect(),
            network: Network::new(&spec.layers()?)?,
            parameters: start.clone(),
            descent: Descent::new(spec.optimiser, spec.schedule, &start),
            start,
            order: step_order(0, spec.steps),
            done: 0,
            seat: None,
            losses: Losses::none(),
            spec: spec.clone(),
        })
    }

    /// The same as one of several ranks.
    pub(crate) fn seated(self, seat: RankSeat<T>) -> Self {
        Self { seat: Some(seat), ..self }
    }

    /// The same from other first weights.
    #[cfg(test)]
    pub(crate) fn beginning(mut self, weights: &Tensors) -> Result<Self> {
        self.take(weights)?;
        self.start.clone_from(&self.parameters);
        Ok(self)
    }

    /// The mean loss of each of so many equal parts of the samples that are due, with the weights as they
    /// are.
    ///
    /// # Errors
    /// The end of the data; labels that are none.
    pub(crate) fn losses_of_shares(&mut self, of: usize) -> Result<Vec<f32>> {
        let due = self.due().ok_or_else(|| Error::new("there is no data"))?;
        let share = due.len() / of;
        let mut losses = Vec::with_capacity(of);
        for index in 0..of {
            let from = due.start + index * share;
            let (input, labels) = self.samples(from..from + share);
            let logits = self.network.forward(&input, &self.parameters)?;
            losses.push(cross_entropy(logits, &labels)?.0.single());
        }
        Ok(losses)
    }

    /// Samples of a step that this training takes itself.
    fn share(&self) -> usize {
        self.spec.batch / self.seat.as_ref().map_or(1, |seat| seat.of)
    }

    /// The mean of all ranks' gradients; its own where it is alone.
    fn averaged(&self, gradients: Gradients<T>) -> Result<Arc<Gradients<T>>> {
        match &self.seat {
            Some(seat) => seat.meeting.mean(seat.rank, gradients),
            None => Ok(Arc::new(gradients)),
        }
    }

    /// The mean loss of the last step.
    #[cfg(test)]
    pub(crate) fn mean_loss(&self) -> Option<f32> {
        self.losses.mean()
    }

    /// A step that leaves the weights as they are.
    #[cfg(test)]
    pub(crate) fn step_without_update(&mut self) -> Result<()> {
        let samples = self.due().ok_or_else(|| Error::new("there is no data"))?;
        let samples = self.samples(samples);
        let loss = self.compute(&samples, &mut |_| {})?.0;
        self.done += 1;
        self.losses.set(loss.single(), self.share());
        Ok(())
    }

    /// Goes on from these weights.
    ///
    /// # Errors
    /// Others than the model has.
    pub(crate) fn take(&mut self, weights: &Tensors) -> Result<()> {
        if !self.names.iter().eq(weights.iter().map(|(name, _)| name)) {
            return Err(Error::new("these are the weights of another model"));
        }
        for (ours, (name, theirs)) in self.parameters.iter_mut().zip(weights) {
            if ours.len() != theirs.len() {
                return Err(Error::new(format!(
                    "`{name}` has {} numbers and needs {}",
                    theirs.len(),
                    ours.len()
                )));
            }
            for (ours, theirs) in ours.iter_mut().zip(theirs) {
                *ours = T::of(f64::from(*theirs));
            }
        }
        Ok(())
    }

    fn reset(&mut self) {
        self.start_epoch(0);
    }

    fn start_epoch(&mut self, epoch: u64) {
        self.order = step_order(epoch, self.spec.steps);
        self.parameters.clone_from(&self.start);
        self.descent = Descent::new(self.spec.optimiser, self.spec.schedule, &self.start);
        self.done = 0;
    }

    /// The samples of a step: what enters the model, and the labels.
    fn samples(&self, elements: Range<usize>) -> (Vec<T>, Vec<i32>) {
        (self.input(self.data.rows(0, elements.clone())), integers(self.data.rows(1, elements)))
    }

    /// Returns the input of the model: ids, or numbers.
    fn input(&self, bytes: &[u8]) -> Vec<T> {
        let is_ids = self.data.kinds().next().is_some_and(|kind| kind.dtype == Dtype::I32);
        if is_ids {
            integers(bytes).into_iter().map(|id| T::of(f64::from(id))).collect()
        } else {
            singles(bytes).into_iter().map(|number| T::of(f64::from(number))).collect()
        }
    }

    /// The samples of the step that is due; `None` at the end of the data.
    fn due(&self) -> Option<Range<usize>> {
        let share = self.share();
        let before = self.seat.as_ref().map_or(0, |seat| seat.share * share);
        let from = self.order.get(self.done)? * self.spec.batch + before;
        Some(from..from + share)
    }

    /// Loss, logits and gradients of some samples, with the weights as they are. `phase` hears which phase
    /// has ended.
    fn compute(
        &mut self,
        (input, labels): &(Vec<T>, Vec<i32>),
        phase: &mut dyn FnMut(&'static str),
    ) -> Result<(T, Vec<f32>, Gradients<T>)> {
        let logits = self.network.forward(input, &self.parameters)?;
        let told = logits.iter().map(|logit| logit.single()).collect();
        let (loss, of_logits) = cross_entropy(logits, labels)?;
        phase("forward");
        let gradients = self.network.backward(of_logits, &self.parameters);
        phase("backward");
        Ok((loss, told, gradients))
    }

    /// One whole step; `false` at the end of the data.
    fn step(&mut self, phase: &mut dyn FnMut(&'static str)) -> Result<bool> {
        let Some(samples) = self.due() else { return Ok(false) };
        let samples = self.samples(samples);
        phase("data");
        self.step_on(&samples, phase)?;
        Ok(true)
    }

    /// One whole step on these samples.
    fn step_on(&mut self, samples: &(Vec<T>, Vec<i32>), phase: &mut dyn FnMut(&'static str)) -> Result<()> {
        let (loss, _, gradients) = self.compute(samples, phase)?;
        if !loss.is_finite() {
            let what = format!("the loss of step {} is {}", self.done, loss.single());
            if let Some(seat) = &self.seat {
                seat.meeting.leave(seat.rank, &what);
            }
            return Err(Error::new(what));
        }
        let gradients = self.averaged(gradients)?;
        if self.seat.is_some() {
            phase("communication");
        }
        self.descent.step(&mut self.parameters, &gradients);
        self.done += 1;
        self.losses.set(loss.single(), self.share());
        phase("optimiser");
        Ok(())
    }

    fn named(&self, tensors: &NetworkParameters<T>) -> Tensors {
        let numbers = tensors.iter().map(|one| one.iter().map(|number| number.single()).collect());
        self.names.iter().cloned().zip(numbers).collect()
    }
}

impl<T: Real> Epochs for ByHand<T> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.start_epoch(epoch);
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        self.step(&mut |_| {})
    }

    fn batch(&self) -> &dyn Batch {
        &self.losses
    }

    fn executed(&self) -> ExecutedWork {
        // Products of matrices are on all of them.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        ExecutedWork {
            environment: [("threads".to_owned(), threads.to_string())].into(),
            ..ExecutedWork::ours(self.work.clone(), Delivery::Owned, threads as u64)
        }
    }
}

impl<T: Real> TrainingLoop for ByHand<T> {
    fn settings(&self) -> BTreeMap<String, String> {
        let size: usize = self.parameters.iter().map(|one| one.nrows() * one.ncols()).sum();
        settings(self.descent.kind(), self.spec.precision.to_string(), self.share(), size)
    }

    fn left(&mut self) -> Result<(usize, Tensors)> {
        Ok((self.done, self.named(&self.parameters)))
    }

    fn phases(&mut self, skip: usize, steps: usize) -> Result<Phases> {
        self.reset();
        clocked(skip, steps, |phase| self.step(phase))
    }

    fn first(&mut self) -> Result<First> {
        self.reset();
        let samples = self.due().ok_or_else(|| Error::new("there is no data"))?;
        let samples = self.samples(samples);
        let (loss, logits, gradients) = self.compute(&samples, &mut |_| {})?;
        let gradients = self.averaged(gradients)?;
        Ok(First { loss: loss.single(), logits, gradients: self.named(&gradients) })
    }

    fn forward(&mut self, steps: usize) -> Result<()> {
        let batch = self.spec.batch;
        (0..steps).try_for_each(|step| {
            let (input, _) = self.samples(step * batch..(step + 1) * batch);
            self.network.forward(&input, &self.parameters).map(drop)
        })
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

    fn feed(&mut self, batch: &ItemCopy, _place: &Path) -> Result<f32> {
        let [input, labels] = handed(&self.data, self.spec.batch, batch)?;
        let samples = (self.input(input), integers(labels));
        self.step_on(&samples, &mut |_| {})?;
        self.losses.mean().ok_or_else(|| Error::new("the step had no samples"))
    }

    fn right(&mut self) -> Result<usize> {
        let (input, labels) = self.samples(self.spec.batch * self.spec.steps..self.data.elements());
        let logits = self.network.forward(&input, &self.parameters)?;
        let greatest = |row: ArrayView1<'_, T>| {
            (0..row.len()).fold(0, |most, at| if row[at] > row[most] { at } else { most }) as i32
        };
        Ok(logits.rows().into_iter().zip(labels).filter(|(row, label)| greatest(*row) == *label).count())
    }
}

/// The samples of a batch that a loader has handed over, those that a step takes: what enters the model, and
/// the labels.
pub(super) fn handed<'a>(data: &DataSet, size: usize, batch: &'a ItemCopy) -> Result<[&'a [u8]; 2]> {
    let due = data.kinds().map(|FieldKind { name, dtype, shape }| (name, *dtype, shape));
    if !due.eq(batch.fields.iter().map(|field| (&field.name, field.dtype, &field.shape))) {
        return Err(Error::new(
            "the batch that was handed over has other fields than the training's samples",
        ));
    }
    if batch.elements != size {
        return Err(Error::new(format!(
            "a batch of {} samples was handed over, and a step takes {size}",
            batch.elements
        )));
    }
    match &batch.fields[..] {
        [input, labels] => Ok([&input.bytes, &labels.bytes]),
        _ => Err(Error::new("a step takes two fields, `input` and `label`")),
    }
}

impl Losses {
    /// Before the first step.
    pub(crate) fn none() -> Self {
        let kinds = [FieldKind { name: "loss".into(), dtype: Dtype::F32, shape: vec![] }];
        Self { kinds, bytes: Vec::new() }
    }

    /// The mean loss of a step, for each of its samples.
    pub(crate) fn set(&mut self, mean: f32, samples: usize) {
        // Into the same memory: nothing is kept of the steps before.
        self.bytes.clear();
        for _ in 0..samples {
            self.bytes.extend(mean.to_le_bytes());
        }
    }

    /// The mean loss of the last step.
    pub(crate) fn mean(&self) -> Option<f32> {
        singles(&self.bytes).first().copied()
    }
}

impl Batch for Losses {
    fn elements(&self) -> usize {
        self.bytes.len() / size_of::<f32>()
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    fn bytes(&self, _field: usize) -> &[u8] {
        &self.bytes
    }
}

pub(super) fn singles(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
}

pub(super) fn integers(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks().0.iter().map(|four| i32::from_le_bytes(*four)).collect()
}
