//! `FFCV`: how its users would write it is in `weighbridge_worker/adapters/ffcv.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "ffcv";

/// Its `Loader` over a converted file.
#[derive(Debug)]
pub struct Ffcv(Framework);

fn new() -> Result<Ffcv> {
    Ok(Ffcv(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// Its `Loader` over a converted file.
#[adapter(name = "FFCV", tier = 2, resident = true, new = new, probe = installed)]
impl Loader for Ffcv {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
