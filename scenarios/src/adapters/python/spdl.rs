//! `SPDL`: how its users would write it is in `weighbridge_worker/adapters/spdl.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "spdl";

/// A pipeline of SPDL.
#[derive(Debug)]
pub struct Spdl(Framework);

fn new() -> Result<Spdl> {
    Ok(Spdl(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// A pipeline of SPDL.
#[adapter(name = "SPDL", tier = 2, resident = true, new = new, probe = installed)]
impl Loader for Spdl {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
