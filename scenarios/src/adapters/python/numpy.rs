//! `NumPy`: how its users would write it is in `weighbridge_worker/adapters/numpy.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "numpy";

/// What a person writes without a framework: slices of arrays, one vectorised call for each transform.
#[derive(Debug)]
pub struct NumPy(Framework);

fn new() -> Result<NumPy> {
    Ok(NumPy(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// What a person writes without a framework: slices of arrays, one vectorised call for each transform.
#[adapter(name = "NumPy", tier = 1, resident = true, new = new, probe = installed)]
impl Loader for NumPy {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
