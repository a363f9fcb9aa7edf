//! Random draws that depend on what is drawn for, never on who draws or in which order.
//!
//! Every draw has an address of five numbers: seed, epoch, index of the element in the data set, position of
//! the transform in the list, and number of the draw within that transform. Output `i` (from 0) of the
//! generator `SplitMix64` seeded with `s` is `split(s, i) = mix(s + (i + 1) * 0x9e3779b97f4a7c15)`, with
//!
//! ```text
//! mix(z):  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
//!          z = (z ^ (z >> 27)) * 0x94d049bb133111eb
//!          z ^ (z >> 31)                                 (all modulo 2^64)
//! ```
//!
//! and the draw is `split(split(split(split(seed, epoch), element), position), number)`. Anyone can write
//! that in any language, so two loaders can make the same draws without sharing a generator, whatever their
//! batches and workers.
#![expect(clippy::inline_always, reason = "loops around them are compiled for several instruction sets")]

/// The draws of one epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draws {
    epoch: u64,
}

impl Draws {
    /// The draws of this epoch of a pipeline with this seed.
    pub fn new(seed: u64, epoch: u64) -> Self {
        Self { epoch: split(seed, epoch) }
    }

    /// The key that they are derived from, for implementations that draw elsewhere.
    pub fn key(self) -> u64 {
        self.epoch
    }

    /// The draws for one element at one transform.
    pub fn at(self, element: u64, position: u64) -> Draw {
        Draw { key: split(split(self.epoch, element), position) }
    }
}

/// The draws for one element at one transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draw {
    key: u64,
}

impl Draw {
    /// Draw number `number`: 64 random bits.
    #[inline(always)]
    pub fn bits(self, number: u64) -> u64 {
        split(self.key, number)
    }

    /// A whole number below `bound`: the upper 64 bits of `bits * bound`. The bias is below `bound / 2^64`.
    pub fn below(self, number: u64, bound: u64) -> u64 {
        ((u128::from(self.bits(number)) * u128::from(bound)) >> 64) as u64
    }

    /// A number from [0, 1): the upper 53 bits, times 2^-53.
    pub fn unit(self, number: u64) -> f64 {
        (self.bits(number) >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A number from [low, high): `low + (high - low) * unit`, in `f64`.
    pub fn between(self, number: u64, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit(number)
    }

    /// True with probability 1/2: the highest bit.
    pub fn coin(self, number: u64) -> bool {
        self.bits(number) >> 63 == 1
    }
}

/// Output `index` of `SplitMix64` seeded with `seed` (Steele, Lea, Flood: *Fast splittable pseudorandom
/// number generators*, 2014).
#[inline(always)]
pub fn split(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_the_published_outputs() {
        // The first three outputs for seed 1234567, as printed beside the generator on Rosetta Code.
        let outputs = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for (index, output) in (0..).zip(outputs) {
            assert_eq!(split(1_234_567, index), output);
        }
    }

    #[test]
    fn every_part_of_the_address_matters() {
        let base = Draws::new(42, 0).at(7, 3).bits(0);
        assert_ne!(base, Draws::new(43, 0).at(7, 3).bits(0));
        assert_ne!(base, Draws::new(42, 1).at(7, 3).bits(0));
        assert_ne!(base, Draws::new(42, 0).at(8, 3).bits(0));
        assert_ne!(base, Draws::new(42, 0).at(7, 4).bits(0));
        assert_ne!(base, Draws::new(42, 0).at(7, 3).bits(1));
    }

    #[test]
    fn numbers_below_a_bound_cover_it_evenly() {
        let mut counts = [0_u32; 9];
        for element in 0..9_000 {
            counts[Draws::new(42, 0).at(element, 0).below(0, 9) as usize] += 1;
        }
        // Expected 1,000 each with a standard deviation of about 30: six of them away is a defect, not
        // chance.
        assert!(counts.iter().all(|&count| (820..1_180).contains(&count)), "{counts:?}");
    }

    #[test]
    fn a_unit_draw_stays_below_one_and_spreads_evenly() {
        let draw = Draws::new(42, 0).at(0, 0);
        let all: Vec<f64> = (0..10_000).map(|number| draw.unit(number)).collect();
        assert!(all.iter().all(|unit| (0.0..1.0).contains(unit)));
        let mean = all.iter().sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.018, "{mean}"); // six standard deviations
        assert!((0..100).all(|number| (-3.0..5.0).contains(&draw.between(number, -3.0, 5.0))));
    }

    #[test]
    fn the_coin_is_fair() {
        let heads = (0..10_000).filter(|&element| Draws::new(42, 1).at(element, 1).coin(0)).count();
        assert!((4_700..5_300).contains(&heads), "{heads}"); // six standard deviations of 50
    }
}
