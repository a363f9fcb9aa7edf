//! TRAIN-3: steps of training that a loader feeds.

use std::fmt;
use std::slice;
use std::time::Duration;

use weighbridge::data::median;
use weighbridge::prelude::*;
use weighbridge::{Dtype, Equivalence, Requirements, skip};
use weighbridge_data::{DataSpec, FieldSpec, FieldValues, NetworkCopy, Origin};
use weighbridge_loaders::contract::{keep_order, open_data};
use weighbridge_loaders::prelude::*;

use super::fed_proof::FedReference;
use super::feeding::{FeedTimes, both_at_once, load_alone, step_alone};
use super::preset::Preset;
use super::storage::LoaderStorage;
use super::trainer_choice::TrainerChoice;
use crate::contract::{Trainer, open_material};
use crate::workload::{Compilation, TrainingSpec};

/// The axes of TRAIN-3.
#[derive(Clone, Debug, Sweep)]
struct LoaderAndStepAxes {
    #[sweep(vit5_tiny = Preset::Vit5Tiny, vit5_wide = Preset::Vit5Wide, tiny = Preset::ForTests)]
    variant: Preset,
    #[sweep(all, normalised = Preparation::Normalised, augmented = Preparation::Augmented)]
    transforms: Preparation,
    #[sweep(0, 2)]
    workers: usize,
    #[sweep(
            implied,
            memory = LoaderStorage::Memory,
            staged = LoaderStorage::Staged,
            local = LoaderStorage::Local,
            network = LoaderStorage::Network
        )]
    storage: LoaderStorage,
    #[sweep(
            implied,
            ndarray = TrainerChoice::Ndarray,
            reference = TrainerChoice::Reference,
            pytorch = TrainerChoice::PyTorch,
            flax = TrainerChoice::Flax,
            tensorflow = TrainerChoice::TensorFlow,
            keras = TrainerChoice::Keras,
            keras_jax = TrainerChoice::KerasJax,
            keras_torch = TrainerChoice::KerasTorch
        )]
    trainer: TrainerChoice,
    #[sweep(implied, eager = Compilation::Eager, compiled = Compilation::Compiled)]
    mode: Compilation,
    #[sweep(implied, 1, 2, 4)]
    ahead: usize,
}

/// Steps of training that a loader feeds.
///
/// What is a faster loader worth to a training? Each round has three experiments over the same batches: the
/// loader alone, which nobody holds up; the step alone, on batches that are in memory; and both at once,
/// where the loader makes the next batch while a step is at work. The metrics are medians over the rounds of
/// a repeat:
///
/// - `loader_alone`, `step_alone`, `both_at_once`: samples a second;
/// - `full_step`: from one step to the next with both at once, in the mean;
/// - `exposed_loading`: how long a step waited for its batch, in the mean, and `data_wait` its share of
///   the time;
/// - `efficiency`: both at once, as a share of the slower one alone. Where the two share processors it falls
///   below one though nothing waits.
///
/// The loader runs in a thread of its own, or in its worker's process, and is `ahead` batches ahead. The step
/// is of the system that `trainer` names. `transforms` says what the loader does to an image, and `storage`
/// where its rows lie: in memory, staged (a file that is read whole when the epoch begins), local (a file
/// that is read batch by batch, out of the page cache), or behind a network (a copy of that file in the
/// directory that `WEIGHBRIDGE_NETWORK` names, which is forgotten here before every epoch).
///
/// Timed: from when the first batch is there until the last batch, or step, is done. Handing a batch over is
/// part of it: the loader copies each one, and a trainer in another process reads it from a file. Not timed:
/// making data, opening the loader and the training, compiling (a first round does not count).
///
/// In every repeat the batches that the steps took must be the reference loader's, byte by byte, and losses
/// and weights after steps on them those of the reference in `f64`; the samples that a trainer has in memory
/// are others. Loaders that lose the order of an epoch, or do not run in a thread, are skipped.
#[scenario(id = "TRAIN-3", category = "Training", sets = ["loader-and-step"], equivalence = by(agreement),
    needs = needs, describe = describe)]
