//! `eager`: one element after the other, each transform called through a pointer and giving a new array.

use weighbridge::Result;
use weighbridge_data::{DataSet, Draws};

use crate::adapters::native::buffer::Bytes;
use crate::adapters::native::chain::{ChainScratch, ElementBlock, Indices, KernelChain, Writing};
use crate::workload::{Route, Touch};

/// A transform of one element.
pub(super) trait EagerOperation {
    /// The element after it, in an array of its own.
    fn apply(&mut self, block: ElementBlock<'_>, element: &[u8]) -> Bytes;

    /// Returns the number of bytes of that array that are the element.
    fn size(&self) -> usize;
}

/// A list of one transform, as other ways run it.
struct Single {
    chain: KernelChain,
    scratch: ChainScratch,
}

impl EagerOperation for Single {
    fn apply(&mut self, block: ElementBlock<'_>, element: &[u8]) -> Bytes {
        let mut out = Bytes::new(self.size());
        self.chain.run(block, element, &mut self.scratch, out.first_mut(self.chain.output_row()));
        out
    }

    fn size(&self) -> usize {
        self.chain.output_row()
    }
}

/// The transforms of a field.
pub(super) fn operations(route: &Route, data: &DataSet) -> Result<Vec<Box<dyn EagerOperation>>> {
    let operation = |touch: &Touch| -> Result<Box<dyn EagerOperation>> {
        let alone = std::slice::from_ref(touch);
        let chain = KernelChain::compile(alone, data, route.source, &touch.before, Writing::Plain)?;
        Ok(Box::new(Single { chain, scratch: ChainScratch::default() }))
    };
    route.trunk.iter().map(operation).collect()
}

/// One element through all of them.
pub(super) fn run(
    operations: &mut [Box<dyn EagerOperation>],
    draws: Draws,
    index: usize,
    from: &[u8],
    to: &mut [u8],
) {
    let mut element = Bytes::default();
    element.copy_of(from);
    let mut size = from.len();
    for operation in operations {
        let block = ElementBlock { draws, elements: Indices::From(index), lengths: &[] };
        element = operation.apply(block, element.first(size));
        size = operation.size();
    }
    to.copy_from_slice(element.first(size));
}
