//! What a trainer is asked to do: a model, an optimiser, the numbers that it begins with, data, and steps.
//! One configuration, as text or as data, that every framework is driven by.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};
use weighbridge::data::too_deep;
use weighbridge::{Dtype, Error, ExpectedEpoch, FieldKind, Requirements, Result};
use weighbridge_data::{DataSpec, FieldSpec};
use xxhash_rust::xxh3::xxh3_128;

use super::components::Components;
use super::initialisation::Initialisation;
use super::model::{Dimensions, Flops, Layer, Model};
use super::samples::{SampleTarget, Samples};
use super::schedule::Schedule;

/// A training: everything that decides what its steps compute, and the ways that its components are written
/// in. The mode that they are run in is said beside it ([`Compilation`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingSpec {
    /// The name of the training.
    pub name: String,
    /// The model.
    pub model: Dimensions,
    /// The optimiser, which changes the weights.
    pub optimiser: Optimiser,
    /// The schedule of its rate; constant where nothing is said.
    #[serde(default)]
    pub schedule: Schedule,
    /// The first weights.
    pub initialisation: Initialisation,
    /// The numbers that are computed with.
    pub precision: Precision,
    /// Samples of a step.
    pub batch: usize,
    /// Steps of an epoch, each on samples of its own.
    pub steps: usize,
    /// The samples that are learned from.
    pub samples: Samples,
    /// The accuracy to reach on held-out samples, where one is asked for.
    pub target: Option<SampleTarget>,
    /// The ways that the components of a ViT-5 are written in, which change no number beyond rounding; as a
    /// system has them where nothing is said.
    pub components: Option<Components>,
}

/// An optimiser: the rule by which a gradient `g` changes weights `w`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Optimiser {
    /// `v = momentum v + g`, `w -= rate v`.
    Sgd {
        /// The learning rate, which the step is multiplied with.
        rate: f64,
        /// The share of the last step that stays.
        momentum: f64,
    },
    /// Loshchilov and Hutter 2019: `m = beta1 m + (1 - beta1) g`, `v = beta2 v + (1 - beta2) g g`, both
    /// divided by one less the power of their beta; `w -= rate (m / (sqrt(v) + epsilon) + decay w)`, for
    /// every parameter.
    Adamw {
        /// The learning rate, which the step is multiplied with.
        rate: f64,
        /// The share of the mean of gradients that stays.
        beta1: f64,
        /// The share of the mean of their squares that stays.
        beta2: f64,
        /// Added to the root, after it was taken and corrected.
        epsilon: f64,
        /// The weight decay: the share of a weight that goes, times the rate.
        decay: f64,
    },
}

impl Optimiser {
    /// Its name and each of its numbers, as a system tells what it has set.
    pub fn settings(self) -> Vec<(&'static str, f64)> {
        match self {
            Self::Sgd { rate, momentum } => vec![("optimiser.rate", rate), ("optimiser.momentum", momentum)],
            Self::Adamw { rate, beta1, beta2, epsilon, decay } => vec![
                ("optimiser.rate", rate),
                ("optimiser.beta1", beta1),
                ("optimiser.beta2", beta2),
                ("optimiser.epsilon", epsilon),
                ("optimiser.decay", decay),
            ],
        }
    }

    /// The same with this share of its rate.
    #[must_use]
    pub fn slowed(self, share: f64) -> Self {
        let mut slowed = self;
        let (Self::Sgd { rate, .. } | Self::Adamw { rate, .. }) = &mut slowed;
        *rate *= share;
        slowed
    }

    /// Returns the learning rate, where no schedule says otherwise.
    pub fn rate(self) -> f64 {
        let (Self::Sgd { rate, .. } | Self::Adamw { rate, .. }) = self;
        rate
    }

    /// `sgd` or `adamw`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sgd { .. } => "sgd",
            Self::Adamw { .. } => "adamw",
        }
    }
}

impl fmt::Display for Optimiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self
            .settings()
            .into_iter()
            .map(|(key, value)| format!("{} {value}", key.trim_start_matches("optimiser.")))
            .collect();
        write!(f, "{} ({})", self.name(), numbers.join(", "))
    }
}

/// The numbers that a model is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Precision {
    /// `f32` all along.
    #[serde(rename = "f32")]
    F32,
    /// Products and convolutions in `bf16`, weights and their changes in `f32`.
    #[serde(rename = "bf16")]
    Bf16,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        })
    }
}

