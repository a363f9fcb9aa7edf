//! A state in memory of its own: one run of pages, in which every tensor begins at a page.

use std::sync::Arc;

use memmap2::MmapMut;
use weighbridge::{FieldCopy, ItemCopy, Result};
use weighbridge_data::DataSet;

use super::layout::TensorLayout;
use crate::workload::StateChange;

/// The tensors of a state, page-aligned, as writes past the page cache want them.
#[derive(Debug)]
pub(super) struct OwnedTensors {
    layout: Arc<TensorLayout>,
    memory: MmapMut,
}

impl OwnedTensors {
    /// Room for a state, not touched yet.
    ///
    /// # Errors
    /// When there is no such memory.
    pub(super) fn room(layout: Arc<TensorLayout>) -> Result<Self> {
        let memory = MmapMut::map_anon(layout.bytes())?;
        // A state is touched for the first time from one end to the other: with large pages the kernel is
        // asked 512 times less. Where it has none, small ones do.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Ok(Self { layout, memory })
    }

    /// A copy of a data set of one element.
    ///
    /// # Errors
    /// As [`OwnedTensors::room`].
    pub(super) fn copy(data: &DataSet) -> Result<Self> {
        let mut owned = Self::room(Arc::new(TensorLayout::of(data)))?;
        for (field, tensor) in owned.layout.tensors.iter().enumerate() {
            owned.memory[tensor.offset..][..tensor.bytes].copy_from_slice(data.rows(field, 0..1));
        }
        Ok(owned)
    }

    /// Another copy.
    ///
    /// # Errors
    /// As [`OwnedTensors::room`].
    pub(super) fn again(&self) -> Result<Self> {
        let mut owned = Self::room(self.layout.clone())?;
        owned.memory.copy_from_slice(&self.memory);
        Ok(owned)
    }

    /// Changes the tensors where they lie.
    pub(super) fn change(&mut self, change: &StateChange) {
        for (field, tensor) in self.layout.tensors.iter().enumerate() {
            let numbers = &mut self.memory[tensor.offset..][..tensor.bytes];
            change.apply(field, tensor.kind.dtype.size(), numbers);
        }
    }

    pub(super) fn layout(&self) -> &Arc<TensorLayout> {
        &self.layout
    }

    /// The bytes of a tensor.
    pub(super) fn tensor(&self, field: usize) -> &[u8] {
        let tensor = &self.layout.tensors[field];
        &self.memory[tensor.offset..][..tensor.bytes]
    }

    /// A tensor as content that can be verified.
    pub(super) fn kept(&self, field: usize) -> ItemCopy {
        let kind = &self.layout.tensors[field].kind;
        let field = FieldCopy {
            name: kind.name.clone(),
            dtype: kind.dtype,
            shape: kind.shape.clone(),
            bytes: self.tensor(field).to_vec(),
        };
        ItemCopy { elements: 1, fields: vec![field] }
    }

    /// Everything, with the gaps between tensors.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.memory
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory
    }
}
