//! A training that is open in a worker, as the contract has it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::DerefMut;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use weighbridge::worker::Worker;
use weighbridge::{Error, ErrorKind, FieldCopy, ItemCopy, Result};
use weighbridge_data::DataSet;
use weighbridge_loaders::contract::{Phases, Tensors};
use weighbridge_python::{RankMessage, RemotePipeline, TensorFiles, counts, numbers, tensors, unexpected};

use crate::contract::{First, OperatorTimes, TrainedEpoch, TrainingLoop};
use crate::workload::model::Model;
use crate::workload::{Compilation, Components, Optimiser, Precision, Schedule, TrainingRanks, TrainingSpec};

/// The part of an `open` message that describes a training.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    components: Option<Components>,
}

impl TrainingParts {
    pub(super) fn of(
        spec: &TrainingSpec,
        mode: Compilation,
        data: &DataSet,
        weights: &DataSet,
    ) -> Result<Self> {
        let TrainingSpec { optimiser, schedule, precision, batch, steps, components, .. } = *spec;
        let (model, work) = (spec.layers()?, spec.work()?);
        let training =
            TrainingAnswer { model, optimiser, schedule, precision, mode, batch, steps, work, components };
        Ok(Self { data: TensorFiles::of(data), weights: TensorFiles::of(weights), training, rank: None })
    }

    /// The same for the `index`-th of several ranks, which meet at this address.
    pub(super) fn ranked(self, index: usize, ranks: TrainingRanks, meet: SocketAddr) -> Self {
        let rank = RankMessage::new(index, ranks.count, meet).placed(ranks.place).exchanging(&ranks.exchange);
        Self { rank: Some(rank), ..self }
    }
}

impl<W: DerefMut<Target = Worker>> TrainingLoop for RemotePipeline<W> {
    fn settings(&self) -> BTreeMap<String, String> {
        self.worker.opened().map(|opened| opened.settings.clone()).unwrap_or_default()
    }

    fn device_memory(&mut self) -> Result<BTreeMap<String, u64>> {
        let said = self.worker.call("device_memory", &json!({}))?;
        Ok(said.into_iter().filter_map(|(who, bytes)| Some((who, *bytes.first()?))).collect())
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

    fn noted(&mut self) -> Result<Option<Vec<TrainedEpoch>>> {
        let fields = self.worker.call_for_batch("noted", &json!({}))?.fields;
        let [epochs, steps, losses] = &fields[..] else {
            return Err(unexpected("epochs, steps and losses", fields.first()));
        };
        let mut losses = numbers(losses)?.into_iter();
        let each = counts(epochs)?.into_iter().zip(counts(steps)?);
        let epoch = |(epoch, steps): (u64, u64)| TrainedEpoch {
            epoch,
            losses: losses.by_ref().take(steps as usize).collect(),
        };
        Ok(Some(each.map(epoch).collect()))
    }

    fn phases(&mut self, skip: usize, steps: usize) -> Result<Phases> {
        let (step, phases) = self.step_phases(skip, steps)?;
        Ok(Phases { step, phases })
    }

    fn first(&mut self) -> Result<First> {
        let mut fields = self.worker.call_for_batch("first", &json!({}))?.fields.into_iter();
        let mut next = |name: &str| match fields.next() {
            Some(field) if field.name == name => numbers(&field),
            other => Err(unexpected(name, other.as_ref())),
        };
        let (loss, logits) = (next("loss")?, next("logits")?);
        let gradient = |field: FieldCopy| match field.name.strip_prefix("gradient of ") {
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
        let losses = single(&mut self.worker, "train", "loss", &json!({ "anew": anew, "steps": steps }))?;
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

    fn compiling(&mut self) -> Result<BTreeMap<String, u64>> {
        let counted = self.worker.call("compiling", &json!({}))?;
        counted.into_iter().map(|(what, counts)| Ok((what, counts.iter().sum()))).collect()
    }

    fn feed(&mut self, batch: &ItemCopy, place: &Path) -> Result<f32> {
        let samples = TensorFiles::written(batch, place)?;
        match single(&mut self.worker, "feed", "loss", &json!({ "samples": samples }))?[..] {
            [loss] => Ok(loss),
            ref other => Err(Error::of(ErrorKind::Protocol, format!("{other:?} is the loss of a step"))),
        }
    }

    fn right(&mut self) -> Result<usize> {
        match single(&mut self.worker, "right", "right", &json!({}))?[..] {
            [right] if right >= 0.0 => Ok(right as usize),
            ref other => Err(Error::of(ErrorKind::Protocol, format!("{other:?} labels are right"))),
        }
    }
}

/// The numbers of a batch that has one field, of this name.
fn single(worker: &mut Worker, call: &str, name: &str, message: &serde_json::Value) -> Result<Vec<f32>> {
    match &worker.call_for_batch(call, message)?.fields[..] {
        [field] if field.name == name => numbers(field),
        other => Err(unexpected(name, other.first())),
    }
}
