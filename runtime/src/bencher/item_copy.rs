//! A copy of what was delivered: fields of numbers, and whether their bytes are as many as they say.

use serde::{Deserialize, Serialize};

use super::dtype::row_bytes;
use super::{Dtype, Result, WorkFault};

/// A copy of one item, field by field.
///
/// ```
/// use weighbridge::{Content, Dtype, ItemCopy, FieldCopy};
///
/// let batch = |order: [u8; 4]| {
///     let bytes = order.to_vec();
///     let pair = FieldCopy { name: "pair".to_owned(), dtype: Dtype::U8, shape: vec![2], bytes };
///     ItemCopy { elements: 2, fields: vec![pair] }
/// };
/// let (mut one, mut other) = (Content::default(), Content::default());
/// one.add(&batch([1, 2, 3, 4]))?;
/// other.add(&batch([3, 4, 1, 2]))?;
/// assert_eq!(one, other, "the order of elements is free");
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ItemCopy {
    /// Elements in the item.
    pub elements: usize,
    /// Its fields, in any order.
    pub fields: Vec<FieldCopy>,
}

impl ItemCopy {
    /// A part of the item: `elements` of them from `first` on, fewer where it ends.
    ///
    /// # Errors
    /// As [`ItemCopy::check`].
    pub fn rows(&self, first: usize, elements: usize) -> Result<Self> {
        self.check()?;
        let first = first.min(self.elements);
        let elements = elements.min(self.elements - first);
        let cut = |field: &FieldCopy| {
            let row = field.bytes.len() / self.elements.max(1);
            let bytes = field.bytes[first * row..][..elements * row].to_vec();
            FieldCopy { name: field.name.clone(), shape: field.shape.clone(), bytes, ..*field }
        };
        Ok(Self { elements, fields: self.fields.iter().map(cut).collect() })
    }

    /// Tells whether the bytes of each field are those of so many elements of its shape and type.
    ///
    /// # Errors
    /// The first field that has other bytes; that there are elements and no field: a count that nothing
    /// stands behind.
    pub fn check(&self) -> Result<()> {
        WorkFault::Fields { elements: self.elements as u64, fields: self.fields.len() as u64 }.or_go_on()?;
        for FieldCopy { name, dtype, shape, bytes } in &self.fields {
            check_bytes(name, *dtype, shape, bytes.len(), self.elements)?;
        }
        Ok(())
    }

    pub(super) fn by_name(&self) -> Vec<&FieldCopy> {
        let mut fields: Vec<&FieldCopy> = self.fields.iter().collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        fields
    }
}

/// A copy of one field of an item.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldCopy {
    /// The field's name.
    pub name: String,
    /// Type of its numbers.
    pub dtype: Dtype,
    /// Shape of one element, without the batch axis: `[32, 32, 3]`.
    pub shape: Vec<usize>,
    /// The numbers of all elements in order, little-endian.
    pub bytes: Vec<u8>,
}

/// Name, type and element shape of a field.
///
/// ```
/// use weighbridge::{Dtype, FieldKind};
///
/// let image = FieldKind { name: "image".to_owned(), dtype: Dtype::U8, shape: vec![32, 32, 3] };
/// let bytes = image.shape.iter().product::<usize>() * image.dtype.size();
/// assert_eq!(bytes, 3_072, "of one element");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FieldKind {
    /// The field's name.
    pub name: String,
    /// Type of its numbers.
    pub dtype: Dtype,
    /// Shape of one element.
    pub shape: Vec<usize>,
}

/// Tells whether so many bytes are those of so many elements of a field; how many one of them has.
pub(super) fn check_bytes(
    name: &str,
    dtype: Dtype,
    shape: &[usize],
    bytes: usize,
    elements: usize,
) -> Result<usize> {
    match row_bytes(dtype, shape) {
        Some(row) if row.checked_mul(elements) == Some(bytes) => Ok(row),
        _ => {
            let (elements, bytes) = (elements as u64, bytes as u64);
            Err(WorkFault::Bytes { field: name.to_owned(), dtype, shape: shape.to_vec(), elements, bytes }
                .into())
        }
    }
}
