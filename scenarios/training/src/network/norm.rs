//! Rows or channels less their mean, over their deviation; rows over the root of their mean square.

use ndarray::{Array1, Array2, Axis, Zip};

use super::real::Real;
use super::{Gradients, NetworkParameters};

/// `(x - mean) / sqrt(variance + epsilon)`, times a scale, plus a shift; mean and variance (population) along
/// one axis.
#[derive(Debug)]
pub(super) struct Norm<T> {
    at: usize,
    epsilon: f64,
    /// The axis that the statistics are over: 1 for those of each row, 0 for those of each channel over a
    /// batch.
    over: Axis,
    standard: Array2<T>,
    inverse: Array1<T>,
}

impl<T: Real> Norm<T> {
    pub(super) fn of_rows(at: usize, epsilon: f64) -> Self {
        Self::over(at, epsilon, 1)
    }

    pub(super) fn of_channels(at: usize, epsilon: f64) -> Self {
        Self::over(at, epsilon, 0)
    }

    fn over(at: usize, epsilon: f64, axis: usize) -> Self {
        let (standard, inverse) = (Array2::zeros((0, 0)), Array1::zeros(0));
        Self { at, epsilon, over: Axis(axis), standard, inverse }
    }

    pub(super) fn forward(&mut self, mut x: Array2<T>, parameters: &NetworkParameters<T>) -> Array2<T> {
        let count = T::of(x.len_of(self.over) as f64);
        let mean = x.sum_axis(self.over) / count;
        x -= &mean.insert_axis(self.over);
        let squares = x.mapv(|number| number * number).sum_axis(self.over);
        self.inverse = squares.mapv(|sum| (sum / count + T::of(self.epsilon)).sqrt().recip());
        x *= &self.inverse.clone().insert_axis(self.over);
        let y = &x * &parameters[self.at] + &parameters[self.at + 1];
        self.standard = x;
        y
    }

    pub(super) fn backward(
        &mut self,
        of_y: &Array2<T>,
        parameters: &NetworkParameters<T>,
        gradients: &mut Gradients<T>,
    ) -> Array2<T> {
        gradients[self.at] = (of_y * &self.standard).sum_axis(Axis(0)).insert_axis(Axis(0));
        gradients[self.at + 1] = of_y.sum_axis(Axis(0)).insert_axis(Axis(0));
        // With s the standardised numbers: inverse (g - mean(g) - s mean(g s)), where g is the gradient of s.
        let mut of_x = of_y * &parameters[self.at];
        let count = T::of(of_x.len_of(self.over) as f64);
        let mean = (of_x.sum_axis(self.over) / count).insert_axis(self.over);
        let along = ((&of_x * &self.standard).sum_axis(self.over) / count).insert_axis(self.over);
        let shape = of_x.raw_dim();
        let inverse = self.inverse.view().insert_axis(self.over);
        Zip::from(&mut of_x)
            .and(&self.standard)
            .and(&mean.broadcast(shape).expect("of one axis"))
            .and(&along.broadcast(shape).expect("of one axis"))
            .and(&inverse.broadcast(shape).expect("of one axis"))
            .for_each(|g, &s, &mean, &along, &inverse| *g = inverse * (*g - mean - s * along));
        of_x
    }
}

/// `x / sqrt(mean(x x) + epsilon)` by rows, times a scale.
#[derive(Debug)]
pub(super) struct RmsNorm<T> {
    at: usize,
    epsilon: f64,
    standard: Array2<T>,
    inverse: Array1<T>,
}

impl<T: Real> RmsNorm<T> {
    pub(super) fn new(at: usize, epsilon: f64) -> Self {
        Self { at, epsilon, standard: Array2::zeros((0, 0)), inverse: Array1::zeros(0) }
    }

    pub(super) fn forward(&mut self, mut x: Array2<T>, parameters: &NetworkParameters<T>) -> Array2<T> {
        let count = T::of(x.ncols() as f64);
        let squares = x.mapv(|number| number * number).sum_axis(Axis(1));
        self.inverse = squares.mapv(|sum| (sum / count + T::of(self.epsilon)).sqrt().recip());
        x *= &self.inverse.view().insert_axis(Axis(1));
        let y = &x * &parameters[self.at];
        self.standard = x;
        y
    }

    pub(super) fn backward(
        &mut self,
        of_y: &Array2<T>,
        parameters: &NetworkParameters<T>,
        gradients: &mut Gradients<T>,
    ) -> Array2<T> {
        gradients[self.at] = (of_y * &self.standard).sum_axis(Axis(0)).insert_axis(Axis(0));
        // With s the standard numbers: inverse (g - s mean(g s)), where g is the gradient of s.
        let of_standard = of_y * &parameters[self.at];
        let count = T::of(of_y.ncols() as f64);
        let along = ((&of_standard * &self.standard).sum_axis(Axis(1)) / count).insert_axis(Axis(1));
        (of_standard - &self.standard * &along) * self.inverse.view().insert_axis(Axis(1))
    }
}
