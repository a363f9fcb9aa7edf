//! A lie, told over a pipeline that is honest.

use weighbridge::{FieldKind, Result};
use weighbridge_data::{Batch, Epochs, ExecutedWork};

/// What a liar changes of an honest pipeline. What it says nothing of stays as it is.
pub(crate) trait Lie {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        honest.begin(epoch)
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        honest.advance()
    }

    fn elements(&self, honest: &dyn Batch) -> usize {
        honest.elements()
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        honest.bytes(field)
    }

    /// Whether batches come in the order of the specification.
    fn in_order(&self) -> bool {
        true
    }
}

/// A pipeline with a lie over it. It is its own batch.
pub(crate) struct LyingPipeline<H, L> {
    honest: H,
    lie: L,
}

/// An open pipeline, which may be on a thread of its own.
pub(crate) trait HonestPipeline {
    fn get(&self) -> &dyn Epochs;
    fn get_mut(&mut self) -> &mut dyn Epochs;
}

impl HonestPipeline for Box<dyn Epochs + '_> {
    fn get(&self) -> &dyn Epochs {
        &**self
    }
    fn get_mut(&mut self) -> &mut dyn Epochs {
        &mut **self
    }
}

impl HonestPipeline for Box<dyn Epochs + Send + '_> {
    fn get(&self) -> &dyn Epochs {
        &**self
    }
    fn get_mut(&mut self) -> &mut dyn Epochs {
        &mut **self
    }
}

impl<'a, L: Lie + Send + 'a> LyingPipeline<Box<dyn Epochs + Send + 'a>, L> {
    /// The same on a thread of its own.
    pub(crate) fn beside(honest: Box<dyn Epochs + Send + 'a>, lie: L) -> Box<dyn Epochs + Send + 'a> {
        Box::new(Self { honest, lie })
    }
}

impl<'a, L: Lie + 'a> LyingPipeline<Box<dyn Epochs + 'a>, L> {
    /// Tells `lie` over what was opened.
    pub(crate) fn over(honest: Box<dyn Epochs + 'a>, lie: L) -> Box<dyn Epochs + 'a> {
        Box::new(Self { honest, lie })
    }
}

impl<H: HonestPipeline, L: Lie> Epochs for LyingPipeline<H, L> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.lie.begin(self.honest.get_mut(), epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        self.lie.advance(self.honest.get_mut())
    }

    fn batch(&self) -> &dyn Batch {
        self
    }

    fn in_order(&self) -> bool {
        self.lie.in_order() && self.honest.get().in_order()
    }

    fn executed(&self) -> ExecutedWork {
        self.honest.get().executed()
    }
}

impl<H: HonestPipeline, L: Lie> Batch for LyingPipeline<H, L> {
    fn elements(&self) -> usize {
        self.lie.elements(self.honest.get().batch())
    }

    fn kinds(&self) -> &[FieldKind] {
        self.honest.get().batch().kinds()
    }

    fn bytes(&self, field: usize) -> &[u8] {
        self.lie.bytes(self.honest.get().batch(), field)
    }
}

/// Which batches an epoch has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    elements: usize,
    batch: usize,
}

impl Sizes {
    pub(crate) fn of(spec: &weighbridge_loaders::workload::PipelineSpec) -> Self {
        Self { elements: spec.elements().len(), batch: spec.batch_size }
    }

    /// How many there are; the last one may be short.
    pub(crate) fn count(self) -> usize {
        self.elements.div_ceil(self.batch)
    }

    /// The elements of one of them, from the first of the epoch on.
    pub(crate) fn elements(self, batch: usize) -> std::ops::Range<usize> {
        let start = batch * self.batch;
        start..(start + self.batch).min(self.elements)
    }
}
