//! Costs of proof, per operation, in turns with and without: noting a learner's step while it is timed, and
//! reading the answers of a body. `cargo bench --bench costs -- STEP STEP-NOTED ANSWER ANSWER-VERIFIED` in
//! `tests/lab/lies` prints each beside the one without (the catalogue's own scenarios are linked as well).
//!
//! What a checkpoint's look costs is in each run of CKPT-1, as the block `look`; what noting a step costs in
//! a worker of Python is what `workers/noting.py` prints.

#![forbid(unsafe_code)]

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::sync::Arc;

use weighbridge::prelude::*;
use weighbridge_data::{Cache, DataSet};
use weighbridge_loaders::adapters::native::ReferenceLearner;
use weighbridge_loaders::contract::{Learner, LearningLoop, NotedStep};
use weighbridge_loaders::workload::{Images, LearningTask, Parameters, PipelineSpec, Transform};

weighbridge::main!();

/// A learner's step, and nothing noted.
#[scenario(id = "STEP", group = "A learner's step")]
fn step(bencher: &mut Bencher) -> Result<()> {
    steps(bencher, |_| Ok(()))
}

/// The same, with its loss, the parameters and a drawn number of the gradient to the rows noted.
#[scenario(id = "STEP-NOTED", group = "A learner's step")]
fn noted_step(bencher: &mut Bencher) -> Result<()> {
    let (drawn, mut notes) = (RandomState::new(), Vec::new());
    steps(bencher, |steps| {
        let slopes = steps.batch().bytes(1).as_chunks().0;
        let place = drawn.hash_one(notes.len()) as usize % slopes.len().max(1);
        let slope = f32::from_le_bytes(slopes[place]);
        notes.push(NotedStep { loss: steps.loss(), parameters: steps.parameters(), slope: (place, slope) });
        Ok(())
    })
}

/// Steps over epochs of images, each followed by `note`.
fn steps(bencher: &Bencher, mut note: impl FnMut(&dyn LearningLoop) -> Result<()>) -> Result<()> {
    let task =
        LearningTask::new(PipelineSpec::images(&Images::floats(640, 32, 32)).map(Transform::Normalize));
    let data: Arc<DataSet> = Arc::new(Cache::from_env().open(&task.pipeline.source)?);
    let (mut learner, start) = (ReferenceLearner, Parameters::start(task.channels()));
    let mut steps = learner.open(&task, &data)?;
    let mut epoch = 0;
    let mut go = || -> Result<()> {
        if !steps.forward()? {
            epoch += 1;
            steps.begin(epoch, &start)?;
            steps.forward()?;
        }
        steps.backward()?;
        steps.update()?;
        note(&*steps)?;
        black_box(steps.batch().elements());
        Ok(())
    };
    let mut failed = None;
    bencher.iter(|| failed = failed.take().or(go().err()));
    failed.map_or(Ok(()), Err)
}

/// Numbers of a call.
const LEN: u64 = 200;

fn draw(drawn: u64) -> Vec<u64> {
    (1..=LEN).map(|i| (drawn ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers
}

/// A body whose inputs are drawn, and whose answers nobody reads.
#[scenario(id = "ANSWER", group = "A body's answer")]
fn answer(bencher: &mut Bencher) {
    let mut number = 0;
    let next = || {
        number += 1;
        draw(number)
    };
    bencher.iter_batched(next, sorted);
}

/// The same, with answers of drawn calls read and compared.
#[scenario(id = "ANSWER-VERIFIED", group = "A body's answer")]
fn verified_answer(bencher: &mut Bencher) {
    bencher.iter_verified(draw, sorted);
}
