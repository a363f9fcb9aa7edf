//! `PyTorch DataLoader`: how its users would write it is in `weighbridge_worker/adapters/torch.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "torch";

/// `torch.utils.data.DataLoader` over arrays.
#[derive(Debug)]
pub struct Torch(Framework);

fn new() -> Result<Torch> {
    Ok(Torch(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// `torch.utils.data.DataLoader` over arrays.
#[adapter(name = "PyTorch DataLoader", tier = 2, resident = true, new = new, probe = installed)]
impl Loader for Torch {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
