//! `Datarax-scan`: how its users would write it is in `weighbridge_worker/adapters/datarax_scan.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "datarax_scan";

/// The same pipeline, run as one scan over a whole pass.
#[derive(Debug)]
pub struct DataraxScan(Framework);

fn new() -> Result<DataraxScan> {
    Ok(DataraxScan(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// The same pipeline, run as one scan over a whole pass.
#[adapter(name = "Datarax-scan", tier = 1, resident = true, new = new, probe = installed)]
impl Loader for DataraxScan {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
