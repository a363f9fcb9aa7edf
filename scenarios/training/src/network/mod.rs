//! Models by hand: forward, backward, loss and optimisers, over `f32` or `f64`.
//!
//! Takes a [`Model`] and the numbers of its parameters, and hands on logits and gradients. In `f64` it is
//! what a training is by definition: its gradients agree with finite differences of its loss (`tests`). In
//! `f32` it is a system under test like others.
//!
//! Activations are matrices with a row for each position of each sample and a column for each number of the
//! last axis.

mod attention;
mod dense;
mod loss;
mod norm;
mod numbers;
mod optimiser;
mod pointwise;
mod real;
mod rotary_attention;
#[cfg(test)]
mod tests;
mod windows;

use ndarray::{Array2, Axis, s};
use weighbridge::{Error, Result};

pub(crate) use loss::cross_entropy;
pub(crate) use numbers::{Gradients, NetworkParameters};
pub(crate) use optimiser::Descent;
pub use real::Real;

use crate::workload::model::{Layer, Model, Shape};
use attention::Attention;
use dense::Affine;
use norm::{Norm, RmsNorm};
use rotary_attention::RotaryAttention;
use windows::NetworkWindows;

/// A model that can be computed, with what its last way forward has left for the way back.
#[derive(Debug)]
pub(crate) struct Network<T> {
    input: Shape,
    nodes: Vec<NetworkNode<T>>,
    parameters: usize,
}

#[derive(Debug)]
struct NetworkNode<T> {
    output: Shape,
    /// `true` if the gradient of its input is needed: something below it is learned.
    wants_input: bool,
    step: NetworkStep<T>,
}

#[derive(Debug)]
enum NetworkStep<T> {
    Affine(Affine<T>),
    Squares(NetworkWindows, Affine<T>),
    Embed { at: usize, ids: Array2<T> },
    Prepend { at: usize },
    Append { at: usize },
    Positions { at: usize },
    Residual(Vec<NetworkNode<T>>),
    Projected(Vec<NetworkNode<T>>, Vec<NetworkNode<T>>),
    Norm(Norm<T>),
    RmsNorm(RmsNorm<T>),
    Scale { at: usize, input: Array2<T> },
    Attention(Attention<T>),
    RotaryAttention(RotaryAttention<T>),
    Pointwise { function: fn(T) -> T, slope: fn(T) -> T, input: Array2<T> },
    MaxPool(NetworkWindows, Array2<usize>, usize),
    MeanPool { positions: usize },
    FirstToken { length: usize },
}

impl<T: Real> Network<T> {
    /// The network of a model.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub(crate) fn new(model: &Model) -> Result<Self> {
        model.output()?;
        let mut at = 0;
        let (nodes, _) = nodes(&model.layers, model.input, &mut at)?;
        Ok(Self { input: model.input, nodes, parameters: at })
    }

    /// The logits of a batch: a row for each prediction.
    ///
    /// # Errors
    /// Numbers that are no whole batch; ids that are not below their bound.
    pub(crate) fn forward(&mut self, input: &[T], parameters: &NetworkParameters<T>) -> Result<Array2<T>> {
        let (rows, last) = (input.len() / self.input.last(), self.input.last());
        if input.is_empty()
            || !input.len().is_multiple_of(self.input.count())
            || parameters.len() != self.parameters
        {
            return Err(Error::new(format!(
                "{} numbers and {} parameters for a model of {} parameters that takes {}",
                input.len(),
                parameters.len(),
                self.parameters,
                self.input
            )));
        }
        if let Shape::Ids { below, .. } = self.input {
            let below = T::of(below as f64);
            if let Some(id) = input.iter().find(|&&id| !(id >= T::zero() && id < below)) {
                return Err(Error::new(format!("the id {} is not below {}", id.single(), below.single())));
            }
        }
        let batch = input.len() / self.input.count();
        let x = Array2::from_shape_vec((rows, last), input.to_vec()).expect("the length was looked at");
        Ok(forward(&mut self.nodes, x, parameters, batch))
    }

    /// The gradients of the parameters from that of the logits of the last [`Network::forward`].
    pub(crate) fn backward(
        &mut self,
        of_logits: Array2<T>,
        parameters: &NetworkParameters<T>,
    ) -> Gradients<T> {
        let mut gradients = vec![Array2::zeros((0, 0)); parameters.len()];
        let positions = self.nodes.last().map_or(1, |last| last.output.positions());
        let batch = of_logits.nrows() / positions;
        backward(&mut self.nodes, of_logits, parameters, &mut gradients, batch);
        gradients
    }
}

/// A parameter as a matrix.
pub(crate) fn matrix<T: Real>(shape: &[usize], numbers: &[f32]) -> Array2<T> {
    let last = shape.last().copied().unwrap_or(1);
    let numbers = numbers.iter().map(|&number| T::of(f64::from(number))).collect();
    Array2::from_shape_vec((shape.iter().product::<usize>() / last, last), numbers)
        .expect("a parameter has the numbers of its shape")
}

