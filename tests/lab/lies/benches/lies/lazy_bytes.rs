//! Bytes that are made when somebody looks at them, are fewer than is said, or are not the adapter's own.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;

use weighbridge::{FieldKind, Result, adapter, skip};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};
use weighbridge_loaders::adapters::native::Reference;
use weighbridge_loaders::contract::Loader;
use weighbridge_loaders::workload::PipelineSpec;

use crate::copied::BatchCopy;
use crate::lie::{Lie, LyingPipeline, Sizes};

/// Makes a batch when its bytes are asked for, and not before.
struct Lazy<'a> {
    honest: RefCell<Seeker<'a>>,
    executed: ExecutedWork,
    kinds: Vec<FieldKind>,
    sizes: Sizes,
    current: usize,
    next: usize,
    made: OnceCell<BatchCopy>,
    /// Handed out to who asks for the bytes of a field for the first time, if anything is.
    first: Option<BatchCopy>,
    /// Fields that were asked for, one bit each.
    asked: Cell<u64>,
}

/// An honest pipeline that goes to any batch.
struct Seeker<'a> {
    honest: Box<dyn Epochs + 'a>,
    /// The batch that it makes next; none before it was begun.
    next: Option<usize>,
}

impl Seeker<'_> {
    fn make(&mut self, batch: usize) -> Result<BatchCopy> {
        if self.next.is_none_or(|next| next > batch) {
            self.honest.begin(0)?;
            self.next = Some(0);
        }
        while self.next.is_some_and(|next| next <= batch) {
            self.honest.advance()?;
            self.next = self.next.map(|next| next + 1);
        }
        Ok(BatchCopy::of(self.honest.batch()))
    }
}

impl<'a> Lazy<'a> {
    fn new(honest: Box<dyn Epochs + 'a>, spec: &PipelineSpec) -> Self {
        Self {
            executed: honest.executed(),
            kinds: honest.batch().kinds().to_vec(),
            sizes: Sizes::of(spec),
            honest: RefCell::new(Seeker { honest, next: None }),
            current: 0,
            next: 0,
            made: OnceCell::new(),
            first: None,
            asked: Cell::new(0),
        }
    }
}

impl Epochs for Lazy<'_> {
    fn begin(&mut self, _epoch: u64) -> Result<()> {
        self.next = 0;
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        (self.current, self.made) = (self.next, OnceCell::new());
        self.asked.set(0);
        self.next += 1;
        Ok(self.current < self.sizes.count())
    }

    fn batch(&self) -> &dyn Batch {
        self
    }

    fn executed(&self) -> ExecutedWork {
        self.executed.clone()
    }
}

impl Batch for Lazy<'_> {
    fn elements(&self) -> usize {
        self.sizes.elements(self.current).len()
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    fn bytes(&self, field: usize) -> &[u8] {
        let is_first = self.asked.get() & (1 << field) == 0;
        self.asked.set(self.asked.get() | 1 << field);
        if let Some(first) = self.first.as_ref().filter(|_| is_first) {
            return first.first(field, self.elements());
        }
        let make = || self.honest.borrow_mut().make(self.current).expect("the reference makes every batch");
        self.made.get_or_init(make).bytes(field)
    }
}

#[derive(Default)]
struct SecondLook(Reference);

/// Zeros for who asks for the length of a field, and the batch for who asks again, to look into it.
#[adapter(name = "second-look", tier = 2)]
impl Loader for SecondLook {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let mut lazy = Lazy::new(self.0.open(spec, data)?, spec);
        lazy.first = Some(BatchCopy::zeros(&lazy.kinds, lazy.sizes.elements(0).len()));
        Ok(Box::new(lazy))
    }
}

/// Says that a batch holds a quarter more elements than its bytes are of.
struct MoreThanHeld;

impl Lie for MoreThanHeld {
    fn elements(&self, honest: &dyn Batch) -> usize {
        honest.elements() * 5 / 4
    }
}

#[derive(Default)]
struct Overfull(Reference);

/// A quarter more elements than the bytes hold, from the first batch on.
#[adapter(name = "more-than-held", tier = 2)]
impl Loader for Overfull {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(LyingPipeline::over(self.0.open(spec, data)?, MoreThanHeld))
    }
}

/// Hands out the rows of the data set, where nothing but copies of them is asked for.
struct View {
    data: Arc<DataSet>,
    sizes: Sizes,
    next: usize,
}

impl Lie for View {
    fn begin(&mut self, _honest: &mut dyn Epochs, _epoch: u64) -> Result<()> {
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

    fn bytes<'b>(&'b self, _honest: &'b dyn Batch, field: usize) -> &'b [u8] {
        self.data.rows(field, self.sizes.elements(self.next - 1))
    }
}

#[derive(Default)]
struct ViewAsOwn(Reference);

/// Views of the data set, which it calls batches of its own.
#[adapter(name = "view-as-own", tier = 2)]
impl Loader for ViewAsOwn {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        if !spec.transforms.is_empty() {
            return Err(skip("what is transformed is no view"));
        }
        let lie = View { data: data.clone(), sizes: Sizes::of(spec), next: 0 };
        Ok(LyingPipeline::over(self.0.open(spec, data)?, lie))
    }
}

#[derive(Default)]
struct LazyButAsked(Reference);

/// Makes a batch when its bytes are asked for: who asks while the clock runs pays for it there.
#[adapter(name = "lazy-but-asked", tier = 2)]
impl Loader for LazyButAsked {
    fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        Ok(Box::new(Lazy::new(self.0.open(spec, data)?, spec)))
    }
}
