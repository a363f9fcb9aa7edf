//! Makes batches: rows in, through the lines, into buffers.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use weighbridge::{FieldKind, Result};
use weighbridge_data::{DataSet, Draws};

use super::buffer::{Buffers, Bytes, row_bytes};
use super::chain::{ElementBlock, Indices, Writing};
use super::input::Input;
use super::mixing::mix;
use super::mixture::MixtureOrder;
use super::slowdown::Slowdown;
use crate::adapters::native::line;
use crate::adapters::native::line::{CompiledRoute, RouteRoom, RouteStyle};
use crate::workload::PipelineSpec;

/// An epoch, as whoever makes its batches has to know it.
#[derive(Clone, Debug, Default)]
pub(super) struct MadeEpoch {
    pub(super) number: u64,
    /// The order of its elements, where the data set is mixed.
    order: Arc<MixtureOrder>,
}

impl MadeEpoch {
    /// Throws its order, in the room of the one before.
    pub(super) fn throw(&mut self, spec: &PipelineSpec) {
        if spec.structure.mixture.is_empty() {
            return;
        }
        if Arc::get_mut(&mut self.order).is_none() {
            self.order = Arc::default(); // somebody still has the one before
        }
        let order = Arc::get_mut(&mut self.order).expect("nobody else has it");
        order.throw(spec, Draws::new(spec.seed, self.number));
    }
}

/// Makes the batches of a pipeline on one thread.
#[derive(Debug)]
pub(super) struct Maker {
    style: RouteStyle,
    input: Input,
    lines: Arc<Vec<CompiledRoute>>,
    rooms: Vec<RouteRoom>,
    gathered: Bytes,
    /// The position of the field that has the length of each row, and the lengths of the elements at hand.
    length_field: Option<usize>,
    lengths: Vec<i32>,
    /// The batches that were kept, where the pipeline has a cache.
    kept: Arc<[OnceLock<Buffers>]>,
    slowdown: Slowdown,
    /// The elements of the pipeline's shard: counting them anew takes longer than a small batch.
    all: Range<usize>,
    spec: Arc<PipelineSpec>,
}

impl Maker {
    pub(super) fn open(spec: &Arc<PipelineSpec>, data: &Arc<DataSet>, style: RouteStyle) -> Result<Self> {
        let writing = match style {
            RouteStyle::StepByStep => Writing::Plain,
            RouteStyle::Fused => Writing::Joined,
        };
        let lines = Arc::new(line::compile(spec, data, writing)?);
        Ok(Self {
            style,
            input: Input::open(spec, data)?,
            rooms: lines.iter().map(|_| RouteRoom::default()).collect(),
            length_field: line::length_field(&lines, data),
            lines,
            gathered: Bytes::default(),
            lengths: Vec::new(),
            kept: empty(spec),
            slowdown: Slowdown::from_env()?,
            all: spec.elements(),
            spec: spec.clone(),
        })
    }

    /// Another maker of the same batches, for another thread.
    pub(super) fn another(&self) -> Self {
        Self {
            style: self.style,
            input: self.input.another(&self.spec),
            lines: self.lines.clone(),
            rooms: self.lines.iter().map(|_| RouteRoom::default()).collect(),
            gathered: Bytes::default(),
            length_field: self.length_field,
            lengths: Vec::new(),
            kept: self.kept.clone(),
            slowdown: self.slowdown,
            all: self.all.clone(),
            spec: self.spec.clone(),
        }
    }

    /// The fields of a batch.
    pub(super) fn kinds(&self) -> Arc<[FieldKind]> {
        self.lines.iter().map(|line| line.output.clone()).collect()
    }

    /// Lets go of the batches that were kept; other makers that were made before keep them.
    pub(super) fn forget(&mut self) {
        self.kept = empty(&self.spec);
    }

    /// Returns whether the cache holds a batch.
    pub(super) fn remembers(&self) -> bool {
        self.kept.iter().any(|batch| batch.get().is_some())
    }

