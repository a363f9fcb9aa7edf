//! Arithmetic over slices, in loops that the compiler turns into vector code.

use std::sync::Arc;

use crate::data::Normalisation;
use crate::workload::Transform;

/// A step from `f32` to `f32`.
#[derive(Clone, Debug)]
pub(super) enum Float {
    /// `x / 255`.
    Divide255,
    /// `(x - mean[k]) * scale[k]`.
    Standardise(Tile),
    Scale,
    Clip,
    Add,
    Multiply,
}

impl Float {
    /// From one slice into another. Both start at index 0 of the last axis.
    pub(super) fn apply(&self, from: &[f32], to: &mut [f32]) {
        match self {
            Self::Divide255 => map(from, to, |x| x / 255.0),
            Self::Standardise(tile) => tile.apply(from, to),
            Self::Scale => map(from, to, |x| x * Transform::SCALE),
            Self::Clip => map(from, to, |x| x.clamp(0.0, 1.0)),
            Self::Add => map(from, to, |x| x + Transform::ADD),
            Self::Multiply => map(from, to, |x| x * Transform::MULTIPLY),
        }
    }

    /// In place.
    pub(super) fn apply_in_place(&self, numbers: &mut [f32]) {
        match self {
            Self::Divide255 => map_in_place(numbers, |x| x / 255.0),
            Self::Standardise(tile) => tile.apply_in_place(numbers),
            Self::Scale => map_in_place(numbers, |x| x * Transform::SCALE),
            Self::Clip => map_in_place(numbers, |x| x.clamp(0.0, 1.0)),
            Self::Add => map_in_place(numbers, |x| x + Transform::ADD),
            Self::Multiply => map_in_place(numbers, |x| x * Transform::MULTIPLY),
        }
    }
}

/// A step from another type to `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convert {
    /// `u8` to `f32(x) / 255`, by dividing.
    DivideBytes,
    /// The same bits without a division (see [`bytes_by_255`]).
    MultiplyBytes,
    CastU8,
    CastI32,
    CastI64,
    CastF64,
}

impl Convert {
    pub(super) fn apply(self, from: &[u8], to: &mut [f32]) {
        match self {
            Self::DivideBytes => map(from, to, |x: u8| f32::from(x) / 255.0),
            Self::MultiplyBytes => map(from, to, bytes_by_255),
            Self::CastU8 => map(from, to, f32::from),
            Self::CastI32 => map(bytemuck::cast_slice(from), to, |x: i32| x as f32),
            Self::CastI64 => map(bytemuck::cast_slice(from), to, |x: i64| x as f32),
            Self::CastF64 => map(bytemuck::cast_slice(from), to, |x: f64| x as f32),
        }
    }
}

/// `f32(x) / 255`, correctly rounded, in two multiplications and an addition.
///
/// 1/255 is split into a part of 16 significant bits, whose product with a byte is exact, and the rest. The product
/// with the rest is off by 2^-40 of the whole at most, so that the sum is rounded once in effect. A test tries all 256.
fn bytes_by_255(x: u8) -> f32 {
    const COARSE: f32 = f32::from_bits((1.0_f32 / 255.0).to_bits() & !0xff);
    const REST: f32 = (1.0 / 255.0 - COARSE as f64) as f32;
    let x = f32::from(x);
    x * COARSE + x * REST
}

/// The constants of `Normalize`, repeated until they make a run worth vector code.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    mean: Arc<[f32]>,
    scale: Arc<[f32]>,
}

/// A tile is at least this long.
const TILE: usize = 1024;

impl Tile {
    pub(super) fn new(constants: &Normalisation) -> Self {
        let length = tile_length(constants.mean.len());
        let repeat = |column: &[f32]| column.iter().copied().cycle().take(length).collect();
        Self { mean: repeat(&constants.mean), scale: repeat(&constants.scale) }
    }

    fn apply(&self, from: &[f32], to: &mut [f32]) {
        let length = self.mean.len();
        for (from, to) in from.chunks(length).zip(to.chunks_mut(length)) {
            for (((x, y), mean), scale) in from.iter().zip(to).zip(&*self.mean).zip(&*self.scale) {
                *y = (x - mean) * scale;
            }
        }
    }

    fn apply_in_place(&self, numbers: &mut [f32]) {
        for numbers in numbers.chunks_mut(self.mean.len()) {
            for ((x, mean), scale) in numbers.iter_mut().zip(&*self.mean).zip(&*self.scale) {
                *x = (*x - mean) * scale;
            }
        }
    }
}

/// Numbers in a tile whose last axis is `columns` long: whole rows, and enough of them.
pub(super) fn tile_length(columns: usize) -> usize {
    let columns = columns.max(1);
    TILE.div_ceil(columns) * columns
}

fn map<T: Copy>(from: &[T], to: &mut [f32], f: impl Fn(T) -> f32) {
    for (x, y) in from.iter().zip(to) {
        *y = f(*x);
    }
}

fn map_in_place(numbers: &mut [f32], f: impl Fn(f32) -> f32) {
    for x in numbers {
        *x = f(*x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiplying_bytes_gives_the_bits_of_dividing_them() {
        for byte in 0..=255_u8 {
            assert_eq!(bytes_by_255(byte).to_bits(), (f32::from(byte) / 255.0).to_bits(), "{byte}");
        }
    }

    #[test]
    fn every_step_does_what_its_definition_says() {
        let check = |step: Float, expected: [f32; 3]| {
            let mut to = [0.0; 3];
            step.apply(&[-0.5, 0.5, 3.0], &mut to);
            assert_eq!(to, expected);
            let mut numbers = [-0.5, 0.5, 3.0];
            step.apply_in_place(&mut numbers);
            assert_eq!(numbers, expected);
        };
        check(Float::Scale, [-1.0, 1.0, 6.0]);
        check(Float::Clip, [0.0, 0.5, 1.0]);
        check(Float::Add, [-0.4, 0.6, 3.1]);
        check(Float::Multiply, [-0.45, 0.45, 2.699_999_8]);
        check(Float::Divide255, [-0.5 / 255.0, 0.5 / 255.0, 3.0 / 255.0]);
    }

    #[test]
    fn standardising_uses_the_constants_of_the_column() {
        let tile = Tile::new(&Normalisation { mean: vec![1.0, 10.0, 0.0], scale: vec![2.0, 0.5, 1.0] });
        let numbers: Vec<f32> = (0..3_000).map(|x| x as f32).collect();
        let mut to = vec![0.0; numbers.len()];
        tile.apply(&numbers, &mut to);
        for (k, row) in to.chunks(3).enumerate() {
            let x = 3.0 * k as f32;
            assert_eq!(row, [(x - 1.0) * 2.0, (x + 1.0 - 10.0) * 0.5, x + 2.0]);
        }
        let mut in_place = numbers;
        tile.apply_in_place(&mut in_place);
        assert_eq!(in_place, to);
    }
}