fn loader_and_step(bencher: &mut Bencher, loader: &mut dyn Loader, axes: LoaderAndStepAxes) -> Result<()> {
    let LoaderAndStepAxes { variant, transforms, workers, storage, trainer, mode, ahead } = axes;
    let preset = if bencher.is_smoke() { Preset::ForTests } else { variant };
    let (spec, _) = open_material(bencher, &fed(preset))?;
    let pipeline = pipeline(&spec, transforms).workers(workers).access(storage.access());
    let network =
        (storage == LoaderStorage::Network).then(|| NetworkCopy::of(&pipeline.source)).transpose()?;
    meet(bencher, loader, &mut *trainer.make()?, mode, &spec, &pipeline, network.as_ref(), ahead)
}

/// Samples a second with loader and step at once.
pub const BOTH_AT_ONCE: &str = "both_at_once";
/// Samples a second of the loader alone.
pub const LOADER_ALONE: &str = "loader_alone";
/// Samples a second of the step alone, on batches in memory.
pub const STEP_ALONE: &str = "step_alone";
/// From one step to the next with loader and step at once, in the mean.
pub const FULL_STEP: &str = "full_step";
/// The mean time that a step waited for its batch.
pub const EXPOSED_LOADING: &str = "exposed_loading";
/// The same as a share of the time.
pub const DATA_WAIT: &str = "data_wait";
/// Both at once, as a share of the slower one alone.
pub const EFFICIENCY: &str = "efficiency";

/// Rounds of a repeat that count.
const ROUNDS: usize = 3;
/// Batches of a round at most: enough that steps wait as they would in an epoch, few enough for seven epochs
/// of steps in a repeat.
const BATCHES: usize = 16;

/// The training that is fed.
fn fed(preset: Preset) -> TrainingSpec {
    let spec = preset.spec();
    TrainingSpec { steps: spec.steps.min(BATCHES), ..spec }
}

#[expect(clippy::too_many_arguments, reason = "what meets, and how")]
fn meet(
    bencher: &Bencher,
    loader: &mut dyn Loader,
    trainer: &mut dyn Trainer,
    mode: Compilation,
    spec: &TrainingSpec,
    pipeline: &PipelineSpec,
    network: Option<&NetworkCopy>,
    ahead: usize,
) -> Result<()> {
    let (spec, material) = open_material(bencher, spec)?;
    let (pipeline, data) = open_data(bencher, pipeline)?;
    let data = network.map_or(data, |copy| copy.data().clone());
    let forget = || network.map_or(Ok(()), NetworkCopy::forget);
    let (epoch, place) = (bencher.epoch(), bencher.scratch()?);
    let mut loaders = bencher.open(|| loader.open_many(slice::from_ref(&pipeline), &data))?;
    let [loader] = &mut loaders[..] else {
        return Err(Error::new(format!("one pipeline was asked for, and the loader made {}", loaders.len())));
    };
    keep_order(&**loader)?;
    let mut report = loader.executed().report(&data, loader.entry_point());
    report.environment.extend(network.map(|copy| ("storage".to_owned(), copy.storage().to_owned())));
    bencher.work(report);
    let mut training = trainer.open(&spec, mode, &material.data, &material.weights)?;
    let reference = FedReference::new(&pipeline, &data, epoch, &spec, &material, &place)?;
    reference.check_training(&mut *training)?;
    let rounds = if bencher.is_smoke() { 0 } else { ROUNDS };
    let mut told = Vec::new();
    for round in 0..=rounds {
        forget()?;
        let loaded = load_alone(&mut **loader, epoch, ahead)?;
        let stepped = step_alone(&mut *training, &loaded.batches, &place)?;
        reference.check_batches(&loaded.batches)?;
        reference.check_steps(&stepped, &mut *training)?;
        if round < rounds.min(1) {
            continue; // compiled, and at its speed: the first round counts for nothing else
        }
        forget()?;
        let fed = both_at_once(&mut **loader, epoch, ahead, &mut *training, &place)?;
        reference.check_batches(&fed.batches)?;
        reference.check_steps(&fed, &mut *training)?;
        told.push([loaded.times, stepped.times, fed.times]);
        if round == rounds {
            fed.batches.iter().for_each(|batch| bencher.delivered(batch));
        }
    }
    if let Some(copy) = network {
        // Who still hands over the same batches when the copy is overwritten has read them from somewhere
        // else.
        copy.spoil()?;
        forget()?;
        let again = load_alone(&mut **loader, epoch, ahead);
        if again.is_ok_and(|again| reference.check_batches(&again.batches).is_ok()) {
            return Err(skip(
                "rows behind a network: it reads them from a copy in a format of its own, \
                 on a disk of this machine",
            ));
        }
    }
    tell(bencher, &told, spec.batch);
    Ok(())
}