    /// Makes the batch of the elements at these places of the epoch.
    pub(super) fn make(
        &mut self,
        epoch: &MadeEpoch,
        places: Range<usize>,
        batch: &mut Buffers,
    ) -> Result<()> {
        let number =
            if self.kept.is_empty() { 0 } else { (places.start - self.all.start) / self.spec.batch_size };
        if let Some(kept) = self.kept.get(number).and_then(OnceLock::get) {
            batch.copy_from(kept);
            return Ok(());
        }
        let draws = Draws::new(self.spec.seed, epoch.number);
        self.slow_down(draws, &epoch.order, &places, batch)?;
        self.fill(draws, &epoch.order, places.clone(), batch)?;
        batch.elements = places.len();
        line::shorten(&self.lines, &self.lengths, batch);
        if let Some(mixing) = self.spec.structure.mixing {
            mix(mixing, draws, places.start, batch);
        }
        if let Some(place) = self.kept.get(number) {
            let _ = place.set(batch.clone()); // another worker may have been as quick: it made the same
        }
        Ok(())
    }

    /// Makes the rows that a slowdown asks for, to be overwritten by the batch. They are those of the batch
    /// that lies opposite in the epoch: rows that were just made would come from the cache and cost less than
    /// their share.
    fn slow_down(
        &mut self,
        draws: Draws,
        order: &MixtureOrder,
        places: &Range<usize>,
        batch: &mut Buffers,
    ) -> Result<()> {
        let mut owed = self.slowdown.rows(places.len());
        let opposite = self.all.start + self.all.end - places.end;
        while owed > 0 {
            let rows = owed.min(places.len());
            self.fill(draws, order, opposite..opposite + rows, batch)?;
            owed -= rows;
        }
        Ok(())
    }

    /// Fills the first rows of a batch with the elements at these places.
    fn fill(
        &mut self,
        draws: Draws,
        order: &MixtureOrder,
        places: Range<usize>,
        batch: &mut Buffers,
    ) -> Result<()> {
        let Self { input, lines, rooms, gathered, lengths, .. } = self;
        let elements = if self.spec.structure.mixture.is_empty() {
            Indices::From(places.start)
        } else {
            Indices::Listed(order.at(places.clone()))
        };
        lengths.clear();
        if let Some(field) = self.length_field {
            let bytes = rows(input, gathered, field, elements, &places, size_of::<i32>())?;
            lengths.extend_from_slice(bytemuck::cast_slice(bytes));
        }
        let block = ElementBlock { draws, elements, lengths };
        for (field, (line, room)) in lines.iter().zip(rooms).enumerate() {
            let source_row = row_bytes(&self.spec.source.fields[line.source].kind);
            let from = rows(input, gathered, line.source, elements, &places, source_row)?;
            let to = batch.first_mut(field, places.len());
            line.run(self.style, block, from, source_row, room, to);
        }
        Ok(())
    }
}

/// A place for each batch of an epoch, if the pipeline keeps them.
fn empty(spec: &PipelineSpec) -> Arc<[OnceLock<Buffers>]> {
    let batches = if spec.structure.cache { spec.elements().len().div_ceil(spec.batch_size) } else { 0 };
    (0..batches).map(|_| OnceLock::new()).collect()
}

/// The bytes of some elements of a field, one after the other.
fn rows<'a>(
    input: &'a mut Input,
    gathered: &'a mut Bytes,
    field: usize,
    elements: Indices<'_>,
    places: &Range<usize>,
    row: usize,
) -> Result<&'a [u8]> {
    let Indices::Listed(listed) = elements else { return input.rows(field, places.clone()) };
    let to = gathered.room(listed.len() * row);
    for (&element, to) in listed.iter().zip(to.chunks_exact_mut(row.max(1))) {
        to.copy_from_slice(input.rows(field, element..element + 1)?);
    }
    Ok(to)
}
