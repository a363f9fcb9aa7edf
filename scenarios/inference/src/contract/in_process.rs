//! Models that are open in this process, and the loop that asks them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use weighbridge::{Delivery, Dtype, Error, FieldKind, Result, skip};
use weighbridge_data::{Batch, Epochs, ExecutedWork};
use weighbridge_loaders::contract::Phases;

use super::PredictionLoop;
use crate::contract::draw_epoch;
use crate::workload::{Generation, ModelInput, PredictionSpec, drawn_input};

/// A model that is open in this process.
pub trait OpenModel {
    /// Returns the logits of as many samples as `batch` says, row by row, complete. Of a decoder those of the
    /// last place; its input may be shorter than the model has places.
    ///
    /// # Errors
    /// What the system says.
    fn predict(&mut self, input: &ModelInput, batch: usize) -> Result<Vec<f32>>;

    /// Forgets what came before, takes prompts, and keeps their keys and values. Returns the logits of the
    /// last place of each.
    ///
    /// # Errors
    /// A skip where nothing is kept, which is what happens unless a model says otherwise; what the system
    /// says.
    fn prefill(&mut self, ids: &[i32], batch: usize) -> Result<Vec<f32>> {
        Err(skip(format!("cache on: of {} prompts ({} ids) nothing is kept", batch, ids.len())))
    }

    /// Takes one id more for each sample, and returns the logits of its place.
    ///
    /// # Errors
    /// As [`OpenModel::prefill`].
    fn decode(&mut self, ids: &[i32]) -> Result<Vec<f32>> {
        Err(skip(format!("cache on: before {} ids nothing was kept", ids.len())))
    }

    /// As [`PredictionLoop::settings`] has them.
    fn settings(&self) -> BTreeMap<String, String>;
}

/// The loop over the calls of an open model.
#[derive(Debug)]
pub struct CallLoop<M> {
    model: M,
    spec: PredictionSpec,
    work: Vec<String>,
    inputs: Vec<ModelInput>,
    done: usize,
    answer: Answer,
}

/// The batch that a call hands out.
#[derive(Debug)]
struct Answer {
    kinds: [FieldKind; 1],
    bytes: Vec<u8>,
}

impl<M: OpenModel> CallLoop<M> {
    /// The calls of what is asked for, through this model.
    ///
    /// # Errors
    /// What is impossible in it.
    pub fn over(model: M, spec: &PredictionSpec) -> Result<Self> {
        spec.check()?;
        let kind = if spec.generation.is_some() {
            FieldKind { name: "token".into(), dtype: Dtype::I32, shape: vec![] }
        } else {
            FieldKind { name: "logits".into(), dtype: Dtype::F32, shape: vec![spec.logits()?] }
        };
        Ok(Self {
            model,
            spec: spec.clone(),
            work: spec.work()?,
            inputs: Vec::new(),
            done: 0,
            answer: Answer { kinds: [kind], bytes: Vec::new() },
        })
    }

    /// One call on an input. `first` hears when the first id of a generation is known.
    fn call(&mut self, at: usize, first: &mut dyn FnMut()) -> Result<()> {
        let input = self.inputs.get(at).ok_or_else(|| Error::new("the epoch has no such call"))?;
        let Self { model, spec, answer, .. } = self;
        answer.bytes.clear();
        match (spec.generation, input) {
            (None, input) => {
                let logits = model.predict(input, spec.batch)?;
                answer.bytes.extend(logits.iter().flat_map(|logit| logit.to_le_bytes()));
            }
            (Some(generation), ModelInput::Ids(prompt)) => {
                let tokens = generate(model, prompt, spec.batch, generation, first)?;
                answer.bytes.extend(tokens.iter().flat_map(|id| id.to_le_bytes()));
            }
            (Some(_), ModelInput::Numbers(_)) => return Err(Error::new("a prompt is made of ids")),
        }
        Ok(())
    }
}

/// Generates greedily: the ids of the first sample, then those of the next.
fn generate<M: OpenModel>(
    model: &mut M,
    prompt: &[i32],
    batch: usize,
    generation: Generation,
    first: &mut dyn FnMut(),
) -> Result<Vec<i32>> {
    let Generation { tokens, cached, .. } = generation;
    let mut ids: Vec<Vec<i32>> = prompt.chunks(prompt.len() / batch).map(<[i32]>::to_vec).collect();
    let mut made = vec![Vec::with_capacity(tokens); batch];
    for number in 0..tokens {
        let logits = match (cached, number) {
            (true, 0) => model.prefill(prompt, batch)?,
            (true, _) => model.decode(&ids.iter().map(|ids| ids[ids.len() - 1]).collect::<Vec<_>>())?,
            (false, _) => model.predict(&ModelInput::Ids(ids.concat()), batch)?,
        };
        for (sample, row) in logits.chunks(logits.len() / batch).enumerate() {
            let greatest = greatest(row);
            ids[sample].push(greatest);
            made[sample].push(greatest);
        }
        if number == 0 {
            first();
        }
    }
    Ok(made.concat())
}

/// The place of the greatest number: the first of several.
pub(crate) fn greatest(row: &[f32]) -> i32 {
    (0..row.len()).fold(0, |most, at| if row[at] > row[most] { at } else { most }) as i32
}

impl<M: OpenModel> Epochs for CallLoop<M> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        let Self { spec, .. } = self;
        let calls = 0..spec.calls() as u64;
        self.inputs = calls.map(|call| drawn_input(spec.input(), spec.batch, epoch, call)).collect();
        self.done = 0;
        Ok(())
    }

    fn advance(&mut self) -> Result<bool> {
        if self.done == self.inputs.len() {
            return Ok(false);
        }
        self.call(self.done, &mut || {})?;
        self.done += 1;
        Ok(true)
    }

    fn batch(&self) -> &dyn Batch {
        &self.answer
    }

    fn executed(&self) -> ExecutedWork {
        // Products of matrices are on all of them.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        ExecutedWork {
            environment: [("threads".to_owned(), threads.to_string())].into(),
            ..ExecutedWork::ours(self.work.clone(), Delivery::Owned, threads as u64)
        }
    }
}

impl<M: OpenModel> PredictionLoop for CallLoop<M> {
    fn settings(&self) -> BTreeMap<String, String> {
        self.model.settings()
    }

    fn phases(&mut self, skip_calls: usize, calls: usize) -> Result<Phases> {
        self.begin(draw_epoch())?;
        let mut told = Phases::default();
        for at in 0..skip_calls + calls {
            let start = Instant::now();
            let mut prefill = Duration::ZERO;
            self.call(at, &mut || prefill = start.elapsed())?;
            let all = start.elapsed();
            if at >= skip_calls {
                told.step.push(all);
                for (name, took) in [("prefill", prefill), ("decode", all - prefill)] {
                    told.phases.entry(name.to_owned()).or_default().push(took);
                }
            }
        }
        Ok(told)
    }
}

impl Batch for Answer {
    fn elements(&self) -> usize {
        let [kind] = &self.kinds;
        self.bytes.len() / (size_of::<f32>() * kind.shape.iter().product::<usize>())
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    fn bytes(&self, _field: usize) -> &[u8] {
        &self.bytes
    }
}
