//! Did the steps take what the loader made, and did the loader make what it should? Looked at outside the
//! clock.

use std::path::Path;
use std::sync::Arc;

use weighbridge::{Error, ItemCopy, Result};
use weighbridge_data::DataSet;
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::{Loader, for_each_batch};
use weighbridge_loaders::workload::PipelineSpec;

use super::feeding::{FedStep, step_alone};
use super::proof::{TrainingWay, after, same_start};
use super::settings::check_settings;
use crate::adapters::native::ByHand;
use crate::contract::{Material, TrainingLoop};
use crate::workload::TrainingSpec;

/// The reference's answer to the work: the batches that are due, and the losses and weights that steps on
/// them lead to. The samples that a trainer has in memory are others, so that steps on those lead elsewhere.
pub(super) struct FedReference<'a> {
    spec: &'a TrainingSpec,
    material: &'a Material,
    place: &'a Path,
    batches: Vec<ItemCopy>,
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
        let end = training.left()?.1;
        Ok(Self { spec, material, place, batches, way: TrainingWay { start, losses, end } })
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
        let due = self.way.losses.len();
        if (steps, found.losses.len()) != (due, due) {
            return Err(Error::new(format!(
                "{steps} steps are said to be done with {} losses, on {due} batches",
                found.losses.len(),
            )));
        }
        self.way.has_losses(&found.losses, self.spec, &mut || self.plain())?;
        self.way.leads_to(&left, self.spec, &mut || self.plain())
    }

    /// The way that the reference's formulae go in `f32`.
    fn plain(&self) -> Result<TrainingWay> {
        let mut plain = ByHand::<f32>::open(self.spec, &self.material.data, &self.material.weights)?;
        let losses = step_alone(&mut plain, &self.batches, self.place)?.losses;
        Ok(TrainingWay { start: self.way.start.clone(), losses, end: plain.left()?.1 })
    }
}
