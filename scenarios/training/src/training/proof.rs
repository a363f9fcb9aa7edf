//! Does a system train the model that was asked for? Looked at outside the clock, tensor by tensor.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use weighbridge::{Error, Result};
use weighbridge_loaders::contract::Tensors;

use super::learning_curve::LearningCurve;
use super::settings::check_settings;
use crate::adapters::native::ByHand;
use crate::contract::{Material, TrainedEpoch, TrainingLoop};
use crate::workload::TrainingSpec;

/// Steps after which the weights are compared.
pub(super) const STEPS: usize = 3;

/// Holds a training against its configuration and against the same training by hand in `f64`. Of the epochs
/// that were timed it looks at the last one, whose weights are still there, and at others that are drawn.
///
/// # Errors
/// What differs: a key of the settings, a weight at the start, the losses of the timed steps or the weights
/// that they have left, the loss, the logits, a gradient, a weight after some steps.
pub(super) fn prove(
    training: &mut dyn TrainingLoop,
    timed: &[TrainedEpoch],
    spec: &TrainingSpec,
    material: &Material,
) -> Result<()> {
    check_settings(spec, &training.settings())?;
    // First of all: whatever follows begins anew.
    let (steps, left) = training.left()?;
    let mut reference = ByHand::<f64>::open(spec, &material.data, &material.weights)?;
    let [of_results, of_changes, _] = spec.tolerance()?;
    let start = after(&mut reference, 0)?;
    same_start(&after(training, 0)?, &start)?;
    prove_timed(steps, &left, timed, spec, material, &mut reference)?;
    let (found, expected) = (training.first()?, reference.first()?);
    near("the loss of the first step", &[found.loss], &[expected.loss], of_results)?;
    near("the logits of the first step", &found.logits, &expected.logits, of_results)?;
    for (found, expected) in pairs(&found.gradients, &expected.gradients)? {
        alike(&format!("the gradient of `{}`", expected.0), &found.1, &expected.1, of_changes, 0.0)?;
    }
    let steps = STEPS.min(spec.steps);
    near(
        "the losses of the first steps",
        &training.train(true, steps)?,
        &reference.train(true, steps)?,
        of_results,
    )?;
    changed_alike(&after(training, steps)?, &after(&mut reference, steps)?, &start, steps, of_changes)
}

/// That each parameter has changed as it should in so many steps from the start.
pub(super) fn changed_alike(
    found: &Tensors,
    expected: &Tensors,
    start: &Tensors,
    steps: usize,
    of_changes: f64,
) -> Result<()> {
    for ((found, expected), start) in pairs(found, expected)?.zip(start) {
        let changes = |weights: &[f32]| -> Vec<f32> {
            weights.iter().zip(&start.1).map(|(after, before)| after - before).collect()
        };
        let what = format!("after {steps} steps the change of `{}`", expected.0);
        // Each step rounds a weight to `f32`, however little it changes.
        let rounded = steps as f64 * f64::from(f32::EPSILON) * length(&start.1);
        alike(&what, &changes(&found.1), &changes(&expected.1), of_changes, rounded)?;
    }
    Ok(())
}