/// Tells what the rounds have shown, of so many samples in a batch.
fn tell(bencher: &Bencher, rounds: &[[FeedTimes; 3]], batch: usize) {
    let median = |of: &dyn Fn(&[FeedTimes; 3]) -> f64| median(&rounds.iter().map(of).collect::<Vec<f64>>());
    let samples = |index: usize| median(&|round| round[index].rate() * batch as f64);
    let rates = [(BOTH_AT_ONCE, 2), (LOADER_ALONE, 0), (STEP_ALONE, 1)];
    for (name, index) in rates {
        bencher.metric(name, samples(index), Unit::other("samples/s"), Direction::Higher);
    }
    let full = median(&|[_, _, both]| 1.0 / both.rate());
    bencher.metric(FULL_STEP, full, Unit::SECONDS, Direction::Lower);
    let exposed = median(&|[_, _, both]| seconds(both.waited) / both.count as f64);
    bencher.metric(EXPOSED_LOADING, exposed, Unit::SECONDS, Direction::Lower);
    let share = median(&|[_, _, both]| 100.0 * seconds(both.waited) / seconds(both.whole));
    bencher.metric(DATA_WAIT, share, Unit::other("%"), Direction::Lower);
    let efficiency = median(&|[loader, step, both]| both.rate() / loader.rate().min(step.rate()));
    bencher.metric(EFFICIENCY, efficiency, Unit::RATIO, Direction::Higher);
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

/// The transforms that a loader applies to the images of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// From `u8` to `f32`.
    Normalised,
    /// A crop that is resized, a mirror, and colours that change; then the same.
    Augmented,
}

impl fmt::Display for Preparation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normalised => "normalised",
            Self::Augmented => "augmented",
        })
    }
}

/// The pipeline that feeds a training: images of `u8` in the shape that its model takes, as many as its steps
/// take.
fn pipeline(spec: &TrainingSpec, preparation: Preparation) -> PipelineSpec {
    let material = spec.data().expect("a preset has data");
    let mut kinds = material.kinds().cloned();
    let (Some(input), Some(label)) = (kinds.next(), kinds.next()) else {
        unreachable!("a training has inputs and labels")
    };
    let classes = material.fields[1].values;
    let source = DataSpec {
        fields: vec![
            FieldSpec {
                kind: weighbridge::FieldKind { dtype: Dtype::U8, ..input },
                values: FieldValues::Below(256),
            },
            FieldSpec { kind: label, values: classes },
        ],
        elements: spec.batch * spec.steps,
        origin: Origin::Synthetic { seed: SEED },
    };
    let transforms: &[Transform] = match preparation {
        Preparation::Normalised => &[Normalize],
        Preparation::Augmented => &[RandomResizedCrop, RandomFlip, ColorJitter, Normalize],
    };
    transforms.iter().fold(PipelineSpec::new(source, spec.batch), |spec, &transform| spec.map(transform))
}

/// The seed of the samples that are loaded: none that a trainer has in memory.
const SEED: u64 = 7;

/// Returns the agreement that is due at a point: that of the batches.
fn agreement(axes: &LoaderAndStepAxes) -> Equivalence {
    let LoaderAndStepAxes { variant, transforms, .. } = axes;
    pipeline(&fed(*variant), *transforms).agreement()
}

