//! A copy of a batch.

use weighbridge::FieldKind;
use weighbridge_data::Batch;

/// A copy of a batch, in memory of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct BatchCopy {
    pub(crate) elements: usize,
    kinds: Vec<FieldKind>,
    fields: Vec<Vec<u8>>,
}

impl BatchCopy {
    pub(crate) fn of(batch: &dyn Batch) -> Self {
        let mut copied = Self::default();
        copied.take(batch);
        copied
    }

    /// Takes another batch in, in the same memory.
    pub(crate) fn take(&mut self, batch: &dyn Batch) {
        self.elements = batch.elements();
        if self.kinds != batch.kinds() {
            self.kinds = batch.kinds().to_vec();
        }
        self.fields.resize_with(self.kinds.len(), Vec::new);
        for (field, bytes) in self.fields.iter_mut().enumerate() {
            bytes.clear();
            bytes.extend_from_slice(batch.bytes(field));
        }
    }

    /// Takes other bytes for a field: as many as its elements have, zeros where there are fewer.
    pub(crate) fn take_field(&mut self, field: usize, bytes: &[u8]) {
        let room = self.elements * row(&self.kinds[field]);
        self.fields[field].clear();
        self.fields[field].extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.fields[field].resize(room, 0);
    }

    /// A batch of these fields, filled with zeros.
    pub(crate) fn zeros(kinds: &[FieldKind], elements: usize) -> Self {
        let room = |kind: &FieldKind| vec![0; elements * row(kind)];
        Self { elements, kinds: kinds.to_vec(), fields: kinds.iter().map(room).collect() }
    }

    /// The bytes of a field, to be changed.
    pub(crate) fn field_mut(&mut self, field: usize) -> &mut [u8] {
        &mut self.fields[field]
    }

    /// The bytes of the first elements of a field.
    pub(crate) fn first(&self, field: usize, elements: usize) -> &[u8] {
        &self.fields[field][..elements * row(&self.kinds[field])]
    }
}

impl Batch for BatchCopy {
    fn elements(&self) -> usize {
        self.elements
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    fn bytes(&self, field: usize) -> &[u8] {
        self.first(field, self.elements)
    }
}

/// Bytes of an element.
pub(crate) fn row(kind: &FieldKind) -> usize {
    kind.shape.iter().product::<usize>() * kind.dtype.size()
}