/// Holds the steps that were timed against the reference: the losses of the last epoch and the weights that
/// it has left, and the losses of other epochs, drawn until that has taken [`LOOK`].
///
/// # Errors
/// What differs; other steps than were noted.
pub(super) fn prove_timed(
    steps: usize,
    left: &Tensors,
    timed: &[TrainedEpoch],
    spec: &TrainingSpec,
    material: &Material,
    reference: &mut ByHand<f64>,
) -> Result<()> {
    let Some((last, others)) = timed.split_last().filter(|(last, _)| last.losses.len() == steps && steps > 0)
    else {
        let noted: Vec<usize> = timed.iter().map(|epoch| epoch.losses.len()).collect();
        return Err(Error::new(format!(
            "{steps} steps are said to be done since an epoch was begun, and the steps that were timed are \
             {noted:?}, epoch by epoch"
        )));
    };
    let plain = || ByHand::<f32>::open(spec, &material.data, &material.weights);
    let way = TrainingWay::of(reference, last.epoch, steps)?;
    let mut again = || TrainingWay::of(&mut plain()?, last.epoch, steps);
    way.has_losses(&last.losses, spec, &mut again)?;
    way.leads_to(left, spec, &mut again)?;

    let mut others: Vec<&TrainedEpoch> = others.iter().filter(|epoch| !epoch.losses.is_empty()).collect();
    let (begun, mut draw) = (Instant::now(), RandomState::new().hash_one(0_u8) as usize);
    while !others.is_empty() {
        let TrainedEpoch { epoch, losses } = others.swap_remove(draw % others.len());
        let way = TrainingWay::of(reference, *epoch, losses.len())?;
        way.has_losses(losses, spec, &mut || TrainingWay::of(&mut plain()?, *epoch, losses.len()))?;
        if begun.elapsed() > LOOK {
            break;
        }
        draw = RandomState::new().hash_one(draw) as usize;
    }
    Ok(())
}

/// For so long epochs are drawn that the reference goes through as well: one at least.
const LOOK: Duration = Duration::from_millis(300);

/// Holds a learning curve against the reference: the losses of its steps, the weights at its end, and how
/// many labels they get right.
///
/// # Errors
/// Other losses or weights; another number of labels than those weights get right.
pub(super) fn prove_learning_curve(
    training: &mut dyn TrainingLoop,
    spec: &TrainingSpec,
    material: &Material,
    curve: &LearningCurve,
) -> Result<()> {
    let Some(last) = curve.looks.last() else { return Ok(()) };
    let mut reference = ByHand::<f64>::open(spec, &material.data, &material.weights)?;
    let (steps, left) = training.left()?;
    if steps != last.steps {
        return Err(Error::new(format!(
            "{steps} steps are said to be done where the target took {}",
            last.steps
        )));
    }
    let epoch = TrainedEpoch { epoch: 0, losses: curve.losses.clone() };
    prove_timed(steps, &left, &[epoch], spec, material, &mut reference)?;
    reference.take(&left)?;
    let right = reference.right()?;
    // Where two logits are next to alike, rounding decides which is the greater one.
    if right.abs_diff(last.right) > 1 + curve.labels / NEXT_TO_ALIKE {
        return Err(Error::new(format!(
            "{} of {} labels are said to be right after {steps} steps, and by those weights {right} are",
            last.right, curve.labels
        )));
    }
    Ok(())
}

/// Of so many labels one may fall on either side by rounding.
const NEXT_TO_ALIKE: usize = 500;

/// The weights after so many steps from the beginning.
pub(super) fn after(training: &mut dyn TrainingLoop, steps: usize) -> Result<Tensors> {
    training.train(true, steps)?;
    match training.left()? {
        (done, weights) if done == steps => Ok(weights),
        (done, _) => {
            Err(Error::new(format!("{done} steps are said to be done where {steps} were asked for")))
        }
    }
}

/// The steps of the reference: the weights before and after them, and the loss of each.
///
/// A step that was left out is seen. But rounding grows from step to step: where steps are many it takes
/// honest trainings apart as well, and then they may be as far apart as it takes the formulae of the
/// reference in `f32`, [`GROWN`] times over.
pub(super) struct TrainingWay {
    pub(super) start: Tensors,
    pub(super) losses: Vec<f32>,
    pub(super) end: Tensors,
}

impl TrainingWay {
    /// The way of so many steps from the beginning of an epoch.
    ///
    /// # Errors
    /// As [`TrainingLoop::train`].
    pub(super) fn of(training: &mut dyn TrainingLoop, epoch: u64, steps: usize) -> Result<Self> {
        training.begin(epoch)?;
        let start = training.left()?.1;
        let losses = training.train(false, steps)?;
        Ok(Self { start, losses, end: training.left()?.1 })
    }

