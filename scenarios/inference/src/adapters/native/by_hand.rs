//! Models by hand: forward alone, layer by layer, over `f32` or `f64`.
//!
//! In `f64` it is what a prediction is by definition. In `f32` it is a system under test like others.
//! Activations are matrices with a row for each position of each sample and a column for each number of the
//! last axis.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndarray::{Array2, Axis};
use weighbridge::{Error, FieldKind, Result};
use weighbridge_data::DataSet;
use weighbridge_training::workload::model::{Layer, Model, Shape};

use super::hand_layers::{self, Attended, HandWindows};
use super::key_values::KeyValues;
use super::real::HandNumber;
use super::tensor_numbers::singles;
use crate::contract::OpenModel;
use crate::workload::{ModelInput, PredictionSpec};

/// A model that is open, computed in `T`.
#[derive(Debug)]
pub(crate) struct HandModel<T> {
    model: Arc<Model>,
    decodes: bool,
    precision: String,
    weights: HandWeights<T>,
    kept: BTreeMap<String, KeyValues<T>>,
    /// Places that came before, where keys and values are kept.
    before: usize,
}

/// The tensors of a model by name, each as a matrix whose columns are its last axis.
#[derive(Debug)]
struct HandWeights<T>(BTreeMap<String, Array2<T>>);

impl<T: HandNumber> HandWeights<T> {
    fn of(&self, at: &str, what: &str) -> Result<&Array2<T>> {
        let name = format!("{at}.{what}");
        self.0.get(&name).ok_or_else(|| Error::new(format!("there are no weights `{name}`")))
    }

    /// `x w + b`, by rows.
    fn affine(&self, x: &Array2<T>, at: &str) -> Result<Array2<T>> {
        Ok(x.dot(self.of(at, "weight")?) + self.of(at, "bias")?)
    }
}

/// The activations that go through a model, and the shape of one sample of them.
struct Passing<T> {
    x: Array2<T>,
    shape: Shape,
    batch: usize,
    keeps: bool,
}

impl<T: HandNumber> HandModel<T> {
    /// Takes over the weights.
    ///
    /// # Errors
    /// What is impossible in the predictions; weights that are others than the model's.
    pub(crate) fn open(spec: &PredictionSpec, weights: &DataSet) -> Result<Self> {
        spec.check()?;
        weights.check_is(spec.weights()?.data())?;
        let read = |(field, kind): (usize, &FieldKind)| {
            let last = kind.shape.last().copied().unwrap_or(1);
            let numbers: Vec<T> = singles(weights.rows(field, 0..1))
                .into_iter()
                .map(|number| T::of(f64::from(number)))
                .collect();
            let matrix = Array2::from_shape_vec((numbers.len() / last, last), numbers);
            (kind.name.clone(), matrix.expect("a tensor has the numbers of its shape"))
        };
        Ok(Self {
            model: Arc::new(spec.model.clone()),
            decodes: spec.decodes,
            precision: spec.precision.to_string(),
            weights: HandWeights(weights.kinds().enumerate().map(read).collect()),
            kept: BTreeMap::new(),
            before: 0,
        })
    }

    /// The logits of some samples, row by row; of a decoder those of the last place of each.
    fn forward(&mut self, input: &ModelInput, batch: usize, keeps: bool) -> Result<Array2<T>> {
        let model = self.model.clone();
        let (numbers, shape) = entering(model.input, input, batch)?;
        let last = shape.last();
        let x = Array2::from_shape_vec((numbers.len() / last, last), numbers)
            .map_err(|error| Error::new(format!("the input is none of the model's: {error}")))?;
        let mut passing = Passing { x, shape, batch, keeps };
        let until_last = if self.decodes { model.layers.len() - 2 } else { model.layers.len() };
        for (number, layer) in model.layers.iter().enumerate() {
            if number == until_last {
                // What comes next is asked of the last place alone.
                let length = passing.shape.positions();
                let lasts: Vec<usize> = (1..=batch).map(|sample| sample * length - 1).collect();
                passing.x = passing.x.select(Axis(0), &lasts);
                passing.shape = Shape::Vector { width: passing.x.ncols() };
            }
            passing = self.layer(layer, passing, &number.to_string())?;
        }
        Ok(passing.x)
    }

    fn through(&mut self, layers: &[Layer], passing: Passing<T>, at: &str) -> Result<Passing<T>> {
        layers.iter().enumerate().try_fold(passing, |passing, (number, layer)| {
            self.layer(layer, passing, &format!("{at}.{number}"))
        })
    }

