//! `LitData`: how its users would write it is in `weighbridge_worker/adapters/litdata.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "litdata";

/// `StreamingDataLoader` over converted chunks.
#[derive(Debug)]
pub struct LitData(Framework);

fn new() -> Result<LitData> {
    Ok(LitData(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// `StreamingDataLoader` over converted chunks.
#[adapter(name = "LitData", tier = 3, resident = true, new = new, probe = installed)]
impl Loader for LitData {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
