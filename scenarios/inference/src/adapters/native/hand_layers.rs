//! The layers of a model by hand, each by its formula.

use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis, s};
use rayon::prelude::*;
use weighbridge::{Error, Result};
use weighbridge_training::workload::model::Shape;

use super::key_values::KeyValues;
use super::real::HandNumber;

/// A function of each number.
pub(super) fn each<T: HandNumber>(mut x: Array2<T>, function: impl Fn(T) -> T + Sync + Send) -> Array2<T> {
    x.par_mapv_inplace(function);
    x
}

/// `x/2 (1 + erf(x / sqrt(2)))`.
pub(super) fn gelu<T: HandNumber>(x: T) -> T {
    let half = T::of(0.5);
    half * x * (T::one() + (x * half.sqrt()).erf())
}

/// Each row less its mean, over its deviation, times a scale, plus a shift.
pub(super) fn layer_norm<T: HandNumber>(
    mut x: Array2<T>,
    scale: &Array2<T>,
    shift: &Array2<T>,
    epsilon: f64,
) -> Array2<T> {
    let width = T::of(x.ncols() as f64);
    for mut row in x.rows_mut() {
        let mean = row.sum() / width;
        row.mapv_inplace(|number| number - mean);
        let variance = row.dot(&row) / width;
        let over = (variance + T::of(epsilon)).sqrt().recip();
        row.mapv_inplace(|number| number * over);
    }
    x * scale + shift
}

/// Each sample's rows behind the same learned ones.
pub(super) fn prepended<T: HandNumber>(x: &Array2<T>, tokens: &Array2<T>, batch: usize) -> Array2<T> {
    let (more, length) = (tokens.nrows(), x.nrows() / batch);
    let mut y = Array2::zeros((batch * (more + length), x.ncols()));
    for sample in 0..batch {
        let from = sample * (more + length);
        y.slice_mut(s![from..from + more, ..]).assign(tokens);
        let behind = s![from + more..from + more + length, ..];
        y.slice_mut(behind).assign(&x.slice(s![sample * length..(sample + 1) * length, ..]));
    }
    y
}

/// A learned row added for each place of each sample, from this place on.
pub(super) fn placed<T: HandNumber>(
    mut x: Array2<T>,
    rows: &Array2<T>,
    from: usize,
    batch: usize,
) -> Array2<T> {
    let length = x.nrows() / batch;
    for mut sample in x.axis_chunks_iter_mut(Axis(0), length) {
        sample += &rows.slice(s![from..from + length, ..]);
    }
    x
}

/// The mean row of each sample.
pub(super) fn means<T: HandNumber>(x: &Array2<T>, batch: usize) -> Array2<T> {
    let length = x.nrows() / batch;
    let mut means = Array2::zeros((batch, x.ncols()));
    for (sample, mut mean) in x.axis_chunks_iter(Axis(0), length).zip(means.rows_mut()) {
        mean.assign(&(sample.sum_axis(Axis(0)) / T::of(length as f64)));
    }
    means
}

/// Attention of several heads over rows that hold queries, keys and values, each by heads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attended {
    pub(super) batch: usize,
    pub(super) heads: usize,
    /// `true` if a place sees itself and those before it alone.
    pub(super) causal: bool,
}

impl Attended {
    /// The values that each place sees among those of its sample.
    pub(super) fn alone<T: HandNumber>(self, qkv: &Array2<T>) -> Array2<T> {
        self.by_sample(qkv, |_, qkv, out| {
            let [queries, keys, values] = parts(&qkv);
            self.look(queries, keys, values, 0, out);
        })
    }

    /// The same, with the keys and values that were kept before those of these rows, which are kept as well.
    pub(super) fn keeping<T: HandNumber>(self, qkv: &Array2<T>, kept: &mut KeyValues<T>) -> Array2<T> {
        let length = qkv.nrows() / self.batch;
        for (sample, qkv) in qkv.axis_chunks_iter(Axis(0), length).enumerate() {
            let [_, keys, values] = parts(&qkv);
            kept.write(sample, keys, values);
        }
        let (before, kept) = (kept.length, &*kept);
        self.by_sample(qkv, |sample, qkv, out| {
            let [queries, _, _] = parts(&qkv);
            let [keys, values] = kept.seen(sample, before + length);
            self.look(queries, keys, values, before, out);
        })
    }

