//! Loaders that are wrong on purpose.

use std::sync::Arc;

use weighbridge::{Delivery, FieldKind, ItemCopy, Result};
use weighbridge_data::{Batch, DataSet, DataSpec, Epochs, ExecutedWork};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::PipelineSpec;

use crate::{batches, content, data, epoch};

/// A fault that a loader can have.
#[derive(Clone, Copy, Debug)]
enum Fault {
    FlipsABit,
    RepeatsARow,
    LeavesOutTheEnd,
    RenamesAField,
}

/// The reference, spoilt.
struct WrongSubject(Fault);

impl Loader for WrongSubject {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let mut right = Reference;
        let batches = epoch(&mut *right.open(spec, data)?, 0);
        Ok(Box::new(SpoiltEpochs { fault: self.0, batches, kinds: spec.output()?, next: 0 }))
    }
}

struct SpoiltEpochs {
    fault: Fault,
    batches: Vec<ItemCopy>,
    kinds: Vec<FieldKind>,
    next: usize,
}

impl Epochs for SpoiltEpochs {
    fn begin(&mut self, _epoch: u64) -> Result<()> {
        self.next = 0;
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        let end = self.batches.len() - usize::from(matches!(self.fault, Fault::LeavesOutTheEnd));
        self.next += 1;
        if self.next > end {
            return Ok(false);
        }
        let field = &mut self.batches[self.next - 1].fields[0];
        let row = field.shape.iter().product::<usize>() * field.dtype.size();
        match self.fault {
            Fault::FlipsABit => field.bytes[7] ^= 1,
            Fault::RepeatsARow => field.bytes.copy_within(0..row, row),
            Fault::RenamesAField => self.kinds[0].name = "picture".into(),
            Fault::LeavesOutTheEnd => {}
        }
        Ok(true)
    }

    fn batch(&self) -> &dyn Batch {
        self
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), Delivery::Owned, 0)
    }
}

impl Batch for SpoiltEpochs {
    fn elements(&self) -> usize {
        self.batches[self.next - 1].elements
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    fn bytes(&self, field: usize) -> &[u8] {
        &self.batches[self.next - 1].fields[field].bytes
    }
}

#[test]
fn a_loader_that_does_other_work_is_caught_by_its_content() {
    let spec = PipelineSpec::new(DataSpec::images(40, 8, 3), 8);
    let (_place, data) = data(&spec);
    let right = content(&batches(&mut Reference, &spec, &data));
    for fault in [Fault::FlipsABit, Fault::RepeatsARow, Fault::LeavesOutTheEnd, Fault::RenamesAField] {
        let wrong = content(&batches(&mut WrongSubject(fault), &spec, &data));
        assert_ne!(wrong.digest, right.digest, "{fault:?}");
    }
}
