//! An epoch, or a part of it, that is made where no clock runs.

use std::hint::spin_loop;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use weighbridge::{Result, adapter, skip};
use weighbridge_data::{Batch, DataSet, Epochs};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::PipelineSpec;

use crate::copied::BatchCopy;
use crate::lie::{Lie, LyingPipeline, Sizes};

/// Has some batches of the epoch from the start, and makes the others.
struct OpenedEpochs {
    ready: Vec<Option<BatchCopy>>,
    /// The place of every batch, to go on from after one that is there.
    places: Vec<Vec<u8>>,
    next: usize,
}

impl OpenedEpochs {
    /// Makes the batches that are meant.
    fn with(
        honest: &mut dyn Epochs,
        spec: &PipelineSpec,
        is_meant: impl Fn(usize, Sizes) -> bool,
    ) -> Result<Self> {
        let sizes = Sizes::of(spec);
        let (mut ready, mut places) = (Vec::new(), Vec::new());
        honest.begin(0)?;
        for batch in 0..sizes.count() {
            places.push(honest.save()?);
            honest.advance()?;
            ready.push(is_meant(batch, sizes).then(|| BatchCopy::of(honest.batch())));
        }
        Ok(Self { ready, places, next: 0 })
    }

    fn current(&self) -> Option<&BatchCopy> {
        self.ready[self.next - 1].as_ref()
    }
}

impl Lie for OpenedEpochs {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        self.next = 0;
        honest.begin(epoch)
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        let batch = self.next;
        self.next += 1;
        match self.ready.get(batch) {
            None => Ok(false),
            Some(Some(_)) => Ok(true),
            Some(None) => {
                if batch > 0 && self.ready[batch - 1].is_some() {
                    honest.restore(&self.places[batch])?;
                }
                honest.advance()
            }
        }
    }

    fn elements(&self, honest: &dyn Batch) -> usize {
        self.current().map_or_else(|| honest.elements(), Batch::elements)
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.current().map_or_else(|| honest.bytes(field), |ready| ready.bytes(field))
    }
}

#[derive(Default)]
struct MadeInOpen(Reference);

/// The whole epoch is made while the pipeline is opened.
#[adapter(name = "made-in-open", tier = 2)]
impl Loader for MadeInOpen {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let mut honest = self.0.open(spec, data)?;
        let lie = OpenedEpochs::with(&mut *honest, spec, |_, _| true)?;
        Ok(LyingPipeline::over(honest, lie))
    }
}

#[derive(Default)]
struct HalfInOpen(Reference);

/// The first half of the epoch is made while the pipeline is opened.
#[adapter(name = "half-in-open", tier = 2)]
impl Loader for HalfInOpen {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let mut honest = self.0.open(spec, data)?;
        let lie = OpenedEpochs::with(&mut *honest, spec, |batch, sizes| batch < sizes.count() / 2)?;
        Ok(LyingPipeline::over(honest, lie))
    }
}

#[derive(Default)]
struct EveryOtherInOpen(Reference);

/// Every second batch is made while the pipeline is opened.
#[adapter(name = "every-other-in-open", tier = 2)]
impl Loader for EveryOtherInOpen {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        if spec.transforms.is_empty() {
            return Err(skip("going to a place costs more than a batch that is only copied"));
        }
        let mut honest = self.0.open(spec, data)?;
        let lie = OpenedEpochs::with(&mut *honest, spec, |batch, _| batch % 2 == 0)?;
        Ok(LyingPipeline::over(honest, lie))
    }
}

/// Makes the first batches of the epoch when it is begun.
struct BegunEpochs {
    sizes: Sizes,
    /// How many.
    count: usize,
    ready: Vec<BatchCopy>,
    next: usize,
    /// How long a batch that is there seems to take. With no time at all, what is measured would never be
    /// enough.
    seems: Duration,
}

/// So many times as long as it seems a batch took to make.
const TIMES: u32 = 8;

