//! A training that is open in a worker, as the contract has it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::DerefMut;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;
use weighbridge::worker::Worker;
use weighbridge::{Dtype, Error, ErrorKind, Kept, KeptField, Result};

use super::meeting::RankMessage;
use super::open::RemotePipeline;
use super::state::TensorFiles;
use crate::contract::{First, OperatorTimes, Phases, Tensors, TrainingLoop};
use crate::data::DataSet;
use crate::workload::model::Model;
use crate::workload::{Compilation, Optimiser, Precision, Schedule, TrainingRanks, TrainingSpec};

/// What `open` says of a training.
#[derive(Debug, Serialize)]
pub(super) struct TrainingParts {
    data: TensorFiles,
    weights: TensorFiles,
    training: TrainingAnswer,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<RankMessage>,
}

#[derive(Debug, Serialize)]
struct TrainingAnswer {
    model: Model,
    optimiser: Optimiser,
    schedule: Schedule,
    precision: Precision,
    mode: Compilation,
    batch: usize,
    steps: usize,
    work: Vec<String>,
}

impl TrainingParts {
    pub(super) fn of(
        spec: &TrainingSpec,
        mode: Compilation,
        data: &DataSet,
        weights: &DataSet,
    ) -> Result<Self> {
        let TrainingSpec { optimiser, schedule, precision, batch, steps, .. } = *spec;
        let (model, work) = (spec.layers()?, spec.work()?);
        let training = TrainingAnswer { model, optimiser, schedule, precision, mode, batch, steps, work };
        Ok(Self { data: TensorFiles::of(data), weights: TensorFiles::of(weights), training, rank: None })
    }

    /// The same for the `index`-th of several ranks, which meet at this address.
    pub(super) fn ranked(self, index: usize, ranks: TrainingRanks, meet: SocketAddr) -> Self {
        let rank = RankMessage::new(index, ranks.count, meet).exchanging(ranks.exchange);
        Self { rank: Some(rank), ..self }
    }
}

impl<W: DerefMut<Target = Worker>> TrainingLoop for RemotePipeline<W> {
    fn settings(&self) -> BTreeMap<String, String> {
        self.worker.opened().map(|opened| opened.settings.clone()).unwrap_or_default()
    }

    fn left(&mut self) -> Result<(usize, Tensors)> {
        let mut left = tensors(self.worker.call_for_batch("left", &json!({}))?)?.into_iter();
        match left.next() {
            Some((name, steps)) if name == "steps" && steps.len() == 1 => {
                Ok((steps[0] as usize, left.collect()))
            }
            other => Err(Error::of(ErrorKind::Protocol, format!("{other:?} where `steps` is due"))),
        }
    }

    fn phases(&mut self, skip: usize, steps: usize) -> Result<Phases> {
        self.told_phases(skip, steps)
    }

    fn first(&mut self) -> Result<First> {
        let mut fields = self.worker.call_for_batch("first", &json!({}))?.fields.into_iter();
        let mut next = |name: &str| match fields.next() {
            Some(field) if field.name == name => numbers(&field),
            other => Err(unexpected(name, other.as_ref())),
        };
        let (loss, logits) = (next("loss")?, next("logits")?);
        let gradient = |field: KeptField| match field.name.strip_prefix("gradient of ") {
            Some(name) => Ok((name.to_owned(), numbers(&field)?)),
            None => Err(unexpected("gradient of a parameter", Some(&field))),
        };
        let loss = loss.first().copied().ok_or_else(|| unexpected("loss", None))?;
        Ok(First { loss, logits, gradients: fields.map(gradient).collect::<Result<_>>()? })
    }

    fn forward(&mut self, steps: usize) -> Result<()> {
        self.worker.call("forward", &json!({ "steps": steps })).map(drop)
    }

    fn process(&self) -> u32 {
        self.worker.processes()[0]
    }

