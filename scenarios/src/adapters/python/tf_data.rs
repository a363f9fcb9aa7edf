//! `tf.data`: how its users would write it is in `weighbridge_worker/adapters/tf_data.py`.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter};

use super::worker::Framework;
use crate::contract::{Epochs, Loader};
use crate::data::DataSet;
use crate::workload::PipelineSpec;

const SHORT: &str = "tf_data";

/// A `tf.data.Dataset` of slices, batched and mapped with TensorFlow operations.
#[derive(Debug)]
pub struct TfData(Framework);

fn new() -> Result<TfData> {
    Ok(TfData(Framework::new(SHORT)?))
}

fn installed() -> Availability {
    Framework::availability(SHORT)
}

/// A `tf.data.Dataset` of slices, batched and mapped with TensorFlow operations.
#[adapter(name = "tf.data", tier = 2, resident = true, new = new, probe = installed)]
impl Loader for TfData {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(spec, data)
    }
}
