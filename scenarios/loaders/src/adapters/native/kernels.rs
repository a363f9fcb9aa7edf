//! Arithmetic over slices, in loops that the compiler turns into vector code.

use std::sync::Arc;

use weighbridge_data::Normalisation;

use super::lanes::widest;
use crate::workload::Transform;

/// Steps from `f32` to `f32` that run in one loop, number by number: a head, and up to two plain steps after
/// it.
///
/// Every combination is a loop of its own, made by the compiler, so that a number stays in its register from
/// the first step to the last. Two, because three would be five times the loops and a store is already paid
/// by three steps.
#[derive(Clone, Debug)]
pub(super) struct Float {
    head: KernelHead,
    then: KernelTail,
}

#[derive(Clone, Debug)]
enum KernelHead {
    Keep,
    /// `x / 255`.
    Divide255,
    /// `(x - mean[k]) * scale[k]`.
    Standardise(Tile),
}

#[derive(Clone, Copy, Debug)]
enum KernelTail {
    Nothing,
    One(PlainStep),
    Two(PlainStep, PlainStep),
}

/// A step that needs nothing but the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlainStep {
    Scale,
    Clip,
    Add,
    Multiply,
}

/// Runs `$body` with `$f` as the function of a plain step: another type for each, so that the loop in it is
/// too.
macro_rules! with {
    ($plain:expr, |$f:ident| $body:expr) => {
        match $plain {
            PlainStep::Scale => {
                let $f = |x: f32| x * Transform::SCALE;
                $body
            }
            PlainStep::Clip => {
                let $f = |x: f32| x.clamp(0.0, 1.0);
                $body
            }
            PlainStep::Add => {
                let $f = |x: f32| x + Transform::ADD;
                $body
            }
            PlainStep::Multiply => {
                let $f = |x: f32| x * Transform::MULTIPLY;
                $body
            }
        }
    };
}

impl Float {
    pub(super) fn divide_255() -> Self {
        Self { head: KernelHead::Divide255, then: KernelTail::Nothing }
    }

    pub(super) fn standardise(constants: &Normalisation) -> Self {
        Self { head: KernelHead::Standardise(Tile::new(constants)), then: KernelTail::Nothing }
    }

    pub(super) fn plain(step: PlainStep) -> Self {
        Self { head: KernelHead::Keep, then: KernelTail::One(step) }
    }

    /// Takes `next` into the same loop, if it fits.
    pub(super) fn join(&mut self, next: &Self) -> bool {
        let (KernelHead::Keep, KernelTail::One(next)) = (&next.head, next.then) else { return false };
        self.then = match self.then {
            KernelTail::Nothing => KernelTail::One(next),
            KernelTail::One(first) => KernelTail::Two(first, next),
            KernelTail::Two(..) => return false,
        };
        true
    }

    /// From one slice into another. Both start at index 0 of the last axis.
    pub(super) fn apply(&self, from: &[f32], to: &mut [f32]) {
        match self.then {
            KernelTail::Nothing => self.run(from, to, |x| x),
            KernelTail::One(a) => with!(a, |f| self.run(from, to, f)),
            KernelTail::Two(a, b) => with!(a, |f| with!(b, |g| self.run(from, to, |x| g(f(x))))),
        }
    }

    /// In place.
    pub(super) fn apply_in_place(&self, numbers: &mut [f32]) {
        match self.then {
            KernelTail::Nothing => self.run_in_place(numbers, |x| x),
            KernelTail::One(a) => with!(a, |f| self.run_in_place(numbers, f)),
            KernelTail::Two(a, b) => with!(a, |f| with!(b, |g| self.run_in_place(numbers, |x| g(f(x))))),
        }
    }

    fn run(&self, from: &[f32], to: &mut [f32], then: impl Fn(f32) -> f32) {
        match &self.head {
            KernelHead::Keep => map(from, to, then),
            KernelHead::Divide255 => map(from, to, |x| then(x / 255.0)),
            KernelHead::Standardise(tile) => tile.apply(from, to, then),
        }
    }

