//! TRAIN-2: training until a target.

use weighbridge::Requirements;
use weighbridge::prelude::*;

use super::learning_curve::LearningCurve;
use super::preset::Preset;
use super::proof::{prove, prove_learning_curve};
use crate::contract::{Train, Trainer, open_material};
use crate::workload::{Compilation, TrainingSpec};

/// The axes of TRAIN-2.
#[derive(Clone, Debug, Sweep)]
struct ToATargetAxes {
    #[sweep(
            digits_mlp = Preset::DigitsMlp,
            digits_vit = Preset::DigitsVit,
            clusters_mlp = Preset::ClustersMlp,
            tiny = Preset::DigitsForTests
        )]
    variant: Preset,
    #[sweep(all, eager = Compilation::Eager, compiled = Compilation::Compiled)]
    mode: Compilation,
    #[sweep(1, 2, 3)]
    seed: u64,
}

/// Training until samples that nothing was learned from are known.
///
/// How many steps does a system need, and how long do they take? The stream is of an epoch of steps, as in
/// TRAIN-1. Then the system trains once more from the beginning; every so many steps it looks at the samples
/// that were held out, and it ends where the target's share of them is right. `steps_to_target` and
/// `time_to_target` say when that was, and are absent where it never was; `loss_at/STEPS`,
/// `accuracy_at/STEPS` and `time_at/STEPS` are the learning curve. Each `seed` has its own first weights and
/// its own order of samples, the same for every system.
///
/// Timed: as in TRAIN-1; the time to the target is of the steps, without the looks. Every repeat proves equal
/// work: all that TRAIN-1 proves, and that the losses of the steps to the target and the weights there are
/// those of a reference in `f64`, and know as many of the samples as the system says.
#[scenario(id = "TRAIN-2", category = "Training", sets = ["convergence"], equivalence = shape,
    needs = needs, describe = describe)]
fn to_a_target(bencher: &mut Bencher, trainer: &mut dyn Trainer, axes: ToATargetAxes) -> Result<()> {
    let ToATargetAxes { variant, mode, seed } = axes;
    let preset = if bencher.is_smoke() { Preset::DigitsForTests } else { variant };
    train_to_target(bencher, trainer, mode, &seeded(preset, seed))
}

/// The scenario with a training that need not be one of those here, as [`train`](super::train) is that of
/// TRAIN-1. It must have a `[target]`.
///
/// # Errors
/// What is impossible in the training, declined, or not equal work.
pub fn train_to_target(
    bencher: &Bencher,
    trainer: &mut dyn Trainer,
    mode: Compilation,
    spec: &TrainingSpec,
) -> Result<()> {
    let (spec, material) = open_material(bencher, spec)?;
    let (mut training, timed) = bencher.train(trainer, mode, &spec, &material)?;
    prove(&mut *training, &timed, &spec, &material)?;
    let curve = LearningCurve::follow(&mut *training, &spec)?;
    prove_learning_curve(&mut *training, &spec, &material, &curve)?;
    curve.tell(bencher);
    Ok(())
}

/// Returns what a point needs, for the plan.
fn needs(axes: &ToATargetAxes) -> Requirements {
    let ToATargetAxes { variant, .. } = axes;
    variant.spec().needs()
}

/// Returns the description of a point, for listings.
fn describe(axes: &ToATargetAxes) -> String {
    let ToATargetAxes { variant, mode, seed } = axes;
    format!("{}, {mode}, seed {seed}", variant.spec().describe())
}

