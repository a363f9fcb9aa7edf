//! An open pipeline of a worker, as the contract has it.

use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::time::{Duration, Instant};

use serde_json::json;
use weighbridge::remote::ClockFault;
use weighbridge::worker::{ElementOrder, Worker};
use weighbridge::{
    Budget, Costs, Count, Error, ExpectedEpoch, FieldKind, FileUse, ItemCopy, Remote, RemoteEpoch, RemoteRun,
    ResourceUse, Result, UnstoppedRequest,
};
use weighbridge_data::{Batch, Epochs, ExecutedWork, Rank};

/// An open pipeline of a worker, which is borrowed or ends with it.
pub struct RemotePipeline<W: DerefMut<Target = Worker>> {
    /// The worker.
    pub worker: W,
    executed: ExecutedWork,
    entry_point: String,
    order: ElementOrder,
    current: CurrentBatch,
}

impl<W: DerefMut<Target = Worker>> RemotePipeline<W> {
    /// Takes the pipeline that a worker has opened last.
    ///
    /// # Errors
    /// That it has opened nothing.
    pub fn new(worker: W) -> Result<Self> {
        let (executed, entry_point) = (executed(&worker)?, entry_point(&worker)?);
        let order = worker.opened()?.order;
        Ok(Self { worker, executed, entry_point, order, current: CurrentBatch::default() })
    }
}

/// The times of steps, and of each phase of them by its name.
pub type StepPhases = (Vec<Duration>, BTreeMap<String, Vec<Duration>>);

impl<W: DerefMut<Target = Worker>> RemotePipeline<W> {
    /// The times that `step_phases` has: those of each step, and those of each phase of each step by its
    /// name.
    ///
    /// # Errors
    /// What the worker says; times that are not of so many steps, or longer than it took to ask.
    pub fn step_phases(&mut self, skip: usize, steps: usize) -> Result<StepPhases> {
        let begun = Instant::now();
        let mut said = self.worker.call("step_phases", &json!({ "skip": skip, "steps": steps }))?;
        let passed = begun.elapsed();
        let durations = |times: Vec<u64>| times.into_iter().map(Duration::from_nanos).collect();
        let step: Vec<Duration> = durations(said.remove("step").unwrap_or_default());
        let phases: BTreeMap<String, Vec<Duration>> =
            said.into_iter().map(|(name, times)| (name, durations(times))).collect();
        let all: Duration = step.iter().sum();
        let told = phases.iter().map(|(name, times)| (name.clone(), times.len() as u64));
        let said = ClockFault::Steps {
            asked: steps as u64,
            told: std::iter::once(("step".to_owned(), step.len() as u64)).chain(told).collect(),
            claimed: ClockFault::nanoseconds(all),
            passed: ClockFault::nanoseconds(passed),
        };
        said.or_go_on()?;
        Ok((step, phases))
    }
}

/// Returns the work that really happens in the case that is open in a worker.
///
/// # Errors
/// That nothing is open in it.
pub fn executed(worker: &Worker) -> Result<ExecutedWork> {
    let said = worker.opened()?.executed.clone();
    Ok(ExecutedWork {
        transforms: said.transforms,
        operators: said.operators,
        library: said.library,
        environment: said.environment,
        ran_on: said.ran_on,
        synchronised: said.synchronised,
        delivery: said.delivery,
        workers: said.workers,
    })
}

/// Names what does its work, where that comes from, and its version.
///
/// # Errors
/// That nothing is open in it.
pub fn entry_point(worker: &Worker) -> Result<String> {
    let hello = worker.hello();
    let of = &worker.opened()?.entry_point;
    Ok(format!("{of} of {}, version {}, {}", hello.module, hello.version, hello.language))
}

