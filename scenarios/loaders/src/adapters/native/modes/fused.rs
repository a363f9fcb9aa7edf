//! `fused`: one pass. Each pixel that is delivered is computed from the pixel of the source that it comes
//! from.

use weighbridge_data::Draws;

use super::square::{ImageSquare, before_turns};
use crate::adapters::native::elements::corner;
use crate::workload::Transform;

/// The three transforms as one loop.
pub(super) struct FusedLoop(ImageSquare);

impl FusedLoop {
    pub(super) fn new(square: ImageSquare) -> Self {
        Self(square)
    }

    /// One element.
    pub(super) fn run(&self, draws: Draws, index: usize, from: &[f32], to: &mut [f32]) {
        let ImageSquare { constants, side, channels } = &self.0;
        let (side, channels, kept) = (*side, *channels, Transform::crop_window(*side));
        let (top, left) = corner(draws.at(index as u64, 1), side, side);
        let turns = draws.at(index as u64, 2).below(0, 4);
        for (at, to) in to.chunks_exact_mut(channels).enumerate() {
            let (row, column) = before_turns(turns, side, at / side, at % side);
            if row >= kept || column >= kept {
                to.fill(0.0); // what the crop leaves empty
                continue;
            }
            let from = &from[((top + row) * side + left + column) * channels..][..channels];
            for (((y, x), mean), scale) in to.iter_mut().zip(from).zip(&constants.mean).zip(&constants.scale)
            {
                *y = (x - mean) * scale;
            }
        }
    }
}
