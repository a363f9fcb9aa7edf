//! What stands for `Reference (CUDA)` in a build without its feature: listed, with the command that brings it.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter, skip};

use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

/// Stands for the loader on a device, which this build does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceCuda;

/// Batches made on a device and copied back to the host.
#[adapter(name = "Reference (CUDA)", tier = 1, probe = missing)]
impl Loader for ReferenceCuda {
    fn open(&mut self, _spec: &PipelineSpec, _data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Err(skip(REASON))
    }
}

/// Stands for the loader whose batches stay on a device, which this build does not have.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceCudaOnDevice;

/// Batches made on a device that stay there, ready for a consumer on it.
#[adapter(name = "Reference (CUDA, on device)", tier = 1, probe = missing)]
impl Loader for ReferenceCudaOnDevice {
    fn open(&mut self, _spec: &PipelineSpec, _data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Err(skip(REASON))
    }
}

const REASON: &str = "this build is without the feature `cuda`";

fn missing() -> Availability {
    Availability::Missing { reason: REASON.into(), install: "cargo bench --features cuda".into() }
}