/// The mode in which a system runs a step: what it computes is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compilation {
    /// Operation by operation, as it is written.
    Eager,
    /// Compiled as the system does unless it is told more.
    Compiled,
    /// Compiled, with variants tried on the machine.
    Autotuned,
    /// Compiled by XLA, where that is not what the system compiles with unless it is told more.
    Xla,
}

impl fmt::Display for Compilation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eager => "eager",
            Self::Compiled => "compiled",
            Self::Autotuned => "autotuned",
            Self::Xla => "xla",
        })
    }
}

impl TrainingSpec {
    /// ViT-5 tiny: the parts of ViT-5, and a processor trains it in a second or two.
    pub const TINY: &str = include_str!("trainings/vit5_tiny.toml");

    /// A plain vision transformer, so small that it is trained in no time: for tests.
    pub const SMALL: &str = include_str!("trainings/vit_for_tests.toml");

    /// The parts of ViT-5 likewise.
    pub const SMALL_VIT5: &str = include_str!("trainings/vit5_for_tests.toml");

    /// Handwritten digits by three linear maps.
    pub const DIGITS_MLP: &str = include_str!("trainings/digits_mlp.toml");

    /// Handwritten digits, learned in no time: for tests.
    pub const DIGITS_SMALL: &str = include_str!("trainings/digits_for_tests.toml");

    /// Reads a configuration.
    ///
    /// # Errors
    /// What is no TOML, what is missing, and every key that is not known, by name; as
    /// [`TrainingSpec::check`].
    pub fn read(text: &str) -> Result<Self> {
        let wrong = |why: &dyn Display| Error::new(format!("the configuration of a training: {why}"));
        if let Some(line) = too_deep(text) {
            return Err(wrong(&format_args!("nested too deeply from line {line} on")));
        }
        let read: Self = basic_toml::from_str(text).map_err(|error| wrong(&error))?;
        read.check()?;
        Ok(read)
    }

    /// Refuses what no trainer could do, and names the key.
    ///
    /// # Errors
    /// As [`Dimensions::model`]; a `batch` or `steps` of 0; numbers of the optimiser that are none or are out
    /// of range; a schedule or a target that is none; samples that do not fit the model.
    pub fn check(&self) -> Result<()> {
        self.model.model()?;
        for (key, count) in [("batch", self.batch), ("steps", self.steps)] {
            if count == 0 {
                return Err(Error::new(format!("`{key}` is 0")));
            }
        }
        for (key, value) in self.optimiser.settings() {
            let below_one = ["optimiser.momentum", "optimiser.beta1", "optimiser.beta2"].contains(&key);
            if !value.is_finite() || value < 0.0 || below_one && value >= 1.0 {
                let most = if below_one { " and below 1" } else { "" };
                return Err(Error::new(format!("`{key}` is {value}: it must be a number from 0 on{most}")));
            }
        }
        self.schedule.check()?;
        if let Some(target) = self.target {
            target.check(self.steps)?;
        }
        self.data().map(drop)
    }

    /// The layers of the model.
    ///
    /// # Errors
    /// As [`Dimensions::model`].
    pub fn layers(&self) -> Result<Model> {
        self.model.model()
    }

    /// The data of an epoch and, behind them, those that are held out: `input` as the model takes it, and
    /// `label`.
    ///
    /// # Errors
    /// As [`Dimensions::model`]; samples that do not fit the model.
    pub fn data(&self) -> Result<DataSpec> {
        let held_out = self.target.map_or(0, |target| target.held_out);
        self.samples.data(&self.layers()?, self.batch * self.steps, held_out)
    }

    /// The weights that the training begins with: one element, a field for each parameter, in their order.
    ///
    /// # Errors
    /// As [`Dimensions::model`].
    pub fn weights(&self) -> Result<DataSpec> {
        let field = |one: super::model::Parameter| FieldSpec {
            values: self.initialisation.values(one.start),
            kind: FieldKind { name: one.name, dtype: Dtype::F32, shape: one.shape },
        };
        let fields = self.layers()?.parameters()?.into_iter().map(field).collect();
        Ok(DataSpec { fields, elements: 1, origin: self.initialisation.origin() })
    }

    /// The operations of a sample.
    ///
    /// # Errors
    /// As [`Dimensions::model`].
    pub fn flops(&self) -> Result<Flops> {
        Flops::of(&self.layers()?)
    }

