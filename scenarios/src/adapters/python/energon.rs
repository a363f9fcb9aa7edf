//! `Energon`: how its users would write it is in `weighbridge_worker/adapters/energon.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "energon";

/// A Megatron Energon loader over converted tar files.
#[derive(Debug)]
pub struct Energon(Framework);

fn new() -> Result<Energon> {
    Ok(Energon(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// A Megatron Energon loader over converted tar files.
#[adapter(name = "Energon", tier = 3, resident = true, new = new, probe = installed)]
impl Loader for Energon {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
