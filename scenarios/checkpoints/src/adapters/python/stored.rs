//! A checkpoint that lies somewhere and is open in a worker, as the contract has it.

use serde::{Deserialize, Serialize};
use serde_json::json;
use weighbridge::worker::{CollectorAnswer, Worker};
use weighbridge::{Error, ErrorKind, ItemCopy, Result};
use weighbridge_data::ExecutedWork;
use weighbridge_python::{entry_point, executed};

use super::told::{COLLECTORS, PlacementForm, text};
use crate::contract::{LoadedTensor, LookedPart, StoredCheckpoint, StoredFiles, TensorHeader};
use crate::workload::{Placement, SystemOptions};

/// The parts of `open` that describe a checkpoint.
#[derive(Debug, Serialize)]
pub(super) struct StoredParts {
    stored: StoredForm,
}

#[derive(Debug, Serialize)]
struct StoredForm {
    directory: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<String>,
    format: String,
    system: SystemOptions,
}

impl StoredParts {
    pub(super) fn of(files: StoredFiles<'_>) -> Result<Self> {
        let directory = text(files.directory)?.to_owned();
        let (store, format) = (files.store.map(str::to_owned), files.format.to_string());
        Ok(Self { stored: StoredForm { directory, store, format, system: files.system.clone() } })
    }
}

/// A header as a worker tells it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderForm {
    key: String,
    dtype: String,
    shape: Vec<usize>,
}

impl From<HeaderForm> for TensorHeader {
    fn from(HeaderForm { key, dtype, shape }: HeaderForm) -> Self {
        Self { key, dtype, shape }
    }
}

/// A checkpoint in a worker, which is closed with this.
pub(super) struct OpenStored<'a> {
    worker: &'a mut Worker,
    executed: ExecutedWork,
    entry_point: String,
    headers: Vec<TensorHeader>,
}

impl<'a> OpenStored<'a> {
    pub(super) fn new(worker: &'a mut Worker) -> Result<Self> {
        let (executed, entry_point) = (executed(worker)?, entry_point(worker)?);
        let told = worker.call_for_batch("headers", &json!({})).and_then(headers);
        let mut open = Self { worker, executed, entry_point, headers: Vec::new() };
        open.headers = told?;
        Ok(open)
    }
}

/// Headers, as a worker tells them.
pub(super) fn headers(told: ItemCopy) -> Result<Vec<TensorHeader>> {
    let [headers] = fields(told)?;
    Ok(parsed::<Vec<HeaderForm>>(&headers)?.into_iter().map(Into::into).collect())
}

/// The numbers that a worker has looked at.
pub(super) fn looked(told: ItemCopy) -> Result<Vec<u8>> {
    let [seen] = fields(told)?;
    Ok(seen)
}

/// The bytes of so many fields.
fn fields<const N: usize>(told: ItemCopy) -> Result<[Vec<u8>; N]> {
    let fields: Vec<Vec<u8>> = told.fields.into_iter().map(|field| field.bytes).collect();
    let wrong = |fields: Vec<_>| {
        Error::of(ErrorKind::Protocol, format!("{} fields came where {N} are due", fields.len()))
    };
    fields.try_into().map_err(wrong)
}

fn parsed<'de, T: Deserialize<'de>>(json: &'de [u8]) -> Result<T> {
    serde_json::from_slice(json).map_err(|error| {
        Error::of(ErrorKind::Protocol, format!("what was told of a tensor is none: {error}"))
    })
}

fn tensor(told: ItemCopy) -> Result<LoadedTensor> {
    let [header, bytes] = fields(told)?;
    Ok(LoadedTensor { header: parsed::<HeaderForm>(&header)?.into(), bytes })
}

impl StoredCheckpoint for OpenStored<'_> {
    fn headers(&self) -> &[TensorHeader] {
        &self.headers
    }

    fn place(&mut self, onto: &Placement) -> Result<()> {
        self.worker.call("place", &json!({ "onto": PlacementForm::from(onto) })).map(drop)
    }

    fn share(&mut self, once: bool) -> Result<()> {
        self.worker.call("share", &json!({ "once": once })).map(drop)
    }

    fn fill(&mut self, at: usize, device: usize, byte: u8) -> Result<()> {
        self.worker.call("fill", &json!({ "tensor": at, "device": device, "byte": byte })).map(drop)
    }

    fn load(&mut self) -> Result<()> {
        self.worker.call("load", &json!({})).map(drop)
    }

    fn loaded(&mut self, at: usize) -> Result<LoadedTensor> {
        tensor(self.worker.call_for_batch("loaded", &json!({ "tensor": at }))?)
    }

    fn part(&mut self, at: usize, device: usize) -> Result<LoadedTensor> {
        tensor(self.worker.call_for_batch("part", &json!({ "tensor": at, "device": device }))?)
    }

    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        looked(self.worker.call_for_batch("look", &json!({ "parts": parts }))?)
    }

    fn release(&mut self) -> Result<()> {
        self.worker.call("release", &json!({})).map(drop)
    }

    fn collect(&mut self, on: bool) -> Result<CollectorAnswer> {
        self.worker.collect(if on { COLLECTORS } else { &[] })
    }

    fn collected(&mut self) -> Result<CollectorAnswer> {
        self.worker.collected()
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

impl Drop for OpenStored<'_> {
    fn drop(&mut self) {
        // What goes wrong here is met again when the next state is opened.
        let _ = self.worker.close();
    }
}
