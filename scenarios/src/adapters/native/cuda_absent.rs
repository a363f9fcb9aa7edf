//! What stands for `Reference (CUDA)` in a build without its feature: listed, with the command that brings it.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter, skip};

use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

/// Stands for the loader on a device, which this build does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceCuda;

/// Batches made on a device, and copied back where the host is to have them.
#[adapter(name = "Reference (CUDA)", tier = 1, probe = missing)]
impl Loader for ReferenceCuda {
    fn open(&mut self, _spec: &PipelineSpec, _data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Err(skip(REASON))
    }
}

const REASON: &str = "this build is without the feature `cuda`";

fn missing() -> Availability {
    Availability::Missing { reason: REASON.into(), install: "cargo bench --features cuda".into() }
}
