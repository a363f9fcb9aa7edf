//! Types of numbers, and the bytes that they take.

use serde::{Deserialize, Serialize};
use weighbridge_yardsticks::Format;

/// Type of the numbers in a field.
///
/// ```
/// use weighbridge::Dtype;
///
/// assert_eq!(Dtype::ALL.map(Dtype::size), [1, 4, 8, 2, 4, 8]);
/// assert_eq!(Dtype::F32.name(), "f32");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are the types")]
pub enum Dtype {
    U8,
    I32,
    I64,
    /// The upper half of an `f32`.
    BF16,
    F32,
    F64,
}

impl Dtype {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::U8, Self::I32, Self::I64, Self::BF16, Self::F32, Self::F64];

    /// Bytes of one number.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::BF16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// The way that its numbers lie in bytes.
    pub(super) const fn format(self) -> Format {
        match self {
            Self::U8 => Format::U8,
            Self::I32 => Format::I32,
            Self::I64 => Format::I64,
            Self::BF16 => Format::BF16,
            Self::F32 => Format::F32,
            Self::F64 => Format::F64,
        }
    }

    /// The name in files: `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// Bytes of one element of a field; `None` where no memory could hold them.
#[inline]
pub(super) fn row_bytes(dtype: Dtype, shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(dtype.size(), |size, side| size.checked_mul(*side))
}
