//! `candle`: a model in operations on its tensors.

use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use weighbridge::{Availability, Error, FieldKind, Result, adapter};
use weighbridge_data::DataSet;
use weighbridge_training::workload::model::{Model, Shape};

use super::candle_layers::{CandleKept, CandlePass};
use super::check_asked;
use super::tensor_numbers::singles;
use crate::contract::{CallLoop, OpenModel, PredictionLoop, Predictor};
use crate::workload::{ModelInput, PredictionMode, PredictionSpec};

/// The version that `Cargo.toml` asks for; a test holds it to the lock file.
const VERSION: &str = "0.11.1";

fn version() -> Availability {
    Availability::Available { version: VERSION.into() }
}

/// A model in operations on tensors of `candle` on the processor, operation by operation.
#[derive(Clone, Copy, Debug, Default)]
pub struct CandlePredictor;

/// The tensors of `candle`.
#[adapter(name = "candle", tier = 1, probe = version)]
impl Predictor for CandlePredictor {
    fn open(
        &mut self,
        spec: &PredictionSpec,
        how: PredictionMode,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn PredictionLoop + '_>> {
        check_asked(spec, how)?;
        Ok(Box::new(CallLoop::over(CandleModel::open(spec, weights)?, spec)?))
    }
}

/// A model on tensors of `candle`.
pub(super) struct CandleModel {
    model: Model,
    decodes: bool,
    weights: BTreeMap<String, Tensor>,
    kept: Option<CandleKept>,
}

impl CandleModel {
    pub(super) fn open(spec: &PredictionSpec, weights: &DataSet) -> Result<Self> {
        spec.check()?;
        weights.check_is(spec.weights()?.data())?;
        let read = |(field, kind): (usize, &FieldKind)| {
            let numbers = singles(weights.rows(field, 0..1));
            Ok((kind.name.clone(), Tensor::from_vec(numbers, kind.shape.as_slice(), &Device::Cpu)?))
        };
        Ok(Self {
            model: spec.model.clone(),
            decodes: spec.decodes,
            weights: weights.kinds().enumerate().map(read).collect::<Result<_>>()?,
            kept: None,
        })
    }

    fn forward(&mut self, input: &ModelInput, batch: usize, keeps: bool) -> Result<Vec<f32>> {
        let x = match (input, self.model.input) {
            (ModelInput::Ids(ids), Shape::Ids { .. }) => {
                let ids: Vec<u32> = ids.iter().map(|&id| id as u32).collect();
                let length = ids.len() / batch;
                Tensor::from_vec(ids, (batch, length), &Device::Cpu)?
            }
            (ModelInput::Numbers(numbers), shape) => {
                let axes = [vec![batch], shape.axes()].concat();
                Tensor::from_vec(numbers.clone(), axes, &Device::Cpu)?
            }
            (ModelInput::Ids(_), shape) => return Err(Error::new(format!("ids came where {shape} is due"))),
        };
        let kept = if keeps { self.kept.as_mut() } else { None };
        let mut pass = CandlePass { weights: &self.weights, kept };
        let logits = pass.model(&self.model.layers, x, self.decodes)?;
        Ok(logits.flatten_all()?.to_vec1()?)
    }
}

impl OpenModel for CandleModel {
    fn predict(&mut self, input: &ModelInput, batch: usize) -> Result<Vec<f32>> {
        self.forward(input, batch, false)
    }

    fn prefill(&mut self, ids: &[i32], batch: usize) -> Result<Vec<f32>> {
        self.kept = Some(CandleKept::default());
        self.take(ids, batch)
    }

    fn decode(&mut self, ids: &[i32]) -> Result<Vec<f32>> {
        self.take(ids, ids.len())
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let count: usize = self.weights.values().map(Tensor::elem_count).sum();
        let precision = self.weights.values().next().map_or("none", |one| one.dtype().as_str());
        [("precision", precision.to_owned()), ("parameters", count.to_string())]
            .map(|(key, value)| (key.to_owned(), value))
            .into()
    }
}

impl CandleModel {
    /// Takes ids behind those that came before.
    fn take(&mut self, ids: &[i32], batch: usize) -> Result<Vec<f32>> {
        let logits = self.forward(&ModelInput::Ids(ids.to_vec()), batch, true)?;
        if let Some(kept) = &mut self.kept {
            kept.before += ids.len() / batch;
        }
        Ok(logits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_locked_one() {
        let lock = include_str!("../../../../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"candle-core\"\nversion = \"{VERSION}\"\n")));
    }
}
