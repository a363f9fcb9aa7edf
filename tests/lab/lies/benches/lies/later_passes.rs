//! Honest while somebody may look, and not from some pass on.

use std::sync::Arc;

use weighbridge::{Result, adapter, skip};
use weighbridge_data::{Batch, DataSet, Epochs};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::PipelineSpec;

use crate::copied::{BatchCopy, row};
use crate::lie::{Lie, LyingPipeline, Sizes};

/// Tells a lie in some passes and is honest in the others. Passes are counted from 1, since the process
/// started.
struct Then<L> {
    lies_in: fn(u64) -> bool,
    passes: u64,
    lie: L,
}

impl<L> Then<L> {
    /// Honest in the whole first pass.
    fn later(lie: L) -> Self {
        Self { lies_in: |pass| pass > 1, passes: 0, lie }
    }

    fn is_lying(&self) -> bool {
        (self.lies_in)(self.passes)
    }
}

impl<L: Lie> Lie for Then<L> {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        self.passes += 1;
        if self.is_lying() { self.lie.begin(honest, epoch) } else { honest.begin(epoch) }
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        if self.is_lying() { self.lie.advance(honest) } else { honest.advance() }
    }

    fn elements(&self, honest: &dyn Batch) -> usize {
        if self.is_lying() { self.lie.elements(honest) } else { honest.elements() }
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        if self.is_lying() { self.lie.bytes(honest, field) } else { honest.bytes(field) }
    }
}

/// Makes the first batch of a pass and hands it out as all the others.
struct Again {
    batches: usize,
    given: usize,
}

impl Again {
    fn new(spec: &PipelineSpec) -> Self {
        Self { batches: Sizes::of(spec).count(), given: 0 }
    }
}

impl Lie for Again {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        self.given = 0;
        honest.begin(epoch)
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        if self.given == 0 {
            honest.advance()?;
        }
        self.given += 1;
        Ok(self.given <= self.batches)
    }
}

/// Makes nothing, and hands out memory that has been zero since the pipeline was opened.
struct Nothing {
    sizes: Sizes,
    next: usize,
    zeros: BatchCopy,
}

impl Nothing {
    fn new(spec: &PipelineSpec) -> Self {
        Self { sizes: Sizes::of(spec), next: 0, zeros: BatchCopy::default() }
    }
}

impl Lie for Nothing {
    fn begin(&mut self, honest: &mut dyn Epochs, _epoch: u64) -> Result<()> {
        if self.zeros.elements == 0 {
            self.zeros = BatchCopy::zeros(honest.batch().kinds(), self.sizes.elements(0).len());
        }
        self.next = 0;
        Ok(())
    }

    fn advance(&mut self, _honest: &mut dyn Epochs) -> Result<bool> {
        self.next += 1;
        Ok(self.next <= self.sizes.count())
    }

    fn elements(&self, _honest: &dyn Batch) -> usize {
        self.sizes.elements(self.next - 1).len()
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.zeros.first(field, self.elements(honest))
    }
}

/// Copies rows of the data set as they are into batches of the right shape.
struct Raw {
    data: Arc<DataSet>,
    nothing: Nothing,
    /// Of each delivered field: where it comes from, and the bytes of an element there and here.
    fields: Vec<(usize, usize, usize)>,
}

impl Raw {
    fn new(spec: &PipelineSpec, data: &Arc<DataSet>) -> Self {
        Self { data: data.clone(), nothing: Nothing::new(spec), fields: Vec::new() }
    }
}

impl Lie for Raw {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        let kinds = honest.batch().kinds();
        let source = |name: &str| {
            let field = self.data.kinds().position(|kind| kind.name == name).expect("no field is added");
            (field, self.data.kinds().nth(field).map_or(0, row))
        };
        self.fields = kinds
            .iter()
            .map(|kind| {
                let (field, there) = source(&kind.name);
                (field, there, row(kind))
            })
            .collect();
        self.nothing.begin(honest, epoch)
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        let some = self.nothing.advance(honest)?;
        if some {
            let elements = self.nothing.sizes.elements(self.nothing.next - 1);
            for (position, (field, there, here)) in self.fields.iter().enumerate() {
                let rows = self.data.rows(*field, elements.clone());
                let bytes = elements.len() * there.min(here);
                self.nothing.zeros.field_mut(position)[..bytes].copy_from_slice(&rows[..bytes]);
            }
        }
        Ok(some)
    }

    fn elements(&self, honest: &dyn Batch) -> usize {
        self.nothing.elements(honest)
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.nothing.bytes(honest, field)
    }
}

/// Says that a batch holds more elements than it does: so many for each that is there, in quarters.
struct More {
    quarters: usize,
}

impl Lie for More {
    fn elements(&self, honest: &dyn Batch) -> usize {
        honest.elements() * self.quarters / 4
    }
}

#[derive(Default)]
struct SameBatch(Reference);

/// From the second pass on, the first batch again and again.
#[adapter(name = "same-batch", tier = 2)]
impl Loader for SameBatch {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, Then::later(Again::new(spec))))
    }
}

#[derive(Default)]
struct Zeros(Reference);

/// From the second pass on, zeros.
#[adapter(name = "zeros", tier = 2)]
impl Loader for Zeros {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, Then::later(Nothing::new(spec))))
    }
}

#[derive(Default)]
struct ZerosFromTheThird(Reference);

/// Zeros, but only from the third pass on.
#[adapter(name = "zeros-from-the-third", tier = 2)]
impl Loader for ZerosFromTheThird {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let lie = Then { lies_in: |pass| pass > 2, passes: 0, lie: Nothing::new(spec) };
        Ok(LyingPipeline::over(self.0.open(spec, data)?, lie))
    }
}

#[derive(Default)]
struct RawBytes(Reference);

/// From the second pass on, the rows as they are: no transform.
#[adapter(name = "raw-bytes", tier = 2)]
impl Loader for RawBytes {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        if spec.transforms.is_empty() {
            return Err(skip("there is no transform that could be left out"));
        }
        Ok(LyingPipeline::over(self.0.open(spec, data)?, Then::later(Raw::new(spec, data))))
    }
}

#[derive(Default)]
struct EveryOtherPass(Reference);

/// Zeros in every second pass.
#[adapter(name = "every-other-pass", tier = 2)]
impl Loader for EveryOtherPass {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let lie = Then { lies_in: |pass| pass % 2 == 0, passes: 0, lie: Nothing::new(spec) };
        Ok(LyingPipeline::over(self.0.open(spec, data)?, lie))
    }
}

#[derive(Default)]
struct QuarterMore(Reference);

/// From the second pass on, a quarter more elements than there are.
#[adapter(name = "quarter-more", tier = 2)]
impl Loader for QuarterMore {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, Then::later(More { quarters: 5 })))
    }
}

#[derive(Default)]
struct Thousandfold(Reference);

/// From the second pass on, a thousand times as many elements as there are.
#[adapter(name = "thousandfold", tier = 2)]
impl Loader for Thousandfold {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, Then::later(More { quarters: 4_000 })))
    }
}

/// Copies every batch into a buffer of its own, the same one each time.
struct IntoOne(BatchCopy);

impl Lie for IntoOne {
    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        let some = honest.advance()?;
        self.0.take(honest.batch());
        Ok(some)
    }

    fn bytes<'b>(&'b self, _honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.0.bytes(field)
    }
}

#[derive(Default)]
struct OneBuffer(Reference);

/// Honest in every pass, in one buffer for all batches.
#[adapter(name = "one-buffer", tier = 2)]
impl Loader for OneBuffer {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, IntoOne(BatchCopy::default())))
    }
}
