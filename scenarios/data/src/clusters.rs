//! Numbers that can be learned from: each element lies around the centre of its class.

use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;

use super::bounded_numbers::below;

/// The stream of the centres: far from those of fields, which are their positions.
const CENTRES: u128 = 1 << 64;

/// Draws elements of standard normal numbers, each moved by the centre of its class.
pub(super) struct Clusters {
    numbers: Pcg64,
    labels: Pcg64,
    centres: Vec<Vec<f64>>,
    /// The class of the element that is being drawn.
    class: usize,
    /// Its numbers that are drawn.
    drawn: usize,
}

impl Clusters {
    /// Those of the field at `position`, whose classes are what the field after it draws. A centre's numbers
    /// are normal with `apart` millionths as deviation.
    pub(super) fn new(numbers: usize, classes: u32, apart: u32, position: usize, seed: u64) -> Self {
        let mut stream = Pcg64::new(u128::from(seed), CENTRES);
        let deviation = f64::from(apart) / 1e6;
        let mut draw = || {
            let drawn: f64 = StandardNormal.sample(&mut stream);
            deviation * drawn
        };
        let centres = (0..classes).map(|_| (0..numbers).map(|_| draw()).collect()).collect();
        Self {
            numbers: Pcg64::new(u128::from(seed), position as u128),
            labels: Pcg64::new(u128::from(seed), position as u128 + 1),
            centres,
            class: 0,
            drawn: 0,
        }
    }

    /// Fills `bytes`, a whole number of `f32`, with the next of them.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for four in bytes.as_chunks_mut().0 {
            if self.drawn == 0 {
                self.class = below(&mut self.labels, self.centres.len() as u32) as usize;
            }
            let centre = &self.centres[self.class];
            let drawn: f64 = StandardNormal.sample(&mut self.numbers);
            *four = ((centre[self.drawn] + drawn) as f32).to_le_bytes();
            self.drawn = (self.drawn + 1) % centre.len();
        }
    }
}
