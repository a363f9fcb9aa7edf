//! What is done number by number, and its derivative.

use super::real::Real;

/// `x/2 (1 + erf(x / sqrt(2)))`.
pub(super) fn gelu<T: Real>(x: T) -> T {
    let half = T::of(0.5);
    half * x * (T::one() + (x * half.sqrt()).erf())
}

/// The distribution function of the normal distribution, plus `x` times its density.
pub(super) fn slope_of_gelu<T: Real>(x: T) -> T {
    let half = T::of(0.5);
    let density = (-half * x * x).exp() * T::of(std::f64::consts::FRAC_2_SQRT_PI * 0.5 * 0.5_f64.sqrt());
    half * (T::one() + (x * half.sqrt()).erf()) + x * density
}

/// `max(x, 0)`.
pub(super) fn relu<T: Real>(x: T) -> T {
    x.max(T::zero())
}

/// 1 above 0, else 0.
pub(super) fn slope_of_relu<T: Real>(x: T) -> T {
    if x > T::zero() { T::one() } else { T::zero() }
}
