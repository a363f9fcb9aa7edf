//! The numbers that a network can be computed with.

use ndarray::{LinalgScalar, ScalarOperand};
use num_traits::{Float, FromPrimitive, NumAssign};

/// `f32` or `f64`.
pub trait Real:
    Float + FromPrimitive + NumAssign + LinalgScalar + ScalarOperand + Send + Sync + std::iter::Sum
{
    /// Bytes of a number.
    const SIZE: usize;

    /// Writes its bytes, the least first.
    fn write(self, bytes: &mut Vec<u8>);

    /// The number of these bytes; none of fewer.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// The error function.
    #[must_use]
    fn erf(self) -> Self;

    /// A number that was written down, or a count.
    ///
    /// # Panics
    /// Never: both types hold what is asked for, up to rounding.
    fn of(number: f64) -> Self {
        Self::from_f64(number).expect("both types have it, up to rounding")
    }

    /// The nearest `f32`.
    ///
    /// # Panics
    /// Never.
    fn single(self) -> f32 {
        self.to_f32().expect("every number of both types is one, infinity among them")
    }
}

impl Real for f32 {
    const SIZE: usize = size_of::<Self>();

    fn write(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|bytes| Self::from_le_bytes(*bytes))
    }

    fn erf(self) -> Self {
        libm::erff(self)
    }
}

impl Real for f64 {
    const SIZE: usize = size_of::<Self>();

    fn write(self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().map(|bytes| Self::from_le_bytes(*bytes))
    }

    fn erf(self) -> Self {
        libm::erf(self)
    }
}
