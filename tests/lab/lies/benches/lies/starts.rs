//! An epoch that is made with its first batch, or when something else is asked; and honest ones whose start
//! is dear, whatever the data.

use std::cell::{OnceCell, RefCell};
use std::hint::black_box;
use std::sync::Arc;

use weighbridge::{Result, adapter};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::PipelineSpec;

use crate::copied::BatchCopy;
use crate::lie::{Lie, LyingPipeline, Sizes};

/// Makes batches of the epoch when the first one is asked for, each at a place of its own, which is there
/// from the first epoch on.
struct FirstAsked {
    sizes: Sizes,
    /// The number that are made then; all others when they are asked for.
    ahead: usize,
    places: Vec<BatchCopy>,
    made: usize,
    next: usize,
}

impl FirstAsked {
    fn new(spec: &PipelineSpec, ahead: usize) -> Self {
        Self { sizes: Sizes::of(spec), ahead, places: Vec::new(), made: 0, next: 0 }
    }

    fn make(&mut self, honest: &mut dyn Epochs) -> Result<()> {
        if honest.advance()? {
            if self.made == self.places.len() {
                self.places.push(BatchCopy::default());
            }
            self.places[self.made].take(honest.batch());
            self.made += 1;
        }
        Ok(())
    }
}

impl Lie for FirstAsked {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        (self.made, self.next) = (0, 0);
        honest.begin(epoch)
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        if self.next == 0 {
            for _ in 0..self.ahead.min(self.sizes.count()) {
                self.make(honest)?;
            }
        }
        if self.next == self.made {
            self.make(honest)?;
        }
        self.next += 1;
        Ok(self.next <= self.made)
    }

    fn elements(&self, _: &dyn Batch) -> usize {
        self.places[self.next - 1].elements()
    }

    fn bytes<'b>(&'b self, _: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.places[self.next - 1].bytes(field)
    }
}

/// One for each of several workers.
fn beside<'a>(
    honest: &'a mut Reference,
    specs: &[PipelineSpec],
    data: &Arc<DataSet>,
    ahead: usize,
) -> Result<Vec<Box<dyn Epochs + Send + 'a>>> {
    let pipelines = honest.open_many(specs, data)?.into_iter().zip(specs);
    Ok(pipelines.map(|(honest, spec)| LyingPipeline::beside(honest, FirstAsked::new(spec, ahead))).collect())
}

#[derive(Default)]
struct MadeWithTheFirst(Reference);

/// The whole epoch is made with its first batch.
#[adapter(name = "made-with-the-first", tier = 2)]
impl Loader for MadeWithTheFirst {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, FirstAsked::new(spec, usize::MAX)))
    }

    fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        beside(&mut self.0, specs, data, usize::MAX)
    }
}

#[derive(Default)]
struct MadeWhenAsked(Reference);

/// The whole epoch is made when somebody asks whether it comes in order, or else when it is begun.
#[adapter(name = "made-when-asked-for-the-order", tier = 2)]
impl Loader for MadeWhenAsked {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let honest = RefCell::new(self.0.open(spec, data)?);
        Ok(Box::new(AskedEpoch { honest, made: OnceCell::new(), next: 0 }))
    }
}

/// An epoch that is there once somebody has asked something.
struct AskedEpoch<'a> {
    honest: RefCell<Box<dyn Epochs + 'a>>,
    made: OnceCell<Vec<BatchCopy>>,
    next: usize,
}

impl AskedEpoch<'_> {
    fn made(&self) -> &[BatchCopy] {
        self.made.get_or_init(|| {
            let honest = &mut *self.honest.borrow_mut();
            let mut made = Vec::new();
            honest.begin(0).expect("the reference begins");
            while honest.advance().expect("the reference goes on") {
                made.push(BatchCopy::of(honest.batch()));
            }
            made
        })
    }
}

impl Epochs for AskedEpoch<'_> {
    fn begin(&mut self, _: u64) -> Result<()> {
        self.made();
        self.next = 0;
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        self.next += 1;
        Ok(self.next <= self.made().len())
    }

    fn batch(&self) -> &dyn Batch {
        &self.made()[self.next - 1]
    }

    fn in_order(&self) -> bool {
        !self.made().is_empty()
    }

    fn executed(&self) -> ExecutedWork {
        self.honest.borrow().executed()
    }
}

#[derive(Default)]
struct Compiles(Reference);

/// Steps that take a processor some 300 ms.
const COMPILING: u64 = 300_000_000;

/// Honest: opening compiles something, which takes as long whatever the data.
#[adapter(name = "compiles", tier = 2)]
impl Loader for Compiles {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        black_box((0..COMPILING).fold(1_u64, |state, step| black_box(state).rotate_left(5) ^ step));
        self.0.open(spec, data)
    }
}

#[derive(Default)]
struct Arena(Reference);

/// Honest: each batch of an epoch has a place of its own, and is made when it is asked for.
#[adapter(name = "arena", tier = 2)]
impl Loader for Arena {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, FirstAsked::new(spec, 1)))
    }

    fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        beside(&mut self.0, specs, data, 1)
    }
}

#[derive(Default)]
struct Buffered(Reference);

/// Honest: a buffer of sixteen batches is filled with the first one, and then a batch is made for each.
#[adapter(name = "sixteen-ahead", tier = 2)]
impl Loader for Buffered {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, Ahead(FirstAsked::new(spec, 16))))
    }
}

/// As [`FirstAsked`], and one more is made with each.
struct Ahead(FirstAsked);

impl Lie for Ahead {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        self.0.begin(honest, epoch)
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        if self.0.next > 0 && self.0.made < self.0.sizes.count() {
            self.0.make(honest)?;
        }
        self.0.advance(honest)
    }

    fn elements(&self, honest: &dyn Batch) -> usize {
        self.0.elements(honest)
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.0.bytes(honest, field)
    }
}
