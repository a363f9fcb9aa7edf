//! A learning task that is open in a worker, as the contract has it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use weighbridge::remote::ClockFault;
use weighbridge::worker::Worker;
use weighbridge::{Error, ErrorKind, FieldKind, Remote, Result};
use weighbridge_data::{Batch, DataSet, Epochs, ExecutedWork};
use weighbridge_python::{RemotePipeline, counts, numbers, tensors, unexpected};

use super::parts::PipelineParts;
use crate::adapters::native::StepOutput;
use crate::contract::{LearningLoop, NotedEpoch, NotedStep, Phases};
use crate::workload::{LearningTask, Parameters};

/// The message of `open` for a learning task: its pipeline as a loader's, and what is learned at its end.
#[derive(Debug, Serialize)]
pub(super) struct LearningParts {
    #[serde(flatten)]
    pipeline: PipelineParts,
    learning: LearningMessage,
}

#[derive(Debug, Serialize)]
struct LearningMessage {
    form: String,
    rate: f32,
    work: Vec<String>,
    output: [FieldKind; 2],
}

impl LearningParts {
    pub(super) fn of(task: &LearningTask, data: &DataSet) -> Result<Self> {
        let learning = LearningMessage {
            form: task.form.to_string(),
            rate: task.rate,
            work: task.work(),
            output: task.output()?,
        };
        Ok(Self { pipeline: PipelineParts::of(&task.pipeline, data)?, learning })
    }
}

/// A learning task in a worker, which is closed with this. Its stream is the worker's own; what is asked for
/// step by step comes over whole, and is cut into groups here.
pub(super) struct RemoteLearning<'a> {
    pipeline: RemotePipeline<&'a mut Worker>,
    learned: StepOutput,
    loss: f64,
    gradient: Parameters,
    parameters: Parameters,
}

impl<'a> RemoteLearning<'a> {
    pub(super) fn new(worker: &'a mut Worker, task: &LearningTask) -> Result<Self> {
        Ok(Self {
            pipeline: RemotePipeline::new(worker)?,
            learned: StepOutput::new(task)?,
            loss: f64::NAN,
            gradient: Parameters::default(),
            parameters: Parameters::start(task.channels()),
        })
    }

    /// The arrays that a call hands over, by name.
    fn call(&mut self, name: &str, message: &Value) -> Result<NamedArrays> {
        let arrays = tensors(self.pipeline.worker.call_for_batch(name, message)?)?;
        Ok(NamedArrays(arrays.into_iter().collect()))
    }
}

/// The arrays that a call hands over, by name.
struct NamedArrays(BTreeMap<String, Vec<f32>>);

impl NamedArrays {
    fn take(&mut self, name: &str) -> Result<Vec<f32>> {
        let missing = || Error::of(ErrorKind::Protocol, format!("`{name}` is due and not handed over"));
        self.0.remove(name).ok_or_else(missing)
    }

    fn number(&mut self, name: &str) -> Result<f32> {
        match self.take(name)?[..] {
            [number] => Ok(number),
            ref other => Err(Error::of(
                ErrorKind::Protocol,
                format!("`{name}` has {} numbers, and is one", other.len()),
            )),
        }
    }

    fn parameters(&mut self) -> Result<Parameters> {
        Ok(Parameters { scale: self.take("scale")?, bias: self.take("bias")? })
    }
}

/// Parameters as a call has them.
fn said(parameters: &Parameters, more: Value) -> Value {
    let Parameters { scale, bias } = parameters;
    let mut said = json!({ "scale": scale, "bias": bias });
    if let (Some(said), Value::Object(more)) = (said.as_object_mut(), more) {
        said.extend(more);
    }
    said
}