/// The nodes of layers one after the other, and what leaves them. `at` is the place of the next parameter.
fn nodes<T: Real>(layers: &[Layer], input: Shape, at: &mut usize) -> Result<(Vec<NetworkNode<T>>, Shape)> {
    let mut shape = input;
    let mut nodes = Vec::with_capacity(layers.len());
    for layer in layers {
        let wants_input = *at > 0;
        let step = step(layer, shape, at)?;
        shape = layer.output(shape, "of a model")?;
        nodes.push(NetworkNode { output: shape, wants_input, step });
    }
    Ok((nodes, shape))
}

fn step<T: Real>(layer: &Layer, input: Shape, at: &mut usize) -> Result<NetworkStep<T>> {
    let windows = |kernel: usize, stride, around| match input {
        Shape::Grid { rows, columns, channels } => {
            NetworkWindows { rows, columns, channels, kernel, stride, around }
        }
        _ => unreachable!("a layer says what it takes"),
    };
    let mut take = |count: usize| {
        *at += count;
        *at - count
    };
    Ok(match *layer {
        Layer::Patches { size, .. } => {
            NetworkStep::Squares(windows(size, size, 0), Affine::new(take(2), true))
        }
        Layer::Conv { kernel, stride, .. } => {
            NetworkStep::Squares(windows(kernel, stride, (kernel - 1) / 2), Affine::new(take(1), false))
        }
        Layer::Linear { .. } => NetworkStep::Affine(Affine::new(take(2), true)),
        Layer::Embed { .. } => NetworkStep::Embed { at: take(1), ids: Array2::zeros((0, 0)) },
        Layer::Prepend { .. } => NetworkStep::Prepend { at: take(1) },
        Layer::Append { .. } => NetworkStep::Append { at: take(1) },
        Layer::Positions => NetworkStep::Positions { at: take(1) },
        Layer::LayerNorm { epsilon } => NetworkStep::Norm(Norm::of_rows(take(2), epsilon)),
        Layer::BatchNorm { epsilon } => NetworkStep::Norm(Norm::of_channels(take(2), epsilon)),
        Layer::RmsNorm { epsilon } => NetworkStep::RmsNorm(RmsNorm::new(take(1), epsilon)),
        Layer::Scale => NetworkStep::Scale { at: take(1), input: Array2::zeros((0, 0)) },
        Layer::RotaryAttention { heads, epsilon, ref turned } => {
            let sizes = [input.positions(), input.last()];
            NetworkStep::RotaryAttention(RotaryAttention::new(take(5), (heads, epsilon), turned, sizes))
        }
        Layer::Attention { heads, causal } => {
            NetworkStep::Attention(Attention::new(take(4), heads, causal, input.positions()))
        }
        Layer::Gelu => pointwise(pointwise::gelu, pointwise::slope_of_gelu),
        Layer::Relu => pointwise(pointwise::relu, pointwise::slope_of_relu),
        Layer::MaxPool { kernel, stride } => {
            NetworkStep::MaxPool(windows(kernel, stride, (kernel - 1) / 2), Array2::zeros((0, 0)), 0)
        }
        Layer::MeanPool => NetworkStep::MeanPool { positions: input.positions() },
        Layer::FirstToken => NetworkStep::FirstToken { length: input.positions() },
        Layer::Residual { ref body } => NetworkStep::Residual(nodes(body, input, at)?.0),
        Layer::Projected { ref body, ref around } => {
            NetworkStep::Projected(nodes(body, input, at)?.0, nodes(around, input, at)?.0)
        }
    })
}

fn pointwise<T: Real>(function: fn(T) -> T, slope: fn(T) -> T) -> NetworkStep<T> {
    NetworkStep::Pointwise { function, slope, input: Array2::zeros((0, 0)) }
}

