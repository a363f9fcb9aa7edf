//! The layers of a model in operations on tensors of `burn`: a row for each position of each sample, as the
//! network by hand has it.

use burn_core::tensor::activation::{gelu, relu, softmax};
use burn_core::tensor::module::{conv2d, max_pool2d};
use burn_core::tensor::ops::{ConvOptions, MaxPoolOptions};
use burn_core::tensor::{Bool, Device, Int, Tensor};
use weighbridge::{Error, Result, skip};

use super::derived_model::grid;
use crate::workload::model::{Layer, Shape};

/// A way forward: the parameters that are still to come, in the order of the model.
pub(super) struct BurnWay<'a> {
    pub(super) parameters: std::slice::Iter<'a, Tensor<2>>,
    pub(super) batch: usize,
    pub(super) device: &'a Device,
}

impl BurnWay<'_> {
    /// Returns the output of layers one after the other, and its shape.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub(super) fn through(
        &mut self,
        layers: &[Layer],
        x: Tensor<2>,
        shape: Shape,
        at: &str,
    ) -> Result<(Tensor<2>, Shape)> {
        layers.iter().try_fold((x, shape), |(x, shape), layer| {
            let output = layer.output(shape, at)?;
            Ok((self.layer(layer, x, shape, output, at)?, output))
        })
    }

    fn next(&mut self) -> Result<Tensor<2>> {
        let missing = || Error::new("the model has more parameters than there are");
        self.parameters.next().cloned().ok_or_else(missing)
    }

    fn affine(&mut self, x: Tensor<2>) -> Result<Tensor<2>> {
        let (weight, bias) = (self.next()?, self.next()?);
        Ok(x.matmul(weight) + bias)
    }

    /// Rows of ids from a table.
    pub(super) fn embed(&mut self, ids: Tensor<1, Int>) -> Result<Tensor<2>> {
        Ok(self.next()?.select(0, ids))
    }

    fn layer(
        &mut self,
        layer: &Layer,
        x: Tensor<2>,
        input: Shape,
        output: Shape,
        at: &str,
    ) -> Result<Tensor<2>> {
        let batch = self.batch;
        let (positions, last) = (input.positions(), input.last());
        let rows = batch * output.positions();
        Ok(match *layer {
            Layer::Linear { .. } => self.affine(x)?,
            Layer::Patches { size, .. } => {
                let (down, across) = grid(input, size)?;
                let squares = x.reshape([batch, down, size, across, size, last]);
                let squares = squares.permute([0, 1, 3, 2, 4, 5]);
                self.affine(squares.reshape([batch * down * across, size * size * last]))?
            }
            Layer::Embed { .. } => return Err(Error::new("a table takes what enters a model")),
            Layer::Prepend { tokens } => {
                let before = self.next()?.unsqueeze::<3>().expand([batch, tokens, last]);
                Tensor::cat(vec![before, x.reshape([batch, positions, last])], 1).reshape([rows, last])
            }
            Layer::Positions => {
                let places = self.next()?.unsqueeze::<3>();
                (x.reshape([batch, positions, last]) + places).reshape([rows, last])
            }
            Layer::Residual { ref body } => x.clone() + self.through(body, x, input, at)?.0,
            Layer::Projected { ref body, ref around } => {
                let (longer, _) = self.through(body, x.clone(), input, at)?;
                longer + self.through(around, x, input, at)?.0
            }
            Layer::LayerNorm { epsilon } => self.norm(x, 1, epsilon)?,
            Layer::BatchNorm { epsilon } => self.norm(x, 0, epsilon)?,
            Layer::Attention { heads, causal } => self.attention(x, positions, last, heads, causal)?,
            Layer::Append { .. } | Layer::RmsNorm { .. } | Layer::Scale | Layer::RotaryAttention { .. } => {
                let what = layer.name();
                return Err(skip(format!("the layer {what}: it is not written for burn here")));
            }
            Layer::Gelu => gelu(x),
            Layer::Relu => relu(x),
            Layer::Conv { to, kernel, stride } => {
                let kernels = self.next()?.reshape([kernel, kernel, last, to]).permute([3, 2, 0, 1]);
                let around = (kernel - 1) / 2;
                let options = ConvOptions::new([stride; 2], [around; 2], [1; 2], 1);
                let made = conv2d(channels_first(x, batch, input)?, kernels, None, options);
                made.permute([0, 2, 3, 1]).reshape([rows, to])
            }
            Layer::MaxPool { kernel, stride } => {
                let around = (kernel - 1) / 2;
                let options =
                    MaxPoolOptions::new([kernel; 2]).with_stride([stride; 2]).with_padding([around; 2]);
                let made = max_pool2d(channels_first(x, batch, input)?, options);
                made.permute([0, 2, 3, 1]).reshape([rows, last])
            }
            Layer::MeanPool => x.reshape([batch, positions, last]).mean_dim(1).reshape([rows, last]),
            Layer::FirstToken => {
                x.reshape([batch, positions, last]).slice([0..batch, 0..1, 0..last]).reshape([rows, last])
            }
        })
    }

    fn norm(&mut self, x: Tensor<2>, over: usize, epsilon: f64) -> Result<Tensor<2>> {
        let (scale, shift) = (self.next()?, self.next()?);
        let centred = x.clone() - x.mean_dim(over);
        let deviation = (centred.clone().square().mean_dim(over) + epsilon).sqrt();
        Ok(centred / deviation * scale + shift)
    }

    fn attention(
        &mut self,
        x: Tensor<2>,
        length: usize,
        width: usize,
        heads: usize,
        causal: bool,
    ) -> Result<Tensor<2>> {
        let (batch, of_head) = (self.batch, width / heads);
        let split = self.affine(x)?.reshape([batch, length, 3, heads, of_head]).permute([2, 0, 3, 1, 4]);
        let [queries, keys, values] = [0, 1, 2].map(|part| {
            let one = split.clone().slice([part..part + 1, 0..batch, 0..heads, 0..length, 0..of_head]);
            one.reshape([batch, heads, length, of_head])
        });
        let mut scores = queries.matmul(keys.swap_dims(2, 3)) * (of_head as f64).powf(-0.5);
        if causal {
            let later: Tensor<2, Bool> = Tensor::tril_mask([length, length], 0, self.device);
            scores = scores
                .mask_fill(later.unsqueeze::<4>().expand([batch, heads, length, length]), f64::NEG_INFINITY);
        }
        let seen = softmax(scores, 3).matmul(values).swap_dims(1, 2).reshape([batch * length, width]);
        self.affine(seen)
    }
}

fn channels_first(x: Tensor<2>, batch: usize, input: Shape) -> Result<Tensor<4>> {
    let (rows, columns) = grid(input, 1)?;
    Ok(x.reshape([batch, rows, columns, input.last()]).permute([0, 3, 1, 2]))
}
