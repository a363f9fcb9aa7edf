//! For tests of scenarios: the reference, asked for something else than it was.

use std::sync::Arc;
use std::time::Duration;

use weighbridge::{Bencher, Budget, Purpose, Result, Settings};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};

use crate::adapters::native::Reference;
use crate::contract::Loader;
use crate::workload::PipelineSpec;

/// A loader that changes what it is asked for, and does that.
pub struct ChangedLoader {
    change: fn(&mut PipelineSpec),
    reference: Reference,
}

impl ChangedLoader {
    /// One that changes what it is asked for like this.
    pub fn new(change: fn(&mut PipelineSpec)) -> Self {
        Self { change, reference: Reference }
    }
}

impl Loader for ChangedLoader {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let mut spec = spec.clone();
        (self.change)(&mut spec);
        self.reference.open(&spec, data)
    }

    fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        let mut specs = specs.to_vec();
        specs.iter_mut().for_each(self.change);
        self.reference.open_many(&specs, data)
    }
}

/// A bencher that measures two batches.
pub fn bencher() -> Bencher {
    let budget = Budget { warmup: 1, batches: 2, min_time: Duration::ZERO, max_time: None };
    Bencher::new(Settings::new(Purpose::Measure, budget))
}

/// The reference by a clock of its own: an epoch of a pipeline takes as long as this says.
pub struct TimedReference {
    seconds: fn(&PipelineSpec, u64) -> u64,
    reference: Reference,
}

impl TimedReference {
    /// One whose epoch of this number takes so many seconds.
    pub fn new(seconds: fn(&PipelineSpec, u64) -> u64) -> Self {
        Self { seconds, reference: Reference }
    }
}

impl Loader for TimedReference {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let (spec, seconds) = (spec.clone(), self.seconds);
        Ok(Box::new(TimedEpochs { seconds, epochs: self.reference.open(&spec, data)?, spec }))
    }
}

struct TimedEpochs<'a> {
    seconds: fn(&PipelineSpec, u64) -> u64,
    spec: PipelineSpec,
    epochs: Box<dyn Epochs + 'a>,
}

impl Epochs for TimedEpochs<'_> {
    fn time(&mut self, epoch: u64) -> Result<Option<Duration>> {
        Ok(Some(Duration::from_secs((self.seconds)(&self.spec, epoch))))
    }

    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.epochs.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        self.epochs.advance()
    }

    fn batch(&self) -> &dyn Batch {
        self.epochs.batch()
    }

    fn executed(&self) -> ExecutedWork {
        self.epochs.executed()
    }
}

/// The metrics of its own that a scenario hands in, by name.
///
/// # Errors
/// What is wrong with what the bencher was told.
pub fn metrics(bencher: Bencher) -> Result<Vec<(String, f64)>> {
    let custom = bencher.finish()?.seen.custom;
    Ok(custom.into_iter().map(|metric| (metric.name, metric.value)).collect())
}
