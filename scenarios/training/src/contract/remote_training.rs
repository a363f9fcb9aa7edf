//! A rank of a training in another process of the launch, as rank 0 drives it, and as that process answers
//! for it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weighbridge::{Error, Result};
use weighbridge_data::ranks::{AnswerPlace, LineMessage, RankLine, RemoteEpochs, answer_epochs};
use weighbridge_data::{Batch, Epochs, ExecutedWork, Rank};
use weighbridge_loaders::contract::{Phases, Tensors};

use super::trainer::{First, TrainedEpoch, TrainingLoop};

/// The rank at the other end of a line.
pub(crate) struct RemoteTraining {
    epochs: RemoteEpochs,
    settings: BTreeMap<String, String>,
}

impl RemoteTraining {
    /// Takes over a rank that was opened.
    ///
    /// # Errors
    /// An answer that is none; that it is gone.
    pub(crate) fn new(line: RankLine, opened: &LineMessage) -> Result<Self> {
        let mut epochs = RemoteEpochs::new(line, opened)?;
        let settings = epochs.line.ask("settings", (), &[])?.read()?;
        Ok(Self { epochs, settings })
    }

    fn ask(&mut self, word: &str, with: impl Serialize) -> Result<LineMessage> {
        self.epochs.line.ask(word, with, &[])
    }
}

impl Epochs for RemoteTraining {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.epochs.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        self.epochs.advance()
    }

    fn batch(&self) -> &dyn Batch {
        self.epochs.batch()
    }

    fn executed(&self) -> ExecutedWork {
        self.epochs.executed()
    }

    fn entry_point(&self) -> Option<String> {
        self.epochs.entry_point()
    }

    fn rank(&mut self) -> Option<&mut dyn Rank> {
        self.epochs.rank()
    }
}

impl TrainingLoop for RemoteTraining {
    fn settings(&self) -> BTreeMap<String, String> {
        self.settings.clone()
    }

    fn left(&mut self) -> Result<(usize, Tensors)> {
        let told = self.ask("left", ())?;
        let (steps, heads): (usize, TensorHeads) = told.read()?;
        Ok((steps, tensors(heads, &told.bytes)?))
    }

    fn noted(&mut self) -> Result<Option<Vec<TrainedEpoch>>> {
        let told = self.ask("noted", ())?;
        let heads: Vec<(u64, usize)> = told.read()?;
        let mut losses = singles(&told.bytes);
        let epoch = |(epoch, steps): (u64, usize)| {
            let losses = losses.by_ref().take(steps).collect();
            TrainedEpoch { epoch, losses }
        };
        Ok(Some(heads.into_iter().map(epoch).collect()))
    }

    fn phases(&mut self, skip: usize, steps: usize) -> Result<Phases> {
        let PhaseTimes { step, phases } = self.ask("phases", (skip, steps))?.read()?;
        Ok(Phases { step, phases })
    }

    fn first(&mut self) -> Result<First> {
        let told = self.ask("first", ())?;
        let (logits, heads): (usize, TensorHeads) = told.read()?;
        let mut numbers = singles(&told.bytes);
        let loss = numbers.next().ok_or_else(missing)?;
        let of_logits: Vec<f32> = numbers.by_ref().take(logits).collect();
        let gradients = tensors(heads, told.bytes.get(4 * (1 + logits)..).ok_or_else(missing)?)?;
        Ok(First { loss, logits: of_logits, gradients })
    }

    fn train(&mut self, anew: bool, steps: usize) -> Result<Vec<f32>> {
        Ok(singles(&self.ask("train", (anew, steps))?.bytes).collect())
    }

    fn right(&mut self) -> Result<usize> {
        self.ask("right", ())?.read()
    }
}

/// A rank that another process answers for. It notes the steps that it is asked for, where the rank itself
/// does not.
pub(crate) struct AnsweringTraining<'a> {
    training: Box<dyn TrainingLoop + Send + 'a>,
    notes: Vec<TrainedEpoch>,
}

/// Phases as they go over a line.
#[derive(Serialize, Deserialize)]
struct PhaseTimes {
    step: Vec<Duration>,
    phases: BTreeMap<String, Vec<Duration>>,
}

