//! `compiled`: one element after the other, through a list of transforms that is a type: the compiler puts it
//! together, and no call in it goes through a pointer.

use weighbridge_data::{Draw, Draws};

use super::square::{ImageSquare, before_turns};
use crate::adapters::native::elements::corner;
use crate::workload::Transform;

/// A transform of one element.
pub(super) trait CompiledStep {
    /// Does it. The element is in `room.now`, and is there afterwards.
    fn apply(&self, room: &mut ModeRoom, draws: Draws, index: usize);
}

/// One transform after another.
pub(super) struct ThenStep<A, B>(A, B);

/// The list that is written out: the three transforms as one type.
pub(super) type CompiledChain = ThenStep<ThenStep<CompiledStandardise, CompiledCrop>, Rotate>;

/// An element, and room for the next one.
#[derive(Debug, Default)]
pub(super) struct ModeRoom {
    now: Vec<f32>,
    next: Vec<f32>,
}

/// The list for elements like these.
pub(super) fn put_together(square: &ImageSquare) -> CompiledChain {
    let ImageSquare { constants, side, channels } = square;
    let (side, channels) = (*side, *channels);
    ThenStep(
        ThenStep(
            CompiledStandardise { mean: constants.mean.clone(), scale: constants.scale.clone() },
            CompiledCrop { side, channels, position: 1 },
        ),
        Rotate { side, channels, position: 2 },
    )
}

impl<A: CompiledStep, B: CompiledStep> ThenStep<A, B> {
    /// One element through the list.
    pub(super) fn run(&self, room: &mut ModeRoom, draws: Draws, index: usize, from: &[f32], to: &mut [f32]) {
        room.now.clear();
        room.now.extend_from_slice(from);
        self.apply(room, draws, index);
        to.copy_from_slice(&room.now);
    }
}

impl<A: CompiledStep, B: CompiledStep> CompiledStep for ThenStep<A, B> {
    #[inline]
    fn apply(&self, room: &mut ModeRoom, draws: Draws, index: usize) {
        self.0.apply(room, draws, index);
        self.1.apply(room, draws, index);
    }
}

/// `Normalize`.
pub(super) struct CompiledStandardise {
    mean: Vec<f32>,
    scale: Vec<f32>,
}

impl CompiledStep for CompiledStandardise {
    #[inline]
    fn apply(&self, room: &mut ModeRoom, _draws: Draws, _index: usize) {
        for pixel in room.now.chunks_exact_mut(self.scale.len()) {
            for ((x, mean), scale) in pixel.iter_mut().zip(&self.mean).zip(&self.scale) {
                *x = (*x - mean) * scale;
            }
        }
    }
}

/// `RandomCrop`.
pub(super) struct CompiledCrop {
    side: usize,
    channels: usize,
    position: u64,
}

impl CompiledStep for CompiledCrop {
    #[inline]
    fn apply(&self, room: &mut ModeRoom, draws: Draws, index: usize) {
        let draw: Draw = draws.at(index as u64, self.position);
        let (top, left) = corner(draw, self.side, self.side);
        let (row, kept) = (self.side * self.channels, Transform::crop_window(self.side));
        let bytes = kept * self.channels;
        room.next.clear();
        room.next.resize(room.now.len(), 0.0);
        for (to, from) in (0..kept).zip(top..) {
            let from = from * row + left * self.channels;
            room.next[to * row..to * row + bytes].copy_from_slice(&room.now[from..from + bytes]);
        }
        std::mem::swap(&mut room.now, &mut room.next);
    }
}

/// `AffineRotation`.
pub(super) struct Rotate {
    side: usize,
    channels: usize,
    position: u64,
}

impl CompiledStep for Rotate {
    #[inline]
    fn apply(&self, room: &mut ModeRoom, draws: Draws, index: usize) {
        let turns = draws.at(index as u64, self.position).below(0, 4);
        let (side, channels) = (self.side, self.channels);
        room.next.clear();
        for at in 0..side * side {
            let (row, column) = before_turns(turns, side, at / side, at % side);
            room.next.extend_from_slice(&room.now[(row * side + column) * channels..][..channels]);
        }
        std::mem::swap(&mut room.now, &mut room.next);
    }
}
