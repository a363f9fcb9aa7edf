//! One level from its begin to its end: the pacer, the cores, and the raw records that they leave.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::channel;
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::Pid;

use crate::arrivals::{Load, Stage};
use crate::clock::Stamp;
use crate::connection::{ConnectionCounts, ExchangeLimits, RequestHead};
use crate::core::{self, CorePart, CoreReport, LevelSetting};
use crate::pacer::{Pacer, SPIN, Wish};
use crate::sink::Sink;
use crate::target::{Target, TargetError};
use crate::workload::Workload;

/// The reason that a level could not be driven at all.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The target has no address.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The path or the key has characters that HTTP has not.
    #[error("`{0}` has characters in its path or its key that HTTP does not allow")]
    Head(String),
    /// The records cannot be written.
    #[error("failed to write the raw records {}: {error}", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// The words of the system.
        error: io::Error,
    },
    /// A thread could not be started, or died.
    #[error("failed to run a thread of the client: {0}")]
    Thread(io::Error),
}

/// A load, and the time that it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The load.
    pub load: Load,
    /// The time at the start of the load that no figure has.
    pub warm_up: Duration,
    /// The time after it, which is measured.
    pub length: Duration,
    /// The most requests of a closed loop.
    pub requests: Option<u64>,
}

impl Level {
    /// A level without warm-up: ten seconds of a closed loop, all of a schedule.
    pub fn of(load: Load) -> Self {
        let length = match &load {
            Load::Closed { .. } => Duration::from_secs(10),
            Load::Open { stages, .. } => stages.iter().map(|stage| stage.length).sum(),
            // The last one is due within; a trace of a moment has no rate, and is measured for a second.
            Load::Trace(arrivals) => {
                let last = arrivals.last().map_or(0, |last| last.at + 1);
                Duration::from_nanos(last).max(Duration::from_secs(1))
            }
        };
        Self { load, warm_up: Duration::ZERO, length, requests: None }
    }

    /// The same after a warm-up: users ramp up in it, a rate holds for so much longer, and a trace has it
    /// within its own time.
    #[must_use]
    pub fn warmed_up(mut self, warm_up: Duration) -> Self {
        self.warm_up = warm_up;
        match &mut self.load {
            Load::Closed { .. } => {}
            Load::Open { stages, .. } => {
                let rate = stages.first().map_or(0.0, |stage| stage.rate);
                stages.insert(0, Stage { rate, length: warm_up });
            }
            Load::Trace(_) => self.length = self.length.saturating_sub(warm_up),
        }
        self
    }
}

/// The bounds of the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientLimits {
    /// Threads that send and read, each on a processor of its own.
    pub cores: usize,
    /// The most connections at once, over all cores.
    pub connections: usize,
    /// The time that a request may take.
    pub time: Duration,
    /// The most bytes of an answer.
    pub body: usize,
    /// The most bytes of all answers that are being read.
    pub underway: usize,
    /// The most bytes on their way to the disk.
    pub unwritten: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        // A processor is left to the pacer and to what else there is.
        let cores = std::thread::available_parallelism().map_or(1, |count| (count.get() / 2).max(1));
        Self {
            cores,
            connections: 8192,
            time: Duration::from_mins(1),
            body: 8 << 20,
            underway: 1 << 30,
            unwritten: 256 << 20,
        }
    }
}

impl ClientLimits {
    /// The bounds of an exchange on one of so many cores.
    pub(crate) fn of_exchange(&self, cores: usize) -> ExchangeLimits {
        ExchangeLimits { time: self.time, body: self.body, underway: self.underway / cores }
    }
}

/// The client's account of itself after a level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientState {
    /// Connections that were opened.
    pub opened: u64,
    /// Requests on a connection that was open already.
    pub reused: u64,
    /// Connections that did not come about.
    pub failed: u64,
    /// The nanoseconds by which a core was late, asked every 10 ms; in order.
    pub late: Vec<u64>,
    /// The largest share of a core's time in which its thread had the processor.
    pub busy: f64,
    /// The most requests that were due while all connections were taken.
    pub backlog: usize,
    /// Records that the disk was too slow for.
    pub lost: u64,
}

