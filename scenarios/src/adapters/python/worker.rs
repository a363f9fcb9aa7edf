//! A framework's worker: what a pipeline is in the words of the protocol, and the open pipeline as the contract has it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use weighbridge::worker::{Command, Order, Task, Worker};
use weighbridge::{Availability, Costs, Error, ErrorKind, FieldKind, Kept, Limits, Ran, Remote, Result};

use super::peer::{self, Peer, State};
use crate::contract::{Batch, Epochs, Executed};
use crate::data::DataSet;
use crate::workload::{Access, Gate, Merge, Mixing, PipelineSpec, Transform};

/// The folder that the package `weighbridge_worker` is imported from, where it is not ours.
const PATH: &str = "WEIGHBRIDGE_WORKER_PATH";

/// A framework of Python: its worker is started with the first pipeline and stays for the next ones.
#[derive(Debug)]
pub(super) struct Framework {
    peer: &'static Peer,
    worker: Option<Worker>,
}

impl Framework {
    /// The framework of this short name, not yet started.
    pub(super) fn new(short: &str) -> Result<Self> {
        let peer = peer::find(short);
        let peer = peer.ok_or_else(|| Error::new(format!("`{short}` is in no table of frameworks")))?;
        Ok(Self { peer, worker: None })
    }

    /// Whether the framework of this short name is installed. Looks at files and starts nothing.
    pub(super) fn availability(short: &str) -> Availability {
        let Some(peer) = peer::find(short) else {
            let (reason, install) = (format!("`{short}` is in no table of frameworks"), String::new());
            return Availability::Missing { reason, install };
        };
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
        if !self.worker.as_mut().is_some_and(Worker::is_ready) {
            self.worker = None; // what is left of one that broke is ended before another is started
        }
        let worker = match self.worker.take() {
            Some(worker) => worker,
            None => self.start()?,
        };
        let worker = self.worker.insert(worker);
        let converted = format!("{}/{}", self.peer.short, data.digest());
        worker.open(Task { contract: "loader", converted: &converted }, &parts)?;
        Ok(Box::new(Open::new(worker, spec)?))
    }

    fn start(&self) -> Result<Worker> {
        let worker = Worker::start(&self.command()?)?;
        let (said, name) = (&worker.hello().framework, self.peer.name);
        if said == name {
            return Ok(worker);
        }
        Err(Error::of(ErrorKind::Protocol, format!("the worker of {name} says that it is {said}")))
    }

    fn command(&self) -> Result<Command> {
        let home = peer::home()
            .ok_or_else(|| Error::new("there is no folder of frameworks: set WEIGHBRIDGE_PEERS to one"))?;
        let command = Command::new(self.peer.python(&home))
            .arg("-P") // nothing is imported from the current directory
            .arg("-m")
            .arg("weighbridge_worker")
            .arg(self.peer.short)
            .env("PYTHONPATH", package());
        Ok(VARIABLES.iter().fold(command, |command, (name, value)| command.env(name, value)))
    }
}

/// Where the package of the worker lies.
fn package() -> PathBuf {
    let named = std::env::var_os(PATH).filter(|path| !path.is_empty()).map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("python"))
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
        Ok(Self { data, pipeline: Pipeline::of(spec)? })
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

/// An open pipeline of a worker.
struct Open<'a> {
    worker: &'a mut Worker,
    executed: Executed,
    entry_point: String,
    expected: Expected,
    current: Current,
}

impl<'a> Open<'a> {
    fn new(worker: &'a mut Worker, spec: &PipelineSpec) -> Result<Self> {
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
        let expected = Expected::of(spec, opened.order)?;
        Ok(Self { worker, executed, entry_point, expected, current: Current::default() })
    }
}

impl Epochs for Open<'_> {
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
        self.expected.order == Order::Kept
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

    fn time(&mut self, epoch: u64) -> Result<Option<Duration>> {
        let (took, elements) = self.worker.time_epoch(epoch)?;
        let all = self.expected.elements;
        if elements != all as u64 {
            return Err(Error::of(
                ErrorKind::Work,
                format!("the epoch that was timed has {elements} elements instead of {all}"),
            ));
        }
        Ok(Some(took))
    }

    fn close(&mut self) -> Result<Option<Duration>> {
        self.worker.close()
    }
}

