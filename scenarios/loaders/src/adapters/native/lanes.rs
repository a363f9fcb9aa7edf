//! The widest vectors that this machine has, for loops that were compiled for any machine.

use multiversion::multiversion;

/// Runs a loop in the version for the best instruction set at hand (AVX-512, AVX2, or that of the build): the
/// compiler makes one of each. Arithmetic stays as it is written, operation by operation, so that all
/// versions give the same bits: nothing is fused and nothing reordered.
///
/// The closure must be inlined to be compiled again, so it is marked `#[inline(always)]`, and so is what it
/// calls.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512cd+avx512dq+avx512vl+avx2+bmi1+bmi2+fma+lzcnt+movbe+popcnt",
    "x86_64+avx2+bmi1+bmi2+f16c+fma+lzcnt+movbe+popcnt"
))]
pub(super) fn widest(work: impl FnOnce()) {
    work();
}
