//! The transforms that there is a gradient of, and what is declined.

use weighbridge::{Error, Result, skip};
use weighbridge_data::DataSet;

use super::arithmetic::ElementShape;
use crate::workload::{Access, LearningTask, PipelineSpec, Structure, Transform};

/// A transform before the learnable step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TaskStage {
    /// `Normalize`, with the constants of the data set's columns.
    Standardise { mean: Vec<f32>, scale: Vec<f32> },
    /// `RandomCrop` at this position.
    Crop { position: u64 },
}

/// The stages of a learning task and the shape of an element, or why the learner of this name declines.
pub(super) fn stages(
    name: &str,
    task: &LearningTask,
    data: &DataSet,
) -> Result<(Vec<TaskStage>, ElementShape)> {
    task.check()?;
    let pipeline = &task.pipeline;
    data.check_is(&pipeline.source)?;
    if let Some(what) = declined(pipeline) {
        return Err(skip(format!("{name} takes no gradient through {what}")));
    }
    let stage = |(position, transform): (usize, &Transform)| match transform {
        Transform::Normalize => {
            let constants = data.normalisation(0);
            let constants = constants.ok_or_else(|| Error::new("the field has no constants of Normalize"))?;
            Ok(TaskStage::Standardise { mean: constants.mean.clone(), scale: constants.scale.clone() })
        }
        Transform::RandomCrop => Ok(TaskStage::Crop { position: position as u64 }),
        other => Err(skip(format!("{name} has no gradient of {other}: only of Normalize and RandomCrop"))),
    };
    let stages = pipeline.transforms.iter().enumerate().map(stage).collect::<Result<_>>()?;
    let shape = match pipeline.source.fields[0].kind.shape[..] {
        [rows, columns, channels] => ElementShape { rows, columns, channels },
        ref other => {
            let why = format!(
                "{name} learns from rows with height, width and channels, and not of the shape {other:?}"
            );
            return Err(skip(why));
        }
    };
    Ok((stages, shape))
}

/// Returns what is asked for beyond a list of transforms and groups, in words; `None` if nothing is.
fn declined(pipeline: &PipelineSpec) -> Option<String> {
    let structure = Structure { rebatch: None, ..pipeline.structure.clone() };
    if !structure.capabilities().is_empty() {
        return Some(structure.capabilities().join(", "));
    }
    if pipeline.access != Access::Memory {
        return Some(format!("rows that are not in memory ({:?})", pipeline.access));
    }
    (pipeline.workers > 0).then(|| format!("batches that {} workers make", pipeline.workers))
}
