//! INF-2: predictions in batches.

use weighbridge::Requirements;
use weighbridge::prelude::*;

use super::proof::prove_calls;
use super::share_of_peak::tell_share;
use crate::contract::{Predict, Predictor};
use crate::workload::{NamedModel, PredictionMode, PredictionSpec};

/// Predictions of several samples at a time.
///
/// How many predictions a second come of a batch, and what does each of them wait for it? Throughput is of
/// the samples of all calls, and the latency of an item is that of a whole batch. The cases of one system,
/// batch after batch, are its trade-off curve. Whatever one call takes and costs is told and proven as in
/// INF-1.
///
/// Timed: from before the samples of a call, which are in memory, are handed over until all answers can be
/// read. Not timed: building and compiling the model, drawing inputs.
#[scenario(id = "INF-2", category = "Inference", sets = ["inference"], equivalence = shape,
    needs = needs, describe = describe)]
fn throughput(
    bencher: &mut Bencher,
    predictor: &mut dyn Predictor,
    #[sweep(
        encoder_tiny = NamedModel::EncoderTiny,
        mlp = NamedModel::Mlp,
        gpt_tiny = NamedModel::GptTiny,
        resnet_tiny = NamedModel::ResnetTiny,
        resnet50 = NamedModel::Resnet50,
        encoder_base = NamedModel::EncoderBase,
        gpt_124m = NamedModel::Gpt124m,
        tiny = NamedModel::ForTests
    )]
    model: NamedModel,
    #[sweep(
        eager = PredictionMode::Eager,
        tracked = PredictionMode::Tracked,
        compiled = PredictionMode::Compiled
    )]
    mode: PredictionMode,
    #[sweep(batch_16 = 16, batch_1 = 1, batch_4 = 4, batch_64 = 64, batch_256 = 256)] batch: usize,
) -> Result<()> {
    let model = if bencher.is_smoke() { NamedModel::ForTests } else { model };
    predict_batches(bencher, predictor, mode, &PredictionSpec::new(model, batch))
}

/// The scenario with predictions that need not be among those here.
///
/// # Errors
/// What is impossible in the predictions, declined, or not equal work.
pub fn predict_batches(
    bencher: &Bencher,
    predictor: &mut dyn Predictor,
    mode: PredictionMode,
    spec: &PredictionSpec,
) -> Result<()> {
    let asked = bencher.predict(predictor, mode, spec)?;
    prove_calls(&asked)?;
    tell_share(bencher, &asked)
}

/// Returns what a point needs, for the plan.
fn needs(model: &NamedModel, _: &PredictionMode, batch: &usize) -> Requirements {
    PredictionSpec::new(*model, *batch).needs()
}

/// Returns the description of a point, for listings.
fn describe(model: &NamedModel, mode: &PredictionMode, batch: &usize) -> String {
    format!("{}, {mode}", PredictionSpec::new(*model, *batch).describe())
}
