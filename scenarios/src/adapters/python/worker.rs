//! A framework's worker: what a pipeline is in the words of the protocol, and the open pipeline as the contract has it.

use std::ops::DerefMut;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use weighbridge::worker::{Command, Epoch, Order, Task, Worker};
use weighbridge::{
    Availability, Costs, Count, Error, ErrorKind, FieldKind, Kept, Limits, Ran, Remote, Result, Used, Whole,
};

use super::named::Named;
use super::peer::{self, Peer, State};
use crate::contract::{Batch, Epochs, Executed, Rank};
use crate::data::DataSet;
use crate::workload::{Access, Gate, Merge, Mixing, PipelineSpec, Transform};

/// The folder that the package `weighbridge_worker` is imported from, where it is not ours.
const PATH: &str = "WEIGHBRIDGE_WORKER_PATH";

/// A framework of Python: its worker is started with the first pipeline and stays for the next ones.
#[derive(Debug)]
pub(super) struct Framework {
    peer: &'static Peer,
    /// How it is started, where that is not as its peers are.
    command: Option<Command>,
    worker: Option<Worker>,
}

impl Framework {
    /// The framework of this short name, not yet started.
    pub(super) fn new(short: &str) -> Result<Self> {
        let peer = peer::find(short);
        let peer = peer.ok_or_else(|| Error::new(format!("`{short}` is in no table of frameworks")))?;
        Ok(Self { peer, command: None, worker: None })
    }

    /// A framework that is started in another way.
    #[cfg(test)]
    pub(super) fn started_by(peer: &'static Peer, command: Command) -> Self {
        Self { peer, command: Some(command), worker: None }
    }

    fn command(&self) -> Result<Command> {
        self.command.clone().map_or_else(|| command(self.peer), Ok)
    }

    /// Whether the framework of this short name is installed. Looks at files and starts nothing but an interpreter that
    /// was named, once.
    pub(super) fn availability(short: &str) -> Availability {
        let Some(peer) = peer::find(short) else {
            let (reason, install) = (format!("`{short}` is in no table of frameworks"), String::new());
            return Availability::Missing { reason, install };
        };
        if let Some(named) = Named::get() {
            return match named.version(peer) {
                Ok(version) => Availability::Available { version },
                Err((reason, install)) => Availability::Missing { reason, install },
            };
        }
        let state = peer::home().map_or(State::Absent, |home| peer.state(&home));
        let reason = match state {
            State::Installed(installed) => return Availability::Available { version: installed.version },
            State::Absent => format!("no environment of {}", peer.name),
            State::Broken(why) => why,
        };
        Availability::Missing { reason, install: peer.remedy() }
    }

    /// Opens a pipeline, and starts the worker if none is there.
    pub(super) fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        let parts = Parts::of(spec, data)?;
        let short = self.peer.short;
        let worker = self.ready()?;
        open(worker, short, spec, &parts)?;
        Ok(Box::new(Open::new(worker)?))
    }

    /// Opens one pipeline in each of as many processes, as data-parallel training does. The worker that stays has the
    /// first; the others are started for these pipelines, side by side, and end with them.
    pub(super) fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        let of = specs.len();
        let ranked =
            |(index, spec)| Ok((spec, Parts { rank: Some(Ranked { index, of }), ..Parts::of(spec, data)? }));
        let parts: Vec<(&PipelineSpec, Parts)> =
            specs.iter().enumerate().map(ranked).collect::<Result<_>>()?;
        let Some(((spec, own), others)) = parts.split_first() else { return Ok(Vec::new()) };
        let (peer, command) = (self.peer, self.command()?);
        // What the first declines, no other is started for.
        let worker = self.ready()?;
        open(worker, peer.short, spec, own)?;
        let opened = |started: Result<Worker>, spec: &PipelineSpec, parts: &Parts| {
            let mut worker = Box::new(checked(peer, started?)?);
            open(&mut worker, peer.short, spec, parts)?;
            Open::new(worker)
        };
        let started = Worker::start_all(&command, others.len());
        let others: Vec<Result<Open<Box<Worker>>>> = thread::scope(|scope| {
            let mut threads = Vec::with_capacity(others.len());
            for (started, (spec, parts)) in started.into_iter().zip(others) {
                threads.push(scope.spawn(move || opened(started, spec, parts)));
            }
            let end = |thread: thread::ScopedJoinHandle<'_, Result<_>>| {
                thread.join().unwrap_or_else(|_| Err(Error::new("its thread panicked")))
            };
            threads.into_iter().map(end).collect()
        });
        let mut pipelines: Vec<Box<dyn Epochs + Send + '_>> = Vec::with_capacity(of);
        pipelines.push(Box::new(Open::new(worker)?));
        for (index, opened) in others.into_iter().enumerate() {
            let told = |error: Error| {
                let what = format!("worker {} of {of} (from 0): {error}", index + 1);
                Error::of(error.kind().clone(), what)
            };
            pipelines.push(Box::new(opened.map_err(told)?));
        }
        Ok(pipelines)
    }

    /// The worker that stays, which can open a pipeline.
    fn ready(&mut self) -> Result<&mut Worker> {
        if !self.worker.as_mut().is_some_and(Worker::is_ready) {
            self.worker = None; // what is left of one that broke is ended before another is started
        }
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => checked(self.peer, Worker::start(&self.command()?)?)?,
        };
        Ok(self.worker.insert(worker))
    }
}