impl BegunEpochs {
    fn new(spec: &PipelineSpec, count: usize) -> Self {
        let sizes = Sizes::of(spec);
        let count = count.min(sizes.count());
        Self { sizes, count, ready: vec![BatchCopy::default(); count], next: 0, seems: Duration::ZERO }
    }

    fn prepare(&mut self, honest: &mut dyn Epochs) -> Result<()> {
        self.next = 0;
        honest.begin(0)?;
        let mut took = Duration::ZERO;
        for ready in &mut self.ready {
            let start = Instant::now();
            honest.advance()?;
            took += start.elapsed();
            ready.take(honest.batch());
        }
        self.seems = took / self.count as u32 / TIMES;
        Ok(())
    }
}

impl Lie for BegunEpochs {
    fn begin(&mut self, honest: &mut dyn Epochs, _epoch: u64) -> Result<()> {
        self.prepare(honest)
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        self.next += 1;
        if self.next <= self.count {
            wait(self.seems);
            return Ok(true);
        }
        Ok(self.next <= self.sizes.count() && honest.advance()?)
    }

    fn elements(&self, _honest: &dyn Batch) -> usize {
        self.sizes.elements(self.next - 1).len()
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        match self.ready.get(self.next - 1) {
            Some(ready) => ready.bytes(field),
            None => honest.bytes(field),
        }
    }
}

/// Keeps the processor busy for so long.
fn wait(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        spin_loop();
    }
}

#[derive(Default)]
struct MadeInBegin(Reference);

/// Every epoch is made when it is begun.
#[adapter(name = "made-in-begin", tier = 2)]
impl Loader for MadeInBegin {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, BegunEpochs::new(spec, usize::MAX)))
    }
}

#[derive(Default)]
struct FirstInBegin(Reference);

/// The first batches of an epoch are made when it is begun: as many as a short pass and its warm-up have.
#[adapter(name = "first-in-begin", tier = 2)]
impl Loader for FirstInBegin {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, BegunEpochs::new(spec, 23)))
    }
}

/// As [`BegunEpochs`], but a thread does it, and whoever begins the epoch waits for it.
struct ByAThread<'a> {
    honest: Box<dyn Epochs + Send + 'a>,
    begun: BegunEpochs,
}

impl Lie for ByAThread<'_> {
    fn begin(&mut self, _honest: &mut dyn Epochs, _epoch: u64) -> Result<()> {
        let Self { honest, begun } = self;
        thread::scope(|scope| {
            scope.spawn(|| begun.prepare(&mut **honest)).join().expect("the reference does not panic")
        })
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        self.begun.advance(honest)
    }

    fn elements(&self, honest: &dyn Batch) -> usize {
        self.begun.elements(honest)
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.begun.bytes(honest, field)
    }
}

#[derive(Default)]
struct MadeByAThread(Reference, Reference);

/// Every epoch is made by a thread, for which the beginning of the epoch waits.
#[adapter(name = "made-by-a-thread", tier = 2)]
impl Loader for MadeByAThread {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let mut one = self.1.open_many(std::slice::from_ref(spec), data)?;
        let honest = one.pop().expect("one was asked for");
        let lie = ByAThread { honest, begun: BegunEpochs::new(spec, usize::MAX) };
        Ok(LyingPipeline::over(self.0.open(spec, data)?, lie))
    }
}

#[derive(Default)]
struct Prefetches(Reference);

/// Honest: a thread makes a few batches ahead, beginning with the first that is asked for.
#[adapter(name = "prefetches", tier = 2)]
impl Loader for Prefetches {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.0.open(&spec.clone().workers(1), data)
    }
}

#[derive(Default)]
struct DearOpen(Reference);

/// Honest: opening takes some milliseconds, which prepare nothing.
#[adapter(name = "dear-open", tier = 2)]
impl Loader for DearOpen {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        wait(Duration::from_millis(3));
        self.0.open(spec, data)
    }
}
