//! INF-3: ids that follow a prompt.

use weighbridge::Requirements;
use weighbridge::prelude::*;

use super::proof::prove_calls;
use super::share_of_peak::tell_share;
use crate::contract::{Predict, PredictionLoop, Predictor};
use crate::workload::{Generation, NamedModel, PredictionMode, PredictionSpec};

/// Generations, each of a prompt of its own.
///
/// How long is it until the first id is there, how long from one to the next, and how many come in a second?
/// Each id is the one of the greatest logit. With `cache` on, the keys and values of what came before are
/// kept; off, all of it goes through the model again for each id. Throughput is of ids, and the latency of an
/// item that of a whole generation. Generations are gone through once more phase by phase: the metric
/// `time_to_first_token` is the median until the first id, and `time_per_token` the median of the mean time
/// between two that follow each other.
///
/// Timed: from before a prompt, which is in memory, is handed over until its last id is known. Not timed:
/// building and compiling the model, drawing prompts. Every repeat proves equal work: generations at drawn
/// places are noted while the clock runs, and each of their ids has the greatest logit by a reference in
/// `f64`. The metric `ties` counts those that have another one which is as great within the tolerance.
#[expect(clippy::too_many_arguments, reason = "an axis each")]
#[scenario(id = "INF-3", category = "Inference", sets = ["inference"], equivalence = shape,
    needs = needs, describe = describe)]
fn generation(
    bencher: &mut Bencher,
    predictor: &mut dyn Predictor,
    #[sweep(
        gpt_tiny = NamedModel::GptTiny,
        gpt_124m = NamedModel::Gpt124m,
        tiny = NamedModel::DecoderForTests
    )]
    model: NamedModel,
    #[sweep(
        eager = PredictionMode::Eager,
        tracked = PredictionMode::Tracked,
        compiled = PredictionMode::Compiled
    )]
    mode: PredictionMode,
    #[sweep(prompt_32 = 32, prompt_4 = 4, prompt_96 = 96)] prompt: usize,
    #[sweep(tokens_16 = 16, tokens_4 = 4, tokens_32 = 32)] tokens: usize,
    #[sweep(batch_1 = 1, batch_4 = 4, batch_16 = 16)] batch: usize,
    #[sweep(on = true, off = false)] cache: bool,
) -> Result<()> {
    let generation = Generation { prompt, tokens, cached: cache };
    let spec = if bencher.is_smoke() {
        let short = Generation { prompt: 4, tokens: 4, cached: cache };
        PredictionSpec::new(NamedModel::DecoderForTests, batch).generating(short)
    } else {
        PredictionSpec::new(model, batch).generating(generation)
    };
    generate(bencher, predictor, mode, &spec)
}

/// Generations whose phases are told, and those before them that are not.
const PHASED: (usize, usize) = (8, 2);

/// The scenario with generations that need not be among those here.
///
/// # Errors
/// What is impossible in the generations, declined, or not equal work.
pub fn generate(
    bencher: &Bencher,
    predictor: &mut dyn Predictor,
    mode: PredictionMode,
    spec: &PredictionSpec,
) -> Result<()> {
    let mut asked = bencher.predict(predictor, mode, spec)?;
    let proven = prove_calls(&asked)?;
    bencher.metric("ties", proven.ties as f64, Unit::COUNT, Direction::Information);
    let tokens = asked.spec.generation.map_or(1, |generation| generation.tokens);
    tell_tokens(bencher, &mut *asked.predictions, tokens, asked.spec.calls())?;
    tell_share(bencher, &asked)
}

/// Tells the time to the first id, and from one to the next.
fn tell_tokens(
    bencher: &Bencher,
    predictions: &mut dyn PredictionLoop,
    tokens: usize,
    most: usize,
) -> Result<()> {
    let skipped = PHASED.1.min(most / 2);
    let begun = std::time::Instant::now();
    let phases = predictions.phases(skipped, PHASED.0.min(most - skipped))?;
    let (passed, told) = (begun.elapsed(), phases.step.iter().sum::<std::time::Duration>());
    if told > passed {
        return Err(Error::new(format!("generations are said to take {told:?}, and {passed:?} passed")));
    }
    let median = |name: &str| {
        let times: Vec<f64> = phases.phases.get(name)?.iter().map(std::time::Duration::as_secs_f64).collect();
        (!times.is_empty()).then(|| weighbridge::data::median(&times))
    };
    if let Some(first) = median("prefill") {
        bencher.metric("time_to_first_token", first, Unit::SECONDS, Direction::Lower);
    }
    if let Some(others) = median("decode").filter(|_| tokens > 1) {
        let each = others / (tokens - 1) as f64;
        bencher.metric("time_per_token", each, Unit::SECONDS, Direction::Lower);
    }
    Ok(())
}

/// Returns what a point needs, for the plan.
fn needs(
    model: &NamedModel,
    _: &PredictionMode,
    prompt: &usize,
    tokens: &usize,
    batch: &usize,
    cache: &bool,
) -> Requirements {
    let generation = Generation { prompt: *prompt, tokens: *tokens, cached: *cache };
    PredictionSpec::new(*model, *batch).generating(generation).needs()
}

/// Returns the description of a point, for listings.
fn describe(
    model: &NamedModel,
    mode: &PredictionMode,
    prompt: &usize,
    tokens: &usize,
    batch: &usize,
    cache: &bool,
) -> String {
    let generation = Generation { prompt: *prompt, tokens: *tokens, cached: *cache };
    let spec = PredictionSpec::new(*model, *batch).generating(generation);
    format!("{}, {mode}", spec.describe())
}
