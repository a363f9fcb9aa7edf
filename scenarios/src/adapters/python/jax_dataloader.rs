//! `jax-dataloader`: how its users would write it is in `weighbridge_worker/adapters/jax_dataloader.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "jax_dataloader";

/// Its `DataLoader` over arrays.
#[derive(Debug)]
pub struct JaxDataloader(Framework);

fn new() -> Result<JaxDataloader> {
    Ok(JaxDataloader(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// Its `DataLoader` over arrays.
#[adapter(name = "jax-dataloader", tier = 1, resident = true, new = new, probe = installed)]
impl Loader for JaxDataloader {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