impl LearningLoop for RemoteLearning<'_> {
    fn begin(&mut self, epoch: u64, parameters: &Parameters) -> Result<()> {
        self.learned.clear();
        self.parameters.clone_from(parameters);
        let message = said(parameters, json!({ "epoch": epoch }));
        self.pipeline.worker.call("restart", &message).map(drop)
    }

    fn forward(&mut self) -> Result<bool> {
        let mut made = self.call("forward", &json!({}))?;
        let elements = made.number("elements")? as usize;
        if elements == 0 {
            return Ok(false);
        }
        self.loss = f64::from(made.number("loss")?);
        self.learned.numbers = made.take("learned")?;
        self.learned.made(elements);
        Ok(true)
    }

    fn backward(&mut self) -> Result<()> {
        let mut made = self.call("backward", &json!({}))?;
        self.learned.slopes = made.take("slopes")?;
        self.gradient = made.parameters()?;
        Ok(())
    }

    fn update(&mut self) -> Result<()> {
        self.parameters = self.call("update", &json!({}))?.parameters()?;
        Ok(())
    }

    fn step(&mut self, parameters: &Parameters) -> Result<()> {
        let mut made = self.call("step", &said(parameters, json!({})))?;
        self.learned.numbers = made.take("learned")?;
        self.learned.made(self.learned.elements_of(self.learned.numbers.len()));
        self.learned.slopes = made.take("slopes")?;
        self.parameters = made.parameters()?;
        Ok(())
    }

    fn regroup(&mut self) -> bool {
        self.learned.regroup()
    }

    fn batch(&self) -> &dyn Batch {
        &self.learned
    }

    fn loss(&self) -> f64 {
        self.loss
    }

    fn gradient(&self) -> Parameters {
        self.gradient.clone()
    }

    fn parameters(&self) -> Parameters {
        self.parameters.clone()
    }

    fn executed(&self) -> ExecutedWork {
        self.pipeline.executed()
    }

    fn entry_point(&self) -> Option<String> {
        self.pipeline.entry_point()
    }

    fn remote(&mut self) -> Result<Option<&mut dyn Remote>> {
        self.pipeline.remote()
    }

    fn noted(&mut self) -> Result<Vec<NotedEpoch>> {
        let fields = self.pipeline.worker.call_for_batch("noted", &json!({}))?.fields;
        let [epochs, steps, places, slopes, losses, scale, bias] = &fields[..] else {
            return Err(unexpected("epochs, steps and what was noted of them", fields.first()));
        };
        let channels = self.parameters.scale.len();
        let [slopes, losses, scale, bias] = [slopes, losses, scale, bias].map(numbers);
        let (scale, bias) = (scale?, bias?);
        let parameters = scale.chunks_exact(channels).zip(bias.chunks_exact(channels));
        let mut notes = counts(places)?.into_iter().zip(slopes?).zip(losses?).zip(parameters).map(
            |(((place, slope), loss), (scale, bias))| NotedStep {
                loss: f64::from(loss),
                parameters: Parameters { scale: scale.to_vec(), bias: bias.to_vec() },
                slope: (place as usize, slope),
            },
        );
        let each = counts(epochs)?.into_iter().zip(counts(steps)?);
        let noted: Vec<NotedEpoch> = each
            .map(|(epoch, steps)| NotedEpoch { epoch, steps: notes.by_ref().take(steps as usize).collect() })
            .collect();
        let begun = counts(steps)?.iter().sum::<u64>();
        let told = noted.iter().map(|epoch| epoch.steps.len() as u64).sum::<u64>();
        if begun != told {
            let what = format!("{begun} steps are said to be noted, and {told} are");
            return Err(Error::of(ErrorKind::Protocol, what));
        }
        Ok(noted)
    }

    fn compilations(&mut self) -> Result<Option<u64>> {
        self.pipeline.compilations()
    }

    fn time(&mut self, steps: usize) -> Result<Option<Duration>> {
        let begun = Instant::now();
        let mut said = self.pipeline.worker.call("steps", &json!({ "steps": steps }))?;
        let passed = begun.elapsed();
        let all: Duration =
            said.remove("all").unwrap_or_default().into_iter().map(Duration::from_nanos).sum();
        let said = ClockFault::Steps {
            asked: steps as u64,
            told: Vec::new(),
            claimed: ClockFault::nanoseconds(all),
            passed: ClockFault::nanoseconds(passed),
        };
        said.or_go_on()?;
        Ok(Some(all))
    }

    fn phases(&mut self, skip: usize, steps: usize) -> Result<Option<Phases>> {
        let (step, phases) = self.pipeline.step_phases(skip, steps)?;
        Ok(Some(Phases { step, phases }))
    }
}
