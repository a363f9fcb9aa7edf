//! `Ray Data`: how its users would write it is in `weighbridge_worker/adapters/ray.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "ray";

/// A `ray.data.Dataset` in a cluster of this machine.
#[derive(Debug)]
pub struct Ray(Framework);

fn new() -> Result<Ray> {
    Ok(Ray(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// A `ray.data.Dataset` in a cluster of this machine.
#[adapter(name = "Ray Data", tier = 3, resident = true, new = new, probe = installed)]
impl Loader for Ray {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
