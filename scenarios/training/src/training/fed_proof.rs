//! Did the steps take what the loader made, and did the loader make what it should? Looked at outside the
//! clock.

use std::path::Path;
use std::sync::Arc;

use weighbridge::{Error, ItemCopy, Result};
use weighbridge_data::DataSet;
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::{Loader, Tensors, for_each_batch};
use weighbridge_loaders::workload::PipelineSpec;

use super::feeding::{FedStep, step_alone};
use super::proof::{TrainingWay, after, near, same_start};
use super::settings::check_settings;
use crate::adapters::native::ByHand;
use crate::contract::{Material, TrainingLoop};
use crate::workload::TrainingSpec;

/// Losses of so many first steps are compared; later ones are where rounding has taken them.
const STEPS: usize = 3;

/// The reference's answer to the work: the batches that are due, and the losses and weights that steps on
/// them lead to. The samples that a trainer has in memory are others, so that steps on those lead elsewhere.
pub(super) struct FedReference<'a> {
    spec: &'a TrainingSpec,
    material: &'a Material,
    place: &'a Path,
    batches: Vec<ItemCopy>,
    losses: Vec<f32>,
    way: TrainingWay,
}

impl<'a> FedReference<'a> {
    /// The reference loader's batches of this epoch, and the reference's steps on them.
    ///
    /// # Errors
    /// What either says.
    pub(super) fn new(
        pipeline: &PipelineSpec,
        data: &Arc<DataSet>,
        epoch: u64,
        spec: &'a TrainingSpec,
        material: &'a Material,
        place: &'a Path,
    ) -> Result<Self> {
        // However the rows are to be read, they are the same.
        let mut batches = Vec::new();
        let mut loader = Reference;
        for_each_batch(&mut *loader.open(pipeline, data)?, epoch, &mut |batch| batches.push(batch.keep()))?;
        let mut training = ByHand::<f64>::open(spec, &material.data, &material.weights)?;
        let start = after(&mut training, 0)?;
        let losses = step_alone(&mut training, &batches, place)?.losses;
        let (steps, end) = training.left()?;
        Ok(Self { spec, material, place, batches, losses, way: TrainingWay { steps, start, end } })
    }

    /// That a training is the one that was asked for, from its first weights on.
    ///
    /// # Errors
    /// What differs.
    pub(super) fn check_training(&self, training: &mut dyn TrainingLoop) -> Result<()> {
        check_settings(self.spec, &training.settings())?;
        same_start(&after(training, 0)?, &self.way.start)
    }

    /// That these are the batches of the epoch, byte by byte and in order.
    ///
    /// # Errors
    /// The first one that is another.
    pub(super) fn check_batches(&self, found: &[ItemCopy]) -> Result<()> {
        if found.len() != self.batches.len() {
            let (found, due) = (found.len(), self.batches.len());
            return Err(Error::new(format!("the loader handed over {found} batches where {due} are due")));
        }
        match found.iter().zip(&self.batches).position(|(found, due)| found != due) {
            None => Ok(()),
            Some(at) => Err(Error::new(format!(
                "batch {at} that the loader handed to the step is not the reference's"
            ))),
        }
    }

    /// That steps were done on these batches and on all of them: by their losses, and by the weights that
    /// they have left.
    ///
    /// # Errors
    /// What differs.
    pub(super) fn check_steps(&self, found: &FedStep, training: &mut dyn TrainingLoop) -> Result<()> {
        let (steps, left) = training.left()?;
        if (steps, found.losses.len()) != (self.way.steps, self.way.steps) {
            return Err(Error::new(format!(
                "{steps} steps are said to be done with {} losses, on {} batches",
                found.losses.len(),
                self.way.steps
            )));
        }
        let [of_results, ..] = self.spec.tolerance()?;
        let first = STEPS.min(steps);
        near("the losses of the first steps", &found.losses[..first], &self.losses[..first], of_results)?;
        self.way.leads_to(&left, self.spec, &mut || self.plain())
    }

    /// Returns the weights that the reference's formulae lead to in `f32`.
    fn plain(&self) -> Result<Tensors> {
        let mut plain = ByHand::<f32>::open(self.spec, &self.material.data, &self.material.weights)?;
        step_alone(&mut plain, &self.batches, self.place)?;
        Ok(plain.left()?.1)
    }
}
