//! A state that is open in a worker, as the contract has it.

use std::collections::BTreeMap;
use std::ops::DerefMut;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;
use weighbridge::remote::ClockFault;
use weighbridge::worker::{CollectorAnswer, Worker};
use weighbridge::{ItemCopy, Result};
use weighbridge_data::{DataSet, ExecutedWork};
use weighbridge_python::{RankMessage, TensorFiles, entry_point, executed};

use super::stored::{headers, looked};
use super::told::{COLLECTORS, PlacementForm, text};
use crate::contract::{Checkpoints, LookedPart, Manager, Retention, SaveOptions, StepTimes, TensorHeader};
use crate::workload::{StateChange, StepKind, SystemOptions};

/// The parts of `open` that describe a state.
#[derive(Debug, Serialize)]
pub(super) struct StateParts {
    data: TensorFiles,
    state: StateForm,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<RankMessage>,
}

#[derive(Debug, Serialize)]
struct StateForm {
    saving: String,
    #[serde(flatten)]
    placement: PlacementForm,
    /// The placement that it is loaded onto.
    onto: Option<PlacementForm>,
    compression: Option<String>,
    system: SystemOptions,
    layer: String,
    replicas: bool,
    /// The fields that stand for values that are no arrays, and what they are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    leaves: BTreeMap<String, &'static str>,
}

impl StateParts {
    pub(super) fn of(options: &SaveOptions, data: &DataSet) -> Self {
        let state = StateForm {
            saving: options.saving.to_string(),
            placement: (&options.placement).into(),
            onto: options.onto.as_ref().map(Into::into),
            compression: options.compression.set().map(|compression| compression.to_string()),
            system: options.system.clone(),
            layer: options.layer.to_string(),
            replicas: options.replicas.is_some(),
            leaves: data.leaves().map(|(name, leaf)| (name.to_owned(), leaf.name())).collect(),
        };
        Self { data: TensorFiles::of(data), state, rank: None }
    }

    /// The same for one of several ranks.
    pub(super) fn ranked(self, rank: RankMessage) -> Self {
        Self { rank: Some(rank), ..self }
    }
}

/// A state in a worker, which is closed with this.
pub(super) struct OpenState<W: DerefMut<Target = Worker>> {
    worker: W,
    executed: ExecutedWork,
    entry_point: String,
}

impl<W: DerefMut<Target = Worker>> OpenState<W> {
    pub(super) fn new(worker: W) -> Result<Self> {
        let (executed, entry_point) = (executed(&worker)?, entry_point(&worker)?);
        Ok(Self { worker, executed, entry_point })
    }

    fn call(&mut self, name: &str, parts: &impl Serialize) -> Result<()> {
        self.worker.call(name, parts).map(drop)
    }
}