/// Returns what a point needs, for the plan: training and loader, and the data of an epoch three times more.
fn needs(axes: &LoaderAndStepAxes) -> Requirements {
    let LoaderAndStepAxes { variant, transforms, .. } = axes;
    let spec = fed(*variant);
    let (training, loading) = (spec.needs(), pipeline(&spec, *transforms).needs());
    let batches = 3 * spec.data().expect("a preset has data").bytes();
    Requirements { memory: training.memory + loading.memory + batches, ..training }
}

/// Returns the description of a point, for listings.
fn describe(axes: &LoaderAndStepAxes) -> String {
    let LoaderAndStepAxes { variant, transforms, workers, storage, trainer, mode, ahead } = axes;
    let spec = fed(*variant);
    let loading = pipeline(&spec, *transforms).workers(*workers).describe();
    format!("{}; {trainer}, {mode}, fed {ahead} ahead out of {storage} by: {loading}", spec.describe())
}

#[cfg(test)]
mod tests {
    use weighbridge_loaders::adapters::native::{Rayon, Reference};
    use weighbridge_loaders::contract::changed_loader::{ChangedLoader, bencher, metrics};
    use weighbridge_loaders::workload::Shard;

    use super::*;
    use crate::adapters::native::{NdarrayTrainer, ReferenceTrainer};
    use crate::training::liars::{Liar, Other, TrainingLie};
    use crate::workload::Optimiser;

    /// Returns the metrics that the scenario tells of this pair.
    fn met(loader: &mut dyn Loader, trainer: &mut dyn Trainer) -> Result<Vec<(String, f64)>> {
        let place = tempfile::tempdir().unwrap();
        let bencher = Bencher::new(weighbridge::Settings {
            scratch: place.path().join("scratch"),
            ..weighbridge::Settings::new(weighbridge::Purpose::Measure, weighbridge::Budget::SMOKE)
        });
        let spec = TrainingSpec::read(TrainingSpec::SMALL).unwrap();
        let pipeline = pipeline(&spec, Preparation::Augmented).workers(1);
        meet(&bencher, loader, trainer, Compilation::Eager, &spec, &pipeline, None, 1)?;
        metrics(bencher)
    }

    fn refused(loader: &mut dyn Loader, trainer: &mut dyn Trainer) -> String {
        met(loader, trainer).unwrap_err().to_string()
    }

    #[test]
    fn an_honest_pair_tells_what_each_does_alone_and_both_at_once() {
        let loaders: [&mut dyn Loader; 2] = [&mut Reference, &mut Rayon];
        for loader in loaders {
            let trainers: [&mut dyn Trainer; 2] = [&mut NdarrayTrainer, &mut ReferenceTrainer];
            for trainer in trainers {
                let told = met(loader, trainer).unwrap();
                let names: Vec<&str> = told.iter().map(|(name, _)| &**name).collect();
                let due = [
                    "both_at_once",
                    "loader_alone",
                    "step_alone",
                    "full_step",
                    "exposed_loading",
                    "data_wait",
                    "efficiency",
                ];
                assert_eq!(names, due);
                assert!(told.iter().all(|(_, value)| value.is_finite()), "{told:?}");
            }
        }
    }

    #[test]
    fn a_loader_that_hands_over_other_batches_is_refused() {
        for change in [
            |spec: &mut PipelineSpec| spec.seed += 1,
            |spec: &mut PipelineSpec| spec.transforms.retain(|one| *one != RandomFlip),
            |spec: &mut PipelineSpec| spec.transforms.swap(0, 1),
        ] {
            let said = refused(&mut ChangedLoader::new(change), &mut NdarrayTrainer);
            assert!(said.contains("that the loader handed to the step is not the reference's"), "{said}");
        }
        let said = refused(
            &mut ChangedLoader::new(|spec| spec.shard = Shard { index: 0, count: 2 }),
            &mut NdarrayTrainer,
        );
        assert!(said.contains("the loader handed over 4 batches where 8 are due"), "{said}");
    }

