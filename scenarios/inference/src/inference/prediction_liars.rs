//! Predictors that do not do what they say: for tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use weighbridge::Result;
use weighbridge_data::DataSet;

use crate::adapters::native::HandModel;
use crate::contract::{CallLoop, OpenModel, PredictionLoop, Predictor};
use crate::workload::{ModelInput, PredictionMode, PredictionPrecision, PredictionSpec};

/// A way in which a predictor does other work than it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PredictionLie {
    /// None.
    Honest,
    /// The answer to the call before is given again.
    TellsTheLastAnswer,
    /// After so many calls the answers of the first ones are given again, in turn.
    RemembersAfter(usize),
    /// Zeros are answered.
    Zeros,
    /// Every fourth call is left out, and answered as the one before.
    LeavesOutTheFourth,
    /// The first sample of a batch is computed, and told of all.
    OneOfTheBatch,
    /// What is said to be of another precision.
    OtherPrecision,
    /// Of a generation, each id is followed by the next number.
    CountsOn,
}

/// The predictor by hand, with a lie.
pub(super) struct LyingPredictor(pub(super) PredictionLie);

struct LyingModel {
    lie: PredictionLie,
    honest: HandModel<f32>,
    answers: Vec<Vec<f32>>,
    calls: usize,
}

impl Predictor for LyingPredictor {
    fn open(
        &mut self,
        spec: &PredictionSpec,
        _how: PredictionMode,
        weights: &Arc<DataSet>,
    ) -> Result<Box<dyn PredictionLoop + '_>> {
        let mut other = spec.clone();
        if self.0 == PredictionLie::OtherPrecision {
            other.precision = PredictionPrecision::Bf16;
        }
        let honest = HandModel::open(&other, weights)?;
        let model = LyingModel { lie: self.0, honest, answers: Vec::new(), calls: 0 };
        Ok(Box::new(CallLoop::over(model, spec)?))
    }
}

impl LyingModel {
    fn told(&mut self, input: &ModelInput, batch: usize) -> Result<Vec<f32>> {
        self.calls += 1;
        let before = self.answers.last().cloned();
        let answer = match self.lie {
            PredictionLie::RemembersAfter(calls) if self.calls > calls => {
                return Ok(self.answers[self.calls % calls].clone());
            }
            PredictionLie::LeavesOutTheFourth if self.calls.is_multiple_of(4) => before.unwrap_or_default(),
            PredictionLie::OneOfTheBatch => {
                self.honest.predict(&input.samples(0, 1, batch), 1)?.repeat(batch)
            }
            _ => self.honest.predict(input, batch)?,
        };
        self.answers.push(answer.clone());
        Ok(match self.lie {
            PredictionLie::TellsTheLastAnswer => self.answers.iter().rev().nth(1).unwrap_or(&answer).clone(),
            PredictionLie::Zeros => vec![0.0; answer.len()],
            _ => answer,
        })
    }
}

impl OpenModel for LyingModel {
    fn predict(&mut self, input: &ModelInput, batch: usize) -> Result<Vec<f32>> {
        self.told(input, batch)
    }

    fn prefill(&mut self, ids: &[i32], batch: usize) -> Result<Vec<f32>> {
        self.honest.prefill(ids, batch)
    }

    fn decode(&mut self, ids: &[i32]) -> Result<Vec<f32>> {
        let mut logits = self.honest.decode(ids)?;
        if self.lie == PredictionLie::CountsOn {
            let each = logits.len() / ids.len();
            for (row, &id) in logits.chunks_mut(each).zip(ids) {
                row[(id as usize + 1) % each] = f32::MAX;
            }
        }
        Ok(logits)
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.honest.settings()
    }
}