impl Remote for Open<'_> {
    fn verify(&mut self, epoch: u64, each: &mut dyn FnMut(Kept) -> Result<()>) -> Result<()> {
        self.worker.verify(epoch, each)
    }

    fn run(&mut self, limits: Limits, hold: &[u64]) -> Result<Ran> {
        let ran = self.worker.run(limits, hold)?;
        self.expected.check(&ran, limits)?;
        self.expected.check_set_up(&ran, self.worker.grown(), self.worker.costs())?;
        Ok(ran)
    }

    fn costs(&self) -> Costs {
        self.worker.costs()
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // What goes wrong here is met again when the next pipeline is opened.
        let _ = self.worker.close();
    }
}

/// What a pipeline delivers, as far as it follows from its specification.
#[derive(Debug)]
struct Expected {
    /// Elements of an epoch.
    elements: usize,
    /// Elements of a batch; the last one is short.
    batch: usize,
    /// Bytes of all delivered elements.
    bytes: u64,
    /// Bytes of the elements as they lie in the data set.
    source: u64,
    /// Whether there is anything to be prepared.
    transforms: bool,
    order: Order,
}

impl Expected {
    fn of(spec: &PipelineSpec, order: Order) -> Result<Self> {
        let row = |kinds: &[FieldKind]| -> usize {
            kinds.iter().map(|kind| kind.shape.iter().product::<usize>() * kind.dtype.size()).sum()
        };
        let elements = spec.elements().len();
        let source: Vec<FieldKind> = spec.source.kinds().cloned().collect();
        Ok(Self {
            elements,
            batch: spec.structure.rebatch.unwrap_or(spec.batch_size),
            bytes: (elements * row(&spec.output()?)) as u64,
            source: (elements * row(&source)) as u64,
            transforms: !spec.work().is_empty(),
            order,
        })
    }

    /// Real elements alone count. Where the batches come in order and the epoch did not end within a pass, it is known how
    /// many elements the measured ones hold; else how many there can be.
    fn check(&self, ran: &Ran, limits: Limits) -> Result<()> {
        if limits.batches == 0 || ran.passes == 0 {
            return Ok(());
        }
        let most = ran.passes * limits.batches * self.batch as u64;
        let wrong = |expected: String| {
            Err(Error::of(
                ErrorKind::Work,
                format!(
                    "it counted {} elements in the measured batches, which hold {expected}: padding is not delivered, and \
                     nothing that is delivered is left out",
                    ran.elements
                ),
            ))
        };
        if ran.elements > most {
            return wrong(format!("{most} at most"));
        }
        if ran.ran_out || self.order == Order::Lost {
            return Ok(());
        }
        // The first batch of the process is a figure of its own: in the first pass one at least is left out.
        let pass = |skipped: u64| {
            let (from, to) =
                (skipped as usize * self.batch, (skipped + limits.batches) as usize * self.batch);
            to.min(self.elements).saturating_sub(from) as u64
        };
        let expected = pass(limits.warmup.max(1)) + (ran.passes - 1) * pass(limits.warmup);
        if ran.elements == expected { Ok(()) } else { wrong(expected.to_string()) }
    }

    /// Batches are made when they are asked for. Whoever has an epoch of them in memory when the set-up is over, and hands
    /// them out in a small part of the time that it took, has made them there.
    fn check_set_up(&self, ran: &Ran, grown: Option<u64>, costs: Costs) -> Result<()> {
        let (Some(grown), Some(set_up)) = (grown, costs.set_up) else { return Ok(()) };
        if !self.transforms || self.bytes < LEAST_PREPARED || ran.elements == 0 {
            return Ok(());
        }
        // A copy of the data set is no batch.
        let prepared = grown as f64 >= self.bytes as f64 * PREPARED
            && (self.bytes > self.source * 3 / 2
                || grown as f64 >= (self.bytes + self.source) as f64 * PREPARED);
        let epoch = ran.wall as f64 * self.elements as f64 / ran.elements as f64;
        if !prepared || (set_up as f64) < epoch * SLOWER {
            return Ok(());
        }
        let mebibytes = |bytes: u64| bytes >> 20;
        Err(Error::of(
            ErrorKind::Work,
            format!(
                "it prepares its batches in set-up: that made {} MiB of memory in {:?}, the delivered epoch has {} MiB, and \
                 goes by in {:?} when it is timed",
                mebibytes(grown),
                Duration::from_nanos(set_up),
                mebibytes(self.bytes),
                Duration::from_nanos(epoch as u64),
            ),
        ))
    }
}

