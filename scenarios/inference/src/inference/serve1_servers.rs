//! SERVE-1: a server under load.

use weighbridge::Requirements;
use weighbridge::prelude::*;

use super::served_proof::prove_served;
use crate::contract::{Serve, ServedLoad, Server};
use crate::workload::{NamedModel, OfferedLoad, PredictionPrecision, ServingSpec};

/// A server of a model, under a stated load.
///
/// How long does an answer take, from the moment at which its request was due, and how many come in a second?
/// Each repeat starts a server on this machine, waits until it takes requests, loads it with the client of
/// `cargo weighbridge load`, and stops it. With `users` each waits for the answer; with a rate requests come
/// whatever the server does. A decoder goes on with texts, event by event (`/v1/completions`); another model
/// answers with logits (the Open Inference Protocol). `answer_p50` stands for the case; all metrics of the
/// client are there, with `ready_after`, `stopped_after` and `memory/peak`.
///
/// With `f16` the weights are of that precision and answers may be as coarse: llama.cpp computes so, and the
/// systems that compute in `f32` decline it.
///
/// Timed: from the moment at which a request is due until its answer has been read. Not timed: starting the
/// server, looking for a cache, the warm-up. Every repeat proves equal work: answers are drawn among all that
/// were measured, after the server has gone, and agree with a reference in `f64`, logit by logit or id by id
/// (`ties` counts ids that are as good). A server that dies, takes no requests, does not stop, answers from a
/// cache, or whose answers are cut is a failed case, as is a row for which the client was too slow.
#[scenario(id = "SERVE-1", category = "Inference", sets = ["inference"], equivalence = shape,
    needs = needs, describe = describe)]
fn servers(
    bencher: &mut Bencher,
    server: &mut dyn Server,
    #[sweep(gpt_tiny = NamedModel::GptTiny, encoder_tiny = NamedModel::EncoderTiny)] model: NamedModel,
    #[sweep(
        all,
        users_4 = OfferedLoad::Users(4),
        rate_20 = OfferedLoad::Rate(20.0)
    )]
    load: OfferedLoad,
    #[sweep(all, f32 = PredictionPrecision::F32, f16 = PredictionPrecision::F16)]
    precision: PredictionPrecision,
) -> Result<()> {
    let model = match (bencher.is_smoke(), model.decodes()) {
        (false, _) => model,
        (true, true) => NamedModel::TextForTests,
        (true, false) => NamedModel::ForTests,
    };
    serve(bencher, server, &ServingSpec::new(model, load).with(precision))
}

/// The scenario with another model or another load.
///
/// ```no_run
/// use weighbridge::prelude::*;
/// use weighbridge_inference::contract::Server;
/// use weighbridge_inference::inference::serve;
/// use weighbridge_inference::workload::{NamedModel, OfferedLoad, ServingSpec};
///
/// #[scenario(id = "OURS-2", equivalence = shape)]
/// fn ours(bencher: &mut Bencher, server: &mut dyn Server) -> Result<()> {
///     serve(bencher, server, &ServingSpec::new(NamedModel::Mlp, OfferedLoad::Rate(100.0)))
/// }
/// ```
///
/// # Errors
/// What is impossible in it, declined, INVALID, or not equal work.
pub fn serve(bencher: &Bencher, server: &mut dyn Server, spec: &ServingSpec) -> Result<()> {
    prove(bencher, spec, bencher.serve(server, spec)?)
}

/// Proves the answers, and hands one of them in.
pub(super) fn prove(bencher: &Bencher, spec: &ServingSpec, load: ServedLoad) -> Result<()> {
    let (answer, ties) = prove_served(spec, &load)?;
    if spec.tokens().is_some() {
        bencher.metric("ties", ties as f64, Unit::COUNT, Direction::Information);
    }
    bencher.delivered(&answer);
    Ok(())
}

/// Returns what a point needs, for the plan.
fn needs(model: &NamedModel, load: &OfferedLoad, _: &PredictionPrecision) -> Requirements {
    ServingSpec::new(*model, *load).needs()
}

/// Returns the description of a point, for listings.
fn describe(model: &NamedModel, load: &OfferedLoad, precision: &PredictionPrecision) -> String {
    ServingSpec::new(*model, *load).with(*precision).describe()
}
