//! `MosaicML Streaming`: how its users would write it is in `weighbridge_worker/adapters/mosaic.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "mosaic";

/// `StreamingDataset` over converted shards.
#[derive(Debug)]
pub struct Mosaic(Framework);

fn new() -> Result<Mosaic> {
    Ok(Mosaic(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// `StreamingDataset` over converted shards.
#[adapter(name = "MosaicML Streaming", tier = 3, resident = true, new = new, probe = installed)]
impl Loader for Mosaic {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
