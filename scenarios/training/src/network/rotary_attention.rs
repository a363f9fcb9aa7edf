//! Attention whose queries and keys go through a norm and are turned by their place.

use ndarray::Array2;

use super::attention::{back_through_all, look_at_all};
use super::dense::Affine;
use super::real::Real;
use super::{Gradients, NetworkParameters};
use crate::workload::model::RotaryGrid;

/// A map to queries, keys and values without a bias; the queries and keys of each head over the root of
/// their mean square, times a scale, and turned; attention; a map of the heads side by side.
#[derive(Debug)]
pub(super) struct RotaryAttention<T> {
    at: usize,
    heads: usize,
    epsilon: f64,
    length: usize,
    /// For each place the cosine and the sine of each pair of a head.
    turns: Vec<Vec<(T, T)>>,
    apart: Affine<T>,
    together: Affine<T>,
    /// Queries, keys and values of all samples as the scores are made of them.
    turned: Array2<T>,
    /// Queries and keys over their roots, and the inverse of each root: by row, queries first.
    standard: Array2<T>,
    inverse: Array2<T>,
    /// The attention weights of each place over all places: by sample, then by head.
    weights: Vec<Vec<Array2<T>>>,
}

impl<T: Real> RotaryAttention<T> {
    /// With the five parameters from `at` on, over sequences of this length and width.
    pub(super) fn new(
        at: usize,
        (heads, epsilon): (usize, f64),
        grids: &[RotaryGrid],
        [length, width]: [usize; 2],
    ) -> Self {
        let size = width / heads;
        let mut turns = vec![vec![(T::one(), T::zero()); size / 2]; length];
        for grid in grids {
            for (place, angles) in grid.angles(size).into_iter().enumerate() {
                let turn = |angle: f64| (T::of(angle.cos()), T::of(angle.sin()));
                turns[grid.first + place] = angles.into_iter().map(turn).collect();
            }
        }
        let empty = || Array2::zeros((0, 0));
        let (apart, together) = (Affine::new(at, false), Affine::new(at + 3, true));
        let (turned, standard, inverse) = (empty(), empty(), empty());
        let weights = Vec::new();
        Self { at, heads, epsilon, length, turns, apart, together, turned, standard, inverse, weights }
    }

    pub(super) fn forward(&mut self, x: Array2<T>, parameters: &NetworkParameters<T>) -> Array2<T> {
        let mut qkv = self.apart.forward(x, parameters);
        self.normalise(&mut qkv, parameters);
        self.turn(&mut qkv, T::one());
        self.turned = qkv;
        let (values, weights) = look_at_all(&self.turned, self.length, self.heads, false);
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
        let mut of_qkv = back_through_all(&self.turned, &of_values, &self.weights, self.length);
        // A turn has its own inverse as its transpose.
        self.turn(&mut of_qkv, -T::one());
        self.back_through_norms(&mut of_qkv, parameters, gradients);
        self.apart.backward(&of_qkv, parameters, gradients, true)
    }

    /// Numbers of a head.
    fn size(&self) -> usize {
        2 * self.turns[0].len()
    }

    /// Queries and keys over the root of their mean square, times their scales.
    fn normalise(&mut self, qkv: &mut Array2<T>, parameters: &NetworkParameters<T>) {
        let (size, count) = (self.size(), T::of(self.size() as f64));
        self.standard = Array2::zeros((qkv.nrows(), 2 * self.heads * size));
        self.inverse = Array2::zeros((qkv.nrows(), 2 * self.heads));
        for (row, mut numbers) in qkv.rows_mut().into_iter().enumerate() {
            for head in 0..2 * self.heads {
                let scale = parameters[self.at + 1 + head / self.heads].row(0);
                let squares: T = (0..size).map(|at| numbers[head * size + at].powi(2)).sum();
                let inverse = (squares / count + T::of(self.epsilon)).sqrt().recip();
                self.inverse[[row, head]] = inverse;
                for at in 0..size {
                    let standard = numbers[head * size + at] * inverse;
                    self.standard[[row, head * size + at]] = standard;
                    numbers[head * size + at] = standard * scale[at];
                }
            }
        }
    }

    /// Turns each pair of neighbours in queries and keys by the angle of its place, or back.
    fn turn(&self, qkv: &mut Array2<T>, direction: T) {
        let size = self.size();
        for (row, mut numbers) in qkv.rows_mut().into_iter().enumerate() {
            let turns = &self.turns[row % self.length];
            for head in 0..2 * self.heads {
                for (pair, &(cosine, sine)) in turns.iter().enumerate() {
                    let (at, sine) = (head * size + 2 * pair, direction * sine);
                    let (one, other) = (numbers[at], numbers[at + 1]);
                    numbers[at] = cosine * one - sine * other;
                    numbers[at + 1] = sine * one + cosine * other;
                }
            }
        }
    }

    /// With s the standard numbers: inverse (g - s mean(g s)), where g is the gradient of s.
    fn back_through_norms(
        &self,
        of_qkv: &mut Array2<T>,
        parameters: &NetworkParameters<T>,
        gradients: &mut Gradients<T>,
    ) {
        let (size, count) = (self.size(), T::of(self.size() as f64));
        let mut of_scales = [0, 1].map(|_| Array2::<T>::zeros((1, size)));
        for (row, mut of_numbers) in of_qkv.rows_mut().into_iter().enumerate() {
            for head in 0..2 * self.heads {
                let part = head / self.heads;
                let scale = parameters[self.at + 1 + part].row(0);
                let mut along = T::zero();
                for at in 0..size {
                    let (place, standard) = (head * size + at, self.standard[[row, head * size + at]]);
                    of_scales[part][[0, at]] += of_numbers[place] * standard;
                    of_numbers[place] *= scale[at];
                    along += of_numbers[place] * standard / count;
                }
                for place in head * size..(head + 1) * size {
                    let straight = of_numbers[place] - self.standard[[row, place]] * along;
                    of_numbers[place] = self.inverse[[row, head]] * straight;
                }
            }
        }
        let [of_queries, of_keys] = of_scales;
        (gradients[self.at + 1], gradients[self.at + 2]) = (of_queries, of_keys);
    }
}
