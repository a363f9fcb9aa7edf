//! `Reference (fused)`: a whole epoch in one call, all transforms of a batch in one pass over its numbers.

use std::sync::Arc;

use weighbridge::{Result, adapter};
use weighbridge_data::{DataSet, Epochs};

use super::line::RouteStyle;
use super::open::OpenPipeline;
use crate::contract::Loader;
use crate::workload::PipelineSpec;

/// The same bits as [`Reference`](super::Reference) for any chain of transforms, made the fast way: the chain
/// runs over pieces that stay in the first-level cache, so that each batch is read once and written once.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceFused;

/// A whole epoch in one call, all transforms of a batch in one pass over its numbers.
#[adapter(name = "Reference (fused)", tier = 1)]
impl Loader for ReferenceFused {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(Box::new(OpenPipeline::new(spec, data, RouteStyle::Fused)?))
    }

    fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        OpenPipeline::many(specs, data, RouteStyle::Fused)
    }
}
