//! TRAIN-1: steps of training, from samples in memory.

use std::fmt;

use weighbridge::Needs;
use weighbridge::prelude::*;

use super::peak::{PEAK, measured_product};
use super::proof::prove;
use crate::contract::{Train, Trainer, open_material, time_phases};
use crate::workload::{Compilation, TrainingSpec};

/// Steps of training a vision transformer, from samples that are in memory.
///
/// How many samples does a system train in a second, and where does a step go? A step takes its samples from memory, goes forward
/// and backward through the model, and changes the weights. `mode` says how the system runs it: operation by operation, compiled,
/// or compiled with variants tried on the machine. Throughput is of the mean step; `throughput_flops` of the operations that follow
/// from the model's dimensions (three times forward). The metric `peak` is a product of two matrices of `f32` with 1,024 rows and
/// columns by the crate `ndarray` on all processors, measured after the steps; the report takes the share of it (MFU). Some steps
/// are done once more phase by phase: the metrics `phase: ...` are mean times, and phases that a mode cannot separate are one.
///
/// Timed: from before the samples of a step are taken until its loss and the changed weights are there. Not timed: building and
/// compiling the model, going back to its first weights. Every repeat proves equal work: the settings are read back from the
/// system and must be the configuration's, its first weights are the configuration's bit by bit, and its logits, losses, gradients,
/// its weights after three steps and those that the last timed steps have left agree with a reference in `f64`.
#[scenario(id = "TRAIN-1", category = "Training", sets = ["training"], equivalence = shape,
    needs = needs, describe = describe)]
fn steps(
    bencher: &mut Bencher,
    trainer: &mut dyn Trainer,
    #[sweep(
        vit5_tiny = Preset::Vit5Tiny,
        vit5_tiny_bf16 = Preset::Vit5TinyBf16,
        gpt_tiny = Preset::GptTiny,
        mlp_tiny = Preset::MlpTiny,
        tiny = Preset::ForTests
    )]
    variant: Preset,
    #[sweep(
        all,
        eager = Compilation::Eager,
        compiled = Compilation::Compiled,
        autotuned = Compilation::Autotuned
    )]
    mode: Compilation,
) -> Result<()> {
    let preset = if bencher.is_smoke() { Preset::ForTests } else { variant };
    train(bencher, trainer, mode, &preset.spec())
}

/// The scenario with a training that need not be one of those here: a suite has its own by an attribute and this function.
///
/// ```no_run
/// use weighbridge::prelude::*;
/// use weighbridge_scenarios::contract::Trainer;
/// use weighbridge_scenarios::training::train;
/// use weighbridge_scenarios::workload::{Compilation, TrainingSpec};
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
    let mut training = bencher.train(trainer, mode, &spec, &material)?;
    prove(&mut *training, &spec, &material)?;
    time_phases(bencher, &mut *training, &spec)?;
    bencher.metric(PEAK, measured_product(), Unit::FLOPS, Direction::Information);
    Ok(())
}

/// What a point needs, for the plan.
fn needs(variant: &Preset, _: &Compilation) -> Needs {
    variant.spec().needs()
}

/// What a point does, for listings.
fn describe(variant: &Preset, mode: &Compilation) -> String {
    format!("{}, {mode}", variant.spec().describe())
}

/// A training that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// A vision transformer that a processor trains in a second or two.
    Vit5Tiny,
    /// The first with products in `bf16`.
    Vit5TinyBf16,
    /// A small GPT.
    GptTiny,
    /// Three linear maps.
    MlpTiny,
    /// The shape of the first one in no time.
    ForTests,
}