    /// Returns the expected result of an epoch of steps: for each sample the mean loss of its batch, a number
    /// of `f32`.
    ///
    /// # Errors
    /// As [`Dimensions::model`].
    pub fn expected(&self) -> Result<ExpectedEpoch> {
        let learned = self.samples.data(&self.layers()?, self.batch * self.steps, 0)?;
        let elements = learned.elements as u64;
        Ok(ExpectedEpoch {
            elements,
            batch: self.batch as u64,
            bytes: elements * size_of::<f32>() as u64,
            source: learned.bytes(),
            transforms: true,
            in_order: true,
            in_memory: true,
            makers: 1,
            keeps: false,
            renewed: true,
        })
    }

    /// Returns the distances that a training may have from the reference. Of an output or a loss: as a share
    /// of the largest number of its tensor. Of a gradient, or of the change of a weight in three steps: as a
    /// share of the length of the tensor. Of all weights after the steps of an epoch: as a share of the way
    /// that they went.
    ///
    /// Found in `f32`, for eleven trainers on two processors: up to 1e-6 of a gradient, 1e-3 of a change,
    /// most of which is what rounding makes, and 1.4e-6 of the way in 64 steps of a smooth net (up to 3e-4 in
    /// 32 steps of a transformer). Where a net has kinks, one rectifier of some hundred thousand turns on by
    /// rounding, which is half a percent of a gradient, and after 64 steps 0.6 to 7 % of the way: such
    /// trainings are short. In 512 steps of a transformer on digits it was up to 3 %, by rounding alone.
    /// Leaving out one step of 32 is about 3 % of it. In `bf16`, of `PyTorch` and a transformer: 0.8 % of a
    /// logit and of a gradient, 0.9 % of a change and of the way.
    ///
    /// # Errors
    /// As [`Dimensions::model`].
    pub fn tolerance(&self) -> Result<[f64; 3]> {
        let model = self.layers()?;
        let kinks =
            model.placed()?.iter().any(|one| matches!(one.layer, Layer::Relu | Layer::MaxPool { .. }));
        Ok(match self.precision {
            // Half a percent is also what a way back in `bf16` is off.
            Precision::F32 => [1e-4, if kinks { 1e-2 } else { 2e-3 }, 2e-2],
            Precision::Bf16 => [3e-2, 3e-2, 1e-1],
        })
    }

    /// The differences that are allowed between the losses of steps and the reference's, as shares of the
    /// largest of those: of the first steps, and of those after them, where a precision has taken the weights
    /// apart.
    ///
    /// # Errors
    /// As [`TrainingSpec::tolerance`].
    pub fn loss_tolerance(&self) -> Result<(f64, f64)> {
        let [of_results, _, of_way] = self.tolerance()?;
        Ok((of_results, if self.precision == Precision::F32 { of_results } else { of_way }))
    }

    /// Every part of a step by name, as work reports tell it.
    ///
    /// # Errors
    /// As [`Dimensions::model`].
    pub fn work(&self) -> Result<Vec<String>> {
        let model = self.layers()?;
        let digest = xxh3_128(serde_json::to_string(&model)?.as_bytes());
        Ok(vec![
            format!("model {:08x} of {} parameters ({})", digest as u32, model.size()?, self.precision),
            self.initialisation.work(),
            "softmax and cross-entropy, mean".into(),
            "gradients of all parameters".into(),
            match self.schedule {
                Schedule::Constant => self.optimiser.to_string(),
                schedule @ Schedule::Cosine { .. } => format!("{}, {schedule}", self.optimiser),
            },
        ])
    }

    /// The training in a line.
    pub fn describe(&self) -> String {
        let Self { name, batch, steps, .. } = self;
        let what = match (self.layers().and_then(|model| model.size()), self.flops()) {
            (Ok(size), Ok(flops)) => {
                let giga = flops.computed() as f64 / 1e9;
                format!("{:.2} M parameters, {giga:.3} GFLOPs a sample", size as f64 / 1e6)
            }
            _ => "a model that does not fit together".into(), // which is said when it is opened
        };
        format!("{name}: {what}, batch {batch}, {steps} steps, {}, {}", self.optimiser, self.precision)
    }