/// Drives a level, whose prompts count from `first`, and leaves its records in the file.
pub(crate) fn drive(
    target: &Target,
    workload: &Workload,
    level: &Level,
    limits: &ClientLimits,
    first: u64,
    file: &Path,
) -> Result<(ClientState, Stamp), DriveError> {
    let head =
        RequestHead::find(target, workload.stream)?.ok_or_else(|| DriveError::Head(target.to_string()))?;
    let failed = |error| DriveError::Records { path: file.to_owned(), error };
    allow_files();
    let (users, think) = match level.load {
        Load::Closed { users, think } => (Some(users as usize), Some(think)),
        _ => (None, None),
    };
    let cores = limits.cores.clamp(1, users.unwrap_or(usize::MAX).max(1));
    let (sink, ends) = Sink::create(file, cores, limits.unwritten).map_err(failed)?;
    // Threads are to have started before the first request is due.
    let start = Stamp::now().after(Duration::from_millis(20));
    let measured_from = start.after(level.warm_up);
    let end = measured_from.after(level.length);
    let stop = Arc::default();
    let setting = Arc::new(LevelSetting {
        head,
        target: target.clone(),
        workload: workload.clone(),
        think,
        first,
        measured_from,
        end,
        limits: limits.of_exchange(cores),
        most: level.requests.unwrap_or(u64::MAX),
        begun: AtomicU64::new(0),
        stop: Arc::clone(&stop),
    });
    let (wishes, wished) = channel();
    let mut dues = Vec::new();
    let mut threads = Vec::new();
    let processors = processors();
    // One for each core, one for the pacer, and one for everything else.
    let is_roomy = processors.len() > cores + 1;
    for (place, sink) in ends.into_iter().enumerate() {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
        dues.push(sender);
        let part = CorePart {
            place,
            setting: Arc::clone(&setting),
            dues: receiver,
            wishes: wishes.clone(),
            sink,
            connections: limits.connections.div_ceil(cores).max(1),
        };
        let processor = processors.get(place).copied().filter(|_| processors.len() > cores);
        threads.push(spawn("load-core", move || {
            pin(processor);
            core::run(part)
        })?);
    }
    // Users come one after another over half of the warm-up.
    let ramp = level.warm_up.as_nanos() as u64 / 2;
    for user in 0..users.unwrap_or(0) {
        let at = Stamp(start.0 + ramp * user as u64 / users.unwrap_or(1) as u64);
        let _ = wishes.send(Wish { at, core: user % cores });
    }
    drop(wishes);
    let pacer = Pacer {
        start,
        end: users.map(|_| end),
        schedule: level.load.schedule(workload.seed ^ first),
        wishes: wished,
        cores: dues,
        spin: if is_roomy { SPIN } else { Duration::ZERO },
        stop,
    };
    let pacer = spawn("load-pacer", move || {
        pacer.run();
        Ok(CoreReport::default())
    })?;
    let reports: Vec<CoreReport> = threads.into_iter().chain([pacer]).map(join).collect::<Result<_, _>>()?;
    let lost = sink.finish().map_err(failed)?;
    Ok((ClientState { lost, ..merged(reports) }, measured_from))
}

type CoreThread = std::thread::JoinHandle<io::Result<CoreReport>>;

fn spawn(
    name: &str,
    work: impl FnOnce() -> io::Result<CoreReport> + Send + 'static,
) -> Result<CoreThread, DriveError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(DriveError::Thread)
}

fn join(thread: CoreThread) -> Result<CoreReport, DriveError> {
    let ended = thread.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")));
    ended.map_err(DriveError::Thread)
}

fn merged(reports: Vec<CoreReport>) -> ClientState {
    let mut state = ClientState::default();
    for CoreReport { counts: ConnectionCounts { opened, reused, failed }, late, busy, backlog } in reports {
        state.opened += opened;
        state.reused += reused;
        state.failed += failed;
        state.late.extend(late);
        state.busy = state.busy.max(busy);
        state.backlog = state.backlog.max(backlog);
    }
    state.late.sort_unstable();
    state
}

/// Lets this process have as many sockets as the system allows: the usual limit is for programs that read
/// files.
fn allow_files() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// The processors that this process may use.
fn processors() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|processor| allowed.is_set(*processor).unwrap_or(false)).collect()
}

/// Keeps this thread on a processor. Where the system does not allow it, the thread runs where it is put.
fn pin(processor: Option<usize>) {
    let mut only = CpuSet::new();
    if let Some(processor) = processor
        && only.set(processor).is_ok()
    {
        let _ = sched_setaffinity(Pid::from_raw(0), &only);
    }
}
