//! Numbers that look random and are the same in every storm of one seed.

use weighbridge::data::SplitMix64;

/// Draws of a storm.
#[derive(Clone, Debug)]
pub(super) struct StormDraws(SplitMix64);

impl StormDraws {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// A whole number below this one.
    ///
    /// # Panics
    /// Of zero.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.0.draw() % bound as u64) as usize
    }

    /// A share of one.
    pub(super) fn share(&mut self) -> f64 {
        (self.0.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of several.
    ///
    /// # Panics
    /// Of none.
    pub(super) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_each_time_and_another_seed_others() {
        let drawn = |seed| {
            let mut draw = StormDraws::new(seed);
            (0..8).map(|_| draw.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        let mut draw = StormDraws::new(1);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&draw.share())));
    }
}