/// A worker that is the framework's.
fn checked(peer: &Peer, worker: Worker) -> Result<Worker> {
    let (said, name) = (&worker.hello().framework, peer.name);
    if said == name {
        return Ok(worker);
    }
    Err(Error::of(ErrorKind::Protocol, format!("the worker of {name} says that it is {said}")))
}

fn command(peer: &Peer) -> Result<Command> {
    let python =
        match Named::get() {
            Some(named) => named.path.clone(),
            None => peer.python(&peer::home().ok_or_else(|| {
                Error::new("there is no folder of frameworks: set WEIGHBRIDGE_PEERS to one")
            })?),
        };
    let command = Command::new(python)
        .arg("-P") // nothing is imported from the current directory
        .arg("-m")
        .arg("weighbridge_worker")
        .arg(peer.short)
        .env("PYTHONPATH", package());
    Ok(VARIABLES.iter().fold(command, |command, (name, value)| command.env(name, value)))
}

/// Opens a pipeline in a worker.
fn open(worker: &mut Worker, short: &str, spec: &PipelineSpec, parts: &Parts) -> Result<()> {
    let converted = format!("{short}/{}", parts.data.digest);
    let task = Task { contract: "loader", converted: &converted, epoch: Some(epoch(spec)?) };
    worker.open(task, parts).map(drop)
}

