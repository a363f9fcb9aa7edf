//! Are the answers those of the model that was asked for? Looked at outside the clock, call by call.

use std::time::{Duration, Instant};

use weighbridge::{Error, Result};
use weighbridge_training::workload::model::Shape;

use crate::adapters::native::HandModel;
use crate::contract::{Asked, NotedAnswer, NotedCall, OpenModel, PredictionLoop};
use crate::workload::{Generation, ModelInput, PredictionSpec, drawn_input};

/// For so long noted calls are looked at: two at least.
const LOOK: Duration = Duration::from_millis(200);

/// The least number of noted calls that are looked at, where there are as many.
const LEAST: usize = 2;

/// The sight of a proof, beside that everything agrees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProvenCalls {
    /// Calls that were looked at.
    pub calls: usize,
    /// Ids that are not of the reference's greatest logit, but of one that is as great within the tolerance.
    pub ties: usize,
}

/// Holds what was asked of a predictor against its specification, and the answers that were noted while it
/// was timed against the model by hand in `f64`.
///
/// # Errors
/// What differs: a setting, a logit, an id; that nothing was noted.
pub fn prove_calls(asked: &Asked<'_>) -> Result<ProvenCalls> {
    let Asked { predictions, notes, weights, spec, .. } = asked;
    check_settings(spec, &**predictions)?;
    if notes.is_empty() {
        return Err(Error::new("no call was noted while the clock ran: nothing shows what was answered"));
    }
    let mut reference = HandModel::<f64>::open(spec, weights)?;
    let (begun, mut proven) = (Instant::now(), ProvenCalls::default());
    // The last calls first: of those before them some are of the start.
    for note in notes.iter().rev() {
        if proven.calls >= LEAST && begun.elapsed() > LOOK {
            break;
        }
        proven.ties += prove_call(spec, note, &mut reference)?;
        proven.calls += 1;
    }
    Ok(proven)
}

/// Refuses predictions that are set otherwise than was asked for.
fn check_settings(spec: &PredictionSpec, predictions: &dyn PredictionLoop) -> Result<()> {
    let (settings, size) = (predictions.settings(), spec.weights()?.count().to_string());
    for (key, asked) in [("precision", spec.precision.to_string()), ("parameters", size)] {
        let set = settings.get(key).map_or("not told", String::as_str);
        if set != asked {
            return Err(Error::new(format!(
                "the system predicts with other settings: `{key}` is {set} where {asked} is asked for"
            )));
        }
    }
    Ok(())
}

/// Holds one call against the reference, and counts the ties.
pub(super) fn prove_call(
    spec: &PredictionSpec,
    note: &NotedCall,
    reference: &mut HandModel<f64>,
) -> Result<usize> {
    let NotedCall { epoch, call, samples, answer } = note;
    if samples.end > spec.batch || samples.is_empty() {
        return Err(Error::new(format!("the samples {samples:?} are none of a batch of {}", spec.batch)));
    }
    let input = drawn_input(spec.input(), spec.batch, *epoch, *call);
    let input = input.samples(samples.start, samples.len(), spec.batch);
    match (answer, spec.generation) {
        (NotedAnswer::Logits(found), None) => {
            near_logits(*call, found, &reference.predict(&input, samples.len())?, spec.tolerance())?;
            Ok(0)
        }
        (NotedAnswer::Tokens(found), Some(generation)) => {
            let ModelInput::Ids(prompts) = &input else { return Err(Error::new("a prompt is made of ids")) };
            if found.len() != samples.len() * generation.tokens {
                return Err(Error::new(format!("call {call} made {} ids", found.len())));
            }
            let each = prompts.chunks(generation.prompt).zip(found.chunks(generation.tokens));
            each.map(|(prompt, made)| prove_tokens(spec, *call, prompt, made, reference)).sum()
        }
        _ => Err(Error::new(format!("call {call} answered something else than it was asked for"))),
    }
}

/// That each logit is the expected one within a share of the greatest of those.
fn near_logits(call: u64, found: &[f32], expected: &[f32], tolerance: f64) -> Result<()> {
    if found.len() != expected.len() {
        return Err(Error::new(format!(
            "the answer of call {call} has {} logits where {} are due",
            found.len(),
            expected.len()
        )));
    }
    let allowed = tolerance * greatest_of(expected);
    for (found, expected) in found.iter().zip(expected) {
        let apart = f64::from(found - expected).abs();
        // A difference that is no number is no agreement.
        if apart.is_nan() || apart > allowed {
            return Err(Error::new(format!(
                "a logit of call {call} of those that were timed is not the reference's: {found} where \
                 {expected} is due, and {allowed:.3e} is allowed ({tolerance} of the greatest): the call was \
                 answered from memory, later, in part, or by another model"
            )));
        }
    }
    Ok(())
}

/// That each id has the greatest logit after all that came before it, or one that is as great within the
/// tolerance: how many of those there are. The reference goes along the ids that were made, so that a tie is
/// not told again by all that follows.
pub(super) fn prove_tokens(
    spec: &PredictionSpec,
    call: u64,
    prompt: &[i32],
    made: &[i32],
    reference: &mut HandModel<f64>,
) -> Result<usize> {
    let Generation { tokens, .. } =
        spec.generation.unwrap_or(Generation { prompt: 0, tokens: 0, cached: true });
    let below = match spec.model.input {
        Shape::Ids { below, .. } => below as i32,
        _ => 0,
    };
    let mut logits = reference.prefill(prompt, 1)?;
    let mut ties = 0;
    for (number, &id) in made.iter().enumerate() {
        if !(0..below).contains(&id) {
            return Err(Error::new(format!("call {call} made the id {id}, which is not below {below}")));
        }
        let greatest = crate::contract::greatest(&logits);
        let short = f64::from(logits[greatest as usize] - logits[id as usize]);
        let allowed = spec.tolerance() * greatest_of(&logits);
        if short.is_nan() || short > allowed {
            return Err(Error::new(format!(
                "id {number} of call {call} of those that were timed is not the reference's: {id} where \
                 {greatest} is due, whose logit is {short:.3e} greater, and {allowed:.3e} is allowed: it was \
                 generated from memory, in part, or by another model"
            )));
        }
        ties += usize::from(id != greatest);
        if number + 1 < tokens {
            logits = reference.decode(&[id])?;
        }
    }
    Ok(ties)
}

fn greatest_of(numbers: &[f32]) -> f64 {
    numbers.iter().fold(0.0, |most, number| f64::from(number.abs()).max(most))
}
