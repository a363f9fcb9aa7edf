//! The batch of a step, and the group of it that is delivered.

use std::ops::Range;

use weighbridge::{Error, FieldKind, Result};
use weighbridge_data::Batch;

use crate::workload::LearningTask;

/// The fields that a step delivers: the numbers that came out, and the slopes of the rows.
#[derive(Debug)]
pub(crate) struct StepOutput {
    kinds: [FieldKind; 2],
    /// Numbers of an element, of either field.
    row: usize,
    /// Elements of a group; of the whole batch, where nothing is regrouped.
    group: usize,
    /// Elements of the batch that was made.
    elements: usize,
    current: Range<usize>,
    /// The output of the learnable step, for the whole batch.
    pub(crate) numbers: Vec<f32>,
    /// The gradient of the batch's loss to its rows; none before somebody went back.
    pub(crate) slopes: Vec<f32>,
}

/// Returns the error of a backward pass that no forward pass precedes.
pub(super) fn no_batch() -> Error {
    Error::new("there is no batch to go back from: go forward first")
}

/// Returns the error of an update that no backward pass precedes.
pub(super) fn no_gradient() -> Error {
    Error::new("there is no gradient to go down: go backward first")
}

impl StepOutput {
    pub(crate) fn new(task: &LearningTask) -> Result<Self> {
        let kinds = task.output()?;
        Ok(Self {
            row: kinds[0].shape.iter().product(),
            kinds,
            group: task.pipeline.structure.rebatch.unwrap_or(task.pipeline.batch_size),
            elements: 0,
            current: 0..0,
            numbers: Vec::new(),
            slopes: Vec::new(),
        })
    }

    /// Before the first batch: there is none.
    pub(crate) fn clear(&mut self) {
        (self.elements, self.current) = (0, 0..0);
    }

    /// A batch of this many elements came out: its first group is the current one, and no slope is known yet.
    pub(crate) fn made(&mut self, elements: usize) {
        self.elements = elements;
        self.current = 0..self.group.min(elements);
        self.slopes.clear();
    }

    /// Returns the number of elements that have so many numbers of a field.
    pub(crate) fn elements_of(&self, numbers: usize) -> usize {
        numbers / self.row.max(1)
    }

    /// The loss of the batch: the sum over its groups.
    pub(super) fn loss(&self) -> f64 {
        self.groups().map(|group| half_mean_square(&self.numbers[group])).sum()
    }

    /// The gradient of the loss to the numbers that came out: each group's loss is half the mean over its own
    /// numbers.
    pub(super) fn slope_of_loss(&mut self) {
        self.slopes.clear();
        for group in self.groups() {
            let share = 1.0 / group.len() as f32;
            self.slopes.extend(self.numbers[group].iter().map(|number| number * share));
        }
    }

    /// The places of each group's numbers, in order: all of them together are the batch.
    pub(super) fn groups(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (row, group, elements) = (self.row, self.group, self.elements);
        (0..elements).step_by(group.max(1)).map(move |first| first * row..(first + group).min(elements) * row)
    }

    /// Moves to the next group, if there is one.
    pub(crate) fn regroup(&mut self) -> bool {
        if self.current.end >= self.elements {
            return false;
        }
        self.current = self.current.end..(self.current.end + self.group).min(self.elements);
        true
    }
}

fn half_mean_square(numbers: &[f32]) -> f64 {
    numbers.iter().map(|&y| f64::from(y) * f64::from(y)).sum::<f64>() / numbers.len().max(1) as f64 / 2.0
}

impl Batch for StepOutput {
    fn elements(&self) -> usize {
        self.current.len()
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    fn bytes(&self, field: usize) -> &[u8] {
        let numbers = if field == 0 { &self.numbers } else { &self.slopes };
        let group = self.current.start * self.row..self.current.end * self.row;
        bytemuck::cast_slice(numbers.get(group).unwrap_or_default())
    }
}
