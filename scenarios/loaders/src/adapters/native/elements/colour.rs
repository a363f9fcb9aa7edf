//! Steps on the colours of one image, `u8` or `f32`.

#![expect(clippy::inline_always, reason = "loops around them are compiled for several instruction sets")]

use bytemuck::Pod;
use weighbridge_data::Draw;

use super::super::lanes::widest;
use super::functions::exp;

/// A type of number that holds colours.
pub(in super::super) trait Colour: Pod {
    /// The greatest value of the range.
    const TOP: f32;
    /// Half of the range.
    const HALF: f32;

    fn read(self) -> f32;

    /// Of `u8`: limited to the range and rounded to the nearest whole number, ties to even.
    fn write(x: f32) -> Self;

    /// The mean of all numbers.
    fn mean(numbers: &[Self]) -> f32;
}

impl Colour for u8 {
    const TOP: f32 = 255.0;
    const HALF: f32 = 128.0;

    #[inline(always)]
    fn read(self) -> f32 {
        f32::from(self)
    }

    #[inline(always)]
    fn write(x: f32) -> Self {
        // Added to 2^23, a number is rounded to a whole one, which then stands in the lowest bits.
        (x.clamp(0.0, 255.0) + 8_388_608.0).to_bits() as u8
    }

    fn mean(numbers: &[Self]) -> f32 {
        let sum: u64 = numbers
            .chunks(1 << 16)
            .map(|part| u64::from(part.iter().map(|&x| u32::from(x)).sum::<u32>()))
            .sum();
        (sum as f64 / numbers.len() as f64) as f32
    }
}

impl Colour for f32 {
    const TOP: f32 = 1.0;
    const HALF: f32 = 0.5;

    #[inline(always)]
    fn read(self) -> f32 {
        self
    }

    #[inline(always)]
    fn write(x: f32) -> Self {
        x
    }

    fn mean(numbers: &[Self]) -> f32 {
        let mut sums = [0.0_f64; 8];
        let (eights, rest) = numbers.as_chunks::<8>();
        for eight in eights {
            for (sum, x) in sums.iter_mut().zip(eight) {
                *sum += f64::from(*x);
            }
        }
        for (sum, x) in sums.iter_mut().zip(rest) {
            *sum += f64::from(*x);
        }
        let pair = |first: usize| sums[first] + sums[first + 1];
        let sum = (pair(0) + pair(2)) + (pair(4) + pair(6));
        (sum / numbers.len() as f64) as f32
    }
}

/// `ColorJitter`, on pixels of three channels.
pub(super) fn jitter<T: Colour>(numbers: &mut [T], draw: Draw) {
    let shift = (draw.between(0, -0.4, 0.4) * f64::from(T::TOP)) as f32;
    let contrast = draw.between(1, 0.6, 1.4) as f32;
    let saturation = draw.between(2, 0.6, 1.4) as f32;
    let mean = T::mean(numbers) + shift;
    let (pixels, _) = numbers.as_chunks_mut::<3>();
    widest(
        #[inline(always)]
        || {
            for pixel in pixels {
                let turned = |x: T| ((x.read() + shift) - mean) * contrast + mean;
                let [r, g, b] = [turned(pixel[0]), turned(pixel[1]), turned(pixel[2])];
                let grey = ((r + g) + b) / 3.0;
                let written = |y: f32| T::write(((y - grey) * saturation + grey).clamp(0.0, T::TOP));
                *pixel = [written(r), written(g), written(b)];
            }
        },
    );
}

/// `RandomGrayscale`, on pixels of three channels.
pub(super) fn grayscale<T: Colour>(numbers: &mut [T], draw: Draw) {
    if draw.unit(0) < 0.2 {
        let (pixels, _) = numbers.as_chunks_mut::<3>();
        widest(
            #[inline(always)]
            || {
                for pixel in pixels {
                    let [r, g, b] = [pixel[0].read(), pixel[1].read(), pixel[2].read()];
                    *pixel = [T::write(((r + g) + b) / 3.0); 3];
                }
            },
        );
    }
}

/// `RandomSolarize`.
pub(super) fn solarize<T: Colour>(numbers: &mut [T], draw: Draw) {
    if draw.coin(0) {
        widest(
            #[inline(always)]
            || {
                for number in numbers {
                    let x = number.read();
                    *number = if x >= T::HALF { T::write(T::TOP - x) } else { *number };
                }
            },
        );
    }
}

/// The weighted mean of five neighbours; the first weight is of the one in the middle.
#[inline(always)]
fn five([k0, k1, k2]: [f32; 3], x: [f32; 5]) -> f32 {
    (k0 * x[2] + k1 * (x[1] + x[3])) + k2 * (x[0] + x[4])
}

/// `GaussianBlur` of an image with rows of `columns` pixels. `rows` and `padded` are room.
pub(super) fn blur<T: Colour>(
    numbers: &mut [T],
    columns: usize,
    channels: usize,
    draw: Draw,
    rows: &mut Vec<f32>,
    padded: &mut Vec<f32>,
) {
    let deviation = draw.between(0, 0.1, 2.0);
    let a = exp(-0.5 / (deviation * deviation));
    let b = (a * a) * (a * a);
    let n = 1.0 + 2.0 * (a + b);
    let weights = [1.0, a, b].map(|k| (k / n) as f32);

    let row = columns * channels;
    rows.resize(numbers.len(), 0.0);
    padded.resize(row + 4 * channels, 0.0);
    widest(
        #[inline(always)]
        || {
            for (from, to) in numbers.chunks_exact(row).zip(rows.chunks_exact_mut(row)) {
                for (x, y) in from.iter().zip(&mut padded[2 * channels..]) {
                    *y = x.read();
                }
                for pixel in 0..2 {
                    padded.copy_within(2 * channels..3 * channels, pixel * channels);
                    padded.copy_within(row + channels..row + 2 * channels, row + (2 + pixel) * channels);
                }
                let at = |pixel: usize| &padded[pixel * channels..][..row];
                let (x0, x1, x2, x3, x4) = (at(0), at(1), at(2), at(3), at(4));
                for (i, to) in to.iter_mut().enumerate() {
                    *to = five(weights, [x0[i], x1[i], x2[i], x3[i], x4[i]]);
                }
            }
            let last = numbers.len() / row - 1;
            for (i, to) in numbers.chunks_exact_mut(row).enumerate() {
                let at = |row_number: usize| &rows[row_number.min(last) * row..][..row];
                let (x0, x1, x2) = (at(i.saturating_sub(2)), at(i.saturating_sub(1)), at(i));
                let (x3, x4) = (at(i + 1), at(i + 2));
                for (j, to) in to.iter_mut().enumerate() {
                    *to = T::write(five(weights, [x0[j], x1[j], x2[j], x3[j], x4[j]]));
                }
            }
        },
    );
}
