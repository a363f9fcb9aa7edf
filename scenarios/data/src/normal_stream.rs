//! Normal numbers as `numpy.random.seed` and `numpy.random.normal` give them: the stream that checkpoints are
//! made from.
//!
//! The generator is the 32-bit Mersenne twister (Matsumoto and Nishimura 1998), a number in `[0, 1)` is made
//! from 53 bits of two of its outputs, and two normal numbers from two of those by Marsaglia's polar method,
//! the second of which is given first.

use rand_mt::Mt;

/// A stream of standard normal numbers.
#[derive(Clone, Debug)]
pub(super) struct NormalStream {
    random: Mt,
    /// The other number of a pair.
    left: Option<f64>,
}

impl NormalStream {
    /// The stream of this seed.
    pub(super) fn new(seed: u32) -> Self {
        Self { random: Mt::new(seed), left: None }
    }

    /// The next number.
    pub(super) fn draw(&mut self) -> f64 {
        if let Some(left) = self.left.take() {
            return left;
        }
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.left = Some(factor * x);
                return factor * y;
            }
        }
    }

    /// A number in `[0, 1)`, a multiple of 2^-53.
    fn uniform(&mut self) -> f64 {
        let (high, low) = (self.random.next_u32() >> 5, self.random.next_u32() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.random.seed(0); numpy.random.normal(size=5)` of numpy 2.3.
    const OF_NUMPY: [f64; 5] = [
        1.764_052_345_967_664,
        0.400_157_208_367_223_3,
        0.978_737_984_105_739_2,
        2.240_893_199_201_458,
        1.867_557_990_149_967_5,
    ];

    #[test]
    fn the_numbers_are_numpys() {
        let mut stream = NormalStream::new(0);
        for expected in OF_NUMPY {
            let drawn = stream.draw();
            assert!((drawn - expected).abs() <= 1e-15 * expected.abs(), "{drawn} {expected}");
        }
    }
}