    /// That steps had these losses. `plain` gives the way of the reference's formulae in `f32`.
    ///
    /// # Errors
    /// The first loss that is further off than the precision and rounding allow.
    pub(super) fn has_losses(
        &self,
        found: &[f32],
        spec: &TrainingSpec,
        plain: &mut dyn FnMut() -> Result<Self>,
    ) -> Result<()> {
        as_many("the losses of the steps", found, &self.losses)?;
        let (first, later) = spec.loss_tolerance()?;
        let largest = largest(&self.losses);
        let within = |step: usize| largest * if step < STEPS { first } else { later };
        let off: Vec<f64> = differences(found, &self.losses);
        // A difference that is no number is no agreement.
        let is_beyond = |(step, off): (usize, &f64), rounding: f64| {
            off.is_nan() || *off > within(step).max((GROWN * rounding).min(MOST * largest))
        };
        if !off.iter().enumerate().any(|one| is_beyond(one, 0.0)) {
            return Ok(());
        }
        let mut grown = 0.0_f64;
        for ((step, off), rounding) in off.iter().enumerate().zip(differences(&plain()?.losses, &self.losses))
        {
            grown = grown.max(rounding);
            if is_beyond((step, off), grown) {
                return Err(Error::new(format!(
                    "the loss of step {step} of those that were timed is not the reference's: {} where {} is \
                     due (rounding alone takes the reference's own {grown:.3e} apart): steps were left out, \
                     put off, or of another training",
                    found[step], self.losses[step]
                )));
            }
        }
        Ok(())
    }

    /// That these weights are where the way leads. `plain` gives the way of the reference's formulae in
    /// `f32`.
    ///
    /// # Errors
    /// Weights that are further off than the precision and rounding allow.
    pub(super) fn leads_to(
        &self,
        found: &Tensors,
        spec: &TrainingSpec,
        plain: &mut dyn FnMut() -> Result<Self>,
    ) -> Result<()> {
        let Self { start, losses, end } = self;
        let steps = losses.len();
        let [_, _, of_way] = spec.tolerance()?;
        let share = apart(found, end, start)?;
        if share <= of_way {
            return Ok(());
        }
        let rounding = apart(&plain()?.end, end, start)?;
        let allowed = allowed(of_way, rounding);
        // A share that is no number is no agreement.
        if share.is_nan() || share > allowed {
            return Err(Error::new(format!(
                "the {steps} steps that were done have left other weights than the reference's: they are \
                 apart by {:.1} % of the way that those went, and {:.1} % are allowed (rounding alone takes \
                 the reference's own steps {:.1} % apart)",
                100.0 * share,
                100.0 * allowed,
                100.0 * rounding
            )));
        }
        Ok(())
    }
}

fn differences(found: &[f32], expected: &[f32]) -> Vec<f64> {
    found.iter().zip(expected).map(|(found, expected)| f64::from(found - expected).abs()).collect()
}

/// Returns the share of a way by which weights may be apart, by the share that rounding alone makes; one that
/// is no number allows nothing more than `of_way`.
fn allowed(of_way: f64, rounding: f64) -> f64 {
    if rounding.is_nan() { of_way } else { (GROWN * rounding).clamp(of_way, MOST) }
}

/// The allowed share, as a multiple of that which rounding alone makes.
const GROWN: f64 = 4.0;

/// Beyond this a way proves nothing: steps that were left out would be hidden.
const MOST: f64 = 0.2;

/// The distance of all weights, as a share of how far the expected ones went.
fn apart(found: &Tensors, expected: &Tensors, start: &Tensors) -> Result<f64> {
    let (mut apart, mut went) = (0.0, 0.0);
    for ((found, expected), start) in pairs(found, expected)?.zip(start) {
        for ((found, expected), start) in found.1.iter().zip(&expected.1).zip(&start.1) {
            apart += f64::from(found - expected).powi(2);
            went += f64::from(expected - start).powi(2);
        }
    }
    Ok((apart / went).sqrt())
}