    fn run_in_place(&self, numbers: &mut [f32], then: impl Fn(f32) -> f32) {
        match &self.head {
            KernelHead::Keep => map_in_place(numbers, then),
            KernelHead::Divide255 => map_in_place(numbers, |x| then(x / 255.0)),
            KernelHead::Standardise(tile) => tile.apply_in_place(numbers, then),
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
/// 1/255 is split into a part of 16 significant bits, whose product with a byte is exact, and the rest. The
/// product with the rest is off by 2^-40 of the whole at most, so that the sum is rounded once in effect. A
/// test tries all 256.
#[inline(always)]
fn bytes_by_255(x: u8) -> f32 {
    const COARSE: f32 = f32::from_bits((1.0_f32 / 255.0).to_bits() & !0xff);
    const REST: f32 = (1.0 / 255.0 - COARSE as f64) as f32;
    let x = f32::from(x);
    x * COARSE + x * REST
}

/// The constants of `Normalize`, repeated until they make a run worth vector code.
#[derive(Clone, Debug)]
struct Tile {
    mean: Arc<[f32]>,
    scale: Arc<[f32]>,
}

/// A tile is at least this long.
const TILE: usize = 1024;

impl Tile {
    fn new(constants: &Normalisation) -> Self {
        let length = tile_length(constants.mean.len());
        let repeat = |column: &[f32]| column.iter().copied().cycle().take(length).collect();
        Self { mean: repeat(&constants.mean), scale: repeat(&constants.scale) }
    }

    fn apply(&self, from: &[f32], to: &mut [f32], then: impl Fn(f32) -> f32) {
        let length = self.mean.len();
        widest(
            #[inline(always)]
            || {
                for (from, to) in from.chunks(length).zip(to.chunks_mut(length)) {
                    for (((x, y), mean), scale) in from.iter().zip(to).zip(&*self.mean).zip(&*self.scale) {
                        *y = then((x - mean) * scale);
                    }
                }
            },
        );
    }

    fn apply_in_place(&self, numbers: &mut [f32], then: impl Fn(f32) -> f32) {
        widest(
            #[inline(always)]
            || {
                for numbers in numbers.chunks_mut(self.mean.len()) {
                    for ((x, mean), scale) in numbers.iter_mut().zip(&*self.mean).zip(&*self.scale) {
                        *x = then((*x - mean) * scale);
                    }
                }
            },
        );
    }
}

/// Numbers in a tile whose last axis is `columns` long: whole rows, and enough of them.
pub(super) fn tile_length(columns: usize) -> usize {
    let columns = columns.max(1);
    TILE.div_ceil(columns) * columns
}

fn map<T: Copy>(from: &[T], to: &mut [f32], f: impl Fn(T) -> f32) {
    widest(
        #[inline(always)]
        || {
            for (x, y) in from.iter().zip(to) {
                *y = f(*x);
            }
        },
    );
}

/// Every number, in the machine's widest vectors.
pub(super) fn map_in_place(numbers: &mut [f32], f: impl Fn(f32) -> f32) {
    widest(
        #[inline(always)]
        || {
            for x in numbers {
                *x = f(*x);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(numbers: &[f32]) -> Vec<u32> {
        numbers.iter().map(|x| x.to_bits()).collect()
    }

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
            assert_eq!(bits(&to), bits(&expected));
            let mut numbers = [-0.5, 0.5, 3.0];
            step.apply_in_place(&mut numbers);
            assert_eq!(bits(&numbers), bits(&expected));
        };
        check(Float::plain(PlainStep::Scale), [-1.0, 1.0, 6.0]);
        check(Float::plain(PlainStep::Clip), [0.0, 0.5, 1.0]);
        check(Float::plain(PlainStep::Add), [-0.4, 0.6, 3.1]);
        check(Float::plain(PlainStep::Multiply), [-0.45, 0.45, 2.699_999_8]);
        check(Float::divide_255(), [-0.5 / 255.0, 0.5 / 255.0, 3.0 / 255.0]);
    }

    #[test]
    fn joined_steps_give_the_bits_of_one_after_the_other() {
        let plain = [PlainStep::Scale, PlainStep::Clip, PlainStep::Add, PlainStep::Multiply];
        let constants = Normalisation { mean: vec![0.3], scale: vec![1.7] };
        let numbers: Vec<f32> = (-500..500).map(|x| x as f32 / 77.0).collect();
        for head in [Float::divide_255(), Float::standardise(&constants), Float::plain(PlainStep::Add)] {
            for (a, b) in plain.iter().flat_map(|a| plain.iter().map(move |b| (*a, *b))) {
                let steps = [head.clone(), Float::plain(a), Float::plain(b)];
                let mut apart = numbers.clone();
                for step in &steps {
                    step.apply_in_place(&mut apart);
                }
                let mut joined = steps[0].clone();
                assert!(joined.join(&steps[1]));
                let fits = joined.join(&steps[2]);
                assert_eq!(fits, !matches!(head.head, KernelHead::Keep));
                let mut together = vec![0.0; numbers.len()];
                joined.apply(&numbers, &mut together);
                if !fits {
                    steps[2].apply_in_place(&mut together);
                }
                assert_eq!(together, apart);
            }
        }
    }

    #[test]
    fn standardising_uses_the_constants_of_the_column() {
        let tile = Tile::new(&Normalisation { mean: vec![1.0, 10.0, 0.0], scale: vec![2.0, 0.5, 1.0] });
        let numbers: Vec<f32> = (0..3_000).map(|x| x as f32).collect();
        let mut to = vec![0.0; numbers.len()];
        tile.apply(&numbers, &mut to, |x| x);
        for (k, row) in to.chunks(3).enumerate() {
            let x = 3.0 * k as f32;
            assert_eq!(row, [(x - 1.0) * 2.0, (x + 1.0 - 10.0) * 0.5, x + 2.0]);
        }
        let mut in_place = numbers;
        tile.apply_in_place(&mut in_place, |x| x);
        assert_eq!(in_place, to);
    }
}
