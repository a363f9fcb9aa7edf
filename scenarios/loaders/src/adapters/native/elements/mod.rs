//! Steps on one element: whatever needs its neighbours, its draws, or its whole shape.

mod colour;
mod functions;
mod geometry;
mod resize;

use weighbridge::{Dtype, FieldKind};
use weighbridge_data::{Draw, Draws};

use self::colour::{blur, grayscale, jitter, solarize};
use self::functions::{log1p_abs, normals, sincos};
use self::geometry::Move;
use super::buffer::Bytes;
use super::kernels::{Float, map_in_place};
use super::lanes::widest;
use crate::workload::{Touch, Transform, TransformGate};

pub(super) use self::functions::{exp, ln64};
pub(super) use self::geometry::corner;
pub(super) use self::resize::{Resizer, Size, random_window};

/// A step on one element, and who goes through it.
#[derive(Clone, Debug)]
pub(super) struct ElementStep {
    what: ElementTransform,
    /// The transform's place in the pipeline, an address of its draws.
    position: u64,
    /// The condition on which an element goes through it; `None`: all do.
    gate: Option<TransformGate>,
}

#[derive(Clone, Debug)]
enum ElementTransform {
    Move(Move),
    Rotate { side: usize, pixel: usize },
    ResizedCrop(Size, Dtype),
    HalfAndBack(Size, Dtype),
    Jitter(Dtype),
    Grayscale(Dtype),
    Solarize(Dtype),
    Blur(Size, Dtype),
    Noise,
    Brightness,
    Factor,
    Log,
    Expensive,
    Hash(Dtype),
    ZeroTail(Dtype),
    Float(Float),
}

/// Room for steps, used again and again: it grows with the first element and stays.
#[derive(Debug, Default)]
pub(super) struct ElementBuffers {
    copy: Bytes,
    half: Bytes,
    numbers: Vec<f32>,
    row: Vec<f32>,
    resizer: Resizer,
}

/// The element that a step works on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    /// The draws of the epoch.
    pub(super) draws: Draws,
    /// Its index in the data set.
    pub(super) index: usize,
    /// The number of its real tokens, where the data say so.
    pub(super) length: i32,
}

impl ElementStep {
    /// The step for a touch; `None` where a transform works number by number, whatever the element.
    pub(super) fn new(touch: &Touch) -> Option<Self> {
        let Touch { transform, position, gate, before: kind, .. } = touch;
        let dtype = kind.dtype;
        let what = match transform {
            Transform::RandomCrop | Transform::RandomFlip => {
                ElementTransform::Move(Move::new(*transform, kind)?)
            }
            Transform::AffineRotation => {
                ElementTransform::Rotate { side: kind.shape[0], pixel: kind.shape[2] * dtype.size() }
            }
            Transform::RandomResizedCrop => ElementTransform::ResizedCrop(size(kind), dtype),
            Transform::MultiScaleResize => ElementTransform::HalfAndBack(size(kind), dtype),
            Transform::ColorJitter => ElementTransform::Jitter(dtype),
            Transform::RandomGrayscale => ElementTransform::Grayscale(dtype),
            Transform::RandomSolarize => ElementTransform::Solarize(dtype),
            Transform::GaussianBlur => ElementTransform::Blur(size(kind), dtype),
            Transform::GaussianNoise => ElementTransform::Noise,
            Transform::RandomBrightness => ElementTransform::Brightness,
            Transform::RandomScale => ElementTransform::Factor,
            Transform::LogTransform => ElementTransform::Log,
            Transform::ExpensiveTransform => ElementTransform::Expensive,
            Transform::HashEmbeddingIndex => ElementTransform::Hash(dtype),
            Transform::DynamicPad => ElementTransform::ZeroTail(dtype),
            _ => return None,
        };
        Some(Self { what, position: *position as u64, gate: *gate })
    }

    /// A step number by number, for some elements alone.
    pub(super) fn gated(step: Float, touch: &Touch) -> Self {
        Self { what: ElementTransform::Float(step), position: touch.position as u64, gate: touch.gate }
    }

    /// From one element into another.
    pub(super) fn apply_from(
        &self,
        from: &[u8],
        to: &mut [u8],
        element: Element,
        space: &mut ElementBuffers,
    ) {
        match self.what {
            ElementTransform::Move(step) if self.gate.is_none() => {
                step.apply(from, to, element.draws.at(element.index as u64, self.position));
            }
            _ => {
                to.copy_from_slice(from);
                self.apply(to, element, space);
            }
        }
    }