    fn layer(&mut self, layer: &Layer, passing: Passing<T>, at: &str) -> Result<Passing<T>> {
        let Passing { x, shape, batch, keeps } = passing;
        let output = layer.output(shape, at)?;
        let weights = &self.weights;
        let windows = |kernel, stride, around| HandWindows::of(shape, kernel, stride, around);
        let y = match *layer {
            Layer::Linear { .. } => weights.affine(&x, at)?,
            Layer::Patches { size, .. } => weights.affine(&windows(size, size, 0)?.unfold(&x), at)?,
            Layer::Conv { kernel, stride, .. } => {
                windows(kernel, stride, (kernel - 1) / 2)?.unfold(&x).dot(weights.of(at, "weight")?)
            }
            Layer::Embed { .. } => {
                let ids: Vec<usize> = x.iter().map(|id| id.to_usize().unwrap_or(usize::MAX)).collect();
                weights.of(at, "table")?.select(Axis(0), &ids)
            }
            Layer::Prepend { .. } => hand_layers::prepended(&x, weights.of(at, "tokens")?, batch),
            Layer::Positions => {
                let from = if keeps { self.before } else { 0 };
                hand_layers::placed(x, weights.of(at, "positions")?, from, batch)
            }
            Layer::LayerNorm { epsilon } => {
                hand_layers::layer_norm(x, weights.of(at, "scale")?, weights.of(at, "shift")?, epsilon)
            }
            Layer::BatchNorm { epsilon } => {
                let deviation = weights.of(at, "variance")?.mapv(|one| (one + T::of(epsilon)).sqrt());
                let scale = weights.of(at, "scale")? / &deviation;
                (x - weights.of(at, "mean")?) * &scale + weights.of(at, "shift")?
            }
            Layer::Gelu => hand_layers::each(x, hand_layers::gelu),
            Layer::Relu => hand_layers::each(x, |number| number.max(T::zero())),
            Layer::MaxPool { kernel, stride } => windows(kernel, stride, (kernel - 1) / 2)?.greatest(&x),
            Layer::MeanPool => hand_layers::means(&x, batch),
            Layer::FirstToken => {
                let firsts: Vec<usize> = (0..batch).map(|sample| sample * shape.positions()).collect();
                x.select(Axis(0), &firsts)
            }
            Layer::Attention { heads, causal } => {
                let qkv = weights.affine(&x, &format!("{at}.qkv"))?;
                let attended = Attended { batch, heads, causal };
                let seen = if keeps {
                    let places = self.model.input.positions();
                    let kept = self.kept.entry(at.to_owned());
                    attended.keeping(&qkv, kept.or_insert_with(|| KeyValues::new(batch, places, x.ncols())))
                } else {
                    attended.alone(&qkv)
                };
                weights.affine(&seen, &format!("{at}.out"))?
            }
            Layer::Append { .. } | Layer::RmsNorm { .. } | Layer::Scale | Layer::RotaryAttention { .. } => {
                return Err(weighbridge::skip(format!("the layer {}: no model here has it", layer.name())));
            }
            Layer::Residual { ref body } => {
                let inner = Passing { x: x.clone(), shape, batch, keeps };
                self.through(body, inner, at)?.x + &x
            }
            Layer::Projected { ref body, ref around } => {
                let both = |x| Passing { x, shape, batch, keeps };
                let longer = self.through(body, both(x.clone()), &format!("{at}.0"))?.x;
                longer + &self.through(around, both(x), &format!("{at}.1"))?.x
            }
        };
        Ok(Passing { x: y, shape: output, batch, keeps })
    }
}

/// The numbers of an input, and the shape of one sample of it: a sequence may be shorter than the model's.
fn entering<T: HandNumber>(due: Shape, input: &ModelInput, batch: usize) -> Result<(Vec<T>, Shape)> {
    match (due, input) {
        (Shape::Ids { length, below }, ModelInput::Ids(ids)) => {
            let each = ids.len() / batch.max(1);
            if each == 0 || each > length || ids.iter().any(|id| !(0..below as i32).contains(id)) {
                return Err(Error::new(format!(
                    "{} ids for {batch} samples, where each has up to {length} ids below {below}",
                    ids.len()
                )));
            }
            let numbers = ids.iter().map(|&id| T::of(f64::from(id))).collect();
            Ok((numbers, Shape::Ids { length: each, below }))
        }
        (shape, ModelInput::Numbers(numbers)) if numbers.len() == batch * shape.count() => {
            Ok((numbers.iter().map(|&number| T::of(f64::from(number))).collect(), shape))
        }
        (shape, _) => Err(Error::new(format!("the input is not {batch} times {shape}"))),
    }
}

impl<T: HandNumber> OpenModel for HandModel<T> {
    fn predict(&mut self, input: &ModelInput, batch: usize) -> Result<Vec<f32>> {
        Ok(self.forward(input, batch, false)?.iter().map(|logit| logit.single()).collect())
    }

    fn prefill(&mut self, ids: &[i32], batch: usize) -> Result<Vec<f32>> {
        self.kept.clear();
        self.before = 0;
        let logits = self.forward(&ModelInput::Ids(ids.to_vec()), batch, true)?;
        self.go_on(ids.len() / batch);
        Ok(logits.iter().map(|logit| logit.single()).collect())
    }

    fn decode(&mut self, ids: &[i32]) -> Result<Vec<f32>> {
        let logits = self.forward(&ModelInput::Ids(ids.to_vec()), ids.len(), true)?;
        self.go_on(1);
        Ok(logits.iter().map(|logit| logit.single()).collect())
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let count: usize = self.weights.0.values().map(Array2::len).sum();
        [("precision", self.precision.clone()), ("parameters", count.to_string())]
            .map(|(key, value)| (key.to_owned(), value))
            .into()
    }
}

impl<T: HandNumber> HandModel<T> {
    /// So many places more came before.
    fn go_on(&mut self, places: usize) {
        self.before += places;
        for kept in self.kept.values_mut() {
            kept.length = self.before;
        }
    }
}
