//! What is predicted: a model, how many samples at a time, and in which numbers.

use std::fmt;

use serde::Serialize;
use weighbridge::{Error, ExpectedEpoch, Requirements, Result};
use weighbridge_training::workload::model::{Model, Shape};
use xxhash_rust::xxh3::xxh3_128;

use super::{Generation, ModelWeights, NamedModel, PredictionOperations};

/// Predictions: everything that decides what a call computes. How it is run is said beside it
/// ([`PredictionMode`]).
#[derive(Clone, Debug, PartialEq)]
pub struct PredictionSpec {
    /// The name of the model.
    pub name: String,
    /// The model.
    pub model: Model,
    /// `true` for a decoder: its answer is the logits of the last place, those of the id that comes next.
    pub decodes: bool,
    /// `true` if the last map has a bias. That of a decoder which is served has none, as GPT-2's.
    pub biased: bool,
    /// The numbers that are computed with.
    pub precision: PredictionPrecision,
    /// Samples of a call.
    pub batch: usize,
    /// The generation that a call is; `None` where it predicts.
    pub generation: Option<Generation>,
    /// The most calls of an epoch, where it is cut; else as many as their inputs allow.
    pub cut: Option<usize>,
}

/// The numbers that a model is computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PredictionPrecision {
    /// `f32` all along.
    F32,
    /// Weights and products in `bf16`.
    Bf16,
    /// Weights in `f16`, and products or functions that are as coarse.
    F16,
}

impl fmt::Display for PredictionPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
        })
    }
}

/// The mode in which a system runs a model: what it computes is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PredictionMode {
    /// Operation by operation, as it is written, and nothing kept for a way back.
    Eager,
    /// The same as in a training: what a way back would need is kept.
    Tracked,
    /// Compiled, or its graph optimised, as the system does unless it is told more.
    Compiled,
}

impl fmt::Display for PredictionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eager => "eager",
            Self::Tracked => "tracked",
            Self::Compiled => "compiled",
        })
    }
}

/// The most bytes of inputs that an epoch has, drawn before its clock runs.
const INPUTS: usize = 32 << 20;

/// The most operations of an epoch: what a processor does in a fraction of a second.
const OPERATIONS: u64 = 1_500_000_000;

/// Calls of an epoch: the fewest, which are a pass of 20 and those before it, and the most.
const CALLS: (usize, usize) = (24, 1_024);

/// Calls of an epoch whose inputs are very large, and what is very large in bytes.
const FEW_CALLS: (usize, usize) = (8, 512 << 20);

/// As few are those of an epoch that would have more operations than that: a repeat has several epochs, and
/// those of ResNet-50 took three minutes on a busy machine.
const MANY_OPERATIONS: u64 = 100_000_000_000;

/// Memory of a framework's process without a model.
const BESIDE: u64 = 1 << 30;

impl PredictionSpec {
    /// Predictions of a model that has a name, so many samples at a time.
    pub fn new(model: NamedModel, batch: usize) -> Self {
        Self {
            name: model.to_string(),
            model: model.model(),
            decodes: model.decodes(),
            biased: true,
            precision: PredictionPrecision::F32,
            batch,
            generation: None,
            cut: None,
        }
    }

    /// The same model, which generates.
    #[must_use]
    pub fn generating(self, generation: Generation) -> Self {
        Self { generation: Some(generation), ..self }
    }

    /// Refuses what no predictor could do, and names it.
    ///
    /// # Errors
    /// Layers that do not fit together; a batch of 0; a generation of a model that decodes nothing, or one
    /// that is longer than the model has places.
    pub fn check(&self) -> Result<()> {
        self.model.output()?;
        if self.batch == 0 {
            return Err(Error::new("`batch` is 0"));
        }
        let Some(Generation { prompt, tokens, .. }) = self.generation else { return Ok(()) };
        let Shape::Ids { length, .. } = self.model.input else {
            return Err(Error::new(format!("{} takes no ids: it generates nothing", self.name)));
        };
        if !self.decodes {
            return Err(Error::new(format!("{} is no decoder: it generates nothing", self.name)));
        }
        if prompt == 0 || tokens == 0 || prompt + tokens > length {
            return Err(Error::new(format!(
                "a prompt of {prompt} and {tokens} ids after it do not fit into the {length} places of {}: \
                 both must be above 0",
                self.name
            )));
        }
        Ok(())
    }

    /// The shape of a sample that enters: of a generation the prompt.
    pub fn input(&self) -> Shape {
        match (self.model.input, self.generation) {
            (Shape::Ids { below, .. }, Some(Generation { prompt, .. })) => {
                Shape::Ids { length: prompt, below }
            }
            (input, _) => input,
        }
    }

