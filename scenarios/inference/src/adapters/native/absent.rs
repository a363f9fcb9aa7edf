//! A placeholder for the predictor of a feature that a build is without: it is listed, with the command that
//! brings it.

use std::sync::Arc;

use weighbridge::{Availability, Result, adapter, skip};
use weighbridge_data::DataSet;
use weighbridge_loaders::absent;

use crate::contract::{PredictionLoop, Predictor};
use crate::workload::{PredictionMode, PredictionSpec};

absent! { "candle":
    "The tensors of `candle`."
    "candle" CandlePredictor:
        Predictor(&PredictionSpec, PredictionMode, &Arc<DataSet>) -> PredictionLoop;
}
