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
pub(crate) struct LyingPipeline<'a, L> {
    honest: Box<dyn Epochs + 'a>,
    lie: L,
}

impl<'a, L: Lie + 'a> LyingPipeline<'a, L> {
    /// Tells `lie` over what was opened.
    pub(crate) fn over(honest: Box<dyn Epochs + 'a>, lie: L) -> Box<dyn Epochs + 'a> {
        Box::new(Self { honest, lie })
    }
}

impl<L: Lie> Epochs for LyingPipeline<'_, L> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.lie.begin(&mut *self.honest, epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        self.lie.advance(&mut *self.honest)
    }

    fn batch(&self) -> &dyn Batch {
        self
    }

    fn in_order(&self) -> bool {
        self.lie.in_order() && self.honest.in_order()
    }

    fn executed(&self) -> ExecutedWork {
        self.honest.executed()
    }
}

impl<L: Lie> Batch for LyingPipeline<'_, L> {
    fn elements(&self) -> usize {
        self.lie.elements(self.honest.batch())
    }

    fn kinds(&self) -> &[FieldKind] {
        self.honest.batch().kinds()
    }

    fn bytes(&self, field: usize) -> &[u8] {
        self.lie.bytes(self.honest.batch(), field)
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