    /// In place.
    pub(super) fn apply(&self, bytes: &mut [u8], element: Element, space: &mut ElementBuffers) {
        let Element { draws, index, length } = element;
        if let Some(TransformGate { decided_at, from, below, .. }) = self.gate {
            let drawn = draws.at(index as u64, decided_at as u64).unit(TransformGate::DRAW);
            if !(from..below).contains(&drawn) {
                return;
            }
        }
        let draw = draws.at(index as u64, self.position);
        match &self.what {
            ElementTransform::Move(step) => step.apply_in_place(bytes, draw),
            ElementTransform::Rotate { side, pixel } => {
                rotate(space.copy.copy_of(bytes), bytes, *side, *pixel, draw.below(0, 4));
            }
            ElementTransform::ResizedCrop(size, dtype) => {
                let window = random_window(*size, draw);
                let from = space.copy.copy_of(bytes);
                let (columns, resizer) = (size.columns, &mut space.resizer);
                match dtype {
                    Dtype::U8 => resizer.colours::<u8>(from, columns, window, bytes, *size),
                    Dtype::F32 => resizer.colours::<f32>(
                        bytemuck::cast_slice(from),
                        columns,
                        window,
                        bytemuck::cast_slice_mut(bytes),
                        *size,
                    ),
                    _ => resizer.classes(from, columns, window, bytes, *size, size.channels * dtype.size()),
                }
            }
            ElementTransform::HalfAndBack(size, dtype) => half_and_back(bytes, *size, *dtype, space),
            ElementTransform::Jitter(Dtype::U8) => jitter::<u8>(bytes, draw),
            ElementTransform::Jitter(_) => jitter::<f32>(bytemuck::cast_slice_mut(bytes), draw),
            ElementTransform::Grayscale(Dtype::U8) => grayscale::<u8>(bytes, draw),
            ElementTransform::Grayscale(_) => grayscale::<f32>(bytemuck::cast_slice_mut(bytes), draw),
            ElementTransform::Solarize(Dtype::U8) => solarize::<u8>(bytes, draw),
            ElementTransform::Solarize(_) => solarize::<f32>(bytemuck::cast_slice_mut(bytes), draw),
            ElementTransform::Blur(Size { columns, channels, .. }, dtype) => {
                let (rows, row) = (&mut space.numbers, &mut space.row);
                match dtype {
                    Dtype::U8 => blur::<u8>(bytes, *columns, *channels, draw, rows, row),
                    _ => blur::<f32>(bytemuck::cast_slice_mut(bytes), *columns, *channels, draw, rows, row),
                }
            }
            ElementTransform::Noise => noise(bytemuck::cast_slice_mut(bytes), draw),
            ElementTransform::Brightness => {
                let shift = draw.between(0, -0.2, 0.2) as f32;
                each(bytes, |x| x + shift);
            }
            ElementTransform::Factor => {
                let factor = draw.between(0, 0.8, 1.2) as f32;
                each(bytes, |x| x * factor);
            }
            ElementTransform::Log => each(bytes, log1p_abs),
            ElementTransform::Expensive => each(bytes, |x| (0..8).fold(x, |x, _| sincos(x))),
            ElementTransform::Hash(Dtype::I32) => {
                for id in bytemuck::cast_slice_mut::<u8, i32>(bytes) {
                    *id = (id.unsigned_abs() % 10_000).cast_signed();
                }
            }
            ElementTransform::Hash(_) => {
                for id in bytemuck::cast_slice_mut::<u8, i64>(bytes) {
                    *id = (id.unsigned_abs() % 10_000).cast_signed();
                }
            }
            ElementTransform::ZeroTail(dtype) => {
                let tokens = bytes.len() / dtype.size();
                let kept = usize::try_from(length).unwrap_or(0).min(tokens);
                bytes[kept * dtype.size()..].fill(0);
            }
            ElementTransform::Float(step) => step.apply_in_place(bytemuck::cast_slice_mut(bytes)),
        }
    }
}

fn size(kind: &FieldKind) -> Size {
    Size { rows: kind.shape[0], columns: kind.shape[1], channels: kind.shape[2] }
}

fn each(bytes: &mut [u8], f: impl Fn(f32) -> f32) {
    map_in_place(bytemuck::cast_slice_mut(bytes), f);
}

/// `GaussianNoise`, in pieces that stay in the cache.
fn noise(numbers: &mut [f32], draw: Draw) {
    const PIECE: usize = 256;
    widest(
        #[inline(always)]
        || {
            let mut drawn = [0.0; PIECE];
            for (piece, numbers) in (0..).step_by(PIECE).zip(numbers.chunks_mut(PIECE)) {
                let drawn = &mut drawn[..numbers.len()];
                normals(draw, piece, drawn);
                for (x, normal) in numbers.iter_mut().zip(drawn) {
                    *x += 0.05 * *normal;
                }
            }
        },
    );
}

/// `MultiScaleResize`.
fn half_and_back(bytes: &mut [u8], size: Size, dtype: Dtype, space: &mut ElementBuffers) {
    let small = size.half();
    let half = space.half.room(small.numbers() * dtype.size());
    let (whole, resizer) = (size.whole(), &mut space.resizer);
    match dtype {
        Dtype::U8 => {
            resizer.colours::<u8>(bytes, size.columns, whole, half, small);
            resizer.colours::<u8>(half, small.columns, small.whole(), bytes, size);
        }
        Dtype::F32 => {
            let (half, numbers) = (bytemuck::cast_slice_mut(half), bytemuck::cast_slice_mut(bytes));
            resizer.colours::<f32>(numbers, size.columns, whole, half, small);
            resizer.colours::<f32>(half, small.columns, small.whole(), numbers, size);
        }
        _ => {
            let pixel = size.channels * dtype.size();
            resizer.classes(bytes, size.columns, whole, half, small, pixel);
            resizer.classes(half, small.columns, small.whole(), bytes, size, pixel);
        }
    }
}

/// `AffineRotation`: `times` quarter turns, counterclockwise.
fn rotate(from: &[u8], to: &mut [u8], side: usize, pixel: usize, times: u64) {
    let last = side - 1;
    for (index, to) in to.chunks_exact_mut(pixel).enumerate() {
        let (i, j) = (index / side, index % side);
        let (row, column) = match times {
            0 => (i, j),
            1 => (j, last - i),
            2 => (last - i, last - j),
            _ => (last - j, i),
        };
        to.copy_from_slice(&from[(row * side + column) * pixel..][..pixel]);
    }
}
