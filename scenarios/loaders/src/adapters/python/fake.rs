//! A framework for tests: the tiny worker of `tests/workers` under the name of one, with a fault in some of
//! its ranks.

use std::path::Path;
use std::sync::Arc;

use weighbridge::Result;
use weighbridge::worker::Command;
use weighbridge_data::{DataSet, Epochs};
use weighbridge_python;
use weighbridge_python::Framework;

use super::open;
use crate::contract::Loader;
use crate::workload::PipelineSpec;

/// Hands out slices of the data, transformed in no way, from as many processes as are asked for.
#[derive(Debug)]
pub(crate) struct Tiny(Framework);

impl Tiny {
    /// One whose ranks have this fault. `None` where there is no Python: the calling test is then skipped.
    #[track_caller]
    pub(crate) fn new(fault: &str) -> Option<Self> {
        if !needs::python3() {
            return None;
        }
        let peer = weighbridge_python::find("numpy").expect("it is in the table");
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/workers/ranks.py");
        let command = Command::new("python3").arg(program).arg(peer.name).arg(fault);
        Some(Self(Framework::started_by(peer, command)))
    }
}

impl Loader for Tiny {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        open::open_pipeline(&mut self.0, spec, data)
    }

    fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        open::open_many(&mut self.0, specs, data)
    }
}
