//! TRAIN-1: steps of training, from samples in memory.

use weighbridge::Requirements;
use weighbridge::prelude::*;

use super::peak::{PEAK, measured_product};
use super::preset::Preset;
use super::proof::prove;
use crate::contract::{Train, Trainer, open_material, tell_compiling, tell_operators, time_phases};
use crate::workload::{Compilation, Components, TrainingSpec, TrainingState};

/// Steps of training a model, from samples that are in memory.
///
/// How many samples does a system train in a second, and where does a step go? A step takes its samples from
/// memory, goes forward and backward through the model, and changes the weights. `mode` says how the system
/// runs it: operation by operation, compiled as it does unless it is told more, with variants tried on the
/// machine, or by XLA where that is not its own way. Throughput is of the mean step; `throughput_flops` of
/// the operations that follow from the model's dimensions: forward, and the gradients that are computed. The
/// metric `peak_flops` is a product of two matrices of `f32` with 1,024 rows and columns by the crate
/// `ndarray` on all processors, measured after the steps; the report takes the share of it (MFU). The metric
/// `memory/forward` is the most memory that the process which trains has resident while three batches go
/// through the model and nothing is trained yet, and `memory/training` the same in three steps; neither has
/// what compiling takes. Some steps are done once more phase by phase: the metrics `step/...` are mean times,
/// and phases that a mode cannot separate are one. Some are done under the system's own profiler, where it
/// has one: the metrics
/// `operator/...` are the 30 that take the most of a step.
///
/// ViT-5 is trained in two states: `original` has its operations one by one, as it was published,
/// `optimised` each component in the way that a system has for speed. `swapped` puts one component in the
/// way of the other state, and each component is an axis of its own. Models other than ViT-5 have one state,
/// `original`, and run as a system has them. Where a mode compiles, the metrics `compile/...` count what that
/// came to.
///
/// Timed: from before the samples of a step are taken until its loss and the changed weights are there. Not
/// timed: building and compiling the model, going back to its first weights. Every repeat proves equal work:
/// the settings are read back from the system and must be the configuration's, its first weights are the
/// configuration's bit by bit, and its logits, losses, gradients, its weights after three steps, the loss of
/// each timed step and the weights that the last ones have left agree with a reference in `f64`. Each epoch
/// has the samples of its steps in an order that is drawn in that repeat.
#[scenario(id = "TRAIN-1", category = "Training", sets = ["training"], equivalence = shape,
    needs = needs, describe = describe, filter = fits)]
fn steps(
    bencher: &mut Bencher,
    trainer: &mut dyn Trainer,
    #[sweep(
        vit5_tiny = Preset::Vit5Tiny,
        vit5_tiny_bf16 = Preset::Vit5TinyBf16,
        vit5_wide = Preset::Vit5Wide,
        vit5_small = Preset::Vit5Small,
        vit5_base = Preset::Vit5Base,
        vit_tiny = Preset::VitTiny,
        gpt_tiny = Preset::GptTiny,
        resnet50_narrow = Preset::Resnet50Narrow,
        mlp_tiny = Preset::MlpTiny,
        tiny = Preset::ForTests,
        tiny_vit5 = Preset::Vit5ForTests
    )]
    variant: Preset,
    #[sweep(
        all,
        eager = Compilation::Eager,
        compiled = Compilation::Compiled,
        autotuned = Compilation::Autotuned,
        xla = Compilation::Xla
    )]
    mode: Compilation,
    components: Components,
) -> Result<()> {
    let preset = match (bencher.is_smoke(), variant.is_vit5()) {
        (true, true) => Preset::Vit5ForTests,
        (true, false) => Preset::ForTests,
        (false, _) => variant,
    };
    let components = preset.is_vit5().then_some(components);
    train(bencher, trainer, mode, &TrainingSpec { components, ..preset.spec() })
}

