//! The layers of a model in operations on tensors of `candle`: the first axis is that of samples.

use std::collections::BTreeMap;

use candle_core::{D, DType, Device, Tensor};
use weighbridge::{Error, Result};
use weighbridge_training::workload::model::Layer;

/// Keys and values that are kept, by the place of their layer.
#[derive(Debug, Default)]
pub(super) struct CandleKept {
    pairs: BTreeMap<String, [Tensor; 2]>,
    /// Places that came before.
    pub(super) before: usize,
}

/// A way forward.
pub(super) struct CandlePass<'a> {
    pub(super) weights: &'a BTreeMap<String, Tensor>,
    pub(super) kept: Option<&'a mut CandleKept>,
}

impl CandlePass<'_> {
    /// The logits of samples; of a decoder those of the last place.
    ///
    /// # Errors
    /// What candle says.
    pub(super) fn model(&mut self, layers: &[Layer], x: Tensor, decodes: bool) -> Result<Tensor> {
        let until_last = if decodes { layers.len() - 2 } else { layers.len() };
        layers.iter().enumerate().try_fold(x, |x, (number, layer)| {
            let x = if number == until_last { x.narrow(1, x.dim(1)? - 1, 1)?.squeeze(1)? } else { x };
            self.layer(layer, &x, &number.to_string())
        })
    }

    fn through(&mut self, layers: &[Layer], x: &Tensor, at: &str) -> Result<Tensor> {
        let numbered = layers.iter().enumerate();
        numbered
            .into_iter()
            .try_fold(x.clone(), |x, (number, layer)| self.layer(layer, &x, &format!("{at}.{number}")))
    }

    fn of(&self, at: &str, what: &str) -> Result<&Tensor> {
        let name = format!("{at}.{what}");
        self.weights.get(&name).ok_or_else(|| Error::new(format!("there are no weights `{name}`")))
    }

    fn affine(&self, x: &Tensor, at: &str) -> Result<Tensor> {
        let (weight, rows) = (self.of(at, "weight")?, x.elem_count() / x.dim(D::Minus1)?);
        let mut axes = x.dims().to_vec();
        axes.pop();
        axes.push(weight.dim(1)?);
        let rows = x.reshape((rows, ()))?.matmul(weight)?.broadcast_add(self.of(at, "bias")?)?;
        Ok(rows.reshape(axes)?)
    }

    fn layer(&mut self, layer: &Layer, x: &Tensor, at: &str) -> Result<Tensor> {
        Ok(match *layer {
            Layer::Linear { .. } => self.affine(x, at)?,
            Layer::Embed { .. } => {
                let (batch, length) = x.dims2()?;
                let rows = self.of(at, "table")?.index_select(&x.flatten_all()?, 0)?;
                rows.reshape((batch, length, ()))?
            }
            Layer::Positions => {
                let from = self.kept.as_ref().map_or(0, |kept| kept.before);
                x.broadcast_add(&self.of(at, "positions")?.narrow(0, from, x.dim(1)?)?)?
            }
            Layer::Residual { ref body } => (self.through(body, x, at)? + x)?,
            Layer::Projected { ref body, ref around } => {
                let longer = self.through(body, x, &format!("{at}.0"))?;
                (longer + self.through(around, x, &format!("{at}.1"))?)?
            }
            Layer::LayerNorm { epsilon } => {
                let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
                let deviation = (centred.sqr()?.mean_keepdim(D::Minus1)? + epsilon)?.sqrt()?;
                let normed = centred.broadcast_div(&deviation)?;
                normed.broadcast_mul(self.of(at, "scale")?)?.broadcast_add(self.of(at, "shift")?)?
            }
            Layer::BatchNorm { epsilon } => {
                let deviation = (self.of(at, "variance")? + epsilon)?.sqrt()?;
                let scale = (self.of(at, "scale")? / deviation)?;
                let centred = x.broadcast_sub(self.of(at, "mean")?)?;
                centred.broadcast_mul(&scale)?.broadcast_add(self.of(at, "shift")?)?
            }
            Layer::Attention { heads, causal } => self.attention(x, at, heads, causal)?,
            Layer::Gelu => x.gelu_erf()?,
            Layer::Relu => x.relu()?,
            Layer::Conv { kernel, stride, .. } => {
                let kernels = self.of(at, "weight")?.permute([3, 2, 0, 1])?;
                let images = x.permute([0, 3, 1, 2])?;
                images.conv2d(&kernels, (kernel - 1) / 2, stride, 1, 1)?.permute([0, 2, 3, 1])?
            }
            Layer::MaxPool { kernel, stride } => {
                // Around the grid stands what is never the greatest.
                let around = (kernel - 1) / 2;
                let mut images = x.permute([0, 3, 1, 2])?;
                for axis in [2, 3] {
                    let mut axes = images.dims().to_vec();
                    axes[axis] = around;
                    let none = Tensor::full(f32::NEG_INFINITY, axes, &Device::Cpu)?;
                    images = Tensor::cat(&[&none, &images, &none], axis)?;
                }
                images.max_pool2d_with_stride(kernel, stride)?.permute([0, 2, 3, 1])?
            }
            Layer::MeanPool => {
                let (batch, channels) = (x.dim(0)?, x.dim(D::Minus1)?);
                x.reshape((batch, (), channels))?.mean(1)?
            }
            Layer::FirstToken => x.narrow(1, 0, 1)?.squeeze(1)?,
            Layer::Patches { .. }
            | Layer::Prepend { .. }
            | Layer::Append { .. }
            | Layer::RmsNorm { .. }
            | Layer::Scale
            | Layer::RotaryAttention { .. } => {
                return Err(weighbridge::skip(format!("the layer {}: no model here has it", layer.name())));
            }
        })
    }

    fn attention(&mut self, x: &Tensor, at: &str, heads: usize, causal: bool) -> Result<Tensor> {
        let (batch, length, width) = x.dims3()?;
        let of_head = width / heads;
        let split = self.affine(x, &format!("{at}.qkv"))?.reshape((batch, length, 3, heads, of_head))?;
        let split = split.permute([2, 0, 3, 1, 4])?;
        let part = |part| split.narrow(0, part, 1)?.squeeze(0)?.contiguous();
        let (queries, mut keys, mut values) = (part(0)?, part(1)?, part(2)?);
        if let Some(kept) = &mut self.kept {
            if let Some([before_keys, before_values]) = kept.pairs.get(at) {
                keys = Tensor::cat(&[before_keys, &keys], 2)?;
                values = Tensor::cat(&[before_values, &values], 2)?;
            }
            kept.pairs.insert(at.to_owned(), [keys.clone(), values.clone()]);
        }
        let mut scores =
            (queries.matmul(&keys.transpose(2, 3)?.contiguous()?)? * (of_head as f64).powf(-0.5))?;
        // A single place is the last one, and sees all.
        if causal && length > 1 {
            let seen = Tensor::tril2(length, DType::U8, &Device::Cpu)?.broadcast_as(scores.shape())?;
            let never = Tensor::new(f32::NEG_INFINITY, &Device::Cpu)?.broadcast_as(scores.shape())?;
            scores = seen.where_cond(&scores, &never)?;
        }
        let powers = scores.broadcast_sub(&scores.max_keepdim(3)?)?.exp()?;
        let shares = powers.broadcast_div(&powers.sum_keepdim(3)?)?;
        let seen = shares.matmul(&values)?.transpose(1, 2)?.reshape((batch, length, width))?;
        self.affine(&seen, &format!("{at}.out"))
    }
}
