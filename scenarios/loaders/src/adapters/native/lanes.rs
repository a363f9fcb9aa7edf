//! The widest vectors that this machine has, for loops that were compiled for any machine.

use std::sync::LazyLock;

use pulp::Arch;

/// Found once: the answer never changes.
static MACHINE: LazyLock<Arch> = LazyLock::new(Arch::new);

/// Runs a loop in the version for the best instruction set at hand (AVX-512, AVX2, or that of the build): the
/// compiler makes one of each. Arithmetic stays as it is written, operation by operation, so that all
/// versions give the same bits: nothing is fused and nothing reordered.
///
/// The closure must be inlined to be compiled again, so it is marked `#[inline(always)]`, and so is what it
/// calls.
#[inline]
pub(super) fn widest(work: impl FnOnce()) {
    MACHINE.dispatch(work);
}
