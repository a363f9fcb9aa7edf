//! The layers of a model in operations on tensors of `candle`: a row for each position of each sample, as the
//! network by hand has it.

use candle_core::{DType, Device, Tensor, Var};
use weighbridge::{Error, Result, skip};

use super::derived_model::grid;
use crate::workload::model::{Layer, Shape};

/// A way forward: the parameters that are still to come, in the order of the model.
pub(super) struct CandleWay<'a> {
    pub(super) parameters: std::slice::Iter<'a, Var>,
    pub(super) batch: usize,
}

impl<'a> CandleWay<'a> {
    /// Returns the output of layers one after the other, and its shape.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub(super) fn through(
        &mut self,
        layers: &[Layer],
        x: Tensor,
        shape: Shape,
        at: &str,
    ) -> Result<(Tensor, Shape)> {
        layers.iter().try_fold((x, shape), |(x, shape), layer| {
            let output = layer.output(shape, at)?;
            Ok((self.layer(layer, &x, shape, output, at)?, output))
        })
    }

    fn next(&mut self) -> Result<&'a Tensor> {
        let missing = || Error::new("the model has more parameters than there are");
        self.parameters.next().map(Var::as_tensor).ok_or_else(missing)
    }

    fn affine(&mut self, x: &Tensor) -> Result<Tensor> {
        Ok(x.matmul(self.next()?)?.broadcast_add(self.next()?)?)
    }

    /// Rows of ids from a table.
    pub(super) fn embed(&mut self, ids: &Tensor) -> Result<Tensor> {
        Ok(self.next()?.index_select(ids, 0)?)
    }

    fn layer(&mut self, layer: &Layer, x: &Tensor, input: Shape, output: Shape, at: &str) -> Result<Tensor> {
        let batch = self.batch;
        let (positions, last) = (input.positions(), input.last());
        let rows = batch * output.positions();
        Ok(match *layer {
            Layer::Linear { .. } => self.affine(x)?,
            Layer::Patches { size, .. } => {
                let (down, across) = grid(input, size)?;
                let squares = x.reshape((batch, down, size, across, size, last))?;
                let squares = squares.permute([0, 1, 3, 2, 4, 5])?;
                self.affine(&squares.reshape((batch * down * across, size * size * last))?)?
            }
            Layer::Embed { .. } => return Err(Error::new("a table takes what enters a model")),
            Layer::Prepend { tokens } => {
                let before = self.next()?.broadcast_as((batch, tokens, last))?;
                Tensor::cat(&[before, x.reshape((batch, positions, last))?], 1)?.reshape((rows, last))?
            }
            Layer::Positions => {
                x.reshape((batch, positions, last))?.broadcast_add(self.next()?)?.reshape((rows, last))?
            }
            Layer::Residual { ref body } => (x + self.through(body, x.clone(), input, at)?.0)?,
            Layer::Projected { ref body, ref around } => {
                let (longer, _) = self.through(body, x.clone(), input, at)?;
                (longer + self.through(around, x.clone(), input, at)?.0)?
            }
            Layer::LayerNorm { epsilon } => self.norm(x, 1, epsilon)?,
            Layer::BatchNorm { epsilon } => self.norm(x, 0, epsilon)?,
            Layer::Attention { heads, causal } => self.attention(x, positions, last, heads, causal)?,
            Layer::Append { .. } | Layer::RmsNorm { .. } | Layer::Scale | Layer::RotaryAttention { .. } => {
                let what = layer.name();
                return Err(skip(format!("the layer {what}: it is not written for candle here")));
            }
            Layer::Gelu => x.gelu_erf()?,
            // Its own has a slope of one at 0, where others have none, and where blocks that begin as the
            // identity often are.
            Layer::Relu => (x * x.gt(&x.zeros_like()?)?.to_dtype(x.dtype())?)?,
            Layer::Conv { to, kernel, stride } => {
                let kernels = self.next()?.reshape((kernel, kernel, last, to))?.permute([3, 2, 0, 1])?;
                let (down, across) = grid(input, 1)?;
                let images = x.reshape((batch, down, across, last))?.permute([0, 3, 1, 2])?;
                let made = images.conv2d(&kernels, (kernel - 1) / 2, stride, 1, 1)?;
                made.permute([0, 2, 3, 1])?.reshape((rows, to))?
            }
            Layer::MaxPool { kernel, stride } => {
                // `max_pool2d` has no gradient where squares overlap: each square is put together, and its
                // greatest taken.
                let none = Tensor::full(f32::NEG_INFINITY, (batch, 1, last), &Device::Cpu)?;
                let x = Tensor::cat(&[x.reshape((batch, positions, last))?, none], 1)?;
                let squares = x.index_select(&squares(input, kernel, stride)?, 1)?;
                squares.reshape((rows, kernel * kernel, last))?.max(1)?
            }
            Layer::MeanPool => x.reshape((batch, positions, last))?.mean(1)?,
            Layer::FirstToken => {
                x.reshape((batch, positions, last))?.narrow(1, 0, 1)?.reshape((rows, last))?
            }
        })
    }

    fn norm(&mut self, x: &Tensor, over: usize, epsilon: f64) -> Result<Tensor> {
        let centred = x.broadcast_sub(&x.mean_keepdim(over)?)?;
        let deviation = (centred.sqr()?.mean_keepdim(over)? + epsilon)?.sqrt()?;
        let normed = centred.broadcast_div(&deviation)?;
        Ok(normed.broadcast_mul(self.next()?)?.broadcast_add(self.next()?)?)
    }

    fn attention(
        &mut self,
        x: &Tensor,
        length: usize,
        width: usize,
        heads: usize,
        causal: bool,
    ) -> Result<Tensor> {
        let of_head = width / heads;
        let split = self.affine(x)?.reshape((self.batch, length, 3, heads, of_head))?;
        let split = split.permute([2, 0, 3, 1, 4])?;
        let part = |part| split.narrow(0, part, 1)?.squeeze(0)?.contiguous();
        let (queries, keys, values) = (part(0)?, part(1)?, part(2)?);
        let mut scores = (queries.matmul(&keys.transpose(2, 3)?)? * (of_head as f64).powf(-0.5))?;
        if causal {
            let seen = Tensor::tril2(length, DType::U8, &Device::Cpu)?.broadcast_as(scores.shape())?;
            let never = Tensor::new(f32::NEG_INFINITY, &Device::Cpu)?.broadcast_as(scores.shape())?;
            scores = seen.where_cond(&scores, &never)?;
        }
        // A softmax is the same whatever is taken off, so that needs no gradient.
        let powers = scores.broadcast_sub(&scores.max_keepdim(3)?.detach())?.exp()?;
        let shares = powers.broadcast_div(&powers.sum_keepdim(3)?)?;
        self.affine(&shares.matmul(&values)?.transpose(1, 2)?.reshape((self.batch * length, width))?)
    }
}

/// The positions of each square of a grid, row by row; what is outside has the number after the last
/// position.
fn squares(input: Shape, kernel: usize, stride: usize) -> Result<Tensor> {
    let (rows, columns) = grid(input, 1)?;
    let around = (kernel - 1) / 2;
    let starts = |side: usize| (0..=side + 2 * around - kernel).step_by(stride);
    let mut positions = Vec::new();
    for top in starts(rows) {
        for left in starts(columns) {
            for (row, column) in (0..kernel * kernel).map(|at| (top + at / kernel, left + at % kernel)) {
                let is_inside =
                    (around..around + rows).contains(&row) && (around..around + columns).contains(&column);
                let position =
                    if is_inside { (row - around) * columns + column - around } else { rows * columns };
                positions.push(position as u32);
            }
        }
    }
    let count = positions.len();
    Ok(Tensor::from_vec(positions, count, &Device::Cpu)?)
}