/// The name of each parameter, and how many numbers it has.
type TensorHeads = Vec<(String, usize)>;

impl<'a> AnsweringTraining<'a> {
    /// Takes a rank.
    pub(crate) fn new(training: Box<dyn TrainingLoop + Send + 'a>) -> Self {
        Self { training, notes: Vec::new() }
    }

    /// Answers rank 0.
    ///
    /// # Errors
    /// What the rank says; a word that no training knows.
    pub(crate) fn answer(&mut self, place: AnswerPlace, asked: &LineMessage) -> Result<LineMessage> {
        let training = &mut *self.training;
        match &*asked.word {
            "settings" => LineMessage::of(training.settings()),
            "left" => {
                let (steps, weights) = training.left()?;
                Ok(LineMessage::of((steps, heads(&weights)))?.and(bytes_of(&weights)))
            }
            "noted" => {
                let noted = training.noted()?.unwrap_or_else(|| self.notes.clone());
                let heads: Vec<(u64, usize)> =
                    noted.iter().map(|epoch| (epoch.epoch, epoch.losses.len())).collect();
                let losses = noted.iter().flat_map(|epoch| &epoch.losses);
                Ok(LineMessage::of(heads)?.and(losses.flat_map(|loss| loss.to_le_bytes()).collect()))
            }
            "phases" => {
                let (skip, steps) = asked.read()?;
                let Phases { step, phases } = training.phases(skip, steps)?;
                LineMessage::of(PhaseTimes { step, phases })
            }
            "first" => {
                let First { loss, logits, gradients } = training.first()?;
                let numbers = std::iter::once(&loss).chain(&logits);
                let mut bytes: Vec<u8> = numbers.flat_map(|number| number.to_le_bytes()).collect();
                bytes.extend(bytes_of(&gradients));
                Ok(LineMessage::of((logits.len(), heads(&gradients)))?.and(bytes))
            }
            "train" => {
                let (anew, steps) = asked.read()?;
                let losses = training.train(anew, steps)?;
                Ok(LineMessage::of(())?.and(losses.iter().flat_map(|loss| loss.to_le_bytes()).collect()))
            }
            "right" => LineMessage::of(training.right()?),
            _ => {
                let answer = answer_epochs(training, place, asked)?;
                let answer =
                    answer.ok_or_else(|| Error::new(format!("a training is asked for `{}`", asked.word)))?;
                self.note(asked, &answer)?;
                Ok(answer)
            }
        }
    }

    /// Notes an epoch that was begun, and the loss of a step; at the end of the epoch there was none.
    fn note(&mut self, asked: &LineMessage, answer: &LineMessage) -> Result<()> {
        match &*asked.word {
            "begin" => self.notes.push(TrainedEpoch { epoch: asked.read()?, losses: Vec::new() }),
            "step" if self.training.rank().is_none() && !answer.with.is_null() => {
                let batch = self.training.batch();
                if let (Some(loss), Some(epoch)) = (singles(batch.bytes(0)).next(), self.notes.last_mut()) {
                    epoch.losses.push(loss);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn missing() -> Error {
    Error::new("numbers are missing in what a rank told")
}

fn singles(bytes: &[u8]) -> impl Iterator<Item = f32> + '_ {
    bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

fn heads(tensors: &Tensors) -> TensorHeads {
    tensors.iter().map(|(name, numbers)| (name.clone(), numbers.len())).collect()
}

fn bytes_of(tensors: &Tensors) -> Vec<u8> {
    tensors.iter().flat_map(|(_, numbers)| numbers).flat_map(|number| number.to_le_bytes()).collect()
}

fn tensors(heads: TensorHeads, bytes: &[u8]) -> Result<Tensors> {
    let mut numbers = singles(bytes);
    let tensor = |(name, length): (String, usize)| {
        let numbers: Vec<f32> = numbers.by_ref().take(length).collect();
        if numbers.len() == length { Ok((name, numbers)) } else { Err(missing()) }
    };
    heads.into_iter().map(tensor).collect()
}
