//! `Datarax`: how its users would write it is in `weighbridge_worker/adapters/datarax.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "datarax";

/// Its pipeline, iterated batch by batch.
#[derive(Debug)]
pub struct Datarax(Framework);

fn new() -> Result<Datarax> {
    Ok(Datarax(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// Its pipeline, iterated batch by batch.
#[adapter(name = "Datarax", tier = 1, resident = true, new = new, probe = installed)]
impl Loader for Datarax {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