impl Preset {
    /// The configuration.
    ///
    /// # Panics
    /// Never: it is tested that it can be read.
    pub fn spec(self) -> TrainingSpec {
        let text = match self {
            Self::Vit5Tiny => TrainingSpec::TINY,
            Self::Vit5TinyBf16 => include_str!("../workload/trainings/vit5_tiny_bf16.toml"),
            Self::GptTiny => include_str!("../workload/trainings/gpt_tiny.toml"),
            Self::MlpTiny => include_str!("../workload/trainings/mlp_tiny.toml"),
            Self::ForTests => TrainingSpec::SMALL,
        };
        TrainingSpec::read(text).expect("it is tested that it can be read")
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spec().name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::adapters::native::{ByHand, NdarrayTrainer, ReferenceTrainer};
    use crate::contract::changed::bencher;
    use crate::contract::{Batch, Epochs, Executed, First, Phases, Tensors, TrainingLoop};
    use crate::data::DataSet;
    use crate::workload::{Initialisation, Optimiser, Precision};

    fn small() -> TrainingSpec {
        TrainingSpec::read(TrainingSpec::SMALL).unwrap()
    }

    fn trained(trainer: &mut dyn Trainer) -> Result<weighbridge::Yield> {
        let bencher = bencher();
        train(&bencher, trainer, Compilation::Eager, &small())?;
        bencher.finish()
    }

    #[test]
    fn steps_say_what_they_cost_phase_by_phase_beside_their_operations_and_a_peak() {
        let done = trained(&mut NdarrayTrainer).unwrap();
        let names: Vec<&str> = done.seen.custom.iter().map(|metric| metric.name.as_str()).collect();
        let phases =
            ["data", "forward", "backward", "optimiser", "all"].map(|phase| format!("phase: {phase}"));
        assert_eq!(names[..5], phases);
        assert_eq!(names[5..], ["peak"]);
        assert!(done.seen.custom[5].value > 0.0 && done.seen.flops > 0);
        let content = done.work.unwrap().ticket.transforms;
        assert_eq!(content, small().work().unwrap());
    }

    /// The trainer by hand, with another training than was asked for.
    struct Other(fn(&mut TrainingSpec));

    impl Trainer for Other {
        fn open(
            &mut self,
            spec: &TrainingSpec,
            _how: Compilation,
            data: &Arc<DataSet>,
            _weights: &Arc<DataSet>,
        ) -> Result<Box<dyn TrainingLoop + '_>> {
            let mut spec = spec.clone();
            (self.0)(&mut spec);
            let weights = Arc::new(crate::data::Cache::from_env().open(&spec.weights()?)?);
            Ok(Box::new(ByHand::<f32>::open(&spec, data, &weights)?))
        }
    }

    /// Honest whenever it is looked at from the beginning, and lazy in the steps that are timed.
    struct Lazy {
        honest: ByHand<f32>,
        timed: usize,
    }

    impl Epochs for Lazy {
        fn begin(&mut self, epoch: u64) -> Result<()> {
            self.timed = 0;
            self.honest.begin(epoch)
        }

        fn advance(&mut self) -> Result<bool> {
            // The losses of a training hardly differ from step to step.
            let more = self.timed < small().steps;
            if more && self.timed.is_multiple_of(2) {
                self.honest.advance()?;
            }
            self.timed += usize::from(more);
            Ok(more)
        }

        fn batch(&self) -> &dyn Batch {
            self.honest.batch()
        }

        fn executed(&self) -> Executed {
            self.honest.executed()
        }
    }

    impl TrainingLoop for Lazy {
        fn settings(&self) -> BTreeMap<String, String> {
            self.honest.settings()
        }

        fn left(&mut self) -> Result<(usize, Tensors)> {
            Ok((self.timed, self.honest.left()?.1))
        }

        fn phases(&mut self, skip: usize, steps: usize) -> Result<Phases> {
            self.honest.phases(skip, steps)
        }

        fn first(&mut self) -> Result<First> {
            self.honest.first()
        }

        fn train(&mut self, anew: bool, steps: usize) -> Result<Vec<f32>> {
            self.timed = if anew { steps } else { self.timed + steps };
            self.honest.train(anew, steps)
        }

        fn right(&mut self) -> Result<usize> {
            self.honest.right()
        }
    }

    struct LazyTrainer;

    impl Trainer for LazyTrainer {
        fn open(
            &mut self,
            spec: &TrainingSpec,
            _how: Compilation,
            data: &Arc<DataSet>,
            weights: &Arc<DataSet>,
        ) -> Result<Box<dyn TrainingLoop + '_>> {
            Ok(Box::new(Lazy { honest: ByHand::open(spec, data, weights)?, timed: 0 }))
        }
    }

    #[test]
    fn work_that_the_timed_steps_did_not_do_is_missed_in_the_weights_that_they_left() {
        let said = trained(&mut LazyTrainer).unwrap_err().to_string();
        assert!(
            said.contains(
                "steps that were done have left other weights than the reference's: they are apart by"
            ),
            "{said}"
        );
    }

    #[test]
    fn another_training_than_was_asked_for_is_refused_with_what_is_other() {
        let refused = |change| trained(&mut Other(change)).unwrap_err().to_string();
        let said = refused(|spec| spec.initialisation = Initialisation { seed: 2, ..spec.initialisation });
        assert!(said.contains("begins with other weights than its configuration: `0.weight`"), "{said}");
        let said = refused(|spec| spec.optimiser = Optimiser::Sgd { rate: 0.05, momentum: 0.8 });
        assert!(said.contains("`optimiser.momentum` is 0.8 where the configuration has 0.9"), "{said}");
        let said = refused(|spec| spec.precision = Precision::Bf16);
        assert!(said.contains("`precision` is bf16 where the configuration has f32"), "{said}");
        trained(&mut Other(|_| {})).unwrap();
        trained(&mut ReferenceTrainer).unwrap();
    }
}
