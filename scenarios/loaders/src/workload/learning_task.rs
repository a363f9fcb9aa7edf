//! What a learner is asked to do: a pipeline with a learnable step at its end, a loss, and the gradient of
//! it.

use std::fmt;

use weighbridge::{Dtype, Error, ExpectedEpoch, FieldKind, Requirements, Result, Workload};
use weighbridge_data::Draw;

use crate::workload::PipelineSpec;

/// A pipeline of `f32` numbers that ends in a learnable step.
///
/// The step gives `y = k * (x * scale[c] + bias[c])`, where `c` is the index on the last axis and `k` is 0
/// for a number that is dropped, else 1/0.9 (see [`LearningTask::factor`]). The loss of a batch is half the
/// mean of `y * y`. A pipeline that regroups its batches (`rebatch`) has the sum of the losses of the groups
/// that one batch becomes. One step of gradient descent follows each batch: `parameter - rate * gradient`.
#[derive(Clone, Debug, PartialEq)]
pub struct LearningTask {
    /// The pipeline before the learnable step, and the grouping of what comes after it.
    pub pipeline: PipelineSpec,
    /// The form of the learnable step.
    pub form: Form,
    /// The learning rate, by which a step of gradient descent multiplies the gradient.
    pub rate: f32,
}

/// The form in which a learnable step is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As modules, which hold their parameters and what they need to go back, and are gone through one by
    /// one.
    Module,
    /// As a function of numbers and parameters, which holds nothing.
    Function,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Module => "module",
            Self::Function => "function",
        })
    }
}

/// The parameters of a learnable step, or their gradient.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// One for each channel.
    pub scale: Vec<f32>,
    /// One for each channel.
    pub bias: Vec<f32>,
}

impl Parameters {
    /// Returns the parameters that learning starts from: neither at an end of the range nor where a gradient
    /// vanishes.
    pub fn start(channels: usize) -> Self {
        Self { scale: vec![1.0; channels], bias: vec![0.25; channels] }
    }

    /// All numbers, scales first.
    pub fn iter(&self) -> impl Iterator<Item = f32> {
        self.scale.iter().chain(&self.bias).copied()
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut f32> {
        self.scale.iter_mut().chain(&mut self.bias)
    }
}

impl LearningTask {
    /// A learning task with modules and a rate of 0.05.
    pub fn new(pipeline: PipelineSpec) -> Self {
        Self { pipeline, form: Form::Module, rate: 0.05 }
    }

    /// Sets how the learnable step is written.
    #[must_use]
    pub fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// The position of the learnable step in the address of its draws.
    pub const POSITION: u64 = 1 << 35;
    /// A number is dropped if its 16 bits are below this: with a probability of 0.1 (6554 of 65536).
    pub const DROPPED_BELOW: u64 = 6554;
    /// The factor of a number that is not dropped.
    pub const KEPT: f32 = 1.0 / 0.9;

    /// Returns the factor of number `number` of an element: from draw `number / 4`, of its four times 16 bits
    /// those from bit `16 * (number % 4)` on.
    pub fn factor(draw: Draw, number: usize) -> f32 {
        let bits = draw.bits(number as u64 / 4) >> (16 * (number % 4)) & 0xffff;
        if bits < Self::DROPPED_BELOW { 0.0 } else { Self::KEPT }
    }

    /// The fields of a delivered batch: what comes out of the learnable step, and the gradient of the loss to
    /// the row that it was made from.
    ///
    /// # Errors
    /// As [`LearningTask::check`].
    pub fn output(&self) -> Result<[FieldKind; 2]> {
        self.check()?;
        let source = &self.pipeline.source.fields[0].kind;
        let learned = self.pipeline.output()?.swap_remove(0);
        Ok([learned, FieldKind { name: format!("{}_gradient", source.name), ..source.clone() }])
    }

    /// Returns the expected content of an epoch of steps, as far as it follows from the learning task; in
    /// order.
    ///
    /// # Errors
    /// As [`LearningTask::check`].
    pub fn expected(&self) -> Result<ExpectedEpoch> {
        let pipeline = self.pipeline.expected()?;
        // Beside what comes out of the pipeline stands the gradient to each row.
        Ok(ExpectedEpoch {
            bytes: pipeline.bytes + pipeline.source,
            transforms: true,
            renewed: true,
            ..pipeline
        })
    }

    /// Parameters that the step has for one of its two sorts.
    pub fn channels(&self) -> usize {
        self.pipeline.source.fields.first().and_then(|field| field.kind.shape.last().copied()).unwrap_or(1)
    }

    /// Numbers of a batch that a parameter meets: as many terms has the derivative of the loss to it.
    pub fn terms(&self) -> usize {
        let numbers =
            self.pipeline.source.fields.first().map_or(1, |field| field.kind.shape.iter().product());
        self.pipeline.batch_size.saturating_mul(numbers) / self.channels().max(1)
    }

    /// Batches that are made in an epoch, before they are regrouped.
    pub fn batches(&self) -> usize {
        self.pipeline.elements().len().div_ceil(self.pipeline.batch_size.max(1))
    }