    /// The weights.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub fn weights(&self) -> Result<ModelWeights> {
        match self.biased {
            true => ModelWeights::of(&self.model),
            false => ModelWeights::without_bias_of_head(&self.model),
        }
    }

    /// Logits of a sample.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub fn logits(&self) -> Result<usize> {
        let output = self.model.output()?;
        Ok(if self.decodes { output.last() } else { output.count() })
    }

    /// Elements that a call hands out: a row of logits for each sample, or each id that it has generated.
    pub fn answers(&self) -> usize {
        self.batch * self.generation.map_or(1, |generation| generation.tokens)
    }

    /// Calls of an epoch: fewer where they are dear, or their inputs large.
    pub fn calls(&self) -> usize {
        let bytes = (self.batch * self.input().count() * size_of::<f32>()).max(1);
        let operations = OPERATIONS / self.operations().unwrap_or(1).max(1);
        let most = (INPUTS / bytes).min(operations as usize).clamp(CALLS.0, CALLS.1);
        // A generation is many calls of a model, and some systems take long for the least of them.
        let most = if self.generation.is_some() { CALLS.0 } else { most };
        let is_dear = most as u64 * self.operations().unwrap_or(1) > MANY_OPERATIONS;
        let most = if is_dear || most * bytes > FEW_CALLS.1 { FEW_CALLS.0 } else { most };
        most.min(self.cut.unwrap_or(usize::MAX).max(1))
    }

    /// Returns what an epoch hands out.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub fn expected(&self) -> Result<ExpectedEpoch> {
        let each = if self.generation.is_some() { 1 } else { self.logits()? };
        let elements = (self.answers() * self.calls()) as u64;
        let samples = (self.batch * self.calls() * self.input().count()) as u64;
        Ok(ExpectedEpoch {
            elements,
            batch: self.answers() as u64,
            bytes: elements * (each * size_of::<f32>()) as u64,
            source: samples * size_of::<f32>() as u64,
            transforms: true,
            in_order: true,
            in_memory: true,
            makers: 1,
            keeps: false,
            renewed: true,
        })
    }

    /// The operations of a call.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub fn operations(&self) -> Result<u64> {
        let operations = PredictionOperations::of(&self.model, self.decodes);
        let each = match self.generation {
            Some(generation) => operations.generation(generation)?,
            None => operations.sample()?,
        };
        Ok(each * self.batch as u64)
    }

    /// The share of the greatest logit by which a logit may be off.
    ///
    /// Found in `f32`, for ten predictors and four models: up to 4e-6. In `bf16`, of `PyTorch`: up to 2 %. In
    /// `f16`, of llama.cpp, whose keys and values are so too: 0.7 %.
    pub fn tolerance(&self) -> f64 {
        match self.precision {
            PredictionPrecision::F32 => 1e-4,
            PredictionPrecision::Bf16 => 5e-2,
            PredictionPrecision::F16 => 2e-2,
        }
    }

    /// Every part of a call by name, as work reports tell it.
    ///
    /// # Errors
    /// Layers that do not fit together.
    pub fn work(&self) -> Result<Vec<String>> {
        let digest = xxh3_128(serde_json::to_string(&self.model)?.as_bytes());
        let weights = self.weights()?.count();
        let mut work = vec![format!("model {:08x} of {weights} numbers ({})", digest as u32, self.precision)];
        work.push(match self.generation {
            Some(Generation { prompt, tokens, cached }) => {
                let kept = if cached { "kept" } else { "made again" };
                format!("{tokens} ids after {prompt}, greedy, keys and values {kept}")
            }
            None if self.decodes => "logits of the last place".into(),
            None => "logits".into(),
        });
        Ok(work)
    }

    /// The predictions in a line.
    pub fn describe(&self) -> String {
        let size = self.weights().map_or(0, |weights| weights.count()) as f64 / 1e6;
        let giga = self.operations().unwrap_or(0) as f64 / 1e9;
        let what = match self.generation {
            Some(Generation { prompt, tokens, .. }) => format!("{tokens} ids after {prompt}"),
            None => "logits".into(),
        };
        let Self { name, batch, precision, .. } = self;
        format!("{name}: {size:.2} M numbers, {what}, batch {batch}, {giga:.3} GFLOPs a call, {precision}")
    }

    /// Returns what a point needs, for a plan: the weights several times over, the inputs of an epoch, and
    /// the activations of a batch as the reference has them.
    pub fn needs(&self) -> Requirements {
        let placed = self.model.placed().unwrap_or_default();
        let activations: usize = placed.iter().map(|one| one.output.count()).sum();
        let weights = self.weights().map_or(0, |weights| weights.count()) as u64;
        let inputs = 4 * (self.calls() * self.batch * self.input().count()) as u64;
        let memory = BESIDE + 24 * weights + inputs + 8 * (activations * self.batch) as u64;
        Requirements { memory, batch: self.batch as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_generated_is_refused_with_the_numbers() {
        let refused = |model, prompt, tokens| {
            let generation = Generation { prompt, tokens, cached: true };
            PredictionSpec::new(model, 1).generating(generation).check().unwrap_err().to_string()
        };
        assert!(refused(NamedModel::Mlp, 1, 1).contains("mlp takes no ids"));
        assert!(refused(NamedModel::EncoderTiny, 1, 1).contains("encoder_tiny is no decoder"));
        let said = refused(NamedModel::GptTiny, 100, 29);
        assert!(
            said.contains("a prompt of 100 and 29 ids after it do not fit into the 128 places"),
            "{said}"
        );
        let fits = Generation { prompt: 100, tokens: 28, cached: true };
        PredictionSpec::new(NamedModel::GptTiny, 1).generating(fits).check().unwrap();
        let none = PredictionSpec::new(NamedModel::Mlp, 0).check().unwrap_err().to_string();
        assert_eq!(none, "`batch` is 0");
    }

    #[test]
    fn an_epoch_has_fewer_calls_where_they_are_dear_or_their_inputs_large() {
        assert_eq!(PredictionSpec::new(NamedModel::Mlp, 1).calls(), 1_024);
        assert_eq!(PredictionSpec::new(NamedModel::EncoderTiny, 1).calls(), 27);
        assert_eq!(PredictionSpec::new(NamedModel::Resnet50, 64).calls(), 8);
        for model in [NamedModel::Resnet50, NamedModel::EncoderBase, NamedModel::Gpt124m] {
            assert_eq!(PredictionSpec::new(model, 1).calls(), 8, "{model}");
        }
        assert_eq!(PredictionSpec::new(NamedModel::ResnetTiny, 1).calls(), 477);
    }
}