impl<W: DerefMut<Target = Worker>> Checkpoints for OpenState<W> {
    fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
        self.call("save", &json!({ "directory": text(directory)?, "durable": durable }))
    }

    fn wait(&mut self) -> Result<()> {
        self.call("wait", &json!({}))
    }

    fn cancel(&mut self) -> Result<()> {
        self.call("cancel", &json!({}))
    }

    fn change(&mut self, change: &StateChange) -> Result<()> {
        self.call("change", &json!({ "bits": change }))
    }

    fn steps(
        &mut self,
        kind: StepKind,
        steps: usize,
        directory: &Path,
        change: &StateChange,
    ) -> Result<StepTimes> {
        let begun = Instant::now();
        let directory = text(directory)?;
        let parts =
            json!({ "kind": kind.to_string(), "steps": steps, "directory": directory, "bits": change });
        let mut said = self.worker.call("steps", &parts)?;
        let passed = begun.elapsed();
        let mut times = |name| -> Vec<Duration> {
            said.remove(name).unwrap_or_default().into_iter().map(Duration::from_nanos).collect()
        };
        let [stall, complete] = ["stall", "complete"].map(|name| times(name).iter().sum());
        let told = StepTimes { idle: times("idle"), during: times("during"), stall, complete };
        let all: Duration = told.idle.iter().chain(&told.during).sum();
        let nanoseconds = ClockFault::nanoseconds;
        let said = ClockFault::Save {
            asked: steps as u64,
            idle: told.idle.len() as u64,
            during: told.during.len() as u64,
            steps: nanoseconds(all),
            stall: nanoseconds(stall),
            complete: nanoseconds(complete),
            passed: nanoseconds(passed),
        };
        said.or_go_on()?;
        Ok(told)
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        self.call("load", &json!({ "directory": text(directory)? }))
    }

    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        self.worker.call_for_batch("loaded", &json!({ "field": field }))
    }

    fn part(&mut self, field: usize, device: usize) -> Result<ItemCopy> {
        self.worker.call_for_batch("part", &json!({ "field": field, "device": device }))
    }

    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        looked(self.worker.call_for_batch("look", &json!({ "parts": parts }))?)
    }

    fn read_metadata(&mut self, directory: &Path) -> Result<()> {
        self.call("read_metadata", &json!({ "directory": text(directory)? }))
    }

    fn described(&mut self) -> Result<Vec<TensorHeader>> {
        headers(self.worker.call_for_batch("described", &json!({}))?)
    }

    fn release(&mut self) -> Result<()> {
        self.call("release", &json!({}))
    }

    fn collect(&mut self, on: bool) -> Result<CollectorAnswer> {
        self.worker.collect(if on { COLLECTORS } else { &[] })
    }

    fn collected(&mut self) -> Result<CollectorAnswer> {
        self.worker.collected()
    }

    fn manager(&mut self, retention: &Retention) -> Result<Box<dyn Manager + '_>> {
        let Retention {
            save_interval_steps,
            max_to_keep,
            num_deletion_threads,
            save_policies,
            keep_policies,
        } = retention;
        let retention = json!({
            "save_interval_steps": save_interval_steps,
            "max_to_keep": max_to_keep,
            "num_deletion_threads": num_deletion_threads,
            "save_policies": save_policies.all(),
            "keep_policies": keep_policies.all(),
        });
        self.call("manage", &json!({ "retention": retention }))?;
        Ok(Box::new(RemoteManager(&mut self.worker)))
    }

    fn mark_devices(&mut self) -> Result<()> {
        self.call("mark", &json!({}))
    }

    fn processes(&self) -> Vec<u32> {
        self.worker.processes()
    }

    fn executed(&self) -> ExecutedWork {
        self.executed.clone()
    }

    fn entry_point(&self) -> Option<String> {
        Some(self.entry_point.clone())
    }
}

impl<W: DerefMut<Target = Worker>> Drop for OpenState<W> {
    fn drop(&mut self) {
        // What goes wrong here is met again when the next state is opened.
        let _ = self.worker.close();
    }
}

/// A manager of checkpoints in a worker.
struct RemoteManager<'a>(&'a mut Worker);

impl RemoteManager<'_> {
    fn call(&mut self, name: &str, parts: &impl Serialize) -> Result<()> {
        self.0.call(name, parts).map(drop)
    }
}

impl Manager for RemoteManager<'_> {
    fn begin(&mut self, directory: &Path) -> Result<()> {
        self.call("begin", &json!({ "directory": text(directory)? }))
    }

    fn train(&mut self) -> Result<()> {
        self.call("train", &json!({}))
    }

    fn offer(&mut self, step: u64) -> Result<()> {
        self.call("offer", &json!({ "step": step }))
    }

    fn settle(&mut self) -> Result<()> {
        self.call("settle", &json!({}))
    }

    fn delete(&mut self, step: u64) -> Result<()> {
        self.call("delete", &json!({ "step": step }))
    }

    fn kept(&mut self) -> Result<ItemCopy> {
        self.0.call_for_batch("kept", &json!({}))
    }

    fn restore(&mut self, step: Option<u64>) -> Result<()> {
        self.call("restore", &json!({ "step": step }))
    }

    fn position(&mut self) -> Result<ItemCopy> {
        self.0.call_for_batch("position", &json!({}))
    }

    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        self.0.call_for_batch("restored", &json!({ "field": field }))
    }

    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        looked(self.0.call_for_batch("look_restored", &json!({ "parts": parts }))?)
    }

    fn release(&mut self) -> Result<()> {
        self.call("let_go", &json!({}))
    }

    fn collect(&mut self, on: bool) -> Result<CollectorAnswer> {
        self.0.collect(if on { COLLECTORS } else { &[] })
    }

    fn collected(&mut self) -> Result<CollectorAnswer> {
        self.0.collected()
    }

    fn processes(&self) -> Vec<u32> {
        self.0.processes()
    }
}
