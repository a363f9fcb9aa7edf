//! A framework's worker: how it is started, and which one stays.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread;

use weighbridge::worker::{Command, Worker};
use weighbridge::{Availability, Error, ErrorKind, Result, skip};
use weighbridge_data::ranks::at_once;

use crate::interpreter::Interpreter;
use crate::named_peer::NamedPeer;
use crate::package::module;
use crate::peer;
use crate::peer::{CHECKPOINTER, FREE_THREADED, LEARNER, PREDICTOR, Peer, PeerState, TRAINER};

/// A framework of Python: its worker is started when something is opened in it first, and stays for what
/// comes next.
#[derive(Debug)]
pub struct Framework {
    peer: &'static Peer,
    /// The command that starts it, where that is not the one that peers are started by.
    command: Option<Command>,
    worker: Option<Worker>,
    /// By which the worker runs.
    interpreter: Interpreter,
}

impl Framework {
    /// The framework of this short name, not yet started.
    ///
    /// # Errors
    /// A name that is in no table.
    pub fn new(short: &str) -> Result<Self> {
        let peer = peer::find(short);
        let peer = peer.ok_or_else(|| Error::new(format!("`{short}` is in no table of frameworks")))?;
        Ok(Self { peer, command: None, worker: None, interpreter: Interpreter::Default })
    }

    /// A framework that is started in another way: a worker that is written for a test.
    pub fn started_by(peer: &'static Peer, command: Command) -> Self {
        Self { peer, command: Some(command), worker: None, interpreter: Interpreter::Default }
    }

    /// A system whose adapter is this file, in the environment of the framework of this short name. The file
    /// calls itself by that framework's name.
    ///
    /// # Errors
    /// A name that is in no table; no folder of frameworks.
    pub fn of_file(short: &str, file: &Path) -> Result<Self> {
        let own = Self::new(short)?;
        let command = module(python(own.peer, Interpreter::Default)?, "weighbridge_worker").arg(file);
        Ok(Self { command: Some(command), ..own })
    }

    /// The same, told this by an environment variable.
    #[must_use]
    pub fn with(self, name: &str, value: &str) -> Self {
        Self { command: self.command.map(|command| command.env(name, value)), ..self }
    }

