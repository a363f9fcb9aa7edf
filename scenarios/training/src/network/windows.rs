//! Squares of a grid: convolutions and patches as one product of matrices, and the greatest of each square.

use ndarray::{Array2, Axis, s};
use rayon::prelude::*;

use super::real::Real;

/// Squares of a grid with zeros around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NetworkWindows {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) channels: usize,
    pub(super) kernel: usize,
    pub(super) stride: usize,
    /// Zeros on each side.
    pub(super) around: usize,
}

impl NetworkWindows {
    /// Places of a square from top to bottom, and from left to right.
    fn places(self) -> [usize; 2] {
        [self.rows, self.columns].map(|side| (side + 2 * self.around - self.kernel) / self.stride + 1)
    }

    /// For each place of a square and each position in it, the position of the grid; none in the zeros.
    fn pairs(self) -> impl Iterator<Item = (usize, usize, usize)> {
        let [down, across] = self.places();
        let Self { rows, columns, kernel, stride, around, .. } = self;
        (0..down * across * kernel * kernel).filter_map(move |index| {
            let (place, inside) = (index / (kernel * kernel), index % (kernel * kernel));
            let row = (place / across * stride + inside / kernel).checked_sub(around)?;
            let column = (place % across * stride + inside % kernel).checked_sub(around)?;
            (row < rows && column < columns).then_some((place, inside, row * columns + column))
        })
    }

    /// The numbers of each square in a row: rows of the square, its columns, channels. `x` has a row for each
    /// position.
    pub(super) fn unfold<T: Real>(self, x: &Array2<T>) -> Array2<T> {
        let ([down, across], grid) = (self.places(), self.rows * self.columns);
        let width = self.kernel * self.kernel * self.channels;
        let mut squares = Array2::zeros((x.nrows() / grid * down * across, width));
        let mut samples: Vec<_> = squares
            .axis_chunks_iter_mut(Axis(0), down * across)
            .zip(x.axis_chunks_iter(Axis(0), grid))
            .collect();
        samples.par_iter_mut().for_each(|(squares, sample)| {
            for (place, inside, position) in self.pairs() {
                let from = inside * self.channels;
                squares.slice_mut(s![place, from..from + self.channels]).assign(&sample.row(position));
            }
        });
        squares
    }

    /// The gradient of the grid from that of the squares.
    pub(super) fn fold<T: Real>(self, squares: &Array2<T>) -> Array2<T> {
        let ([down, across], grid) = (self.places(), self.rows * self.columns);
        let mut x = Array2::zeros((squares.nrows() / (down * across) * grid, self.channels));
        let mut samples: Vec<_> = x
            .axis_chunks_iter_mut(Axis(0), grid)
            .zip(squares.axis_chunks_iter(Axis(0), down * across))
            .collect();
        samples.par_iter_mut().for_each(|(sample, squares)| {
            for (place, inside, position) in self.pairs() {
                let from = inside * self.channels;
                let mut row = sample.row_mut(position);
                row += &squares.slice(s![place, from..from + self.channels]);
            }
        });
        x
    }

    /// The greatest of each square, channel by channel, and the position that it is from.
    pub(super) fn greatest<T: Real>(self, x: &Array2<T>) -> (Array2<T>, Array2<usize>) {
        let ([down, across], grid) = (self.places(), self.rows * self.columns);
        let batch = x.nrows() / grid;
        let shape = (batch * down * across, self.channels);
        let mut most = Array2::from_elem(shape, T::neg_infinity());
        let mut from = Array2::zeros(shape);
        for sample in 0..batch {
            for (place, _, position) in self.pairs() {
                let (to, at) = (sample * down * across + place, sample * grid + position);
                for channel in 0..self.channels {
                    if x[[at, channel]] > most[[to, channel]] {
                        most[[to, channel]] = x[[at, channel]];
                        from[[to, channel]] = at;
                    }
                }
            }
        }
        (most, from)
    }
}