    fn train(&mut self, anew: bool, steps: usize) -> Result<Vec<f32>> {
        let losses = self.single("train", "loss", &json!({ "anew": anew, "steps": steps }))?;
        if losses.len() != steps {
            let what = format!("{} losses came of {steps} steps", losses.len());
            return Err(Error::of(ErrorKind::Protocol, what));
        }
        Ok(losses)
    }

    fn operators(&mut self, steps: usize) -> Result<OperatorTimes> {
        let said = self.worker.call("operators", &json!({ "steps": steps }))?;
        let mut operators = OperatorTimes::default();
        for (name, told) in said {
            let [time, calls] = told[..] else {
                let what =
                    format!("`{name}` has {} numbers where its time and its calls are due", told.len());
                return Err(Error::of(ErrorKind::Protocol, what));
            };
            match name.as_str() {
                "" => operators.took = Duration::from_nanos(time),
                _ => drop(operators.each.insert(name, (Duration::from_nanos(time), calls))),
            }
        }
        Ok(operators)
    }

    fn feed(&mut self, batch: &Kept, place: &Path) -> Result<f32> {
        let samples = TensorFiles::written(batch, place)?;
        match self.single("feed", "loss", &json!({ "samples": samples }))?[..] {
            [loss] => Ok(loss),
            ref other => Err(Error::of(ErrorKind::Protocol, format!("{other:?} is the loss of a step"))),
        }
    }

    fn right(&mut self) -> Result<usize> {
        match self.single("right", "right", &json!({}))?[..] {
            [right] if right >= 0.0 => Ok(right as usize),
            ref other => Err(Error::of(ErrorKind::Protocol, format!("{other:?} labels are right"))),
        }
    }
}

impl<W: DerefMut<Target = Worker>> RemotePipeline<W> {
    /// The times that `step_phases` has: those of each step, and of its phases.
    pub(super) fn told_phases(&mut self, skip: usize, steps: usize) -> Result<Phases> {
        let begun = Instant::now();
        let mut said = self.worker.call("step_phases", &json!({ "skip": skip, "steps": steps }))?;
        let passed = begun.elapsed();
        let durations = |times: Vec<u64>| times.into_iter().map(Duration::from_nanos).collect();
        let step: Vec<Duration> = durations(said.remove("step").unwrap_or_default());
        let phases: BTreeMap<String, Vec<Duration>> =
            said.into_iter().map(|(name, times)| (name, durations(times))).collect();
        let all: Duration = step.iter().sum();
        if all > passed || step.len() != steps || phases.values().any(|times| times.len() != steps) {
            let what = format!(
                "the worker claims {} steps in {all:?} with the phases {:?}: {steps} were asked for, and {passed:?} passed",
                step.len(),
                phases.keys().collect::<Vec<_>>()
            );
            return Err(Error::of(ErrorKind::Clock, what));
        }
        Ok(Phases { step, phases })
    }

    /// The numbers of a batch that has one field, of this name.
    fn single(&mut self, call: &str, name: &str, message: &serde_json::Value) -> Result<Vec<f32>> {
        match &self.worker.call_for_batch(call, message)?.fields[..] {
            [field] if field.name == name => numbers(field),
            other => Err(unexpected(name, other.first())),
        }
    }
}

pub(super) fn tensors(kept: Kept) -> Result<Tensors> {
    kept.fields.into_iter().map(|field| Ok((field.name.clone(), numbers(&field)?))).collect()
}

/// The numbers of a field.
pub(super) fn numbers(field: &KeptField) -> Result<Vec<f32>> {
    if field.dtype != Dtype::F32 {
        return Err(unexpected("a field of f32", Some(field)));
    }
    Ok(field.bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect())
}

fn unexpected(due: &str, found: Option<&KeptField>) -> Error {
    let found = found.map_or_else(
        || "nothing".to_owned(),
        |field| format!("`{}`, {} {:?}", field.name, field.dtype.name(), field.shape),
    );
    Error::of(ErrorKind::Protocol, format!("{found} where `{due}` is due"))
}
