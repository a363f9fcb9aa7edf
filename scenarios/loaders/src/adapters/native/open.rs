//! An open pipeline of either reference loader.

use std::sync::Arc;

use weighbridge::{Delivery, Result};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};

use super::buffer::Buffers;
use super::line::RouteStyle;
use super::maker::{MadeEpoch, Maker};
use super::place::CopyPlace;
use super::prefetch::{Batches, Prefetch};
use crate::workload::PipelineSpec;

/// A cursor over batches, with workers or without.
#[derive(Debug)]
pub(super) struct OpenPipeline {
    style: RouteStyle,
    maker: Maker,
    batches: Batches,
    workers: Option<Prefetch>,
    current: Buffers,
    regrouped: Option<Regrouping>,
    epoch: MadeEpoch,
    /// `true` once a batch of the epoch was asked for: until then nobody works on it.
    has_begun: bool,
    next: usize,
    spec: Arc<PipelineSpec>,
}

/// Batches of another size than they are made in.
#[derive(Debug)]
struct Regrouping {
    size: usize,
    batch: Buffers,
    /// The number of elements that are handed out of the batch that was made.
    taken: usize,
}

impl OpenPipeline {
    pub(super) fn new(spec: &PipelineSpec, data: &Arc<DataSet>, style: RouteStyle) -> Result<Self> {
        data.check_is(&spec.source)?;
        let spec = Arc::new(spec.clone());
        let maker = Maker::open(&spec, data, style)?;
        let batches = Batches { all: spec.elements(), size: spec.batch_size };
        let current = Buffers::new(&maker.kinds(), batches.size.min(batches.all.len()));
        let regrouped = spec.structure.rebatch.map(|size| Regrouping {
            size,
            batch: Buffers::new(&maker.kinds(), size.min(batches.all.len())),
            taken: 0,
        });
        Ok(Self {
            style,
            maker,
            batches,
            workers: None,
            current,
            regrouped,
            epoch: MadeEpoch::default(),
            has_begun: false,
            next: 0,
            spec,
        })
    }

    /// One pipeline for each of `specs`.
    pub(super) fn many<'a>(
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
        style: RouteStyle,
    ) -> Result<Vec<Box<dyn Epochs + Send + 'a>>> {
        let open = |spec| Ok(Box::new(Self::new(spec, data, style)?) as Box<dyn Epochs + Send>);
        specs.iter().map(open).collect()
    }

    /// Makes the next batch, or waits for it.
    fn make(&mut self) -> Result<bool> {
        if self.next >= self.batches.count() {
            return Ok(false);
        }
        if !self.has_begun {
            self.start()?;
        }
        match &mut self.workers {
            Some(workers) => workers.next(&mut self.current)?,
            None => self.maker.make(&self.epoch, self.batches.elements(self.next), &mut self.current)?,
        }
        self.next += 1;
        Ok(true)
    }

    /// Gets ready for the first batch that is asked for, and sets the workers to it.
    fn start(&mut self) -> Result<()> {
        self.epoch.throw(&self.spec);
        if self.spec.workers > 0 && self.workers.is_none() {
            let room = self.batches.size.min(self.batches.all.len());
            self.workers = Some(Prefetch::start(&self.maker, self.spec.workers, room)?);
        }
        if let Some(workers) = &mut self.workers {
            workers.begin(&self.epoch, &self.batches, self.next);
        }
        self.has_begun = true;
        Ok(())
    }

    /// Fills the regrouped batch from what is made.
    fn regroup(&mut self, mut regrouped: Regrouping) -> (Regrouping, Result<bool>) {
        regrouped.batch.elements = 0;
        while regrouped.batch.elements < regrouped.size {
            if regrouped.taken == self.current.elements {
                match self.make() {
                    Ok(true) => regrouped.taken = 0,
                    Ok(false) => break,
                    Err(error) => return (regrouped, Err(error)),
                }
            }
            let missing = regrouped.size - regrouped.batch.elements;
            let count = missing.min(self.current.elements - regrouped.taken);
            regrouped.batch.append(&self.current, regrouped.taken, count);
            regrouped.taken += count;
        }
        let some = regrouped.batch.elements > 0;
        (regrouped, Ok(some))
    }
}

impl Epochs for OpenPipeline {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        if let Some(workers) = &mut self.workers {
            workers.recall();
        }
        if epoch == 0 && self.maker.remembers() {
            self.maker.forget();
            self.workers = None; // they remember as well
        }
        (self.epoch.number, self.has_begun, self.next) = (epoch, false, 0);
        self.current.elements = 0;
        if let Some(regrouped) = &mut self.regrouped {
            regrouped.taken = 0;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        let Some(regrouped) = self.regrouped.take() else { return self.make() };
        let (regrouped, some) = self.regroup(regrouped);
        self.regrouped = Some(regrouped);
        some
    }

    fn batch(&self) -> &dyn Batch {
        self.regrouped.as_ref().map_or(&self.current, |regrouped| &regrouped.batch)
    }

    fn whole_pass(&self) -> bool {
        self.style == RouteStyle::Fused
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        Ok(CopyPlace { epoch: self.epoch.number, next: self.next as u64 }.save(&self.spec))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let place = CopyPlace::restore(saved, &self.spec)?;
        self.begin(place.epoch)?;
        self.next = place.next as usize;
        Ok(())
    }

    fn executed(&self) -> ExecutedWork {
        // A copy, the consumer's until it asks for the next one.
        ExecutedWork::ours(self.spec.work(), Delivery::Owned, self.spec.workers as u64)
    }
}
