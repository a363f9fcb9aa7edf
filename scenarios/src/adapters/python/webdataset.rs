//! `WebDataset`: how its users would write it is in `weighbridge_worker/adapters/webdataset.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "webdataset";

/// `WebDataset` over converted tar files.
#[derive(Debug)]
pub struct WebDataset(Framework);

fn new() -> Result<WebDataset> {
    Ok(WebDataset(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// `WebDataset` over converted tar files.
#[adapter(name = "WebDataset", tier = 3, resident = true, new = new, probe = installed)]
impl Loader for WebDataset {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
