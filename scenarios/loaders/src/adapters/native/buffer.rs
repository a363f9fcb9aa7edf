//! The buffers of a batch: made once, filled again and again.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use weighbridge::FieldKind;
use weighbridge_data::Batch;

/// A line of the processor's cache, and the widest of its registers: no load or store within one touches two.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct BufferLine([u8; 64]);

/// Bytes that are aligned for every type of number, and for a cache's lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Bytes {
    lines: Vec<BufferLine>,
}

impl Bytes {
    /// Zeros, enough for `bytes`. They are written, so the system has given the memory.
    pub(super) fn new(bytes: usize) -> Self {
        Self { lines: vec![BufferLine::zeroed(); bytes.div_ceil(size_of::<BufferLine>())] }
    }

    pub(super) fn first(&self, bytes: usize) -> &[u8] {
        &bytemuck::cast_slice(&self.lines)[..bytes]
    }

    pub(super) fn first_mut(&mut self, bytes: usize) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..bytes]
    }

    /// The first bytes, after growing where there are fewer: only the first call with so many allocates.
    pub(super) fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.lines.len() * size_of::<BufferLine>() < bytes {
            self.lines.resize(bytes.div_ceil(size_of::<BufferLine>()), BufferLine::zeroed());
        }
        self.first_mut(bytes)
    }

    /// A copy of these bytes.
    pub(super) fn copy_of(&mut self, bytes: &[u8]) -> &[u8] {
        let room = self.room(bytes.len());
        room.copy_from_slice(bytes);
        room
    }
}

/// One batch.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    /// The number of elements in it now.
    pub(super) elements: usize,
    /// As they are now: a field that is padded dynamically has another length in each batch.
    kinds: Vec<FieldKind>,
    fields: Vec<BufferField>,
}

#[derive(Clone, Debug)]
struct BufferField {
    bytes: Bytes,
    /// Bytes of an element now, and at most.
    row: usize,
    whole_row: usize,
}

impl Buffers {
    /// Room for `batch_size` elements of these fields.
    pub(super) fn new(kinds: &Arc<[FieldKind]>, batch_size: usize) -> Self {
        let room = |kind: &FieldKind| {
            let row = row_bytes(kind);
            BufferField { bytes: Bytes::new(batch_size * row), row, whole_row: row }
        };
        Self { elements: 0, kinds: kinds.to_vec(), fields: kinds.iter().map(room).collect() }
    }

    /// The room of the first elements of a field, at full length.
    pub(super) fn first_mut(&mut self, field: usize, elements: usize) -> &mut [u8] {
        let BufferField { bytes, row, whole_row } = &mut self.fields[field];
        *row = *whole_row;
        bytes.first_mut(elements * *row)
    }

    /// The numbers of a field, and the bytes of one element.
    pub(super) fn rows_mut(&mut self, field: usize) -> (&mut [u8], usize) {
        let BufferField { bytes, row, .. } = &mut self.fields[field];
        (bytes.first_mut(self.elements * *row), *row)
    }

    /// Ends the elements of a field with one axis after `length` numbers, and moves them together.
    pub(super) fn shorten(&mut self, field: usize, length: usize) {
        let kind = &mut self.kinds[field];
        kind.shape[0] = length;
        let BufferField { bytes, row, whole_row } = &mut self.fields[field];
        *row = length * kind.dtype.size();
        let all = bytes.first_mut(self.elements * *whole_row);
        for element in 1..self.elements {
            let start = element * *whole_row;
            all.copy_within(start..start + *row, element * *row);
        }
    }

    /// Becomes a copy of another batch of the same fields.
    pub(super) fn copy_from(&mut self, other: &Self) {
        self.elements = other.elements;
        for (field, (own, theirs)) in self.fields.iter_mut().zip(&other.fields).enumerate() {
            self.kinds[field].shape.copy_from_slice(&other.kinds[field].shape);
            own.row = theirs.row;
            let bytes = other.elements * theirs.row;
            own.bytes.first_mut(bytes).copy_from_slice(theirs.bytes.first(bytes));
        }
    }

    /// Adds `count` elements of another batch of the same fields and shapes, from `start` on.
    pub(super) fn append(&mut self, other: &Self, start: usize, count: usize) {
        for (own, theirs) in self.fields.iter_mut().zip(&other.fields) {
            let from = &theirs.bytes.first((start + count) * theirs.row)[start * theirs.row..];
            own.bytes.first_mut((self.elements + count) * own.row)[self.elements * own.row..]
                .copy_from_slice(from);
        }
        self.elements += count;
    }
}

impl Batch for Buffers {
    fn elements(&self) -> usize {
        self.elements
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    fn bytes(&self, field: usize) -> &[u8] {
        let BufferField { bytes, row, .. } = &self.fields[field];
        bytes.first(self.elements * row)
    }
}

/// Bytes of one element of a field.
pub(super) fn row_bytes(kind: &FieldKind) -> usize {
    kind.shape.iter().product::<usize>() * kind.dtype.size()
}