    /// Its row in the table.
    pub fn peer(&self) -> &'static Peer {
        self.peer
    }

    /// The name of the folder that what it converts of a data set of this digest is kept in.
    pub fn converted(&self, digest: &str) -> String {
        format!("{}/{digest}", self.peer.short)
    }

    fn command(&self) -> Result<Command> {
        self.command.clone().map_or_else(|| command(self.peer, self.interpreter), Ok)
    }

    /// Returns whether the framework of this short name is installed. Looks at files and starts nothing but
    /// an interpreter that was named, once.
    pub fn availability(short: &str) -> Availability {
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

    /// Starts a process for each of so many ranks, and opens all at once: they meet while they are opened.
    ///
    /// # Errors
    /// As [`at_once`].
    pub fn on_ranks<T: Send>(
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

    /// Returns a function that starts so many workers beside the one that stays, side by side. What is opened
    /// in them ends with them.
    ///
    /// # Errors
    /// An interpreter that is not there.
    pub fn others(&self) -> Result<impl FnOnce(usize) -> Vec<Result<Worker>> + use<>> {
        let (peer, command) = (self.peer, self.command()?);
        let own = move |worker: Result<Worker>| checked(peer, worker?);
        Ok(move |count| Worker::start_all(&command, count).into_iter().map(own).collect())
    }

    /// The worker that stays, by the Python that its framework is installed for; started if none is there.
    ///
    /// # Errors
    /// An interpreter that is not there; a worker that does not start, or is another framework's.
    pub fn ready(&mut self) -> Result<&mut Worker> {
        self.ready_by(Interpreter::Default)
    }

    /// The worker that stays, which can open a pipeline. One by another interpreter is ended before.
    ///
    /// # Errors
    /// As [`Framework::ready`].
    pub fn ready_by(&mut self, interpreter: Interpreter) -> Result<&mut Worker> {
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
///
/// # Errors
/// A skip that names the framework.
pub fn without_lock(peer: &Peer, environment: &BTreeMap<String, String>) -> Result<()> {
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

/// The fact of a worker's environment that says whether the global lock is `on` or `off`, where an
/// interpreter can do without.
const LOCK: &str = "gil";

/// The path of the interpreter that has a framework: the one that was named, else one of its environment.
pub(crate) fn python(peer: &Peer, interpreter: Interpreter) -> Result<PathBuf> {
    if let Some(named) = NamedPeer::get() {
        return Ok(named.path.clone());
    }
    let home = peer::home();
    let home =
        home.ok_or_else(|| Error::new("there is no folder of frameworks: set WEIGHBRIDGE_PEERS to one"))?;
    interpreter_below(&home, peer, interpreter)
}

fn command(peer: &Peer, interpreter: Interpreter) -> Result<Command> {
    let worker = module(python(peer, interpreter)?, "weighbridge_worker");
    let worker = with_keys(worker, peer);
    let folder = match peer.contract {
        CHECKPOINTER => "checkpointers",
        TRAINER => "trainers",
        PREDICTOR => "predictors",
        // One thread, as its neighbours that are native have.
        LEARNER => return Ok(worker.arg(format!("learners.{}", peer.short))),
        _ => return Ok(worker.arg(peer.short)),
    };
    // Its figures are of the whole machine, as its users have it.
    let processors = thread::available_parallelism().map_or(1, usize::from);
    Ok(worker.arg(format!("{folder}.{}", peer.short)).threads(processors))
}

/// The system that reads from object stores.
const READS_STORES: &str = "runai";
/// Variables that hold the keys of a store. Nobody else's worker gets them.
const KEYS_OF_STORES: &[&str] = &[
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// The worker with the keys of object stores, where its system reads from such.
fn with_keys(worker: Command, peer: &Peer) -> Command {
    let keys = KEYS_OF_STORES.iter().filter(|_| peer.short == READS_STORES);
    keys.fold(worker, |worker, name| worker.hand_on(*name))
}

/// The path of the interpreter of a peer, below this home. That a framework is installed at all is known;
/// whether it is for another Python is not.
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

/// Variables that keep a framework to one thread, beside those that all workers get: XLA sizes its pool by
/// the first.
const ONE_THREAD: &[(&str, &str)] = &[("NPROC", "1"), ("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{Installation, find};

    #[test]
    fn only_the_system_that_reads_from_object_stores_gets_their_keys() {
        let told = |short: &str| {
            let peer = find(short).expect("known");
            format!("{:?}", with_keys(Command::new("python"), peer)).contains("AWS_SECRET_ACCESS_KEY")
        };
        assert!(told(READS_STORES) && !told("numpy"));
    }

    #[test]
    fn a_python_without_a_global_lock_is_looked_for_beside_and_its_absence_is_a_skip_with_the_command() {
        let place = tempfile::tempdir().expect("a folder");
        let (home, peer) = (place.path(), find("numpy").expect("known"));
        let below = |interpreter| interpreter_below(home, peer, interpreter);
        let usual = below(Interpreter::Default).expect("found");
        assert_eq!(usual, home.join("numpy/venv/bin/python"));
        let why = below(Interpreter::FreeThreaded).expect_err("it is not there");
        assert!(why.is_skip(), "{why}");
        let words = "python free_threaded: not installed: cargo catalogue peers install numpy --python 3.13t";
        assert!(why.to_string().contains(words), "{why}");
        let other = home.join("free-threaded/numpy/venv/bin/python");
        std::fs::create_dir_all(other.parent().expect("it has one")).expect("made");
        std::fs::write(&other, "").expect("written");
        let installed = Installation::new(peer, "2.4.6".into(), "3.13.15".into(), b"");
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
