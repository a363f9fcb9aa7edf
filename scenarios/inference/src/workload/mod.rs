//! What a predictor is asked to do: a [`PredictionSpec`], made of data alone: a model, its weights, and what
//! enters each call.

mod drawn_input;
mod generation;
mod named_model;
mod operations;
mod prediction;
mod served_text;
mod serving;
mod weights;

pub use drawn_input::{ModelInput, drawn_input};
pub use generation::Generation;
pub use named_model::NamedModel;
pub use operations::PredictionOperations;
pub use prediction::{PredictionMode, PredictionPrecision, PredictionSpec};
pub use served_text::{ids_of, letter_of};
pub(crate) use serving::WORDS;
pub use serving::{OfferedLoad, ServingSpec};
pub use weights::ModelWeights;
