//! `HuggingFace Datasets`: how its users would write it is in `weighbridge_worker/adapters/hf_datasets.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "hf_datasets";

/// A `Dataset` over converted Arrow files.
#[derive(Debug)]
pub struct HfDatasets(Framework);

fn new() -> Result<HfDatasets> {
    Ok(HfDatasets(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// A `Dataset` over converted Arrow files.
#[adapter(name = "HuggingFace Datasets", tier = 3, resident = true, new = new, probe = installed)]
impl Loader for HfDatasets {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