impl<W: DerefMut<Target = Worker>> Epochs for RemotePipeline<W> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.current = CurrentBatch::default();
        self.worker.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        let batch = self.worker.advance()?;
        let some = batch.is_some();
        self.current = batch.map_or_else(CurrentBatch::default, CurrentBatch::new);
        Ok(some)
    }

    fn batch(&self) -> &dyn Batch {
        &self.current
    }

    fn save(&mut self) -> Result<Vec<u8>> {
        Ok(self.worker.save()?.into_bytes())
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let state = std::str::from_utf8(saved)
            .map_err(|_| Error::new("the saved place is damaged: a worker's is a text"))?;
        self.worker.restore(state)
    }

    fn in_order(&self) -> bool {
        self.order == ElementOrder::Kept
    }

    fn executed(&self) -> ExecutedWork {
        self.executed.clone()
    }

    fn entry_point(&self) -> Option<String> {
        Some(self.entry_point.clone())
    }

    fn remote(&mut self) -> Result<Option<&mut dyn Remote>> {
        Ok(Some(self))
    }

    fn rank(&mut self) -> Option<&mut dyn Rank> {
        Some(self)
    }

    fn time(&mut self, epoch: u64) -> Result<Option<Duration>> {
        let whole = self.worker.time_epoch(epoch, UnstoppedRequest::default())?;
        Ok(Some(whole.wall - whole.begin))
    }

    fn compilations(&mut self) -> Result<Option<u64>> {
        let said = self.worker.call("compilations", &json!({}))?;
        Ok(said.get("compilations").and_then(|counts| counts.first()).copied())
    }

    fn close(&mut self) -> Result<Option<Duration>> {
        self.worker.close()
    }
}

impl<W: DerefMut<Target = Worker>> Rank for RemotePipeline<W> {
    fn process(&self) -> u32 {
        self.worker.process()
    }

    fn step(&mut self, index: usize, of: usize) -> Result<Option<Count>> {
        self.worker.step(index, of)
    }

    fn fetch(&mut self) -> Result<()> {
        self.current = CurrentBatch::new(self.worker.fetch()?);
        Ok(())
    }

    fn used(&mut self) -> Result<ResourceUse> {
        self.worker.used()
    }
}

impl<W: DerefMut<Target = Worker>> Remote for RemotePipeline<W> {
    fn budget(&self, asked: Budget) -> Budget {
        self.worker.budget(asked)
    }

    fn verify(&mut self, epoch: u64, each: &mut dyn FnMut(ItemCopy) -> Result<()>) -> Result<()> {
        self.worker.verify(epoch, each)
    }

    fn run(&mut self, epoch: u64, budget: Budget) -> Result<RemoteRun> {
        self.worker.run(epoch, budget)
    }

    fn time_epoch(&mut self, epoch: u64, asked: UnstoppedRequest) -> Result<RemoteEpoch> {
        self.worker.time_epoch(epoch, asked)
    }

    fn expected(&self) -> Option<ExpectedEpoch> {
        self.worker.expected()
    }

    fn whole_pass(&self) -> bool {
        self.worker.whole_pass()
    }

    fn files(&self) -> Option<FileUse> {
        self.worker.files()
    }

    fn grown(&self) -> Option<u64> {
        self.worker.grown()
    }

    fn costs(&self) -> Costs {
        self.worker.costs()
    }
}

impl<W: DerefMut<Target = Worker>> Drop for RemotePipeline<W> {
    fn drop(&mut self) {
        // What goes wrong here is met again when the next pipeline is opened.
        let _ = self.worker.close();
    }
}

/// The batch that was handed over last.
#[derive(Debug, Default)]
struct CurrentBatch {
    kinds: Vec<FieldKind>,
    kept: ItemCopy,
}

impl CurrentBatch {
    fn new(kept: ItemCopy) -> Self {
        let kind = |field: &weighbridge::FieldCopy| FieldKind {
            name: field.name.clone(),
            dtype: field.dtype,
            shape: field.shape.clone(),
        };
        Self { kinds: kept.fields.iter().map(kind).collect(), kept }
    }
}

impl Batch for CurrentBatch {
    fn elements(&self) -> usize {
        self.kept.elements
    }

    fn kinds(&self) -> &[FieldKind] {
        &self.kinds
    }

    fn bytes(&self, field: usize) -> &[u8] {
        &self.kept.fields[field].bytes
    }
}