fn forward<T: Real>(
    nodes: &mut [NetworkNode<T>],
    x: Array2<T>,
    parameters: &NetworkParameters<T>,
    batch: usize,
) -> Array2<T> {
    nodes.iter_mut().fold(x, |x, node| match &mut node.step {
        NetworkStep::Affine(affine) => affine.forward(x, parameters),
        NetworkStep::Squares(windows, affine) => affine.forward(windows.unfold(&x), parameters),
        NetworkStep::Embed { at, ids } => {
            *ids = x;
            dense::rows_of(&parameters[*at], ids)
        }
        NetworkStep::Prepend { at } => dense::prepended(&x, &parameters[*at], batch),
        NetworkStep::Append { at } => dense::appended(&x, &parameters[*at], batch),
        NetworkStep::Positions { at } => dense::add_to_each(x, &parameters[*at]),
        NetworkStep::Residual(body) => forward(body, x.clone(), parameters, batch) + &x,
        NetworkStep::Projected(body, around) => {
            forward(body, x.clone(), parameters, batch) + &forward(around, x, parameters, batch)
        }
        NetworkStep::Norm(norm) => norm.forward(x, parameters),
        NetworkStep::RmsNorm(norm) => norm.forward(x, parameters),
        NetworkStep::Scale { at, input } => {
            let y = &x * &parameters[*at];
            *input = x;
            y
        }
        NetworkStep::Attention(attention) => attention.forward(x, parameters),
        NetworkStep::RotaryAttention(attention) => attention.forward(x, parameters),
        NetworkStep::Pointwise { function, input, .. } => {
            input.clone_from(&x);
            let (mut y, function) = (x, *function);
            y.par_mapv_inplace(function);
            y
        }
        NetworkStep::MaxPool(windows, from, rows) => {
            let (most, places) = windows.greatest(&x);
            (*from, *rows) = (places, x.nrows());
            most
        }
        NetworkStep::MeanPool { positions } => {
            let mean =
                |sample: ndarray::ArrayView2<'_, T>| sample.sum_axis(Axis(0)) / T::of(*positions as f64);
            let means: Vec<_> = x.axis_chunks_iter(Axis(0), *positions).map(mean).collect();
            let views: Vec<_> = means.iter().map(|one| one.view()).collect();
            ndarray::stack(Axis(0), &views).expect("means are of one width")
        }
        NetworkStep::FirstToken { length } => x.slice(s![..;*length, ..]).to_owned(),
    })
}

/// The gradient of what enters the first node, where something below it is learned.
fn backward<T: Real>(
    nodes: &mut [NetworkNode<T>],
    of_y: Array2<T>,
    parameters: &NetworkParameters<T>,
    gradients: &mut Gradients<T>,
    batch: usize,
) -> Array2<T> {
    nodes.iter_mut().rev().fold(of_y, |of_y, node| {
        if of_y.is_empty() {
            return of_y; // below the first parameter
        }
        let wants_input = node.wants_input;
        match &mut node.step {
            NetworkStep::Affine(affine) => affine.backward(&of_y, parameters, gradients, wants_input),
            NetworkStep::Squares(windows, affine) => {
                let of_squares = affine.backward(&of_y, parameters, gradients, wants_input);
                if wants_input { windows.fold(&of_squares) } else { of_squares }
            }
            NetworkStep::Embed { at, ids } => {
                gradients[*at] = dense::scattered(&parameters[*at], ids, &of_y);
                Array2::zeros((0, 0))
            }
            NetworkStep::Prepend { at } => {
                let (of_tokens, of_x) = dense::parted(&of_y, parameters[*at].nrows(), batch);
                gradients[*at] = of_tokens;
                of_x
            }
            NetworkStep::Append { at } => {
                let (of_tokens, of_x) = dense::parted_behind(&of_y, parameters[*at].nrows(), batch);
                gradients[*at] = of_tokens;
                of_x
            }
            NetworkStep::Positions { at } => {
                gradients[*at] = dense::sum_of_each(&of_y, parameters[*at].nrows());
                of_y
            }
            NetworkStep::Residual(body) => {
                let of_x = backward(body, of_y.clone(), parameters, gradients, batch);
                if wants_input { of_x + &of_y } else { of_x }
            }
            NetworkStep::Projected(body, around) => {
                let of_x = backward(body, of_y.clone(), parameters, gradients, batch);
                let beside = backward(around, of_y, parameters, gradients, batch);
                if wants_input { of_x + &beside } else { of_x }
            }
            NetworkStep::Norm(norm) => norm.backward(&of_y, parameters, gradients),
            NetworkStep::RmsNorm(norm) => norm.backward(&of_y, parameters, gradients),
            NetworkStep::Scale { at, input } => {
                gradients[*at] = (&of_y * &*input).sum_axis(Axis(0)).insert_axis(Axis(0));
                of_y * &parameters[*at]
            }
            NetworkStep::Attention(attention) => attention.backward(&of_y, parameters, gradients),
            NetworkStep::RotaryAttention(attention) => attention.backward(&of_y, parameters, gradients),
            NetworkStep::Pointwise { slope, input, .. } => {
                let (mut of_x, slope) = (std::mem::replace(input, Array2::zeros((0, 0))), *slope);
                of_x.par_mapv_inplace(slope);
                of_x *= &of_y;
                of_x
            }
            NetworkStep::MaxPool(_, from, rows) => {
                let mut of_x = Array2::zeros((*rows, of_y.ncols()));
                for ((place, channel), &gradient) in of_y.indexed_iter() {
                    of_x[[from[[place, channel]], channel]] += gradient;
                }
                of_x
            }
            NetworkStep::MeanPool { positions } => {
                let rows = of_y.nrows() * *positions;
                let share = T::of(*positions as f64).recip();
                Array2::from_shape_fn((rows, of_y.ncols()), |(row, column)| {
                    of_y[[row / *positions, column]] * share
                })
            }
            NetworkStep::FirstToken { length } => {
                let mut of_x = Array2::zeros((of_y.nrows() * *length, of_y.ncols()));
                of_x.slice_mut(s![..;*length, ..]).assign(&of_y);
                of_x
            }
        }
    })
}
