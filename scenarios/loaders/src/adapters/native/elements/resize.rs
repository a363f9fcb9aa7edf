//! Resizing a window of an image.

use weighbridge_data::Draw;

use super::super::lanes::widest;
use super::colour::Colour;
use super::functions::exp;

/// Pixels of an image: rows from `top`, columns from `left`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct CropWindow {
    pub(in super::super) top: usize,
    pub(in super::super) left: usize,
    pub(in super::super) rows: usize,
    pub(in super::super) columns: usize,
}

/// Height, width and channels of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Size {
    pub(in super::super) rows: usize,
    pub(in super::super) columns: usize,
    pub(in super::super) channels: usize,
}

impl Size {
    /// All of it.
    pub(in super::super) fn whole(self) -> CropWindow {
        CropWindow { top: 0, left: 0, rows: self.rows, columns: self.columns }
    }

    /// Half of each side.
    pub(in super::super) fn half(self) -> Self {
        Self { rows: self.rows / 2, columns: self.columns / 2, ..self }
    }

    /// Returns the count of an image's numbers: rows by columns by channels.
    pub(in super::super) fn numbers(self) -> usize {
        self.rows * self.columns * self.channels
    }
}

/// The window of `RandomResizedCrop`.
pub(in super::super) fn random_window(size: Size, draw: Draw) -> CropWindow {
    const LN_4_3: f64 = 0.287_682_072_451_780_85;
    let (rows, columns) = (size.rows as f64, size.columns as f64);
    for attempt in 0..10 {
        let area = draw.between(2 * attempt, 0.08, 1.0) * (rows * columns);
        let ratio = exp(draw.between(2 * attempt + 1, -LN_4_3, LN_4_3));
        let width = ((area * ratio).sqrt() + 0.5).floor();
        let height = ((area / ratio).sqrt() + 0.5).floor();
        if (1.0..=columns).contains(&width) && (1.0..=rows).contains(&height) {
            let (height, width) = (height as usize, width as usize);
            let top = draw.below(20, (size.rows - height + 1) as u64) as usize;
            let left = draw.below(21, (size.columns - width + 1) as u64) as usize;
            return CropWindow { top, left, rows: height, columns: width };
        }
    }
    size.whole()
}

/// The sampling places of a resized axis, one for each of its pixels.
#[derive(Debug, Default)]
struct ResizeAxis {
    places: Vec<SampledPlace>,
}

/// Two neighbours, as offsets in numbers, and how far it is from the first to the second.
#[derive(Clone, Copy, Debug)]
struct SampledPlace {
    first: usize,
    second: usize,
    way: f32,
}

impl ResizeAxis {
    /// `to` pixels from `from` of them, each `step` numbers from the next.
    fn between(&mut self, from: usize, to: usize, step: usize) {
        let scale = from as f64 / to as f64;
        self.places.clear();
        self.places.extend((0..to).map(|index| {
            let place = ((index as f64 + 0.5) * scale - 0.5).max(0.0);
            let first = (place.floor() as usize).min(from - 1);
            let second = (first + 1).min(from - 1);
            SampledPlace { first: first * step, second: second * step, way: (place - first as f64) as f32 }
        }));
    }

    /// As [`ResizeAxis::between`], but the nearest pixel alone.
    fn nearest(&mut self, from: usize, to: usize, step: usize) {
        let scale = from as f64 / to as f64;
        self.places.clear();
        self.places.extend((0..to).map(|index| {
            let first = (((index as f64 + 0.5) * scale).floor() as usize).min(from - 1) * step;
            SampledPlace { first, second: first, way: 0.0 }
        }));
    }
}

/// Room for resizing, used again and again.
#[derive(Debug, Default)]
pub(in super::super) struct Resizer {
    rows: ResizeAxis,
    columns: ResizeAxis,
    upper: Vec<f32>,
    lower: Vec<f32>,
}

impl Resizer {
    /// Bilinear, for colours: a window of `from` (rows of `columns` pixels) into all of `to`.
    pub(in super::super) fn colours<T: Colour>(
        &mut self,
        from: &[T],
        columns: usize,
        window: CropWindow,
        to: &mut [T],
        size: Size,
    ) {
        let channels = size.channels;
        self.rows.between(window.rows, size.rows, 1);
        self.columns.between(window.columns, size.columns, channels);
        let row = size.columns * channels;
        self.upper.resize(row, 0.0);
        self.lower.resize(row, 0.0);
        let start = |number: usize| ((window.top + number) * columns + window.left) * channels;
        let (mut upper_is, mut lower_is) = (usize::MAX, usize::MAX);
        for (to, place) in to.chunks_exact_mut(row).zip(&self.rows.places) {
            // Rows are asked for from top to bottom, and neighbours share theirs.
            if upper_is != place.first {
                if lower_is == place.first {
                    std::mem::swap(&mut self.upper, &mut self.lower);
                    lower_is = usize::MAX;
                } else {
                    along(&from[start(place.first)..], &self.columns, channels, &mut self.upper);
                }
                upper_is = place.first;
            }
            if lower_is != place.second {
                along(&from[start(place.second)..], &self.columns, channels, &mut self.lower);
                lower_is = place.second;
            }
            let (neighbours, way) = (self.upper.iter().zip(&self.lower), place.way);
            widest(
                #[inline(always)]
                || {
                    for (to, (upper, lower)) in to.iter_mut().zip(neighbours) {
                        *to = T::write(upper + (lower - upper) * way);
                    }
                },
            );
        }
    }

    /// The nearest pixel, for classes: works on bytes, `pixel` of them to a pixel.
    pub(in super::super) fn classes(
        &mut self,
        from: &[u8],
        columns: usize,
        window: CropWindow,
        to: &mut [u8],
        size: Size,
        pixel: usize,
    ) {
        self.rows.nearest(window.rows, size.rows, 1);
        self.columns.nearest(window.columns, size.columns, pixel);
        for (to, row) in to.chunks_exact_mut(size.columns * pixel).zip(&self.rows.places) {
            let from = &from[((window.top + row.first) * columns + window.left) * pixel..];
            for (to, column) in to.chunks_exact_mut(pixel).zip(&self.columns.places) {
                to.copy_from_slice(&from[column.first..][..pixel]);
            }
        }
    }
}

/// One row, resized along its columns. Three channels are spelled out: they are nearly all images.
fn along<T: Colour>(from: &[T], columns: &ResizeAxis, channels: usize, to: &mut [f32]) {
    let one = |place: &SampledPlace, channel: usize| {
        let (left, right) = (from[place.first + channel].read(), from[place.second + channel].read());
        left + (right - left) * place.way
    };
    if channels == 3 {
        let (pixels, _) = to.as_chunks_mut::<3>();
        for (pixel, place) in pixels.iter_mut().zip(&columns.places) {
            *pixel = [one(place, 0), one(place, 1), one(place, 2)];
        }
        return;
    }
    for (pixel, place) in to.chunks_exact_mut(channels).zip(&columns.places) {
        for (channel, to) in pixel.iter_mut().enumerate() {
            *to = one(place, channel);
        }
    }
}
