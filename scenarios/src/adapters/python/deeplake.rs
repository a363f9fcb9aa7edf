//! `Deep Lake`: how its users would write it is in `weighbridge_worker/adapters/deeplake.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "deeplake";

/// A Deep Lake data set, read in slices.
#[derive(Debug)]
pub struct DeepLake(Framework);

fn new() -> Result<DeepLake> {
    Ok(DeepLake(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// A Deep Lake data set, read in slices.
#[adapter(name = "Deep Lake", tier = 3, resident = true, new = new, probe = installed)]
impl Loader for DeepLake {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
