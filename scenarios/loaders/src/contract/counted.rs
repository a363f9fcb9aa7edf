//! A loader's epochs as `load` times them, with a count of what was delivered: what is read elsewhere can be
//! held against it.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weighbridge::{
    Bencher, Budget, Costs, ExpectedEpoch, FileUse, ItemCopy, Remote, RemoteEpoch, RemoteRun, Result,
    UnstoppedRequest,
};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};

use super::load::load_epochs;
use crate::contract::{Loader, deliver};
use crate::workload::PipelineSpec;

/// Runs a pipeline through a loader as [`Load::load`](super::Load::load) does. Gives the number of elements
/// that were delivered in all, also where no clock ran.
///
/// # Errors
/// As there.
pub fn load_counted(
    bencher: &Bencher,
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
) -> Result<u64> {
    let delivered = Cell::new(0);
    let mut epochs = bencher.open(|| deliver(loader.open(spec, data)?, spec))?;
    if let Some(remote) = epochs.remote()? {
        bencher.stream_remote(&mut CountedRemote { remote, delivered: &delivered }, bencher.epoch())?;
        data.check_unchanged()?;
        bencher.work(epochs.executed().report(data, epochs.entry_point()));
    } else {
        load_epochs(bencher, &mut CountedEpochs { epochs, delivered: &delivered }, spec, data)?;
    }
    Ok(delivered.get())
}

/// The time from opening a pipeline to its first batch, by the clock of the process that it runs in; without
/// what is imported or converted.
///
/// # Errors
/// What the loader says.
pub fn cold_start(
    loader: &mut dyn Loader,
    spec: &PipelineSpec,
    data: &Arc<DataSet>,
    epoch: u64,
) -> Result<Duration> {
    let start = Instant::now();
    let mut epochs = deliver(loader.open(spec, data)?, spec)?;
    if let Some(remote) = epochs.remote()? {
        let asked = UnstoppedRequest { batches: 0, limit: Some(Duration::ZERO), least: 1 };
        let first = remote.time_epoch(epoch, asked)?;
        let set_up = Duration::from_nanos(remote.costs().set_up.unwrap_or_default());
        return Ok(set_up + first.begin + first.first);
    }
    epochs.begin(epoch)?;
    epochs.advance()?;
    epochs.ready()?;
    Ok(start.elapsed())
}

struct CountedEpochs<'a, 'c> {
    epochs: Box<dyn Epochs + 'a>,
    delivered: &'c Cell<u64>,
}

fn count(delivered: &Cell<u64>, elements: u64) {
    delivered.set(delivered.get() + elements);
}

impl Epochs for CountedEpochs<'_, '_> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.epochs.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        let some = self.epochs.advance()?;
        if some {
            count(self.delivered, self.epochs.batch().elements() as u64);
        }
        Ok(some)
    }

    fn ready(&mut self) -> Result<()> {
        self.epochs.ready()
    }

    fn batch(&self) -> &dyn Batch {
        self.epochs.batch()
    }

    fn whole_pass(&self) -> bool {
        self.epochs.whole_pass()
    }

    fn pass(&mut self, batches: u64, each: &mut dyn FnMut(&dyn Batch)) -> Result<u64> {
        let delivered = self.delivered;
        self.epochs.pass(batches, &mut |batch| {
            count(delivered, batch.elements() as u64);
            each(batch);
        })
    }

    fn in_order(&self) -> bool {
        self.epochs.in_order()
    }

    fn executed(&self) -> ExecutedWork {
        self.epochs.executed()
    }

    fn entry_point(&self) -> Option<String> {
        self.epochs.entry_point()
    }
}

struct CountedRemote<'a, 'c> {
    remote: &'a mut dyn Remote,
    delivered: &'c Cell<u64>,
}

impl Remote for CountedRemote<'_, '_> {
    fn verify(&mut self, epoch: u64, each: &mut dyn FnMut(ItemCopy) -> Result<()>) -> Result<()> {
        let delivered = self.delivered;
        self.remote.verify(epoch, &mut |copy| {
            count(delivered, copy.elements as u64);
            each(copy)
        })
    }

    fn run(&mut self, epoch: u64, budget: Budget) -> Result<RemoteRun> {
        let ran = self.remote.run(epoch, budget)?;
        count(self.delivered, ran.elements);
        Ok(ran)
    }

    fn time_epoch(&mut self, epoch: u64, asked: UnstoppedRequest) -> Result<RemoteEpoch> {
        let timed = self.remote.time_epoch(epoch, asked)?;
        count(self.delivered, timed.elements);
        Ok(timed)
    }

    fn costs(&self) -> Costs {
        self.remote.costs()
    }

    fn expected(&self) -> Option<ExpectedEpoch> {
        self.remote.expected()
    }

    fn whole_pass(&self) -> bool {
        self.remote.whole_pass()
    }

    fn grown(&self) -> Option<u64> {
        self.remote.grown()
    }

    fn files(&self) -> Option<FileUse> {
        self.remote.files()
    }

    fn budget(&self, asked: Budget) -> Budget {
        self.remote.budget(asked)
    }
}
