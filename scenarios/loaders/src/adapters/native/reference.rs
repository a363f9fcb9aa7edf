//! `Reference`: plain slicing over memory that is already there, one transform after the other.

use std::sync::Arc;

use weighbridge::{Result, adapter};
use weighbridge_data::{DataSet, Epochs};

use super::line::RouteStyle;
use super::modes::InMode;
use super::open::OpenPipeline;
use crate::contract::Loader;
use crate::workload::{ExecutionMode, PipelineSpec};

/// The loader that others are verified against: a pull iterator that runs each transform over the whole batch
/// before the next one. A batch is a copy in a buffer of its own, also where there is nothing to transform.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

/// Plain slicing over memory that is already there, one transform after the other.
#[adapter(name = "Reference", tier = 0)]
impl Loader for Reference {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(Box::new(OpenPipeline::new(spec, data, RouteStyle::StepByStep)?))
    }

    fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        OpenPipeline::many(specs, data, RouteStyle::StepByStep)
    }

    fn open_in(
        &mut self,
        mode: ExecutionMode,
        spec: &PipelineSpec,
        data: &Arc<DataSet>,
    ) -> Result<Box<dyn Epochs + '_>> {
        Ok(Box::new(InMode::open(mode, spec, data)?))
    }
}
