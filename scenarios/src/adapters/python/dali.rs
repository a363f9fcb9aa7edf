//! `NVIDIA DALI`: how its users would write it is in `weighbridge_worker/adapters/dali.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "dali";

/// A pipeline of DALI operators on the processor.
#[derive(Debug)]
pub struct Dali(Framework);

fn new() -> Result<Dali> {
    Ok(Dali(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// A pipeline of DALI operators on the processor.
#[adapter(name = "NVIDIA DALI", tier = 2, resident = true, new = new, probe = installed)]
impl Loader for Dali {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
