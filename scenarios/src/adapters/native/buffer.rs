//! The buffers of a batch: made once, filled again and again.

use std::sync::Arc;

use weighbridge::FieldKind;

use crate::contract::Batch;

/// Bytes that are aligned for every type of number.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    words: Vec<u64>,
}

impl Bytes {
    /// Zeros, enough for `bytes`.
    pub(super) fn new(bytes: usize) -> Self {
        Self { words: vec![0; bytes.div_ceil(8)] }
    }

    pub(super) fn first(&self, bytes: usize) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..bytes]
    }

    pub(super) fn first_mut(&mut self, bytes: usize) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..bytes]
    }
}

/// One batch.
#[derive(Debug)]
pub(super) struct Buffers {
    /// How many elements are in it now.
    pub(super) elements: usize,
    kinds: Arc<[FieldKind]>,
    fields: Vec<(Bytes, usize)>,
}

impl Buffers {
    /// Room for `batch_size` elements of these fields.
    pub(super) fn new(kinds: &Arc<[FieldKind]>, batch_size: usize) -> Self {
        let room = |kind: &FieldKind| (Bytes::new(batch_size * row_bytes(kind)), row_bytes(kind));
        Self { elements: 0, kinds: kinds.clone(), fields: kinds.iter().map(room).collect() }
    }

    /// The room of the first elements of a field.
    pub(super) fn first_mut(&mut self, field: usize, elements: usize) -> &mut [u8] {
        let (bytes, row) = &mut self.fields[field];
        bytes.first_mut(elements * *row)
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
        let (bytes, row) = &self.fields[field];
        bytes.first(self.elements * row)
    }
}

/// Bytes of one element of a field.
pub(super) fn row_bytes(kind: &FieldKind) -> usize {
    kind.shape.iter().product::<usize>() * kind.dtype.size()
}
