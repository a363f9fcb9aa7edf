//! A model that is open in a worker, as the contract has it.

use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use weighbridge::worker::{PipelineTask, Worker};
use weighbridge::{Error, ErrorKind, FieldCopy, Result};
use weighbridge_data::DataSet;
use weighbridge_loaders::contract::Phases;
use weighbridge_python::{Framework, PREDICTOR, RemotePipeline, TensorFiles, counts, numbers, unexpected};
use weighbridge_training::workload::model::Model;

use crate::contract::{NotedAnswer, NotedCall, PredictionLoop};
use crate::workload::{Generation, PredictionMode, PredictionPrecision, PredictionSpec};

/// Opens a model, and starts the worker if none is there.
pub(super) fn open_model<'a>(
    framework: &'a mut Framework,
    spec: &PredictionSpec,
    how: PredictionMode,
    weights: &DataSet,
) -> Result<Box<dyn PredictionLoop + 'a>> {
    spec.check()?;
    let parts = PredictionParts::of(spec, how, weights)?;
    let converted = framework.converted(weights.digest());
    let epoch = Some(spec.expected()?);
    let worker = framework.ready()?;
    let task = PipelineTask {
        contract: PREDICTOR,
        converted: &converted,
        epoch,
        on_device: false,
        works_on_device: true,
    };
    worker.open(task, &parts).map(drop)?;
    Ok(Box::new(RemotePipeline::new(worker)?))
}

/// The part of an `open` message that describes predictions.
#[derive(Debug, Serialize)]
pub(super) struct PredictionParts {
    weights: TensorFiles,
    prediction: PredictionMessage,
}

#[derive(Debug, Serialize)]
struct PredictionMessage {
    model: Model,
    decodes: bool,
    precision: PredictionPrecision,
    mode: PredictionMode,
    batch: usize,
    calls: usize,
    generation: Option<Generation>,
    work: Vec<String>,
}

impl PredictionParts {
    pub(super) fn of(spec: &PredictionSpec, mode: PredictionMode, weights: &DataSet) -> Result<Self> {
        let PredictionSpec { ref model, decodes, precision, batch, generation, .. } = *spec;
        let (model, calls, work) = (model.clone(), spec.calls(), spec.work()?);
        let prediction =
            PredictionMessage { model, decodes, precision, mode, batch, calls, generation, work };
        Ok(Self { weights: TensorFiles::of(weights), prediction })
    }
}

impl<W: DerefMut<Target = Worker>> PredictionLoop for RemotePipeline<W> {
    fn settings(&self) -> BTreeMap<String, String> {
        self.worker.opened().map(|opened| opened.settings.clone()).unwrap_or_default()
    }

    fn call_times(&mut self, epoch: u64, calls: usize) -> Result<Vec<Duration>> {
        let mut said = self.worker.call("call_times", &json!({ "epoch": epoch, "calls": calls }))?;
        Ok(said.remove("call").unwrap_or_default().into_iter().map(Duration::from_nanos).collect())
    }

    fn phases(&mut self, skip_calls: usize, calls: usize) -> Result<Phases> {
        let (step, phases) = self.step_phases(skip_calls, calls)?;
        Ok(Phases { step, phases })
    }

    fn noted(&mut self) -> Result<Option<Vec<NotedCall>>> {
        let fields = self.worker.call_for_batch("noted", &json!({}))?.fields;
        let [epochs, calls, firsts, samples, answers] = &fields[..] else {
            return Err(unexpected("epochs, calls, firsts, samples and answers", fields.first()));
        };
        let [epochs, calls, firsts] = [counts(epochs)?, counts(calls)?, counts(firsts)?];
        let samples = counts(samples)?;
        let noted: u64 = samples.iter().sum();
        let mut rows = Rows::of(answers, noted as usize)?;
        let mut notes = Vec::with_capacity(epochs.len());
        for (at, count) in samples.into_iter().enumerate() {
            let of =
                |all: &[u64]| all.get(at).copied().ok_or_else(|| unexpected("a number of each note", None));
            let (first, count) = (of(&firsts)? as usize, count as usize);
            let answer = rows.take(count);
            notes.push(NotedCall {
                epoch: of(&epochs)?,
                call: of(&calls)?,
                samples: first..first + count,
                answer,
            });
        }
        Ok(Some(notes))
    }

    fn opened_memory(&mut self) -> Result<Option<[u64; 2]>> {
        let fields = self.worker.call_for_batch("opened_memory", &json!({}))?.fields;
        match &fields[..] {
            [field] => match counts(field)?[..] {
                [before, after] => Ok(Some([before, after])),
                _ => Err(unexpected("two numbers of bytes", Some(field))),
            },
            other => Err(unexpected("resident", other.first())),
        }
    }

    fn process(&self) -> u32 {
        self.worker.processes()[0]
    }
}

/// The answers to samples, one after the other: as many numbers for each.
struct Rows {
    answers: NotedAnswer,
    each: usize,
}

impl Rows {
    fn of(field: &FieldCopy, samples: usize) -> Result<Self> {
        let (answers, count) = match field.name.as_str() {
            "logits" => {
                let logits = numbers(field)?;
                let count = logits.len();
                (NotedAnswer::Logits(logits), count)
            }
            "token" => {
                let tokens: Vec<i32> = counts(field)?.into_iter().map(|id| id as i32).collect();
                let count = tokens.len();
                (NotedAnswer::Tokens(tokens), count)
            }
            _ => return Err(unexpected("logits or token", Some(field))),
        };
        if samples == 0 || !count.is_multiple_of(samples) {
            let what = format!("{count} numbers were noted of {samples} samples");
            return Err(Error::of(ErrorKind::Protocol, what));
        }
        Ok(Self { answers, each: count / samples })
    }

    /// The answers to the next samples.
    fn take(&mut self, samples: usize) -> NotedAnswer {
        let count = samples * self.each;
        match &mut self.answers {
            NotedAnswer::Logits(logits) => {
                NotedAnswer::Logits(logits.drain(..count.min(logits.len())).collect())
            }
            NotedAnswer::Tokens(tokens) => {
                NotedAnswer::Tokens(tokens.drain(..count.min(tokens.len())).collect())
            }
        }
    }
}
