//! Loaders that read less from an object store than they deliver, and one that reads it in another form.

use std::sync::Arc;

use weighbridge::{Result, adapter};
use weighbridge_data::{DataSet, Epochs};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::{Access, PipelineSpec};

#[derive(Default)]
struct FromTheDisk(Reference);

/// Photographs from the data set's own files, in place of the store.
#[adapter(name = "from-the-disk", tier = 2)]
impl Loader for FromTheDisk {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(&spec.clone().access(Access::FileStreaming), data)
    }
}

#[derive(Default)]
struct StoreOnce(Reference);

/// Batches of an earlier epoch, from memory.
#[adapter(name = "reads-the-store-once", tier = 2)]
impl Loader for StoreOnce {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(&spec.clone().cached(), data)
    }
}

#[derive(Default)]
struct InRanges(Reference);

/// The same photographs by ranges of the store's tar file, where files are asked for.
#[adapter(name = "reads-ranges", tier = 2)]
impl Loader for InRanges {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(&spec.clone().access(Access::StoredTar), data)
    }
}