/// That a training began with the weights that it was given, bit by bit.
pub(super) fn same_start(found: &Tensors, expected: &Tensors) -> Result<()> {
    for (found, expected) in pairs(found, expected)? {
        if found.1 != expected.1 {
            let most = found.1.iter().zip(&expected.1).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            return Err(Error::new(format!(
                "the training begins with other weights than its configuration: `{}` differs by up to \
                 {most}; trainings that begin apart are not compared",
                expected.0
            )));
        }
    }
    Ok(())
}

pub(super) type WeightPair<'a> = (&'a (String, Vec<f32>), &'a (String, Vec<f32>));

/// The tensors of both by name.
pub(super) fn pairs<'a>(
    found: &'a Tensors,
    expected: &'a Tensors,
) -> Result<impl Iterator<Item = WeightPair<'a>>> {
    let names = |tensors: &'a Tensors| tensors.iter().map(|(name, numbers)| (name, numbers.len()));
    if let Some(((name, count), (due, of))) =
        names(found).zip(names(expected)).find(|(found, due)| found != due)
    {
        return Err(Error::new(format!("`{name}` of {count} numbers came where `{due}` of {of} is due")));
    }
    if found.len() != expected.len() {
        return Err(Error::new(format!("{} tensors came where {} are due", found.len(), expected.len())));
    }
    Ok(found.iter().zip(expected))
}

fn largest(numbers: &[f32]) -> f64 {
    numbers.iter().fold(0.0, |most, number| f64::from(number.abs()).max(most))
}

/// The length of numbers as a vector.
fn length(numbers: &[f32]) -> f64 {
    numbers.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt()
}

fn as_many(what: &str, found: &[f32], expected: &[f32]) -> Result<()> {
    if found.len() == expected.len() {
        return Ok(());
    }
    Err(Error::new(format!("{what} has {} numbers where {} are due", found.len(), expected.len())))
}

/// That each number is the expected one within a share of the largest of those.
pub(super) fn near(what: &str, found: &[f32], expected: &[f32], tolerance: f64) -> Result<()> {
    as_many(what, found, expected)?;
    let largest = largest(expected);
    let allowed = tolerance * largest;
    let far = |(found, expected): (&f32, &f32)| {
        let difference = f64::from(found - expected).abs();
        // A difference that is no number is no agreement.
        (difference.is_nan() || difference > allowed).then_some((*found, *expected))
    };
    match found.iter().zip(expected).find_map(far) {
        None => Ok(()),
        Some((found, expected)) => Err(Error::new(format!(
            "{what} is not the reference's: {found} where {expected} is due, and {allowed:.3e} is allowed \
             ({tolerance} of the largest, {largest:.3e})"
        ))),
    }
}

/// That numbers as a vector are the expected one within a share of its length, and `rounded` more.
///
/// Not number by number: where one rectifier of thousands turns on by rounding, one sample's part comes into
/// a few numbers.
pub(super) fn alike(what: &str, found: &[f32], expected: &[f32], tolerance: f64, rounded: f64) -> Result<()> {
    as_many(what, found, expected)?;
    let differences: Vec<f32> =
        found.iter().zip(expected).map(|(found, expected)| found - expected).collect();
    let (apart, long) = (length(&differences), length(expected));
    if apart.is_nan() || apart > tolerance * long + rounded {
        return Err(Error::new(format!(
            "{what} is not the reference's: they are {apart:.3e} apart, where {:.3e} is allowed ({:.1} % of \
             its length, {long:.3e}, and what rounding makes)",
            tolerance * long + rounded,
            100.0 * tolerance
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_may_part_by_what_rounding_does_and_never_so_far_that_steps_could_be_missing() {
        for (rounding, due) in [(0.001, 0.02), (0.03, 0.12), (0.32, MOST), (f64::NAN, 0.02)] {
            assert!((allowed(0.02, rounding) - due).abs() < 1e-9, "{rounding}");
        }
    }
}
