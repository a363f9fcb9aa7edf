//! Predictors written in Rust, in this process.

#[cfg(not(feature = "candle"))]
mod absent;
mod by_hand;
#[cfg(feature = "candle")]
mod candle;
#[cfg(feature = "candle")]
mod candle_layers;
mod hand_layers;
mod key_values;
mod real;
mod served;
mod served_requests;
mod servers;
mod tensor_numbers;

use std::sync::Arc;

use weighbridge::{Result, adapter, skip};
use weighbridge_data::DataSet;

#[cfg(not(feature = "candle"))]
pub use absent::CandlePredictor;
pub(crate) use by_hand::HandModel;
#[cfg(feature = "candle")]
pub use candle::CandlePredictor;
pub use served::HyperServer;
#[cfg(feature = "candle")]
pub use servers::CandleServer;
pub use servers::{NdarrayServer, ReferenceServer, open_by_hand};

use crate::contract::{CallLoop, PredictionLoop, Predictor};
use crate::workload::{PredictionMode, PredictionPrecision, PredictionSpec};

/// A predictor by definition: every layer by its formula, in `f64`. The modes of other systems change nothing
/// in it, nor does their precision.
#[derive(Debug, Default)]
pub struct ReferencePredictor;

#[adapter(name = "Reference", tier = 0)]
impl Predictor for ReferencePredictor {
    fn open(
        &mut self,
        spec: &PredictionSpec,
        _how: PredictionMode,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn PredictionLoop + '_>> {
        Ok(Box::new(CallLoop::over(HandModel::<f64>::open(spec, weights)?, spec)?))
    }
}

/// The same formulae in `f32`, with the products of matrices of the crate `ndarray` on all processors.
#[derive(Debug, Default)]
pub struct NdarrayPredictor;

#[adapter(name = "ndarray (by hand)", tier = 1)]
impl Predictor for NdarrayPredictor {
    fn open(
        &mut self,
        spec: &PredictionSpec,
        how: PredictionMode,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn PredictionLoop + '_>> {
        check_asked(spec, how)?;
        Ok(Box::new(CallLoop::over(HandModel::<f32>::open(spec, weights)?, spec)?))
    }
}

/// Refuses what a program of Rust cannot be asked for here.
fn check_asked(spec: &PredictionSpec, how: PredictionMode) -> Result<()> {
    if how != PredictionMode::Eager {
        return Err(skip(format!(
            "mode {how}: a program of Rust has one way to run its layers, as they are written"
        )));
    }
    if spec.precision != PredictionPrecision::F32 {
        return Err(skip(format!(
            "precision {}: a program of Rust has no products of such numbers here",
            spec.precision
        )));
    }
    Ok(())
}
