//! For tests of scenarios: the reference, asked for something else than it was.

use std::sync::Arc;
use std::time::Duration;

use weighbridge::{Bencher, Budget, Purpose, Result, Settings};

use super::{Epochs, Loader};
use crate::adapters::native::Reference;
use crate::data::DataSet;
use crate::workload::PipelineSpec;

/// A loader that changes what it is asked for, and does that.
pub(crate) struct Changed {
    change: fn(&mut PipelineSpec),
    reference: Reference,
}

impl Changed {
    pub(crate) fn new(change: fn(&mut PipelineSpec)) -> Self {
        Self { change, reference: Reference }
    }
}

impl Loader for Changed {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let mut spec = spec.clone();
        (self.change)(&mut spec);
        self.reference.open(&spec, data)
    }
}

/// A bencher that measures two batches.
pub(crate) fn bencher() -> Bencher {
    let budget = Budget { warmup: 1, batches: 2, min_time: Duration::ZERO, max_time: None };
    Bencher::new(Settings::new(Purpose::Measure, budget))
}
