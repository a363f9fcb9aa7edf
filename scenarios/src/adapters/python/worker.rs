//! A framework's worker: how it is started, and what is opened in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use weighbridge::worker::{Command, PipelineTask, Worker};
use weighbridge::{Availability, Error, ErrorKind, Result, skip};

use super::learning::{LearningParts, RemoteLearning};
use super::meeting::{RankMessage, free_address};
use super::named::NamedPeer;
use super::open::RemotePipeline;
use super::parts::PipelineParts;
use super::peer::{self, CHECKPOINTER, FREE_THREADED, LEARNER, LOADER, Peer, PeerState, TRAINER};
use super::state::{OpenState, StateParts};
use super::stored::{OpenStored, StoredParts};
use super::training::TrainingParts;
use crate::contract::{
    Checkpoints, Epochs, LearningLoop, SaveOptions, StoredCheckpoint, StoredFiles, TrainingLoop,
};
use crate::data::DataSet;
use crate::ranks::at_once;
use crate::workload::{
    Compilation, Destination, ExecutionMode, Interpreter, LearningTask, PipelineSpec, TrainingRanks,
    TrainingSpec,
};

/// The folder that the package `weighbridge_worker` is imported from, where it is not ours.
const PATH: &str = "WEIGHBRIDGE_WORKER_PATH";

/// A framework of Python: its worker is started with the first pipeline and stays for the next ones.
#[derive(Debug)]
pub(super) struct Framework {
    peer: &'static Peer,
    /// How it is started, where that is not as its peers are.
    command: Option<Command>,
    worker: Option<Worker>,
    /// By which the worker runs.
    interpreter: Interpreter,
}

impl Framework {
    /// The framework of this short name, not yet started.
    pub(super) fn new(short: &str) -> Result<Self> {
        let peer = peer::find(short);
        let peer = peer.ok_or_else(|| Error::new(format!("`{short}` is in no table of frameworks")))?;
        Ok(Self { peer, command: None, worker: None, interpreter: Interpreter::Default })
    }

    /// A framework that is started in another way.
    #[cfg(test)]
    pub(super) fn started_by(peer: &'static Peer, command: Command) -> Self {
        Self { peer, command: Some(command), worker: None, interpreter: Interpreter::Default }
    }

    fn command(&self) -> Result<Command> {
        self.command.clone().map_or_else(|| command(self.peer, self.interpreter), Ok)
    }

    /// Whether the framework of this short name is installed. Looks at files and starts nothing but an interpreter that
    /// was named, once.
    pub(super) fn availability(short: &str) -> Availability {
        let Some(peer) = peer::find(short) else {
            let (reason, install) = (format!("`{short}` is in no table of frameworks"), String::new());
            return Availability::Missing { reason, install };
        };
        if let Some(named) = NamedPeer::get() {
            return match named.version(peer) {
                Ok(version) => Availability::Available { version },
                Err((reason, install)) => Availability::Missing { reason, install },
            };
        }
        let state = peer::home().map_or(PeerState::Absent, |home| peer.state(&home));
        let reason = match state {
            PeerState::Installed(installed) => return Availability::Available { version: installed.version },
            PeerState::Absent => format!("no environment of {}", peer.name),
            PeerState::Broken(why) => why,
        };
        Availability::Missing { reason, install: peer.remedy() }
    }