/// The scenario with a training that need not be one of those here: a suite has its own by an attribute and
/// this function.
///
/// ```no_run
/// use weighbridge::prelude::*;
/// use weighbridge_training::contract::Trainer;
/// use weighbridge_training::training::train;
/// use weighbridge_training::workload::{Compilation, TrainingSpec};
///
/// #[scenario(id = "OURS-1", equivalence = shape)]
/// fn ours(bencher: &mut Bencher, trainer: &mut dyn Trainer) -> Result<()> {
///     let spec = TrainingSpec::read(&std::fs::read_to_string("ours.toml")?)?;
///     train(bencher, trainer, Compilation::Eager, &spec)
/// }
/// ```
///
/// # Errors
/// What is impossible in the training, declined, or not equal work.
pub fn train(
    bencher: &Bencher,
    trainer: &mut dyn Trainer,
    mode: Compilation,
    spec: &TrainingSpec,
) -> Result<()> {
    let (spec, material) = open_material(bencher, spec)?;
    let (mut training, timed) = bencher.train(trainer, mode, &spec, &material)?;
    tell_compiling(bencher, &mut *training, mode)?;
    prove(&mut *training, &timed, &spec, &material)?;
    time_phases(bencher, &mut *training, &spec)?;
    tell_operators(bencher, &mut *training, &spec)?;
    bencher.metric(PEAK, measured_product(), Unit::FLOPS, Direction::Information);
    Ok(())
}

/// Returns what a point needs, for the plan.
fn needs(variant: &Preset, _: &Compilation, _: &Components) -> Requirements {
    variant.spec().needs()
}

/// A model other than ViT-5 has one way of its components: that of the system.
fn fits(variant: &Preset, _: &Compilation, components: &Components) -> Result<(), String> {
    if variant.is_vit5() || *components == Components::of(TrainingState::Original) {
        return Ok(());
    }
    Err(format!("{variant}: states and ways of components are of vit5_tiny, vit5_small and others of ViT-5"))
}

