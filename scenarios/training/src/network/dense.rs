//! Maps of rows, and rows that are learned.

use ndarray::{Array2, ArrayView2, Axis, s};

use super::real::Real;
use super::{Gradients, NetworkParameters};

/// `x w + b`, by rows. `at` is the place of `w` among the parameters; `b` follows it where there is one.
#[derive(Debug)]
pub(super) struct Affine<T> {
    at: usize,
    has_bias: bool,
    input: Array2<T>,
}

impl<T: Real> Affine<T> {
    pub(super) fn new(at: usize, has_bias: bool) -> Self {
        Self { at, has_bias, input: Array2::zeros((0, 0)) }
    }

    pub(super) fn forward(&mut self, x: Array2<T>, parameters: &NetworkParameters<T>) -> Array2<T> {
        let mut y = x.dot(&parameters[self.at]);
        if self.has_bias {
            y += &parameters[self.at + 1];
        }
        self.input = x;
        y
    }

    /// The gradients of the parameters, and of the input where that is wanted.
    pub(super) fn backward(
        &mut self,
        of_y: &Array2<T>,
        parameters: &NetworkParameters<T>,
        gradients: &mut Gradients<T>,
        wants_input: bool,
    ) -> Array2<T> {
        gradients[self.at] = self.input.t().dot(of_y);
        if self.has_bias {
            gradients[self.at + 1] = of_y.sum_axis(Axis(0)).insert_axis(Axis(0));
        }
        if wants_input { of_y.dot(&parameters[self.at].t()) } else { Array2::zeros((0, 0)) }
    }
}

/// The rows of a table that ids name: one id in each row of `ids`.
pub(super) fn rows_of<T: Real>(table: &Array2<T>, ids: &Array2<T>) -> Array2<T> {
    let chosen: Vec<usize> = ids.iter().map(|id| id.to_usize().unwrap_or(usize::MAX)).collect();
    table.select(Axis(0), &chosen)
}

/// The gradient of the table.
pub(super) fn scattered<T: Real>(table: &Array2<T>, ids: &Array2<T>, of_rows: &Array2<T>) -> Array2<T> {
    let mut gradient = Array2::zeros(table.raw_dim());
    for (id, of_row) in ids.iter().zip(of_rows.rows()) {
        let mut row = gradient.row_mut(id.to_usize().unwrap_or(usize::MAX));
        row += &of_row;
    }
    gradient
}

/// Each sample's rows behind the same learned ones.
pub(super) fn prepended<T: Real>(x: &Array2<T>, tokens: &Array2<T>, batch: usize) -> Array2<T> {
    let (more, length) = (tokens.nrows(), x.nrows() / batch);
    let mut y = Array2::zeros((batch * (more + length), x.ncols()));
    for sample in 0..batch {
        let from = sample * (more + length);
        y.slice_mut(s![from..from + more, ..]).assign(tokens);
        y.slice_mut(s![from + more..from + more + length, ..])
            .assign(&x.slice(s![sample * length..(sample + 1) * length, ..]));
    }
    y
}

/// Each sample's rows before the same learned ones.
pub(super) fn appended<T: Real>(x: &Array2<T>, tokens: &Array2<T>, batch: usize) -> Array2<T> {
    let length = x.nrows() / batch;
    let rows: Vec<ArrayView2<'_, T>> =
        x.axis_chunks_iter(Axis(0), length).flat_map(|sample| [sample, tokens.view()]).collect();
    ndarray::concatenate(Axis(0), &rows).expect("all are of one width")
}

/// The gradients of the learned rows and of those before them.
pub(super) fn parted_behind<T: Real>(of_y: &Array2<T>, more: usize, batch: usize) -> (Array2<T>, Array2<T>) {
    let all = of_y.nrows() / batch;
    let samples = || of_y.axis_chunks_iter(Axis(0), all);
    let of_tokens = samples()
        .fold(Array2::zeros((more, of_y.ncols())), |sum, sample| sum + sample.slice(s![all - more.., ..]));
    let own: Vec<_> = samples().map(|sample| sample.slice_move(s![..all - more, ..])).collect();
    (of_tokens, ndarray::concatenate(Axis(0), &own).expect("all are of one width"))
}

/// The gradients of the learned rows and of those behind them.
pub(super) fn parted<T: Real>(of_y: &Array2<T>, more: usize, batch: usize) -> (Array2<T>, Array2<T>) {
    let all = of_y.nrows() / batch;
    let length = all - more;
    let mut of_tokens = Array2::zeros((more, of_y.ncols()));
    let mut of_x = Array2::zeros((batch * length, of_y.ncols()));
    for sample in 0..batch {
        let from = sample * all;
        of_tokens += &of_y.slice(s![from..from + more, ..]);
        of_x.slice_mut(s![sample * length..(sample + 1) * length, ..])
            .assign(&of_y.slice(s![from + more..from + all, ..]));
    }
    (of_tokens, of_x)
}

/// The rows of a sample, as often as there are samples.
pub(super) fn add_to_each<T: Real>(mut x: Array2<T>, rows: &Array2<T>) -> Array2<T> {
    for mut sample in x.axis_chunks_iter_mut(Axis(0), rows.nrows()) {
        sample += rows;
    }
    x
}

/// The sum over samples.
pub(super) fn sum_of_each<T: Real>(of_y: &Array2<T>, length: usize) -> Array2<T> {
    let zeros = Array2::zeros((length, of_y.ncols()));
    of_y.axis_chunks_iter(Axis(0), length).fold(zeros, |sum, sample: ArrayView2<'_, T>| sum + sample)
}