    /// Opens a pipeline, and starts the worker if none is there.
    pub(super) fn open(&mut self, spec: &PipelineSpec, data: &Arc<DataSet>) -> Result<Box<dyn Epochs + '_>> {
        self.open_parts(spec, &PipelineParts::of(spec, data)?)
    }

    /// Opens a pipeline that runs its transforms in this way, and starts the worker if none is there.
    pub(super) fn open_in(
        &mut self,
        mode: ExecutionMode,
        spec: &PipelineSpec,
        data: &Arc<DataSet>,
    ) -> Result<Box<dyn Epochs + '_>> {
        self.open_parts(spec, &PipelineParts::of(spec, data)?.in_mode(mode))
    }

    fn open_parts(&mut self, spec: &PipelineSpec, parts: &PipelineParts) -> Result<Box<dyn Epochs + '_>> {
        let peer = self.peer;
        let worker = self.ready_by(spec.interpreter)?;
        open(worker, peer.short, spec, parts)?;
        let pipeline = RemotePipeline::new(worker)?;
        if spec.interpreter == Interpreter::FreeThreaded {
            without_lock(peer, &pipeline.executed().environment)?;
        }
        Ok(Box::new(pipeline))
    }

    /// Opens a state, and starts the worker if none is there.
    pub(super) fn open_state(
        &mut self,
        options: &SaveOptions,
        data: &Arc<DataSet>,
    ) -> Result<Box<dyn Checkpoints + '_>> {
        let parts = StateParts::of(options, data);
        let converted = format!("{}/{}", self.peer.short, data.digest());
        let worker = self.ready()?;
        let task =
            PipelineTask { contract: CHECKPOINTER, converted: &converted, epoch: None, on_device: false };
        worker.open(task, &parts).map(drop)?;
        Ok(Box::new(OpenState::new(worker)?))
    }

    /// Opens a state that lies on several ranks, each in a process that is started for it and ends with it.
    pub(super) fn open_state_ranks(
        &self,
        options: &SaveOptions,
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Checkpoints + Send + 'static>>> {
        let converted = format!("{}/{}", self.peer.short, data.digest());
        let (count, meet) = (options.placement.devices(), free_address()?);
        let opened = self.on_ranks(count, |index, mut worker| {
            let parts = StateParts::of(options, data).ranked(RankMessage::new(index, count, meet));
            let task =
                PipelineTask { contract: CHECKPOINTER, converted: &converted, epoch: None, on_device: false };
            worker.open(task, &parts)?;
            OpenState::new(worker)
        })?;
        Ok(opened.into_iter().map(|rank| Box::new(rank) as Box<dyn Checkpoints + Send>).collect())
    }

    /// Starts a process for each of so many ranks, and opens all at once: they meet while they are opened.
    fn on_ranks<T: Send>(
        &self,
        count: usize,
        open: impl Fn(usize, Box<Worker>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let peer = self.peer;
        // A rank is one device: here one processor.
        let command = ONE_THREAD
            .iter()
            .fold(self.command()?.threads(1), |command, (name, value)| command.env(name, value));
        let mut started: Vec<Option<Result<Worker>>> =
            Worker::start_all(&command, count).into_iter().map(Some).collect();
        at_once(&mut started, |index, started| {
            let started = started.take().unwrap_or_else(|| Err(Error::new("it was opened before")));
            open(index, Box::new(checked(peer, started?)?))
        })
    }

    /// Opens a checkpoint that lies somewhere, and starts the worker if none is there.
    pub(super) fn open_stored(&mut self, files: StoredFiles<'_>) -> Result<Box<dyn StoredCheckpoint + '_>> {
        let parts = StoredParts::of(files)?;
        let converted = format!("{}/stored", self.peer.short);
        let worker = self.ready()?;
        let task =
            PipelineTask { contract: CHECKPOINTER, converted: &converted, epoch: None, on_device: false };
        worker.open(task, &parts).map(drop)?;
        Ok(Box::new(OpenStored::new(worker)?))
    }

    /// Opens a training, and starts the worker if none is there.
    pub(super) fn open_training(
        &mut self,
        spec: &TrainingSpec,
        how: Compilation,
        data: &DataSet,
        weights: &DataSet,
    ) -> Result<Box<dyn TrainingLoop + '_>> {
        let parts = TrainingParts::of(spec, how, data, weights)?;
        let converted = format!("{}/{}", self.peer.short, data.digest());
        let epoch = Some(spec.expected()?);
        let worker = self.ready()?;
        let task = PipelineTask { contract: TRAINER, converted: &converted, epoch, on_device: false };
        worker.open(task, &parts).map(drop)?;
        Ok(Box::new(RemotePipeline::new(worker)?))
    }

    /// Opens a training on several ranks, each in a process that is started for it and ends with it: none has trained before, since a
    /// framework may meet others once in the life of a process.
    pub(super) fn open_ranks(
        &self,
        spec: &TrainingSpec,
        how: Compilation,
        ranks: TrainingRanks,
        data: &DataSet,
        weights: &DataSet,
    ) -> Result<Vec<Box<dyn TrainingLoop + Send + 'static>>> {
        let share = TrainingSpec { batch: ranks.share(spec), ..spec.clone() };
        let (epoch, meet) = (share.expected()?, free_address()?);
        let converted = format!("{}/{}", self.peer.short, data.digest());
        let opened = self.on_ranks(ranks.count, |index, mut worker| {
            let parts = TrainingParts::of(spec, how, data, weights)?.ranked(index, ranks, meet);
            let task = PipelineTask {
                contract: TRAINER,
                converted: &converted,
                epoch: Some(epoch),
                on_device: false,
            };
            worker.open(task, &parts)?;
            RemotePipeline::new(worker)
        })?;
        Ok(opened.into_iter().map(|rank| Box::new(rank) as Box<dyn TrainingLoop + Send>).collect())
    }

    /// Opens a learning task, and starts the worker if none is there.
    pub(super) fn open_learning(
        &mut self,
        task: &LearningTask,
        data: &DataSet,
    ) -> Result<Box<dyn LearningLoop + '_>> {
        let parts = LearningParts::of(task, data)?;
        let converted = format!("{}/{}", self.peer.short, data.digest());
        let epoch = Some(task.expected()?);
        let worker = self.ready()?;
        let opened = PipelineTask { contract: LEARNER, converted: &converted, epoch, on_device: false };
        worker.open(opened, &parts).map(drop)?;
        Ok(Box::new(RemoteLearning::new(worker, task)?))
    }

    /// Opens one pipeline in each of as many processes, as data-parallel training does. The worker that stays has the
    /// first; the others are started for these pipelines, side by side, and end with them.
    pub(super) fn open_many(
        &mut self,
        specs: &[PipelineSpec],
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Epochs + Send + '_>>> {
        let of = specs.len();
        let ranked = |(index, spec)| Ok((spec, PipelineParts::of(spec, data)?.ranked(index, of)));
        let parts: Vec<(&PipelineSpec, PipelineParts)> =
            specs.iter().enumerate().map(ranked).collect::<Result<_>>()?;
        let Some(((spec, own), others)) = parts.split_first() else { return Ok(Vec::new()) };
        let (peer, command) = (self.peer, self.command()?);
        // What the first declines, no other is started for.
        let worker = self.ready()?;
        open(worker, peer.short, spec, own)?;
        let opened = |started: Result<Worker>, spec: &PipelineSpec, parts: &PipelineParts| {
            let mut worker = Box::new(checked(peer, started?)?);
            open(&mut worker, peer.short, spec, parts)?;
            RemotePipeline::new(worker)
        };
        let started = Worker::start_all(&command, others.len());
        let others: Vec<Result<RemotePipeline<Box<Worker>>>> = thread::scope(|scope| {
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
        pipelines.push(Box::new(RemotePipeline::new(worker)?));
        for (index, opened) in others.into_iter().enumerate() {
            let told = |error: Error| {
                let what = format!("worker {} of {of} (from 0): {error}", index + 1);
                Error::of(error.kind().clone(), what)
            };
            pipelines.push(Box::new(opened.map_err(told)?));
        }
        Ok(pipelines)
    }

    /// The worker that stays, by the Python that its framework is installed for.
    fn ready(&mut self) -> Result<&mut Worker> {
        self.ready_by(Interpreter::Default)
    }

    /// The worker that stays, which can open a pipeline. One by another interpreter is ended before.
    fn ready_by(&mut self, interpreter: Interpreter) -> Result<&mut Worker> {
        if self.interpreter != interpreter {
            self.worker = None;
            self.interpreter = interpreter;
        }
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

/// Declines a worker whose interpreter has its global lock.
fn without_lock(peer: &Peer, environment: &BTreeMap<String, String>) -> Result<()> {
    match environment.get(LOCK).map(String::as_str) {
        Some("off") => Ok(()),
        Some(_) => Err(skip(format!(
            "python free_threaded: the global lock of {} is on, since something that it imports asks for it",
            peer.name
        ))),
        None => Err(skip(format!(
            "python free_threaded: the interpreter of {} is not one without a global lock",
            peer.name
        ))),
    }
}

/// The fact of a worker's environment that says whether the global lock is `on` or `off`, where an interpreter can do without.
const LOCK: &str = "gil";

fn command(peer: &Peer, interpreter: Interpreter) -> Result<Command> {
    let python = match NamedPeer::get() {
        Some(named) => named.path.clone(),
        None => {
            let home = peer::home();
            let home = home.ok_or_else(|| {
                Error::new("there is no folder of frameworks: set WEIGHBRIDGE_PEERS to one")
            })?;
            interpreter_below(&home, peer, interpreter)?
        }
    };
    let worker = module(python, "weighbridge_worker");
    let folder = match peer.contract {
        CHECKPOINTER => "checkpointers",
        TRAINER => "trainers",
        // One thread, as its neighbours that are native have.
        LEARNER => return Ok(worker.arg(format!("learners.{}", peer.short))),
        _ => return Ok(worker.arg(peer.short)),
    };
    // Its figures are of the whole machine, as its users have it.
    let processors = thread::available_parallelism().map_or(1, usize::from);
    Ok(worker.arg(format!("{folder}.{}", peer.short)).threads(processors))
}

/// Where the interpreter of a peer is, below this home. That a framework is installed at all is known; whether it is for another Python is not.
fn interpreter_below(home: &Path, peer: &Peer, interpreter: Interpreter) -> Result<PathBuf> {
    if interpreter == Interpreter::Default {
        return Ok(peer.python(home));
    }
    let home = peer::free_threaded(home);
    match peer.missing(&home) {
        None => Ok(peer.python(&home)),
        Some(why) => Err(skip(format!("python free_threaded: {why} --python {FREE_THREADED}"))),
    }
}

/// What else keeps a framework to one thread: XLA sizes its pool by the first.
const ONE_THREAD: &[(&str, &str)] = &[("NPROC", "1"), ("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")];

/// A module of the folder of the worker's package, under this Python, as every worker of a framework is run.
pub(super) fn module(python: PathBuf, module: &str) -> Command {
    let command = Command::new(python)
        .arg("-P") // nothing is imported from the current directory
        .arg("-m")
        .arg(module)
        .env("PYTHONPATH", package());
    VARIABLES.iter().fold(command, |command, (name, value)| command.env(name, value))
}

/// Opens a pipeline in a worker.
fn open(worker: &mut Worker, short: &str, spec: &PipelineSpec, parts: &PipelineParts) -> Result<()> {
    let converted = format!("{short}/{}", parts.digest());
    let on_device = spec.destination == Destination::Device;
    let task =
        PipelineTask { contract: LOADER, converted: &converted, epoch: Some(spec.expected()?), on_device };
    worker.open(task, parts).map(drop)
}

/// Where the package of the worker lies: where it is named, else in the sources that this was built from; where those are
/// not, since the program was carried elsewhere, in a folder `python` beside the program.
pub(super) fn package() -> PathBuf {
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
    ("DAFT_PROGRESS_BAR", "0"),
    ("DO_NOT_TRACK", "true"),
];

#[cfg(test)]
mod tests {
    use super::super::peer::{Installed, find};
    use super::*;

    #[test]
    fn a_python_without_a_global_lock_is_looked_for_beside_and_its_absence_is_a_skip_with_the_command() {
        let place = tempfile::tempdir().expect("a folder");
        let (home, peer) = (place.path(), find("numpy").expect("known"));
        let below = |interpreter| interpreter_below(home, peer, interpreter);
        let usual = below(Interpreter::Default).expect("found");
        assert_eq!(usual, home.join("numpy/venv/bin/python"));
        let why = below(Interpreter::FreeThreaded).expect_err("it is not there");
        assert!(why.is_skip(), "{why}");
        let words = "python free_threaded: not installed: cargo xtask peers install numpy --python 3.13t";
        assert!(why.to_string().contains(words), "{why}");
        let other = home.join("free-threaded/numpy/venv/bin/python");
        std::fs::create_dir_all(other.parent().expect("it has one")).expect("made");
        std::fs::write(&other, "").expect("written");
        let installed = Installed::new(peer, "2.4.6".into(), "3.13.15".into(), b"");
        let text = serde_json::to_string(&installed).expect("JSON");
        std::fs::write(home.join("free-threaded/numpy/installed.json"), text).expect("written");
        assert_eq!(below(Interpreter::FreeThreaded).expect("found"), other);
    }

    #[test]
    fn a_worker_that_says_that_its_lock_is_on_or_says_nothing_of_it_is_declined_by_name() {
        let peer = find("numpy").expect("known");
        let said = |lock: Option<&str>| {
            let environment = lock.map(|lock| (LOCK.to_owned(), lock.to_owned())).into_iter().collect();
            without_lock(peer, &environment)
        };
        said(Some("off")).expect("it has none");
        for (lock, words) in [(Some("on"), "the global lock of NumPy is on"), (None, "is not one without")] {
            let why = said(lock).expect_err("refused");
            assert!(why.is_skip() && why.to_string().contains(words), "{why}");
        }
    }
}