/// Returns the description of a point, for listings.
fn describe(variant: &Preset, mode: &Compilation, _: &Components) -> String {
    format!("{}, {mode}", variant.spec().describe())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weighbridge::{Budget, Purpose, Settings};
    use weighbridge_data::Epochs;
    use weighbridge_loaders::contract::changed_loader::bencher;

    use super::*;
    use crate::adapters::native::{ByHand, NdarrayTrainer, ReferenceTrainer};
    use crate::contract::TrainingLoop;
    use crate::training::liars::{Liar, Other, TrainingLie};
    use crate::workload::{Initialisation, NormWay, Optimiser, Precision, RopeWay, Schedule};

    fn small() -> TrainingSpec {
        TrainingSpec::read(TrainingSpec::SMALL).unwrap()
    }

    fn trained(trainer: &mut dyn Trainer) -> Result<weighbridge::RepeatResult> {
        trained_as(trainer, &small())
    }

    #[test]
    fn steps_say_what_they_cost_phase_by_phase_beside_their_operations_and_a_peak() {
        let done = trained(&mut NdarrayTrainer).unwrap();
        let names: Vec<&str> = done.seen.custom.iter().map(|metric| metric.name.as_str()).collect();
        let phases = ["data", "forward", "backward", "optimiser", "all"].map(|phase| format!("step/{phase}"));
        assert_eq!(names[..2], ["memory/forward", "memory/training"]);
        assert_eq!(names[2..7], phases);
        assert_eq!(names[7..], ["peak_flops"]);
        let told: Vec<f64> = done.seen.custom.iter().map(|metric| metric.value).collect();
        assert!(told[7] > 0.0 && done.seen.flops > 0);
        assert!(1e6 < told[0] && told[0] <= told[1], "{told:?}");
        let content = done.work.unwrap().report.transforms;
        assert_eq!(content, small().work().unwrap());
    }

    /// Trains models of every kind, each of which the scenario proves to be the reference's, and asks for
    /// what is declined.
    #[cfg(any(feature = "burn", feature = "candle"))]
    fn check_derived(trainer: &mut dyn Trainer) {
        use crate::workload::model::Dimensions;
        let gpt = Dimensions::Gpt { length: 6, vocabulary: 11, width: 8, heads: 2, blocks: 2 };
        let digits = TrainingSpec::read(TrainingSpec::DIGITS_SMALL).unwrap();
        let adamw = Optimiser::Adamw { rate: 1e-2, beta1: 0.8, beta2: 0.95, epsilon: 1e-3, decay: 0.3 };
        for spec in [
            small(),
            TrainingSpec { optimiser: adamw, ..small() },
            TrainingSpec { model: gpt, ..small() },
            TrainingSpec { optimiser: adamw, ..digits },
            TrainingSpec { schedule: WAVE, ..small() },
            narrow_resnet(),
        ] {
            let bencher = bencher();
            train(&bencher, trainer, Compilation::Eager, &spec).unwrap();
            let done = bencher.finish().unwrap();
            let names: Vec<&str> = done.seen.custom.iter().map(|metric| metric.name.as_str()).collect();
            let phases = ["data", "forward", "backward", "optimiser", "all"];
            // Their forward always keeps what the way back needs.
            assert_eq!(names[0], "memory/training");
            assert_eq!(names[1..6], phases.map(|phase| format!("step/{phase}")));
        }
        for (mode, precision, named) in [
            (Compilation::Compiled, Precision::F32, "mode compiled"),
            (Compilation::Eager, Precision::Bf16, "precision bf16"),
        ] {
            let spec = TrainingSpec { precision, ..small() };
            let why = train(&bencher(), trainer, mode, &spec).unwrap_err();
            assert!(why.is_skip() && why.to_string().contains(named), "{why}");
        }
    }

    #[cfg(feature = "burn")]
    #[test]
    fn burn_trains_models_of_every_kind_as_the_reference_does_and_declines_other_modes_and_precisions() {
        check_derived(&mut crate::adapters::native::BurnTrainer);
    }

    #[cfg(feature = "candle")]
    #[test]
    fn candle_trains_models_of_every_kind_as_the_reference_does_and_declines_other_modes_and_precisions() {
        check_derived(&mut crate::adapters::native::CandleTrainer);
    }

    #[test]
    fn steps_that_were_left_out_put_off_or_told_from_memory_are_missed_in_the_losses_of_the_timed_ones() {
        for lie in [
            TrainingLie::SkipsHalf,
            TrainingLie::SkipsTheFiftieth,
            TrainingLie::StepsWhenAsked,
            TrainingLie::RemembersAnEpoch,
        ] {
            let spec = TrainingSpec { steps: 60, ..small() };
            // An epoch without a stop, and passes of another one.
            let min_time = Duration::from_nanos(1);
            let budget = Budget { warmup: 1, batches: 55, min_time, max_time: None };
            let bencher = Bencher::new(Settings::new(Purpose::Measure, budget));
            let said = train(&bencher, &mut Liar(lie), Compilation::Eager, &spec).unwrap_err().to_string();
            assert!(said.contains("of those that were timed is not the reference's"), "{lie:?}: {said}");
        }
    }

    #[test]
    fn each_epoch_has_samples_in_an_order_of_its_own_and_the_timed_steps_are_those_of_the_reference() {
        let (spec, material) = open_material(&bencher(), &small()).unwrap();
        let mut training = ByHand::<f32>::open(&spec, &material.data, &material.weights).unwrap();
        let mut losses = |epoch: u64| {
            training.begin(epoch).unwrap();
            training.train(false, 3).unwrap()
        };
        let (one, other) = (losses(5), losses(6));
        assert!(one != other && one == losses(5), "{one:?} {other:?}");
        assert_eq!(
            losses(0),
            training.train(true, 3).unwrap(),
            "the first epoch has the samples as they lie"
        );
    }

    #[test]
    fn another_training_than_was_asked_for_is_refused_with_what_is_other() {
        let refused = |change| trained(&mut Other(change)).unwrap_err().to_string();
        let said = refused(|spec| spec.initialisation = spec.initialisation.clone().seeded(2));
        assert!(said.contains("begins with other weights than its configuration: `0.weight`"), "{said}");
        let said = refused(|spec| spec.optimiser = Optimiser::Sgd { rate: 0.05, momentum: 0.8 });
        assert!(said.contains("`optimiser.momentum` is 0.8 where the configuration has 0.9"), "{said}");
        let said = refused(|spec| spec.precision = Precision::Bf16);
        assert!(said.contains("`precision` is bf16 where the configuration has f32"), "{said}");
        let said = refused(|spec| spec.schedule = WAVE);
        assert!(said.contains("steps"), "{said}");
        trained(&mut Other(|_| {})).unwrap();
        trained(&mut ReferenceTrainer).unwrap();
    }

    const WAVE: Schedule = Schedule::Cosine { warmup: 1, until: 4, least: 0.1 };

    fn narrow_resnet() -> TrainingSpec {
        TrainingSpec { batch: 8, steps: 4, ..Preset::Resnet50Narrow.spec() }
    }

    fn trained_as(trainer: &mut dyn Trainer, spec: &TrainingSpec) -> Result<weighbridge::RepeatResult> {
        let bencher = bencher();
        train(&bencher, trainer, Compilation::Eager, spec)?;
        bencher.finish()
    }

    #[test]
    fn a_rate_that_changes_is_trained_with_as_it_is_configured_and_a_constant_one_is_refused() {
        let spec = TrainingSpec { schedule: WAVE, ..small() };
        let done = trained_as(&mut NdarrayTrainer, &spec).unwrap();
        assert!(done.work.unwrap().report.transforms.concat().contains("falls by a cosine to 0.1"));
        let mut constant = Other(|spec| spec.schedule = Schedule::Constant);
        let said = trained_as(&mut constant, &spec).unwrap_err().to_string();
        assert!(said.contains("`optimiser.rate of step 0` is not told"), "{said}");
    }

    #[test]
    fn weights_of_a_file_are_what_a_training_begins_with_and_drawn_ones_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("w.safetensors");
        let drawn = TrainingSpec { initialisation: small().initialisation.seeded(9), ..small() };
        let weights = weighbridge_data::Cache::from_env().open(&drawn.weights().unwrap()).unwrap();
        let tensor = |(field, kind): (usize, &weighbridge::FieldKind)| {
            let bytes = weights.rows(field, 0..1);
            let view =
                safetensors::tensor::TensorView::new(safetensors::Dtype::F32, kind.shape.clone(), bytes);
            (kind.name.clone(), view.unwrap())
        };
        let bytes = safetensors::serialize(weights.kinds().enumerate().map(tensor), None).unwrap();
        std::fs::write(&path, &bytes).unwrap();
        let initialisation = Initialisation::File { file: path, digest: xxhash_rust::xxh3::xxh3_64(&bytes) };
        let spec = TrainingSpec { initialisation, ..small() };
        trained_as(&mut NdarrayTrainer, &spec).unwrap();
        let said = trained_as(&mut Other(|spec| spec.initialisation = small().initialisation), &spec);
        let said = said.unwrap_err().to_string();
        assert!(said.contains("begins with other weights than its configuration"), "{said}");
    }

    #[test]
    fn a_vit5_is_proven_by_hand_and_ways_of_components_that_nobody_has_there_are_declined() {
        let small = TrainingSpec::read(TrainingSpec::SMALL_VIT5).unwrap();
        let original = Components::of(TrainingState::Original);
        let of = |components| TrainingSpec { components: Some(components), ..small.clone() };
        trained_as(&mut NdarrayTrainer, &small).unwrap();
        trained_as(&mut NdarrayTrainer, &of(Components { norm: Some(NormWay::Parts), ..original })).unwrap();
        trained_as(&mut ReferenceTrainer, &of(Components::of(TrainingState::Optimised))).unwrap();
        for asked in [
            Components::of(TrainingState::Optimised),
            Components { norm: Some(NormWay::Fused), ..original },
            Components { rope: Some(RopeWay::Cached), ..original },
        ] {
            let why = trained_as(&mut NdarrayTrainer, &of(asked)).unwrap_err();
            assert!(why.is_skip() && why.to_string().starts_with("components: "), "{why}");
        }
    }

    #[test]
    fn states_are_of_vit5_alone_and_the_models_of_the_others_run_as_a_system_has_them() {
        let optimised = Components::of(TrainingState::Optimised);
        assert!(fits(&Preset::Vit5Base, &Compilation::Eager, &optimised).is_ok());
        let said = fits(&Preset::GptTiny, &Compilation::Eager, &optimised).unwrap_err();
        assert!(said.starts_with("gpt_tiny: "), "{said}");
        assert!(
            fits(&Preset::GptTiny, &Compilation::Eager, &Components::of(TrainingState::Original)).is_ok()
        );
    }

    #[test]
    fn a_narrow_resnet_whose_blocks_begin_as_the_identity_is_proven_in_f32() {
        trained_as(&mut NdarrayTrainer, &narrow_resnet()).unwrap();
    }
}
