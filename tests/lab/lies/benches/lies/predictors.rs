//! Predictors whose answers are those of another call, of a part of the model or of the batch, or are made
//! when somebody looks again; and honest ones, which compute each of them, once or twice, when it is asked
//! for.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use weighbridge::{FieldKind, Result, adapter};
use weighbridge_data::{Batch, Cache, DataSet, Epochs, ExecutedWork};
use weighbridge_inference::adapters::native::NdarrayPredictor;
use weighbridge_inference::contract::{PredictionLoop, Predictor};
use weighbridge_inference::workload::{PredictionMode, PredictionSpec};
use weighbridge_loaders::contract::Phases;

/// What becomes of a call that the harness asks for.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// It is computed.
    Whole,
    /// It is computed, in memory that is new each time.
    Fresh,
    /// It is answered as the one before it.
    LastAnswer,
    /// It is noted, answered by zeros, and computed when somebody looks again.
    Later,
    /// It is answered by zeros.
    Zeros,
    /// All is answered by a model without half of the layers.
    HalfOfTheLayers,
    /// The first sample is answered, and told of all.
    FirstOfTheBatch,
    /// The answers of the first epoch are told again in all others.
    Remembered,
    /// Every second one is left out, and answered as the one before it.
    EverySecond,
}

/// Predictions, told otherwise than they are made. They are their own batch.
struct ToldPredictions<'a> {
    way: Way,
    honest: RefCell<Box<dyn PredictionLoop + 'a>>,
    spec: PredictionSpec,
    executed: ExecutedWork,
    kinds: Vec<FieldKind>,
    answer: Vec<u8>,
    /// The answer that is made when somebody looks again, and whether somebody has looked.
    late: OnceCell<Vec<u8>>,
    looked: Cell<bool>,
    /// The answers of the first epoch.
    remembered: Vec<Vec<u8>>,
    begun: usize,
    done: usize,
}

/// Opens predictions that are told in this way.
fn open<'a>(
    way: Way,
    predictor: &'a mut NdarrayPredictor,
    spec: &PredictionSpec,
    how: PredictionMode,
    weights: &Arc<DataSet>,
) -> Result<Box<dyn PredictionLoop + 'a>> {
    let mut other = spec.clone();
    match way {
        Way::HalfOfTheLayers => drop_half(&mut other),
        Way::FirstOfTheBatch => other.batch = 1,
        _ => {}
    }
    let weights = if way == Way::HalfOfTheLayers {
        Arc::new(Cache::from_env().open(other.weights()?.data())?)
    } else {
        weights.clone()
    };
    let honest = predictor.open(&other, how, &weights)?;
    let executed = ExecutedWork { transforms: spec.work()?, ..honest.executed() };
    Ok(Box::new(ToldPredictions {
        way,
        kinds: honest.batch().kinds().to_vec(),
        honest: RefCell::new(honest),
        spec: spec.clone(),
        executed,
        answer: Vec::new(),
        late: OnceCell::new(),
        looked: Cell::new(false),
        remembered: Vec::new(),
        begun: 0,
        done: 0,
    }))
}

/// Drops half of the layers between the first and the last two.
fn drop_half(spec: &mut PredictionSpec) {
    let last = spec.model.layers.len() - 2;
    spec.model.layers.drain(last - ((last - 2) / 2).max(1)..last);
}

/// What the honest one answers to its next call.
fn compute(honest: &mut dyn PredictionLoop) -> Result<Option<Vec<u8>>> {
    Ok(honest.advance()?.then(|| honest.batch().bytes(0).to_vec()))
}

impl ToldPredictions<'_> {
    fn zeros(&self) -> Vec<u8> {
        let each: usize = self.kinds.iter().map(|kind| 4 * kind.shape.iter().product::<usize>()).sum();
        vec![0; self.spec.answers() * each]
    }
}

impl Epochs for ToldPredictions<'_> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        (self.begun, self.done) = (self.begun + 1, 0);
        self.honest.get_mut().begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        if self.done == self.spec.calls() {
            return Ok(false);
        }
        self.done += 1;
        match self.way {
            Way::Remembered if self.begun > 1 && self.done <= self.remembered.len() => {
                self.answer.clone_from(&self.remembered[self.done - 1]);
                return Ok(true);
            }
            Way::EverySecond if self.done.is_multiple_of(2) => return Ok(true),
            Way::Later => {
                (self.late, self.answer) = (OnceCell::new(), self.zeros());
                self.looked.set(false);
                return Ok(true);
            }
            Way::Zeros => {
                self.answer = self.zeros();
                return Ok(true);
            }
            _ => {}
        }
        let Some(made) = compute(&mut **self.honest.get_mut())? else { return Ok(false) };
        if self.begun == 1 {
            self.remembered.push(made.clone());
        }
        self.answer = match self.way {
            Way::LastAnswer => self.late.take().unwrap_or_else(|| self.zeros()),
            Way::FirstOfTheBatch => made.repeat(self.spec.batch),
            Way::Fresh => made.to_vec(),
            _ => made.clone(),
        };
        if self.way == Way::LastAnswer {
            self.late = OnceCell::from(made);
        }
        Ok(true)
    }

    fn batch(&self) -> &dyn Batch {
        self
    }

    fn executed(&self) -> ExecutedWork {
        self.executed.clone()
    }
}

impl Batch for ToldPredictions<'_> {
    fn elements(&self) -> usize {
        self.spec.answers()
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    fn bytes(&self, _field: usize) -> &[u8] {
        if self.way != Way::Later || !self.looked.replace(true) {
            return &self.answer;
        }
        self.late.get_or_init(|| {
            let made = compute(&mut **self.honest.borrow_mut());
            made.ok().flatten().unwrap_or_else(|| self.zeros())
        })
    }
}

impl PredictionLoop for ToldPredictions<'_> {
    fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = self.honest.borrow().settings();
        let count = self.spec.weights().map_or(0, |weights| weights.count());
        settings.insert("parameters".into(), count.to_string());
        settings
    }

    fn phases(&mut self, skip_calls: usize, calls: usize) -> Result<Phases> {
        self.honest.get_mut().phases(skip_calls, calls)
    }
}

/// Makes an adapter of a way.
macro_rules! told {
    ($predictor:ident, $name:literal, $way:expr) => {
        #[doc = concat!("The predictor by hand, `", $name, "`.")]
        #[derive(Default)]
        struct $predictor(NdarrayPredictor);

        #[adapter(name = $name, tier = 1)]
        impl Predictor for $predictor {
            fn open(
                &mut self,
                spec: &PredictionSpec,
                how: PredictionMode,
                weights: &Arc<DataSet>,
            ) -> Result<Box<dyn PredictionLoop + '_>> {
                open($way, &mut self.0, spec, how, weights)
            }
        }
    };
}

told!(WholeAnswers, "whole-answers", Way::Whole);
told!(FreshAnswers, "fresh-answers", Way::Fresh);
told!(LastAnswer, "last-answer", Way::LastAnswer);
told!(AnswersLater, "answers-later", Way::Later);
told!(ZeroLogits, "zero-logits", Way::Zeros);
told!(HalfOfTheLayers, "half-of-the-layers", Way::HalfOfTheLayers);
told!(FirstOfTheBatch, "first-of-the-batch", Way::FirstOfTheBatch);
told!(RememberedAnswers, "remembered-answers", Way::Remembered);
told!(EverySecondCall, "every-second-call", Way::EverySecond);
