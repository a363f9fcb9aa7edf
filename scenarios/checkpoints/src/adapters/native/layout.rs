//! Where the tensors of a state lie in its run of bytes, in memory and in files alike.

use serde::{Deserialize, Serialize};
use weighbridge::FieldKind;
use weighbridge_data::DataSet;

use crate::contract::TensorHeader;

/// Bytes of a page, and the least that a write past the page cache is aligned to.
pub(super) const PAGE: usize = 4096;

/// The tensors of a state, one after the other, each from the beginning of a page on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TensorLayout {
    pub(super) tensors: Vec<StoredTensor>,
}

/// A tensor and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredTensor {
    pub(super) kind: FieldKind,
    pub(super) offset: usize,
    pub(super) bytes: usize,
}

impl TensorLayout {
    /// The layout of a state.
    pub(super) fn of(data: &DataSet) -> Self {
        Self::of_kinds(data.kinds().cloned())
    }

    /// The layout of tensors of these kinds.
    pub(super) fn of_kinds(kinds: impl Iterator<Item = FieldKind>) -> Self {
        let mut offset = 0;
        let place = |kind: FieldKind| {
            let bytes = kind.shape.iter().product::<usize>() * kind.dtype.size();
            let tensor = StoredTensor { kind, offset, bytes };
            offset = (offset + bytes).next_multiple_of(PAGE);
            tensor
        };
        Self { tensors: kinds.map(place).collect() }
    }

    /// Bytes of all, with the gaps: a whole number of pages, and at least one.
    pub(super) fn bytes(&self) -> usize {
        let end = self.tensors.last().map_or(0, |last| last.offset + last.bytes);
        end.next_multiple_of(PAGE).max(PAGE)
    }

    /// Returns the headers of the tensors, in order.
    pub(super) fn headers(&self) -> Vec<TensorHeader> {
        self.tensors.iter().map(|tensor| TensorHeader::of(&tensor.kind)).collect()
    }

    /// Returns whether tensors lie one after the other, each with the bytes that its type and shape have: a
    /// layout that was read may say anything.
    pub(super) fn is_possible(&self) -> bool {
        let mut next = 0_usize;
        self.tensors.iter().all(|StoredTensor { kind, offset, bytes }| {
            let numbers = kind.shape.iter().try_fold(1_usize, |numbers, size| numbers.checked_mul(*size));
            let fits = numbers.and_then(|numbers| numbers.checked_mul(kind.dtype.size())) == Some(*bytes);
            let follows = *offset == next;
            let end = offset.checked_add(*bytes).and_then(|end| end.checked_next_multiple_of(PAGE));
            next = end.unwrap_or(usize::MAX);
            fits && follows && end.is_some_and(|end| end < 1 << 50)
        })
    }

    /// Describes how another layout differs; `None` where it does not.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        let (ours, theirs) = (self.tensors.len(), other.tensors.len());
        if ours != theirs {
            return Some(format!("it has {theirs} tensors, and the state has {ours}"));
        }
        let differs = |(ours, theirs): &(&StoredTensor, &StoredTensor)| ours != theirs;
        let (ours, theirs) = self.tensors.iter().zip(&other.tensors).find(differs)?;
        let told = |kind: &FieldKind| format!("`{}`, {} {:?}", kind.name, kind.dtype.name(), kind.shape);
        Some(format!("it has {} where the state has {}", told(&theirs.kind), told(&ours.kind)))
    }
}
