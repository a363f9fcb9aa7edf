//! The servers of Rust, each a model of this crate behind `hyper`.

use std::path::Path;
use std::sync::Arc;

use weighbridge::{Result, adapter};
use weighbridge_data::DataSet;

use super::served::HyperServer;
use super::{HandModel, check_asked};
use crate::contract::{OpenModel, Server, StartedServer};
use crate::workload::{PredictionMode, PredictionSpec, ServingSpec};

/// The model by hand in `f32`, for a server of one's own around it.
///
/// # Errors
/// As [`PredictionSpec::check`]; other weights than the model's.
pub fn open_by_hand(spec: &PredictionSpec, weights: &DataSet) -> Result<Box<dyn OpenModel + Send>> {
    Ok(Box::new(HandModel::<f32>::open(spec, weights)?))
}

/// The model by definition, in `f64`, behind `hyper`: one request after the other.
#[derive(Debug, Default)]
pub struct ReferenceServer;

#[adapter(name = "Reference", tier = 0)]
impl Server for ReferenceServer {
    fn start(
        &mut self,
        spec: &ServingSpec,
        weights: &Arc<DataSet>,
        _place: &Path,
    ) -> Result<Box<dyn StartedServer + '_>> {
        let model = HandModel::<f64>::open(&spec.prediction, weights)?;
        Ok(Box::new(HyperServer::start(Box::new(model), spec)?))
    }
}

/// The same in `f32`, with the products of matrices of the crate `ndarray`.
#[derive(Debug, Default)]
pub struct NdarrayServer;

#[adapter(name = "ndarray behind hyper", tier = 1)]
impl Server for NdarrayServer {
    fn start(
        &mut self,
        spec: &ServingSpec,
        weights: &Arc<DataSet>,
        _place: &Path,
    ) -> Result<Box<dyn StartedServer + '_>> {
        check_asked(&spec.prediction, PredictionMode::Eager)?;
        let model = open_by_hand(&spec.prediction, weights)?;
        Ok(Box::new(HyperServer::start(model, spec)?))
    }
}

/// The tensors of `candle` behind `hyper`.
#[cfg(feature = "candle")]
#[derive(Debug, Default)]
pub struct CandleServer;

#[cfg(feature = "candle")]
#[adapter(name = "candle behind hyper", tier = 1)]
impl Server for CandleServer {
    fn start(
        &mut self,
        spec: &ServingSpec,
        weights: &Arc<DataSet>,
        _place: &Path,
    ) -> Result<Box<dyn StartedServer + '_>> {
        check_asked(&spec.prediction, PredictionMode::Eager)?;
        let model = super::candle::CandleModel::open(&spec.prediction, weights)?;
        Ok(Box::new(HyperServer::start(Box::new(model), spec)?))
    }
}
