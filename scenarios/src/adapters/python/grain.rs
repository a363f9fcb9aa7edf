//! `Google Grain`: how its users would write it is in `weighbridge_worker/adapters/grain.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "grain";

/// A `MapDataset` over arrays, batched and mapped.
#[derive(Debug)]
pub struct Grain(Framework);

fn new() -> Result<Grain> {
    Ok(Grain(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// A `MapDataset` over arrays, batched and mapped.
#[adapter(name = "Google Grain", tier = 1, resident = true, new = new, probe = installed)]
impl Loader for Grain {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
