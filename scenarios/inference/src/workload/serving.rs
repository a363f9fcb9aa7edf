//! What is asked of a server: a model, and the load on it.

use std::fmt;
use std::time::Duration;

use weighbridge::{Error, Requirements, Result};
use weighbridge_load::{Load, Shape, Stage, Think};
use weighbridge_training::workload::model::Shape as InputShape;

use super::{Generation, NamedModel, PredictionPrecision, PredictionSpec};

/// The load on a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OfferedLoad {
    /// A closed loop: so many users, each of whom waits for the answer.
    Users(u32),
    /// An open loop: so many requests a second, whatever the server does, as those of many users who know
    /// nothing of each other.
    Rate(f64),
}

impl OfferedLoad {
    /// The same as the client has it, for so long.
    pub fn of(self, length: Duration) -> Load {
        match self {
            Self::Users(users) => Load::Closed { users, think: Think::None },
            Self::Rate(rate) => Load::Open { stages: vec![Stage { rate, length }], shape: Shape::Poisson },
        }
    }
}

impl fmt::Display for OfferedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Users(1) => f.write_str("1 user"),
            Self::Users(users) => write!(f, "{users} users"),
            Self::Rate(rate) => write!(f, "{rate} requests/s"),
        }
    }
}

/// Everything that decides what a server is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct ServingSpec {
    /// The predictions: one sample a request. Where they generate, `prompt` is the longest that comes.
    pub prediction: PredictionSpec,
    /// The load.
    pub load: OfferedLoad,
}

/// The words of a prompt.
pub(crate) const WORDS: u32 = 8;

/// The ids that follow it.
const TOKENS: usize = 16;

/// The longest prompt: a number of 16 digits, and words of up to 8 letters, each behind a blank.
const PROMPT: usize = 16 + (WORDS as usize - 1) * 9;

/// The ids of a model that letters stand for.
const LETTERS: usize = 256;

impl ServingSpec {
    /// A model under a load. A decoder goes on with texts, any other answers with its logits.
    pub fn new(model: NamedModel, load: OfferedLoad) -> Self {
        let one = PredictionSpec::new(model, 1);
        let generation = Generation { prompt: PROMPT, tokens: TOKENS, cached: true };
        let prediction = match one.decodes {
            true => PredictionSpec { biased: false, ..one.generating(generation) },
            false => one,
        };
        Self { prediction, load }
    }

    /// The same in other numbers.
    #[must_use]
    pub fn with(mut self, precision: PredictionPrecision) -> Self {
        self.prediction.precision = precision;
        self
    }

    /// Refuses what no server could do, and names it.
    ///
    /// # Errors
    /// As [`PredictionSpec::check`]; a decoder of other ids than those that letters stand for; a load of
    /// nothing.
    pub fn check(&self) -> Result<()> {
        self.prediction.check()?;
        match (self.prediction.model.input, self.prediction.decodes) {
            (InputShape::Ids { below, .. }, true) if below != LETTERS => {
                return Err(Error::new(format!(
                    "{} has {below} ids: text is served of {LETTERS}, a letter each",
                    self.prediction.name
                )));
            }
            _ => {}
        }
        match self.load {
            OfferedLoad::Users(0) => Err(Error::new("a load of no users")),
            OfferedLoad::Rate(rate) if !(rate > 0.0 && rate <= 1e6) => {
                Err(Error::new(format!("a load of {rate} requests a second")))
            }
            _ => Ok(()),
        }
    }

    /// The ids of an answer; `None` where it is logits.
    pub fn tokens(&self) -> Option<u32> {
        self.prediction.generation.map(|generation| generation.tokens as u32)
    }

    /// The serving in a line.
    pub fn describe(&self) -> String {
        let what = match self.tokens() {
            Some(tokens) => format!("{tokens} letters after {WORDS} words"),
            None => "logits".to_owned(),
        };
        format!("{}: {what}, {}, {}", self.prediction.name, self.load, self.prediction.precision)
    }

    /// Returns what a point needs, for a plan.
    pub fn needs(&self) -> Requirements {
        self.prediction.needs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_served_is_refused_with_the_numbers() {
        let users = OfferedLoad::Users(2);
        for model in [NamedModel::GptTiny, NamedModel::EncoderTiny, NamedModel::TextForTests] {
            ServingSpec::new(model, users).check().unwrap();
        }
        let refused = |model, load| ServingSpec::new(model, load).check().unwrap_err().to_string();
        assert!(refused(NamedModel::Gpt124m, users).contains("has 50257 ids"));
        assert!(refused(NamedModel::Mlp, OfferedLoad::Users(0)).contains("no users"));
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(refused(NamedModel::Mlp, OfferedLoad::Rate(rate)).contains("requests a second"));
        }
    }

    #[test]
    fn the_longest_prompt_and_its_answer_fit_into_the_model() {
        let longest = weighbridge_load::Workload { words: WORDS, ..weighbridge_load::Workload::of_seed(1) };
        let ask = |number| weighbridge_load::Ask { number, words: WORDS, tokens: None };
        let most = (0..2_000).map(|number| longest.prompt(ask(number)).len()).max();
        assert!(most.is_some_and(|most| most <= PROMPT), "{most:?}");
    }
}
