//! Epochs in any order that leave elements out and give others again; and an honest one, whose batches change
//! places.

use std::sync::Arc;

use weighbridge::{Result, adapter};
use weighbridge_data::{Batch, DataSet, Epochs};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::PipelineSpec;

use crate::copied::BatchCopy;
use crate::lie::{Lie, LyingPipeline, Sizes};

/// The order in which batches are given out, each by its number in the reference's epoch.
type Order = fn(place: usize, count: usize) -> usize;

/// Once it has seen an epoch to its end, gives out batches in an order of its own: one that was made before
/// is there still.
struct Reordered {
    count: usize,
    order: Order,
    knows: bool,
    /// Places for batches, and how many of them are of this epoch.
    places: Vec<BatchCopy>,
    made: usize,
    /// The last batch, which may be short.
    last: BatchCopy,
    next: usize,
}

impl Reordered {
    fn new(spec: &PipelineSpec, order: Order) -> Self {
        let (places, last) = (Vec::new(), BatchCopy::default());
        Self { count: Sizes::of(spec).count(), order, knows: false, places, made: 0, last, next: 0 }
    }

    fn number(&self, place: usize) -> usize {
        if self.knows { (self.order)(place, self.count) } else { place }
    }

    fn batch(&self, place: usize) -> &BatchCopy {
        let number = self.number(place);
        if number + 1 == self.count { &self.last } else { &self.places[number] }
    }

    /// The batches that must be made for the one at this place.
    fn due(&self, place: usize) -> usize {
        let number = self.number(place);
        if self.knows && number + 1 == self.count { 0 } else { number + 1 }
    }
}

impl Lie for Reordered {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        self.knows = self.last.elements > 0;
        (self.made, self.next) = (0, 0);
        honest.begin(epoch)
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        if self.next == self.count {
            return Ok(false);
        }
        while self.made < self.due(self.next) && honest.advance()? {
            if self.made == self.places.len() {
                self.places.push(BatchCopy::default());
            }
            self.places[self.made].take(honest.batch());
            self.made += 1;
            if self.made == self.count {
                self.last.clone_from(&self.places[self.count - 1]);
            }
        }
        self.next += 1;
        Ok(true)
    }

    fn elements(&self, _: &dyn Batch) -> usize {
        self.batch(self.next - 1).elements()
    }

    fn bytes<'b>(&'b self, _: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.batch(self.next - 1).bytes(field)
    }

    fn in_order(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct HalfTwice(Reference);

/// Each batch of the first half twice, and none of the second but the last.
#[adapter(name = "half-twice", tier = 2)]
impl Loader for HalfTwice {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let twice: Order = |place, count| if place + 1 == count { place } else { place / 2 };
        Ok(LyingPipeline::over(self.0.open(spec, data)?, Reordered::new(spec, twice)))
    }
}

#[derive(Default)]
struct HalfAgain(Reference);

/// The first half of the batches, and then those again.
#[adapter(name = "half-again", tier = 2)]
impl Loader for HalfAgain {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let again: Order = |place, count| if place + 1 == count { place } else { place % count.div_ceil(2) };
        Ok(LyingPipeline::over(self.0.open(spec, data)?, Reordered::new(spec, again)))
    }
}

/// Gives out each two batches the other way round.
struct Pairs {
    count: usize,
    pair: [BatchCopy; 2],
    next: usize,
}

impl Pairs {
    /// True if the batch at this place stands alone: it is the last, or has no other beside it.
    fn is_alone(&self, place: usize) -> bool {
        (place | 1) + 1 >= self.count
    }
}

impl Lie for Pairs {
    fn begin(&mut self, honest: &mut dyn Epochs, epoch: u64) -> Result<()> {
        self.next = 0;
        honest.begin(epoch)
    }

    fn advance(&mut self, honest: &mut dyn Epochs) -> Result<bool> {
        let place = self.next;
        if place == self.count {
            return Ok(false);
        }
        self.next += 1;
        if self.is_alone(place) {
            return honest.advance();
        }
        if place.is_multiple_of(2) {
            for copy in &mut self.pair {
                honest.advance()?;
                copy.take(honest.batch());
            }
        }
        Ok(true)
    }

    fn elements(&self, honest: &dyn Batch) -> usize {
        let place = self.next - 1;
        if self.is_alone(place) { honest.elements() } else { self.pair[1 - place % 2].elements() }
    }

    fn bytes<'b>(&'b self, honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        let place = self.next - 1;
        if self.is_alone(place) { honest.bytes(field) } else { self.pair[1 - place % 2].bytes(field) }
    }

    fn in_order(&self) -> bool {
        false
    }
}

#[derive(Default)]
struct PairsSwapped(Reference);

/// All batches, each two of them the other way round.
#[adapter(name = "pairs-swapped", tier = 2)]
impl Loader for PairsSwapped {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let (count, pair) = (Sizes::of(spec).count(), Default::default());
        Ok(LyingPipeline::over(self.0.open(spec, data)?, Pairs { count, pair, next: 0 }))
    }
}