    fn by_sample<T: HandNumber>(
        self,
        qkv: &Array2<T>,
        look: impl Fn(usize, ArrayView2<'_, T>, ArrayViewMut2<'_, T>) + Sync,
    ) -> Array2<T> {
        let length = qkv.nrows() / self.batch;
        let mut seen = Array2::zeros((qkv.nrows(), qkv.ncols() / 3));
        let samples = qkv.axis_chunks_iter(Axis(0), length);
        let samples: Vec<_> = samples.zip(seen.axis_chunks_iter_mut(Axis(0), length)).collect();
        samples.into_par_iter().enumerate().for_each(|(sample, (qkv, out))| look(sample, qkv, out));
        seen
    }

    /// `softmax(q k / sqrt(width of a head)) v` for each head. The first query is at the place `before`.
    fn look<T: HandNumber>(
        self,
        queries: ArrayView2<'_, T>,
        keys: ArrayView2<'_, T>,
        values: ArrayView2<'_, T>,
        before: usize,
        mut out: ArrayViewMut2<'_, T>,
    ) {
        let size = queries.ncols() / self.heads;
        let scale = T::of(size as f64).sqrt().recip();
        for head in 0..self.heads {
            let of_head = s![.., head * size..(head + 1) * size];
            let mut shares = queries.slice(of_head).dot(&keys.slice(of_head).t()) * scale;
            for (place, mut row) in shares.rows_mut().into_iter().enumerate() {
                if self.causal {
                    row.slice_mut(s![before + place + 1..]).fill(T::neg_infinity());
                }
                let most = row.fold(T::neg_infinity(), |most, &score| most.max(score));
                row.mapv_inplace(|score| (score - most).exp());
                let sum = row.sum();
                row.mapv_inplace(|share| share / sum);
            }
            out.slice_mut(of_head).assign(&shares.dot(&values.slice(of_head)));
        }
    }
}

/// Queries, keys and values.
fn parts<'a, T>(qkv: &ArrayView2<'a, T>) -> [ArrayView2<'a, T>; 3] {
    let width = qkv.ncols() / 3;
    [0, 1, 2].map(|part| (*qkv).slice_move(s![.., part * width..(part + 1) * width]))
}

/// Squares of a grid with places around it that are not there.
#[derive(Clone, Copy, Debug)]
pub(super) struct HandWindows {
    rows: usize,
    columns: usize,
    kernel: usize,
    stride: usize,
    around: usize,
}

impl HandWindows {
    /// The squares of a grid of this shape.
    ///
    /// # Errors
    /// A shape that is no grid.
    pub(super) fn of(shape: Shape, kernel: usize, stride: usize, around: usize) -> Result<Self> {
        match shape {
            Shape::Grid { rows, columns, .. } => Ok(Self { rows, columns, kernel, stride, around }),
            other => Err(Error::new(format!("there are no squares of {other}"))),
        }
    }

    fn places(self) -> [usize; 2] {
        [self.rows, self.columns].map(|side| (side + 2 * self.around - self.kernel) / self.stride + 1)
    }

    /// The position in the grid of a position in a square; `None` around the grid.
    fn position(self, place: usize, inside: usize) -> Option<usize> {
        let [_, across] = self.places();
        let row = (place / across * self.stride + inside / self.kernel).checked_sub(self.around)?;
        let column = (place % across * self.stride + inside % self.kernel).checked_sub(self.around)?;
        (row < self.rows && column < self.columns).then_some(row * self.columns + column)
    }

    /// The numbers of each square in a row: its rows, its columns, channels; zeros around the grid.
    pub(super) fn unfold<T: HandNumber>(self, x: &Array2<T>) -> Array2<T> {
        let ([down, across], grid, channels) = (self.places(), self.rows * self.columns, x.ncols());
        let (places, inner) = (down * across, self.kernel * self.kernel);
        let mut squares = Array2::zeros((x.nrows() / grid * places, inner * channels));
        squares.axis_iter_mut(Axis(0)).into_par_iter().enumerate().for_each(|(row, mut square)| {
            let sample = row / places * grid;
            for inside in 0..inner {
                if let Some(position) = self.position(row % places, inside) {
                    let from = inside * channels;
                    square.slice_mut(s![from..from + channels]).assign(&x.row(sample + position));
                }
            }
        });
        squares
    }

    /// The greatest of each square, channel by channel.
    pub(super) fn greatest<T: HandNumber>(self, x: &Array2<T>) -> Array2<T> {
        let ([down, across], grid) = (self.places(), self.rows * self.columns);
        let places = down * across;
        let mut most = Array2::from_elem((x.nrows() / grid * places, x.ncols()), T::neg_infinity());
        for (row, mut most) in most.rows_mut().into_iter().enumerate() {
            for inside in 0..self.kernel * self.kernel {
                if let Some(position) = self.position(row % places, inside) {
                    most.zip_mut_with(&x.row(row / places * grid + position), |most, &x| *most = most.max(x));
                }
            }
        }
        most
    }
}
