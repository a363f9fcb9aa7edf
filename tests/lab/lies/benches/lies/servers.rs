//! Servers whose answers are those of another request, of a part of the model, or remembered; and honest
//! ones, one of which is slow.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weighbridge::{Error, Result, adapter};
use weighbridge_data::{Cache, DataSet};
use weighbridge_inference::adapters::native::{HyperServer, open_by_hand};
use weighbridge_inference::contract::{OpenModel, Server, StartedServer};
use weighbridge_inference::workload::{ModelInput, PredictionSpec, ServingSpec};

/// What becomes of a text that the client asks a server to go on with.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Each id is made when it is due.
    Whole,
    /// The same, after a rest.
    Slow,
    /// The ids are those that follow the text before.
    LastAnswer,
    /// The first id is made and repeated.
    FirstAlone,
    /// All comes of a model without half of the layers.
    HalfOfTheLayers,
    /// What was asked before is answered from memory, and what was not takes longer.
    Remembered,
    /// From the eighth text on the answers of the first ones are told again.
    EarlierAnswers,
    /// Every fourth answer ends before it is whole.
    Cut,
}

/// The rest of a slow one, and of one that remembers: no machine overlooks it.
const REST: Duration = Duration::from_millis(20);

struct ToldModel {
    way: Way,
    honest: Box<dyn OpenModel + Send>,
    /// The logits that followed each text, in the order in which they were asked for.
    answers: Vec<Vec<Vec<f32>>>,
    asked: BTreeMap<Vec<i32>, usize>,
    /// The text whose answer is told, and the place in it.
    told: Option<usize>,
    place: usize,
}

impl ToldModel {
    /// The next logits of an answer that was given before.
    fn again(&mut self) -> Option<Vec<f32>> {
        self.place += 1;
        self.answers.get(self.told?)?.get(self.place).cloned()
    }
}

impl OpenModel for ToldModel {
    fn predict(&mut self, input: &ModelInput, batch: usize) -> Result<Vec<f32>> {
        self.honest.predict(input, batch)
    }

    fn prefill(&mut self, ids: &[i32], batch: usize) -> Result<Vec<f32>> {
        let texts = self.answers.len();
        self.place = 0;
        self.told = match self.way {
            Way::LastAnswer => texts.checked_sub(1),
            Way::EarlierAnswers if texts >= 8 => Some(texts % 8),
            Way::Remembered => self.asked.get(ids).copied(),
            _ => None,
        };
        if self.told.is_none() && matches!(self.way, Way::Slow | Way::Remembered) {
            std::thread::sleep(REST);
        }
        if matches!(self.way, Way::Remembered | Way::EarlierAnswers)
            && let Some(answer) = self.told
        {
            return Ok(self.answers[answer][0].clone());
        }
        let made = self.honest.prefill(ids, batch)?;
        self.asked.insert(ids.to_vec(), texts);
        self.answers.push(vec![made.clone()]);
        Ok(self.told.map_or(made, |answer| self.answers[answer][0].clone()))
    }

    fn decode(&mut self, ids: &[i32]) -> Result<Vec<f32>> {
        match self.way {
            Way::FirstAlone => {
                return Ok(self.answers.last().map(|last| last[0].clone()).unwrap_or_default());
            }
            Way::Cut if self.answers.len().is_multiple_of(4) => return Err(Error::new("cut")),
            Way::Remembered | Way::EarlierAnswers => {
                if let Some(again) = self.again() {
                    return Ok(again);
                }
                // It was asked for fewer then.
                if let Some(told) = self.told {
                    return Ok(self.answers[told][0].clone());
                }
            }
            _ => {}
        }
        let made = self.honest.decode(ids)?;
        if let Some(last) = self.answers.last_mut() {
            last.push(made.clone());
        }
        Ok(if self.way == Way::LastAnswer { self.again().unwrap_or(made) } else { made })
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.honest.settings()
    }
}

/// A model without half of the layers between the first two and the last two.
fn half(spec: &PredictionSpec) -> Result<Box<dyn OpenModel + Send>> {
    let mut half = spec.clone();
    let last = half.model.layers.len() - 2;
    half.model.layers.drain(last - ((last - 2) / 2).max(1)..last);
    open_by_hand(&half, &Cache::from_env().open(half.weights()?.data())?)
}

fn start(way: Way, spec: &ServingSpec, weights: &Arc<DataSet>) -> Result<Box<dyn StartedServer>> {
    let honest = match way {
        Way::HalfOfTheLayers => half(&spec.prediction)?,
        _ => open_by_hand(&spec.prediction, weights)?,
    };
    let (answers, asked) = (Vec::new(), BTreeMap::new());
    let model = ToldModel { way, honest, answers, asked, told: None, place: 0 };
    Ok(Box::new(HyperServer::start(Box::new(model), spec)?))
}

/// Makes an adapter of a way.
macro_rules! told {
    ($server:ident, $name:literal, $way:expr) => {
        #[doc = concat!("The server by hand, `", $name, "`.")]
        #[derive(Default)]
        struct $server;

        #[adapter(name = $name, tier = 1)]
        impl Server for $server {
            fn start(
                &mut self,
                spec: &ServingSpec,
                weights: &Arc<DataSet>,
                _place: &Path,
            ) -> Result<Box<dyn StartedServer + '_>> {
                start($way, spec, weights)
            }
        }
    };
}

told!(WholeTexts, "whole-texts", Way::Whole);
told!(SlowTexts, "slow-texts", Way::Slow);
told!(LastText, "last-text", Way::LastAnswer);
told!(FirstIdAlone, "first-id-alone", Way::FirstAlone);
told!(HalfServed, "half-of-the-layers-served", Way::HalfOfTheLayers);
told!(RememberedTexts, "remembered-texts", Way::Remembered);
told!(EarlierTexts, "earlier-texts", Way::EarlierAnswers);
told!(CutTexts, "cut-texts", Way::Cut);
