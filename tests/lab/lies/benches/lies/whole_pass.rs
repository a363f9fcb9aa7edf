//! Lies of loaders that go through a whole pass in one call.

use std::sync::Arc;

use weighbridge::{Result, adapter};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};
use weighbridge_loaders::adapters::native::ReferenceFused;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::PipelineSpec;

/// Batches that nobody asks for in one pass, unless it is to see them all.
const MANY: u64 = 1 << 20;

/// What is done with a pass.
#[derive(Clone, Copy, PartialEq)]
enum Pass {
    /// Every batch is shown twice, and counted once.
    Twice,
    /// The first so many passes show nothing, and say that they are over. The others are honest.
    Unshown(u32),
    /// From the second pass on, the first batch is made and is shown again and again.
    NotMade,
    /// Nothing is wrong with it.
    Honest,
}

struct RemoteEpoch<'a> {
    honest: Box<dyn Epochs + 'a>,
    pass: Pass,
    passes: u64,
}

impl<'a> RemoteEpoch<'a> {
    fn over(honest: Box<dyn Epochs + 'a>, pass: Pass) -> Box<dyn Epochs + 'a> {
        Box::new(Self { honest, pass, passes: 0 })
    }
}

impl Epochs for RemoteEpoch<'_> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.passes += 1;
        self.honest.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        self.honest.advance()
    }

    fn batch(&self) -> &dyn Batch {
        self.honest.batch()
    }

    fn whole_pass(&self) -> bool {
        true
    }

    fn pass(&mut self, batches: u64, each: &mut dyn FnMut(&dyn Batch)) -> Result<u64> {
        match self.pass {
            _ if batches > MANY => self.honest.pass(batches, each),
            Pass::Twice => self.honest.pass(batches, &mut |batch| {
                each(batch);
                each(batch);
            }),
            Pass::Unshown(left) if left > 0 => {
                self.pass = Pass::Unshown(left - 1);
                Ok(batches)
            }
            Pass::NotMade if self.passes > 1 => {
                self.honest.advance()?;
                (0..batches).for_each(|_| each(self.honest.batch()));
                Ok(batches)
            }
            Pass::NotMade | Pass::Unshown(_) | Pass::Honest => self.honest.pass(batches, each),
        }
    }

    fn executed(&self) -> ExecutedWork {
        self.honest.executed()
    }
}

#[derive(Default)]
struct ShownTwice(ReferenceFused);

/// Shows each batch of a pass twice.
#[adapter(name = "shown-twice", tier = 2)]
impl Loader for ShownTwice {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(RemoteEpoch::over(self.0.open(spec, data)?, Pass::Twice))
    }
}

#[derive(Default)]
struct NeverShown(ReferenceFused);

/// Says that it went through a pass and shows nothing of it, a thousand times.
#[adapter(name = "never-shown", tier = 2)]
impl Loader for NeverShown {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(RemoteEpoch::over(self.0.open(spec, data)?, Pass::Unshown(1_000)))
    }
}

#[derive(Default)]
struct NotMade(ReferenceFused);

/// Makes the first pass, and of every later one the first batch alone.
#[adapter(name = "not-made", tier = 2)]
impl Loader for NotMade {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(RemoteEpoch::over(self.0.open(spec, data)?, Pass::NotMade))
    }
}

#[derive(Default)]
struct WholePass(ReferenceFused);

/// Honest: makes and shows every batch of a pass, once.
#[adapter(name = "whole-pass", tier = 2)]
impl Loader for WholePass {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(RemoteEpoch::over(self.0.open(spec, data)?, Pass::Honest))
    }
}