/// An epoch of fewer bytes cannot be told from what a system makes for itself.
const LEAST_PREPARED: u64 = 32 << 20;

/// The share of an epoch that must lie in memory to be called prepared.
const PREPARED: f64 = 0.9;

/// How many times as long as the epoch the set-up must take.
const SLOWER: f64 = 3.0;

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

    use super::super::PEERS;
    use super::*;
    use crate::data::{Cache, DataSpec};

    const LIMITS: Limits = Limits { warmup: 2, batches: 10, min_time: Duration::ZERO };

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
    fn every_framework_of_the_table_is_registered_under_its_name_and_tier() {
        for peer in PEERS {
            let file = format!("src/adapters/python/{}.rs", peer.short);
            let text =
                std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).expect(&file);
            let attribute = format!("name = \"{}\", tier = {}, resident = true", peer.name, peer.tier);
            assert!(text.contains(&attribute), "{file} has no {attribute}");
            assert!(text.contains(&format!("SHORT: &str = \"{}\"", peer.short)), "{file}");
        }
    }

    fn ran(elements: u64) -> Ran {
        let samples = vec![1_000_000; 10];
        Ran { elements, wall: samples.iter().sum(), samples, passes: 1, ..Ran::default() }
    }

    fn refused(spec: &PipelineSpec, order: Order, ran: &Ran) -> String {
        let expected = Expected::of(spec, order).expect("possible");
        let error = expected.check(ran, LIMITS).expect_err("it is wrong");
        assert_eq!(error.kind(), &ErrorKind::Work);
        error.to_string()
    }

    #[test]
    fn real_elements_alone_count() {
        let expected = |spec: &PipelineSpec, order| Expected::of(spec, order).expect("possible");
        expected(&images(), Order::Kept).check(&ran(640), LIMITS).expect("ten whole batches");
        // 1000 elements are 15 whole batches and 40: after 8 of warm-up, 7 whole ones and the short one are left.
        let late = Limits { warmup: 8, batches: 8, ..LIMITS };
        expected(&images(), Order::Kept).check(&ran(7 * 64 + 40), late).expect("the last is short");
        let said = refused(&images(), Order::Kept, &ran(650));
        assert!(said.contains("counted 650 elements") && said.contains("640 at most"), "{said}");
        let said = refused(&images(), Order::Kept, &ran(576));
        assert!(said.contains("which hold 640: padding"), "{said}");
        for order in [Order::Lost, Order::Kept] {
            let around = Ran { ran_out: true, ..ran(576) };
            expected(&images(), order).check(&around, LIMITS).expect("where the epoch ended is not known");
        }
        assert!(refused(&images(), Order::Lost, &ran(641)).contains("640 at most"));
    }

    #[test]
    fn an_epoch_that_is_there_when_the_set_up_is_over_was_prepared_in_it() {
        let spec = PipelineSpec::new(DataSpec::images(5_000, 32, 3), 64)
            .map(Transform::Normalize)
            .map(Transform::CastToFloat32);
        let expected = Expected::of(&spec, Order::Kept).expect("possible");
        let bytes = expected.bytes;
        let check = |grown, set_up| {
            let costs = Costs { set_up: Some(set_up), ..Costs::default() };
            expected.check_set_up(&ran(640), Some(grown), costs)
        };
        let epoch = 10_000_000 * 5_000 / 640;
        let said = check(bytes, 10 * epoch).expect_err("prepared").to_string();
        assert!(said.contains("prepares its batches in set-up") && said.contains("58 MiB"), "{said}");
        check(expected.source, 10 * epoch).expect("a copy of the data set");
        check(bytes, epoch).expect("an epoch takes as long: nothing is spared");
        let plain = Expected { transforms: false, ..expected };
        let costs = Costs { set_up: Some(10 * epoch), ..Costs::default() };
        plain.check_set_up(&ran(640), Some(bytes), costs).expect("there is nothing to prepare");
    }
}