    /// Refuses what no learner could do, and names the parameter.
    ///
    /// # Errors
    /// As [`PipelineSpec::check`]; more than one field, or one that is not `f32` all along; groups that do
    /// not fit into a batch; a rate that is no number.
    pub fn check(&self) -> Result<()> {
        let output = self.pipeline.output()?;
        let source = &self.pipeline.source.fields;
        if output.len() != 1 || source.len() != 1 {
            return Err(Error::new(format!(
                "a learning task has one field, and this pipeline has {} of {}",
                output.len(),
                source.len()
            )));
        }
        for kind in [&source[0].kind, &output[0]] {
            if kind.dtype != Dtype::F32 || kind.shape.is_empty() {
                return Err(Error::new(format!(
                    "a gradient is taken of f32 numbers with an axis, and field `{}` is {} {:?}",
                    kind.name,
                    kind.dtype.name(),
                    kind.shape
                )));
            }
        }
        if let Some(group) = self.pipeline.structure.rebatch
            && !self.pipeline.batch_size.is_multiple_of(group)
        {
            return Err(Error::new(format!(
                "`rebatch` {group} does not divide `batch_size` {}: a gradient goes back through one batch",
                self.pipeline.batch_size
            )));
        }
        if !self.rate.is_finite() || self.rate < 0.0 {
            return Err(Error::new(format!("`rate` is {}: it must be a number, not below 0", self.rate)));
        }
        Ok(())
    }

    /// Every step by name, in order, as work reports tell it.
    pub fn work(&self) -> Vec<String> {
        let mut work: Vec<String> = self.pipeline.transforms.iter().map(ToString::to_string).collect();
        work.push(format!("scale and bias for each channel ({})", self.form));
        work.push("dropout (probability 0.1)".into());
        work.extend(self.pipeline.structure.capabilities());
        work.push("gradient of half the mean square".into());
        work.push(format!("gradient descent (rate {})", self.rate));
        work
    }
}

impl Workload for LearningTask {
    /// The learning task in a line.
    fn describe(&self) -> String {
        let source = self.pipeline.describe_source();
        let PipelineSpec { batch_size, seed, .. } = self.pipeline;
        format!("{source}, batch {batch_size}, {}, seed {seed}", self.work().join(" > "))
    }

    /// Returns the requirements of the learning task, for a plan: those of its pipeline, and what is kept of
    /// a batch to go back.
    fn needs(&self) -> Requirements {
        let Requirements { memory, batch } = self.pipeline.needs();
        let row: usize =
            self.pipeline.source.fields.iter().map(|field| field.kind.shape.iter().product::<usize>()).sum();
        let kept =
            ARRAYS * batch.min(self.pipeline.source.elements as u64) * row as u64 * size_of::<f32>() as u64;
        Requirements { memory: memory + kept, batch }
    }
}

/// Arrays of a batch's size that are kept to go back, and the second field of the batches that the harness
/// holds.
const ARRAYS: u64 = 10;

#[cfg(test)]
mod tests {
    use weighbridge_data::{DataSpec, Draws};

    use super::*;
    use crate::workload::Transform;

    fn task() -> LearningTask {
        let images = DataSpec::normal("image", 100, vec![8, 8, 3]);
        LearningTask::new(PipelineSpec::new(images, 16).map(Transform::Normalize))
    }

    #[test]
    fn a_tenth_of_the_numbers_is_dropped_and_the_mean_stays() {
        let all: Vec<f32> = (0..40)
            .flat_map(|element| {
                let draw = Draws::new(42, 0).at(element, LearningTask::POSITION);
                (0..500).map(move |number| LearningTask::factor(draw, number))
            })
            .collect();
        let dropped = all.iter().filter(|factor| **factor == 0.0).count() as f64 / all.len() as f64;
        assert!((dropped - 0.1).abs() < 6.0 * (0.09_f64 / all.len() as f64).sqrt(), "{dropped}");
        assert!(all.iter().all(|factor| [0.0, LearningTask::KEPT].contains(factor)));
    }

    #[test]
    fn impossible_learning_tasks_are_refused_with_the_parameter_named() {
        let refused = |task: LearningTask| task.check().unwrap_err().to_string();
        task().check().unwrap();
        assert!(refused(LearningTask { rate: f32::NAN, ..task() }).contains("`rate` is NaN"));
        assert!(
            refused(LearningTask::new(task().pipeline.rebatch(5))).contains("`rebatch` 5 does not divide")
        );
        assert!(refused(LearningTask::new(task().pipeline.rebatch(0))).contains("`rebatch` is 0"));
        let bytes = PipelineSpec::new(DataSpec::images(10, 8, 3), 4);
        assert!(refused(LearningTask::new(bytes.map(Transform::Normalize))).contains("is u8"));
    }

    #[test]
    fn a_description_has_the_learnable_step_and_the_loss() {
        assert_eq!(
            task().describe(),
            "100 elements of image f32 [8x8x3], batch 16, Normalize > scale and bias for each channel \
             (module) > dropout (probability 0.1) > gradient of half the mean square > gradient descent \
             (rate 0.05), seed 42"
        );
    }
}
