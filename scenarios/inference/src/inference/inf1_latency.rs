//! INF-1: the latency of one prediction.

use weighbridge::Requirements;
use weighbridge::prelude::*;

use super::proof::prove_calls;
use super::share_of_peak::tell_share;
use crate::contract::{Predict, Predictor};
use crate::workload::{NamedModel, PredictionMode, PredictionPrecision, PredictionSpec};

/// One prediction after the other, each of one sample.
///
/// How long does a prediction take from the moment at which its input is there, and how long do the slow ones
/// take? Each call has an input of its own, drawn for it. `mode` says how the system runs the model:
/// operation by operation, the same with what a way back would need, or compiled (of a runtime of graphs:
/// with its optimisations). The metrics `call_p50`, `call_p90`, `call_p99` and `call_p999` are percentiles of
/// single calls, each told where the count of calls bears it out. Apart from them stand `first_call`, which
/// compiles, and `warm_up`, the calls after it until they take what they take. `memory/model` is what the
/// process has grown by when the model was opened, `memory/call` the most that calls add to that,
/// `memory/peak` all of it. `peak_share` is the share of `peak_flops`, a product of matrices of `f32` with
/// 1,024 rows and columns by the crate `ndarray` on all processors, that the operations of a prediction are
/// in the median.
///
/// Timed: from before the input of a call, which is in memory, is handed over until its answer can be read.
/// Not timed: building and compiling the model, drawing inputs. Every repeat proves equal work: answers at
/// drawn places are noted while the clock runs, and their logits agree with a reference in `f64`.
#[scenario(id = "INF-1", category = "Inference", sets = ["inference"], equivalence = shape,
    needs = needs, describe = describe)]
fn latency(
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
    #[sweep(f32 = PredictionPrecision::F32, bf16 = PredictionPrecision::Bf16)] precision: PredictionPrecision,
) -> Result<()> {
    let model = if bencher.is_smoke() { NamedModel::ForTests } else { model };
    predict(bencher, predictor, mode, &PredictionSpec { precision, ..PredictionSpec::new(model, 1) })
}

/// The scenario with predictions that need not be among those here: a suite has its own by an attribute and
/// this function.
///
/// ```no_run
/// use weighbridge::prelude::*;
/// use weighbridge_inference::contract::Predictor;
/// use weighbridge_inference::inference::predict;
/// use weighbridge_inference::workload::{NamedModel, PredictionMode, PredictionSpec};
///
/// #[scenario(id = "OURS-1", equivalence = shape)]
/// fn ours(bencher: &mut Bencher, predictor: &mut dyn Predictor) -> Result<()> {
///     predict(bencher, predictor, PredictionMode::Eager, &PredictionSpec::new(NamedModel::Mlp, 4))
/// }
/// ```
///
/// # Errors
/// What is impossible in the predictions, declined, or not equal work.
pub fn predict(
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
fn needs(model: &NamedModel, _: &PredictionMode, precision: &PredictionPrecision) -> Requirements {
    PredictionSpec { precision: *precision, ..PredictionSpec::new(*model, 1) }.needs()
}

/// Returns the description of a point, for listings.
fn describe(model: &NamedModel, mode: &PredictionMode, precision: &PredictionPrecision) -> String {
    let spec = PredictionSpec { precision: *precision, ..PredictionSpec::new(*model, 1) };
    format!("{}, {mode}", spec.describe())
}
