//! The numbers that a model by hand can be computed with.

use ndarray::{LinalgScalar, ScalarOperand};
use num_traits::{Float, FromPrimitive, NumAssign};

/// `f32` or `f64`.
pub(crate) trait HandNumber:
    Float + FromPrimitive + NumAssign + LinalgScalar + ScalarOperand + Send + Sync
{
    /// The error function.
    fn erf(self) -> Self;

    /// A number of the weights, or one that was written down.
    fn of(number: f64) -> Self {
        Self::from_f64(number).unwrap_or_else(Self::nan)
    }

    /// The nearest `f32`.
    fn single(self) -> f32 {
        self.to_f32().unwrap_or(f32::NAN)
    }
}

impl HandNumber for f32 {
    fn erf(self) -> Self {
        libm::erff(self)
    }
}

impl HandNumber for f64 {
    fn erf(self) -> Self {
        libm::erf(self)
    }
}
