//! Whole numbers below a bound, as all generators draw them.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// The upper bits of `bits * bound`: one draw a number, with a bias below `bound / 2^64`.
pub(super) fn below(random: &mut Pcg64, bound: u32) -> u32 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u32
}