    #[test]
    fn rows_behind_a_network_are_told_with_where_they_lie_and_who_reads_them_elsewhere_is_a_skip() {
        let place = tempfile::tempdir().unwrap();
        let spec = TrainingSpec::read(TrainingSpec::SMALL).unwrap();
        let pipeline = pipeline(&spec, Preparation::Augmented).access(LoaderStorage::Network.access());
        let met = |loader: &mut dyn Loader| {
            let data = weighbridge_data::Cache::from_env().open(&pipeline.source).unwrap();
            let far = place.path().join("far");
            let copy = NetworkCopy::in_folder(&far, data, "nfs4 on server:/rows".into()).unwrap();
            let bencher = Bencher::new(weighbridge::Settings {
                scratch: place.path().join("scratch"),
                ..weighbridge::Settings::new(weighbridge::Purpose::Measure, weighbridge::Budget::SMOKE)
            });
            let trainer = &mut NdarrayTrainer;
            meet(&bencher, loader, trainer, Compilation::Eager, &spec, &pipeline, Some(&copy), 1)?;
            bencher.finish()
        };
        let told = met(&mut Reference).unwrap().work.unwrap().report.environment;
        assert_eq!(told["storage"], "nfs4 on server:/rows");
        // It has its rows in memory, whatever it was asked for.
        let why =
            met(&mut ChangedLoader::new(|spec| spec.access = weighbridge_loaders::workload::Access::Memory))
                .unwrap_err();
        assert!(why.is_skip() && why.to_string().contains("rows behind a network"), "{why}");
    }

    #[test]
    fn a_trainer_that_does_not_step_on_what_it_is_fed_is_refused() {
        for lie in [TrainingLie::IgnoresTheLoader, TrainingLie::KeepsTheFirstBatch, TrainingLie::StepsOnHalf]
        {
            let said = refused(&mut Reference, &mut Liar(lie));
            assert!(said.contains("of those that were timed is not the reference's"), "{said}");
        }
    }

    #[test]
    fn a_trainer_of_another_training_is_refused_before_it_is_fed() {
        let said = refused(
            &mut Reference,
            &mut Other(|spec| spec.initialisation = spec.initialisation.clone().seeded(2)),
        );
        assert!(said.contains("begins with other weights than its configuration"), "{said}");
        let said = refused(
            &mut Reference,
            &mut Other(|spec| spec.optimiser = Optimiser::Sgd { rate: 0.04, momentum: 0.9 }),
        );
        assert!(said.contains("`optimiser.rate` is 0.04 where the configuration has 0.05"), "{said}");
    }

    #[test]
    fn a_loader_of_one_thread_and_a_trainer_that_is_not_fed_are_skips() {
        struct OneThread;
        impl Loader for OneThread {
            fn open(
                &mut self,
                spec: &PipelineSpec,
                data: &std::sync::Arc<DataSet>,
            ) -> Result<Box<dyn Epochs + '_>> {
                Reference.open(spec, data).map(|_| unreachable!("nobody asks for it"))
            }
        }
        let why = met(&mut OneThread, &mut NdarrayTrainer).unwrap_err();
        assert!(why.is_skip(), "{why}");
    }

    #[test]
    fn what_is_told_is_the_slower_ones_share_and_what_was_waited_for() {
        let bencher = bencher();
        let ms = Duration::from_millis;
        let times = |whole, waited, count| FeedTimes { whole: ms(whole), waited: ms(waited), count };
        // A step of 10 ms, a loader of 20 ms, and both at once 25 ms: 15 ms of them waited.
        tell(&bencher, &[[times(200, 0, 10), times(100, 0, 10), times(250, 150, 10)]], 4);
        let told = metrics(bencher).unwrap();
        let due = [160.0, 200.0, 400.0, 0.025, 0.015, 60.0, 0.8];
        for ((name, value), due) in told.iter().zip(due) {
            assert!((value - due).abs() < 1e-9 * due, "{name}: {value} where {due} is due");
        }
    }
}
