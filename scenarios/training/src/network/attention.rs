//! Attention of several heads.

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use rayon::prelude::*;

use super::dense::Affine;
use super::real::Real;
use super::{Gradients, NetworkParameters};

/// A map to queries, keys and values, `softmax(q k / sqrt(width of a head)) v` for each head, a map of the
/// heads side by side.
#[derive(Debug)]
pub(super) struct Attention<T> {
    heads: usize,
    causal: bool,
    length: usize,
    apart: Affine<T>,
    together: Affine<T>,
    /// Queries, keys and values of all samples.
    qkv: Array2<T>,
    /// The attention weights of each place over all places: by sample, then by head.
    weights: Vec<Vec<Array2<T>>>,
}

impl<T: Real> Attention<T> {
    /// With the four parameters from `at` on, over sequences of this length.
    pub(super) fn new(at: usize, heads: usize, causal: bool, length: usize) -> Self {
        let (apart, together) = (Affine::new(at, true), Affine::new(at + 2, true));
        Self { heads, causal, length, apart, together, qkv: Array2::zeros((0, 0)), weights: Vec::new() }
    }

    pub(super) fn forward(&mut self, x: Array2<T>, parameters: &NetworkParameters<T>) -> Array2<T> {
        self.qkv = self.apart.forward(x, parameters);
        let (values, weights) = look_at_all(&self.qkv, self.length, self.heads, self.causal);
        self.weights = weights;
        self.together.forward(values, parameters)
    }

    pub(super) fn backward(
        &mut self,
        of_y: &Array2<T>,
        parameters: &NetworkParameters<T>,
        gradients: &mut Gradients<T>,
    ) -> Array2<T> {
        let of_values = self.together.backward(of_y, parameters, gradients, true);
        let of_qkv = back_through_all(&self.qkv, &of_values, &self.weights, self.length);
        self.apart.backward(&of_qkv, parameters, gradients, true)
    }
}

/// Every sample's values where its queries look, and the weights of each head in it.
pub(super) fn look_at_all<T: Real>(
    qkv: &Array2<T>,
    length: usize,
    heads: usize,
    causal: bool,
) -> (Array2<T>, Vec<Vec<Array2<T>>>) {
    let samples: Vec<ArrayView2<'_, T>> = qkv.axis_chunks_iter(Axis(0), length).collect();
    let seen: Vec<_> = samples.par_iter().map(|sample| look(sample, heads, causal)).collect();
    let (values, weights): (Vec<_>, Vec<_>) = seen.into_iter().unzip();
    (stacked(&values), weights)
}

/// The gradients of queries, keys and values of every sample.
pub(super) fn back_through_all<T: Real>(
    qkv: &Array2<T>,
    of_values: &Array2<T>,
    weights: &[Vec<Array2<T>>],
    length: usize,
) -> Array2<T> {
    let samples: Vec<_> = qkv
        .axis_chunks_iter(Axis(0), length)
        .zip(of_values.axis_chunks_iter(Axis(0), length))
        .zip(weights)
        .collect();
    let of_samples: Vec<Array2<T>> =
        samples.par_iter().map(|((sample, of_values), weights)| back(sample, of_values, weights)).collect();
    stacked(&of_samples)
}

fn stacked<T: Real>(samples: &[Array2<T>]) -> Array2<T> {
    let views: Vec<ArrayView2<'_, T>> = samples.iter().map(|sample| sample.view()).collect();
    concatenate(Axis(0), &views).expect("samples are of one width")
}

/// Queries, keys and values of a head.
fn parts<'a, T>(sample: &'a ArrayView2<'_, T>, head: usize, of: usize) -> [ArrayView2<'a, T>; 3] {
    let width = sample.ncols() / 3;
    let size = width / of;
    [0, 1, 2].map(|part| {
        let from = part * width + head * size;
        sample.slice(s![.., from..from + size])
    })
}

/// Returns the values that the heads of one sample make, side by side, and the attention weights of each
/// head.
fn look<T: Real>(sample: &ArrayView2<'_, T>, heads: usize, causal: bool) -> (Array2<T>, Vec<Array2<T>>) {
    let width = sample.ncols() / 3;
    let scale = scale::<T>(width / heads);
    let mut values = Array2::zeros((sample.nrows(), width));
    let each = |head: usize| {
        let [q, k, v] = parts(sample, head, heads);
        let mut weights = q.dot(&k.t()) * scale;
        for (place, mut row) in weights.rows_mut().into_iter().enumerate() {
            if causal {
                row.slice_mut(s![place + 1..]).fill(T::neg_infinity());
            }
            let most = row.fold(T::neg_infinity(), |most, &score| most.max(score));
            row.mapv_inplace(|score| (score - most).exp());
            let sum = row.sum();
            row.mapv_inplace(|weight| weight / sum);
        }
        let from = head * (width / heads);
        values.slice_mut(s![.., from..from + width / heads]).assign(&weights.dot(&v));
        weights
    };
    let weights = (0..heads).map(each).collect();
    (values, weights)
}

/// The gradient of the queries, keys and values of one sample.
fn back<T: Real>(
    sample: &ArrayView2<'_, T>,
    of_values: &ArrayView2<'_, T>,
    weights: &[Array2<T>],
) -> Array2<T> {
    let width = sample.ncols() / 3;
    let size = width / weights.len();
    let scale = scale::<T>(size);
    let mut of_qkv = Array2::zeros(sample.raw_dim());
    for (head, weights) in weights.iter().enumerate() {
        let [q, k, v] = parts(sample, head, width / size);
        let of_head = of_values.slice(s![.., head * size..(head + 1) * size]);
        // The gradient of a softmax: w (g - sum(w g)), by rows.
        let mut of_scores = of_head.dot(&v.t());
        for (mut row, weights) in of_scores.rows_mut().into_iter().zip(weights.rows()) {
            let along = row.dot(&weights);
            row.zip_mut_with(&weights, |g, &weight| *g = weight * (*g - along) * scale);
        }
        for (part, gradient) in
            [of_scores.dot(&k), of_scores.t().dot(&q), weights.t().dot(&of_head)].into_iter().enumerate()
        {
            let from = part * width + head * size;
            of_qkv.slice_mut(s![.., from..from + size]).assign(&gradient);
        }
    }
    of_qkv
}

fn scale<T: Real>(size: usize) -> T {
    T::of(size as f64).sqrt().recip()
}