/// Where the package of the worker lies: where it is named, else in the sources that this was built from; where those are
/// not, since the program was carried elsewhere, in a folder `python` beside the program.
fn package() -> PathBuf {
    if let Some(named) = std::env::var_os(PATH).filter(|path| !path.is_empty()) {
        return named.into();
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    let beside = || Some(std::env::current_exe().ok()?.parent()?.join("python"));
    if sources.is_dir() { sources } else { beside().unwrap_or(sources) }
}

/// What Python and its frameworks find in their environment, beside what every worker finds.
const VARIABLES: &[(&str, &str)] = &[
    ("PYTHONUNBUFFERED", "1"),
    ("PYTHONNOUSERSITE", "1"),
    ("PYTHONHASHSEED", "0"),
    ("TF_CPP_MIN_LOG_LEVEL", "2"),
    ("TQDM_DISABLE", "1"),
    ("HF_DATASETS_DISABLE_PROGRESS_BARS", "1"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0"),
    ("RAY_USAGE_STATS_ENABLED", "0"),
    ("RAY_DISABLE_IMPORT_WARNING", "1"),
    ("GRPC_VERBOSITY", "ERROR"),
];

/// What `open` says of a pipeline.
#[derive(Debug, Serialize)]
struct Parts {
    data: Data,
    pipeline: Pipeline,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<Ranked>,
}

/// Which of several processes with pipelines over the same data, in step.
#[derive(Clone, Copy, Debug, Serialize)]
struct Ranked {
    index: usize,
    of: usize,
}

#[derive(Debug, Serialize)]
struct Data {
    elements: usize,
    digest: String,
    fields: Vec<Field>,
}

#[derive(Debug, Serialize)]
struct Field {
    #[serde(flatten)]
    kind: FieldKind,
    path: PathBuf,
    mean: Option<Vec<f32>>,
    scale: Option<Vec<f32>>,
}

#[derive(Debug, Serialize)]
struct Pipeline {
    first: usize,
    end: usize,
    batch_size: usize,
    access: &'static str,
    workers: usize,
    seed: u64,
    transforms: Vec<&'static str>,
    gates: Vec<Passage>,
    branches: Vec<Vec<&'static str>>,
    merge: &'static str,
    mixing: Option<Mixed>,
    mixture: Vec<f64>,
    cache: bool,
    rebatch: Option<usize>,
    asks: Vec<String>,
    work: Vec<String>,
    output: Vec<FieldKind>,
}

#[derive(Debug, Serialize)]
struct Passage {
    position: usize,
    decided_at: usize,
    from: f64,
    below: f64,
}

#[derive(Debug, Serialize)]
struct Mixed {
    kind: &'static str,
    alpha: f64,
}

impl Parts {
    fn of(spec: &PipelineSpec, data: &DataSet) -> Result<Self> {
        let field = |(position, kind): (usize, &FieldKind)| {
            let constants = data.normalisation(position);
            Field {
                kind: kind.clone(),
                path: data.path(position).to_owned(),
                mean: constants.map(|constants| constants.mean.clone()),
                scale: constants.map(|constants| constants.scale.clone()),
            }
        };
        let data = Data {
            elements: data.elements(),
            digest: data.digest().to_owned(),
            fields: data.kinds().enumerate().map(field).collect(),
        };
        Ok(Self { data, pipeline: Pipeline::of(spec)?, rank: None })
    }
}

impl Pipeline {
    fn of(spec: &PipelineSpec) -> Result<Self> {
        let structure = &spec.structure;
        let names = |transforms: &[Transform]| transforms.iter().map(|transform| transform.name()).collect();
        let gate = |gate: &Gate| {
            let Gate { position, decided_at, from, below } = *gate;
            Passage { position, decided_at, from, below }
        };
        let mixing = |mixing: Mixing| match mixing {
            Mixing::MixUp { alpha } => Mixed { kind: "mixup", alpha },
            Mixing::CutMix { alpha } => Mixed { kind: "cutmix", alpha },
        };
        Ok(Self {
            first: spec.elements().start,
            end: spec.elements().end,
            batch_size: spec.batch_size,
            access: match spec.access {
                Access::Memory => "memory",
                Access::FileEager => "file-eager",
                Access::FileStreaming => "file-streaming",
            },
            workers: spec.workers,
            seed: spec.seed,
            transforms: names(&spec.transforms),
            gates: structure.gates.iter().map(gate).collect(),
            branches: structure.branches.iter().map(|branch| names(branch)).collect(),
            merge: match structure.merge {
                Merge::Mean => "mean",
                Merge::Views => "views",
            },
            mixing: structure.mixing.map(mixing),
            mixture: structure.mixture.clone(),
            cache: structure.cache,
            rebatch: structure.rebatch,
            asks: structure.capabilities(),
            work: spec.work(),
            output: spec.output()?,
        })
    }
}

/// An open pipeline of a worker, which is borrowed or ends with it.
struct Open<W: DerefMut<Target = Worker>> {
    worker: W,
    executed: Executed,
    entry_point: String,
    order: Order,
    current: Current,
}

impl<W: DerefMut<Target = Worker>> Open<W> {
    fn new(worker: W) -> Result<Self> {
        let opened = worker.opened()?.clone();
        let said = opened.executed;
        let executed = Executed {
            transforms: said.transforms,
            ran_on: said.ran_on,
            synchronised: said.synchronised,
            delivery: said.delivery,
            workers: said.workers,
        };
        let hello = worker.hello();
        let entry_point = format!(
            "{} of {}, version {}, {}",
            opened.entry_point, hello.module, hello.version, hello.language
        );
        Ok(Self { worker, executed, entry_point, order: opened.order, current: Current::default() })
    }
}

impl<W: DerefMut<Target = Worker>> Epochs for Open<W> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.current = Current::default();
        self.worker.begin(epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        let batch = self.worker.advance()?;
        let some = batch.is_some();
        self.current = batch.map_or_else(Current::default, Current::new);
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
        self.order == Order::Kept
    }

    fn executed(&self) -> Executed {
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
        Ok(Some(self.worker.time_epoch(epoch)?.wall))
    }

    fn close(&mut self) -> Result<Option<Duration>> {
        self.worker.close()
    }
}

impl<W: DerefMut<Target = Worker>> Rank for Open<W> {
    fn process(&self) -> u32 {
        self.worker.process()
    }

    fn step(&mut self, index: usize, of: usize) -> Result<Option<Count>> {
        self.worker.step(index, of)
    }

    fn fetch(&mut self) -> Result<()> {
        self.current = Current::new(self.worker.fetch()?);
        Ok(())
    }

    fn used(&mut self) -> Result<Used> {
        self.worker.used()
    }
}

impl<W: DerefMut<Target = Worker>> Remote for Open<W> {
    fn limits(&self, asked: Limits) -> Limits {
        self.worker.limits(asked)
    }

    fn verify(&mut self, epoch: u64, each: &mut dyn FnMut(Kept) -> Result<()>) -> Result<()> {
        self.worker.verify(epoch, each)
    }

    fn run(&mut self, epoch: u64, limits: Limits, hold: &[u64]) -> Result<Ran> {
        self.worker.run(epoch, limits, hold)
    }

    fn time_epoch(&mut self, epoch: u64) -> Result<Whole> {
        self.worker.time_epoch(epoch)
    }

    fn costs(&self) -> Costs {
        self.worker.costs()
    }
}

impl<W: DerefMut<Target = Worker>> Drop for Open<W> {
    fn drop(&mut self) {
        // What goes wrong here is met again when the next pipeline is opened.
        let _ = self.worker.close();
    }
}

/// What an epoch of the pipeline holds, as far as it follows from its specification.
fn epoch(spec: &PipelineSpec) -> Result<Epoch> {
    let row = |kinds: &[FieldKind]| -> usize {
        kinds.iter().map(|kind| kind.shape.iter().product::<usize>() * kind.dtype.size()).sum()
    };
    let elements = spec.elements().len();
    let source: Vec<FieldKind> = spec.source.kinds().cloned().collect();
    Ok(Epoch {
        elements: elements as u64,
        batch: spec.structure.rebatch.unwrap_or(spec.batch_size) as u64,
        bytes: (elements * row(&spec.output()?)) as u64,
        source: (elements * row(&source)) as u64,
        transforms: !spec.work().is_empty(),
    })
}

/// The batch that was handed over last.
#[derive(Debug, Default)]
struct Current {
    kinds: Vec<FieldKind>,
    kept: Kept,
}

impl Current {
    fn new(kept: Kept) -> Self {
        let kind = |field: &weighbridge::KeptField| FieldKind {
            name: field.name.clone(),
            dtype: field.dtype,
            shape: field.shape.clone(),
        };
        Self { kinds: kept.fields.iter().map(kind).collect(), kept }
    }
}

impl Batch for Current {
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::data::{Cache, DataSpec};

    fn images() -> PipelineSpec {
        PipelineSpec::new(DataSpec::images(1000, 8, 3), 64)
            .map(Transform::Normalize)
            .map(Transform::CastToFloat32)
    }

    /// The keys of an object on the page that workers are written from.
    fn on_the_page(part: &str) -> Vec<String> {
        let page = include_str!("../../../../docs/worker-protocol.md");
        let open = page.split("{\"open\": ").nth(1).expect("the page has the message");
        let mut open = serde_json::Deserializer::from_str(open).into_iter::<Value>();
        let open = open.next().expect("a value").expect("JSON");
        keys(open.pointer(part).expect(part))
    }

    fn keys(value: &Value) -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    }

    #[test]
    fn a_pipeline_is_told_as_the_page_has_it() {
        let place = tempfile::tempdir().expect("a folder");
        let spec = images();
        let data = Cache::at(place.path()).open(&spec.source).expect("made");
        let parts = Parts::of(&spec, &data).expect("possible");
        let told = serde_json::to_value(&parts).expect("JSON");
        for part in ["/data", "/data/fields/0", "/pipeline", "/pipeline/output/0"] {
            assert_eq!(keys(told.pointer(part).expect(part)), on_the_page(part), "{part}");
        }
        let field = &told["data"]["fields"][0];
        assert_eq!((&field["dtype"], &field["mean"]), (&Value::from("u8"), &Value::Null));
        assert_eq!(told["pipeline"]["work"], Value::from(vec!["Normalize", "CastToFloat32"]));
        assert_eq!(told["pipeline"]["output"][0]["dtype"], "f32");
    }

    #[test]
    fn what_an_epoch_holds_follows_from_the_specification() {
        let epoch = epoch(&images()).expect("possible");
        assert_eq!((epoch.elements, epoch.batch), (1000, 64));
        assert_eq!((epoch.source, epoch.bytes), (1000 * 192, 1000 * 192 * 4));
        assert!(epoch.transforms);
    }
}