    /// Returns what a point needs, for a plan: the data and weights, and of the model weights, gradients and
    /// what the optimiser keeps, and the activations of a batch.
    ///
    /// # Panics
    /// If the dimensions do not fit together.
    pub fn needs(&self) -> Requirements {
        let model = self.layers().expect("a preset fits together");
        let placed = model.placed().expect("it does");
        let activations: usize = placed.iter().map(|one| one.output.count()).sum();
        let scores: usize = placed
            .iter()
            .map(|one| match one.layer {
                Layer::Attention { heads, .. } | Layer::RotaryAttention { heads, .. } => {
                    2 * heads * one.input.positions().pow(2)
                }
                _ => 0,
            })
            .sum();
        let weights = model.size().expect("it has one") as u64;
        let data = self.data().expect("it has some").bytes();
        // Bytes: of `f64`, as the reference has them.
        let kept = 8 * (activations + scores) as u64 * self.batch as u64;
        Requirements { memory: BESIDE + data + 40 * weights + 2 * kept, batch: self.batch as u64 }
    }
}

/// Memory of a framework's process without a model.
const BESIDE: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::model::Scheme;

    fn tiny() -> TrainingSpec {
        TrainingSpec::read(TrainingSpec::TINY).unwrap()
    }

    #[test]
    fn a_key_that_is_not_known_is_an_error_that_names_it() {
        let refused = |text: &str| TrainingSpec::read(text).unwrap_err().to_string();
        assert_eq!(tiny().model, Dimensions::VIT5_TINY);
        for (before, after, key) in [
            ("batch =", "batches =", "batches"),
            ("beta1 =", "bata1 =", "bata1"),
            ("width =", "wide =", "wide"),
            ("scheme =", "schema =", "schema"),
            ("[initialisation]", "[schedule]\nkind = \"cosine\"\nwarm = 3\n[initialisation]", "warm"),
        ] {
            let said = refused(&TrainingSpec::TINY.replace(before, after));
            assert!(said.contains(&format!("`{key}`")), "{said}");
        }
        let said = refused(&TrainingSpec::TINY.replace("beta1 = 0.9", ""));
        assert!(said.contains("missing field `beta1`"), "{said}");
    }

    #[test]
    fn the_training_on_the_page_can_be_read() {
        let page = include_str!("../../../docs/guide/training.md");
        let written =
            page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("it has one");
        let spec = TrainingSpec::read(written).unwrap();
        assert_eq!(spec.schedule, Schedule::Cosine { warmup: 16, until: 256, least: 0.1 });
    }

    #[test]
    fn what_is_nested_too_deeply_is_refused_with_its_line() {
        let error = TrainingSpec::read(&format!("batch = 1\nsteps = {}", "[".repeat(20_000))).unwrap_err();
        assert!(error.to_string().contains("nested too deeply from line 2 on"), "{error}");
    }

    #[test]
    fn numbers_that_cannot_be_are_refused_by_their_key() {
        let refused = |change: &dyn Fn(&mut TrainingSpec)| {
            let mut spec = tiny();
            change(&mut spec);
            spec.check().unwrap_err().to_string()
        };
        assert!(refused(&|spec| spec.batch = 0).contains("`batch` is 0"));
        assert!(
            refused(&|spec| spec.optimiser = Optimiser::Sgd { rate: f64::NAN, momentum: 0.0 })
                .contains("`optimiser.rate` is NaN")
        );
        assert!(
            refused(&|spec| spec.optimiser = Optimiser::Sgd { rate: 0.1, momentum: 1.0 })
                .contains("`optimiser.momentum` is 1: it must be a number from 0 on and below 1")
        );
    }

    #[test]
    fn a_net_with_kinks_may_be_further_off_and_a_smooth_one_no_further_than_half_precision_is() {
        let changes = |spec: &TrainingSpec| spec.tolerance().unwrap()[1];
        let smooth = TrainingSpec::read(TrainingSpec::DIGITS_MLP).unwrap();
        let kinks = TrainingSpec::DIGITS_MLP.replace("\"gelu\"", "\"relu\"");
        assert!(changes(&smooth) < 4e-3 && changes(&tiny()) < 4e-3);
        assert!(changes(&TrainingSpec::read(&kinks).unwrap()) > 5e-3);
    }

    #[test]
    fn weights_and_data_follow_from_the_configuration() {
        let spec = tiny();
        let weights = spec.weights().unwrap();
        assert_eq!(weights.bytes(), 4 * spec.layers().unwrap().size().unwrap() as u64);
        let other =
            TrainingSpec { initialisation: Initialisation::Drawn { scheme: Scheme::He, seed: 0 }, ..tiny() };
        assert_ne!(other.weights().unwrap(), weights);
        let data = spec.data().unwrap();
        assert_eq!(data.elements, spec.batch * spec.steps);
        assert_eq!(
            data.kinds().map(|kind| kind.shape.clone()).collect::<Vec<_>>(),
            [vec![32, 32, 3], vec![]]
        );
    }
}