fn seeded(preset: Preset, seed: u64) -> TrainingSpec {
    let spec = preset.spec();
    let initialisation = spec.initialisation.clone().seeded(seed);
    TrainingSpec { initialisation, samples: spec.samples.seeded(seed), ..spec }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use weighbridge_loaders::contract::changed_loader::bencher;

    use super::*;
    use crate::adapters::native::{ByHand, NdarrayTrainer};
    use crate::contract::TrainingLoop;
    use crate::training::learning_curve::{BEST_ACCURACY, STEPS_TO_TARGET, TIME_TO_TARGET};
    use crate::training::liars::{Liar, Other, TrainingLie};
    use crate::workload::model::Scheme;
    use crate::workload::{Initialisation, Optimiser, SampleTarget};

    fn small() -> TrainingSpec {
        seeded(Preset::DigitsForTests, 1)
    }

    fn trained(trainer: &mut dyn Trainer, spec: &TrainingSpec) -> Result<weighbridge::RepeatResult> {
        let bencher = bencher();
        train_to_target(&bencher, trainer, Compilation::Eager, spec)?;
        bencher.finish()
    }

    fn metrics(spec: &TrainingSpec) -> BTreeMap<String, f64> {
        let done = trained(&mut NdarrayTrainer, spec).unwrap();
        done.seen.custom.into_iter().map(|metric| (metric.name, metric.value)).collect()
    }

    #[test]
    fn a_target_is_reached_at_a_step_and_the_learning_curve_is_told() {
        let told = metrics(&small());
        let steps = told[STEPS_TO_TARGET];
        assert!((4.0..48.0).contains(&steps) && (steps % 4.0).abs() < 1e-9, "{told:?}");
        assert!(told[TIME_TO_TARGET] > 0.0 && told[BEST_ACCURACY] >= 0.5, "{told:?}");
        assert!(told[&format!("loss_at/{steps}")] < told["loss_at/4"], "{told:?}");
        let at_last = |what: &str| told[&format!("{what}_at/{steps}")].to_bits();
        assert_eq!(at_last("accuracy"), told[BEST_ACCURACY].to_bits());
        assert_eq!(at_last("time"), told[TIME_TO_TARGET].to_bits());
    }

    #[test]
    fn a_target_that_is_never_reached_ends_with_the_data_and_has_no_steps() {
        let spec =
            TrainingSpec { target: Some(SampleTarget { accuracy: 1.0, held_out: 50, every: 4 }), ..small() };
        let told = metrics(&spec);
        assert!(!told.contains_key(STEPS_TO_TARGET) && !told.contains_key(TIME_TO_TARGET), "{told:?}");
        assert!(told[BEST_ACCURACY] < 1.0 && told.contains_key("accuracy_at/48"), "{told:?}");
    }

    /// One is said to be sooner at the target, until both begin with the same weights.
    #[test]
    fn other_first_weights_move_the_step_of_the_target_and_are_refused() {
        let steps = |scheme, seed| {
            let spec = small();
            metrics(&TrainingSpec { initialisation: Initialisation::Drawn { scheme, seed }, ..spec })
                .get(STEPS_TO_TARGET)
                .copied()
                .unwrap_or(f64::INFINITY)
        };
        let (ours, other) = (steps(Scheme::He, 1), steps(Scheme::Normal, 1));
        assert!(other >= 1.25 * ours, "{ours} steps and {other}");
        let mut better =
            Other(|spec| spec.initialisation = Initialisation::Drawn { scheme: Scheme::He, seed: 1 });
        let normal = Initialisation::Drawn { scheme: Scheme::Normal, seed: 1 };
        let said = trained(&mut better, &TrainingSpec { initialisation: normal, ..small() }).unwrap_err();
        assert!(said.to_string().contains("trainings that begin apart are not compared"), "{said}");
    }

    #[test]
    fn a_loss_that_is_no_number_ends_the_training_with_its_step() {
        let optimiser = Optimiser::Sgd { rate: 1e30, momentum: 0.0 };
        let said = trained(&mut NdarrayTrainer, &TrainingSpec { optimiser, ..small() }).unwrap_err();
        assert!(said.to_string().contains("the loss of step "), "{said}");
    }

    #[test]
    fn more_steps_than_there_are_samples_for_are_an_error() {
        let spec = small();
        let (spec, material) = open_material(&bencher(), &spec).unwrap();
        let mut training = ByHand::<f32>::open(&spec, &material.data, &material.weights).unwrap();
        let said = training.train(true, spec.steps + 1).unwrap_err();
        assert!(said.to_string().contains("the data end after 48 steps"), "{said}");
    }

    #[test]
    fn a_training_without_a_target_is_refused() {
        let said = trained(&mut NdarrayTrainer, &TrainingSpec { target: None, ..small() }).unwrap_err();
        assert!(said.to_string().contains("digits_for_tests has no `[target]`"), "{said}");
    }

    #[test]
    fn weights_that_do_not_know_what_they_are_said_to_know_are_refused() {
        let said = trained(&mut Liar(TrainingLie::KnowsAll(50)), &small()).unwrap_err();
        assert!(
            said.to_string()
                .contains("50 of 50 labels are said to be right after 4 steps, and by those weights"),
            "{said}"
        );
    }

    #[test]
    fn steps_to_a_target_that_are_done_when_somebody_looks_are_missed_in_their_losses() {
        let (spec, material) = open_material(&bencher(), &small()).unwrap();
        let mut liar = Liar(TrainingLie::StepsWhenAsked);
        let mut training = liar.open(&spec, Compilation::Eager, &material.data, &material.weights).unwrap();
        let curve = LearningCurve::follow(&mut *training, &spec).unwrap();
        assert!(curve.reached, "it gets there, and in next to no time: {curve:?}");
        let said = prove_learning_curve(&mut *training, &spec, &material, &curve).unwrap_err().to_string();
        assert!(said.contains("of those that were timed is not the reference's"), "{said}");
    }

    #[test]
    fn a_learning_curve_ends_at_the_first_look_that_reaches_the_target() {
        let (spec, material) = open_material(&bencher(), &small()).unwrap();
        let mut training = ByHand::<f64>::open(&spec, &material.data, &material.weights).unwrap();
        let curve = LearningCurve::follow(&mut training, &spec).unwrap();
        let (last, before) = curve.looks.split_last().unwrap();
        assert!(curve.reached && last.right >= 25, "{curve:?}");
        assert!(before.iter().all(|look| look.right < 25 && look.took <= last.took), "{curve:?}");
        assert_eq!(training.left().unwrap().0, last.steps);
    }
}
