//! A worker as scenarios and adapters see it: what it can be asked, one after the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::command::Command;
use super::conversation::Conversation;
use super::epoch;
use super::exchange::Exchange;
use super::protocol::{
    CollectorAnswer, CopiedBatch, ElementOrder, EpochRequest, ExchangedBatch, Hello, OpenedPipeline,
    RunRequest, TimedEpoch, VERSION, WorkerRequest, WorkerResponse,
};
use crate::bencher::{
    Budget, CheckedBatch, ClockFault, Costs, Count, Error, ErrorKind, ExpectedEpoch, FileUse, ItemCopy,
    Remote, RemoteEpoch, RemoteRun, ResourceUse, Result, UnstoppedRequest, WorkFault, skip,
};
use crate::device::Platform;
use crate::metric::Ledger;
use crate::process::{ChildPlace, Trace, TraceKind};

/// A system under test in a process of its own, which has said who it is.
///
/// It opens one pipeline at a time. After an error that ended it, [`Worker::is_ready`] says so, and all that
/// it is asked fails. Dropping it ends its process and all that it started.
#[derive(Debug)]
pub struct Worker {
    process: Conversation,
    place: ChildPlace,
    /// Its own among the workers of this process.
    name: String,
    hello: Hello,
    alive: bool,
    opened: u64,
    open: Option<Open>,
}

/// A worker that has not said yet who it is.
struct StartedWorker {
    process: Conversation,
    place: ChildPlace,
    name: String,
}

impl StartedWorker {
    fn listen(self) -> Result<Worker> {
        let Self { mut process, place, name } = self;
        let hello = match process.listen()? {
            WorkerResponse::Hello(hello) if hello.protocol == VERSION => hello,
            WorkerResponse::Hello(hello) => {
                let what = format!("the worker speaks version {} of the protocol", hello.protocol);
                return Err(process.broke(format!("{what}, the harness {VERSION}")));
            }
            WorkerResponse::Failed(failed) => {
                return Err(Error::new(format!("the worker could not start: {}", failed.detail.trim_end())));
            }
            say => return Err(process.unasked(&say)),
        };
        Ok(Worker { process, place, name, hello, alive: true, opened: 0, open: None })
    }
}

/// The options that a pipeline is opened with, beside those of the contract.
#[derive(Clone, Copy, Debug)]
pub struct PipelineTask<'a> {
    /// The name of the contract: `loader`, `checkpointer`.
    pub contract: &'a str,
    /// Names the adapter and its data: what is converted once is found under the same name for the rest of
    /// the run.
    pub converted: &'a str,
    /// The content of an epoch, where that is known: the worker's figures are checked by it. Whether batches
    /// come in order is what the worker says.
    pub epoch: Option<ExpectedEpoch>,
    /// True if what it hands out is to be on the device of the platform that the run was asked for, and not
    /// on the host.
    pub on_device: bool,
    /// True if its work is to be on that device, whatever it hands out: weights and gradients, a state. Where
    /// they really are is for the worker to say, and another backend than that of the run is refused.
    pub works_on_device: bool,
}

/// An open pipeline.
#[derive(Debug)]
struct Open {
    folder: PathBuf,
    exchange: Exchange,
    what: OpenedPipeline,
    epoch: Option<ExpectedEpoch>,
    /// True if what it hands out is to be in the memory of a device.
    hands_out_on_device: bool,
    /// Memory that the worker's processes had made themselves while the pipeline was opened, in bytes: no
    /// file's. `None` where the system does not say.
    grown: Option<u64>,
    /// The use of files: what was written while it was opened, and read while it was measured.
    files: Option<FileUse>,
    failed: bool,
}

impl Worker {
    /// Starts a worker and waits until it has imported its system.
    ///
    /// # Errors
    /// That it cannot be started, ends, is silent for longer than the case's timeout, speaks another version
    /// of the protocol, or what it says itself.
    pub fn start(command: &Command) -> Result<Self> {
        Self::start_at(command, &ChildPlace::from_env())
    }

    /// Starts several at once, and waits until each has imported its system: they do so side by side. All are
    /// started from the calling thread, which should outlive them: a worker may ask the system to be ended
    /// with whoever started it, and for that a thread counts.
    ///
    /// # Errors
    /// As [`Worker::start`], each its own.
    pub fn start_all(command: &Command, count: usize) -> Vec<Result<Self>> {
        let begin = |_| Self::begin_at(command, &ChildPlace::from_env());
        let started: Vec<_> = (0..count).map(begin).collect();
        started.into_iter().map(|started| started.and_then(StartedWorker::listen)).collect()
    }

    pub(super) fn start_at(command: &Command, place: &ChildPlace) -> Result<Self> {
        Self::begin_at(command, place)?.listen()
    }

    fn begin_at(command: &Command, place: &ChildPlace) -> Result<StartedWorker> {
        // Several may be at work at once: one that is ended takes along all that carries its mark, and nobody
        // else's.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("worker-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let place = place.within(&name);
        let process = Conversation::start(command, place.clone())?;
        Ok(StartedWorker { process, place, name })
    }

    /// The worker's greeting: its system and versions.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Tells whether another pipeline can be opened. What an earlier one has left open is closed; a worker
    /// that cannot do that is not to be used again, which is no fault of the pipeline that comes next.
    pub fn is_ready(&mut self) -> bool {
        let closed = self.close();
        self.alive && closed.is_ok()
    }

    /// Opens a pipeline. `parts` become entries of the message: what the contract says. A pipeline that is
    /// still open is closed first.
    ///
    /// # Errors
    /// A skip with the worker's reason if it declines; that its backend is not the one that it was asked for;
    /// else what went wrong.
    pub fn open(&mut self, task: PipelineTask<'_>, parts: &impl Serialize) -> Result<&OpenedPipeline> {
        if self.open.is_some() {
            self.close()?;
        }
        self.opened += 1;
        let folder = self.place.temporary().join(format!("{}-{}", self.name, self.opened));
        let scratch = folder.join("scratch");
        let converted = self.place.kept().join(task.converted);
        for folder in [&scratch, &converted] {
            fs::create_dir_all(folder).map_err(|error| {
                Error::new(format!("failed to make the folder {}: {error}", folder.display()))
            })?;
        }
        let exchange = Exchange::create(folder.join("exchange"))?;
        let mut message = object("`open`", parts)?;
        add(&mut message, "contract", task.contract);
        let is_there = task.on_device || task.works_on_device;
        let on = if is_there { self.place.platform() } else { Platform::Cpu };
        add(&mut message, "device", on.name());
        add(&mut message, "exchange", &text(exchange.path())?);
        add(&mut message, "scratch", &text(&scratch)?);
        add(&mut message, "converted", &text(&converted)?);
        // `perf` looks at processes from outside.
        if let Some(Trace { kind, folder: traced }) =
            self.place.trace().filter(|trace| trace.kind != TraceKind::Perf)
        {
            fs::create_dir_all(traced).map_err(|error| {
                Error::new(format!("failed to make the folder {}: {error}", traced.display()))
            })?;
            message.insert(
                "trace".to_owned(),
                serde_json::json!({ "kind": kind.name(), "folder": text(traced)? }),
            );
        }
        let (before, moved) = (self.process.tree().own_memory(), self.process.tree().moved());
        let clock = self.process.clock().clone();
        let begun = clock.now();
        let answer = self.ask("opening a pipeline", &WorkerRequest::Open(message));
        let passed = clock.now() - begun;
        let tree = self.process.tree();
        let after = tree.own_memory();
        let files = moved.zip(tree.moved()).map(|(before, after)| FileUse {
            written: after.written.saturating_sub(before.written).max(size(&converted)),
            shared: tree.processes().len() > 1,
            worker: true,
            ..FileUse::default()
        });
        let what = match answer {
            Ok(WorkerResponse::Opened(what)) => *what,
            Ok(other) => {
                let _ = fs::remove_dir_all(&folder);
                return Err(self.not(&other, "`opened`"));
            }
            Err(error) => {
                let _ = fs::remove_dir_all(&folder);
                return Err(error);
            }
        };
        let costs = [what.costs.convert, what.costs.set_up, what.costs.compile];
        let claimed = costs.iter().flatten().fold(0_u64, |sum, cost| sum.saturating_add(*cost));
        let claimed = Duration::from_nanos(claimed);
        if claimed > passed + epoch::SLACK {
            let _ = fs::remove_dir_all(&folder);
            self.alive = false;
            return Err(self.process.broke(format!(
                "the worker claims {claimed:?} for opening a pipeline, but {passed:?} passed"
            )));
        }
        let grown = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        let active = what.backend.clone();
        let in_order = what.order == ElementOrder::Kept;
        let makers = what.executed.workers.max(1);
        let epoch = task.epoch.map(|epoch| ExpectedEpoch { in_order, makers, ..epoch });
        let hands_out_on_device = task.on_device && on != Platform::Cpu;
        self.open =
            Some(Open { folder, exchange, what, epoch, hands_out_on_device, grown, files, failed: false });
        if active != on.name() {
            self.close()?;
            let what =
                format!("platform {on} was asked for, but the active backend of the worker is {active}");
            return Err(Error::of(ErrorKind::Protocol, what));
        }
        self.opened()
    }

    /// Returns the pipeline that was opened.
    ///
    /// # Errors
    /// That nothing is open.
    pub fn opened(&self) -> Result<&OpenedPipeline> {
        self.open.as_ref().map(|open| &open.what).ok_or_else(nothing_open)
    }

    /// Goes to before the first batch of an epoch.
    ///
    /// # Errors
    /// What went wrong.
    pub fn begin(&mut self, epoch: u64) -> Result<()> {
        match self.ask("beginning an epoch", &WorkerRequest::Begin { epoch })? {
            WorkerResponse::Begun(_) => Ok(()),
            other => Err(self.not(&other, "`begun`")),
        }
    }

    /// The next batch; `None` at the end of the epoch.
    ///
    /// # Errors
    /// What went wrong.
    pub fn advance(&mut self) -> Result<Option<ItemCopy>> {
        match self.ask("making a batch", &WorkerRequest::Advance {})? {
            WorkerResponse::Batch(batch) => self.read(&batch).map(Some),
            WorkerResponse::End(_) => Ok(None),
            other => Err(self.not(&other, "`batch` or `end`")),
        }
    }

    /// Makes the next batch, cuts the `index`-th of `of` equal runs of bytes out of each of its elements, and
    /// says what those hold; `None` at the end of the epoch. Nothing is handed over.
    ///
    /// # Errors
    /// What went wrong.
    pub fn step(&mut self, index: usize, of: usize) -> Result<Option<Count>> {
        match self.ask("making a batch in step", &WorkerRequest::Step { band: [index, of] })? {
            WorkerResponse::Stepped(stepped) => {
                Ok(Some(Count { elements: stepped.elements, bytes: stepped.bytes }))
            }
            WorkerResponse::End(_) => Ok(None),
            other => Err(self.not(&other, "`stepped` or `end`")),
        }
    }

    /// The whole of the batch that [`Worker::step`] made last.
    ///
    /// # Errors
    /// What went wrong.
    pub fn fetch(&mut self) -> Result<ItemCopy> {
        match self.ask("handing a batch over", &WorkerRequest::Fetch {})? {
            WorkerResponse::Batch(batch) => self.read(&batch),
            other => Err(self.not(&other, "`batch`")),
        }
    }

    /// Returns the resources that the worker and all that it started have used since some moment: two answers
    /// differ by what was used between them.
    ///
    /// # Errors
    /// What went wrong.
    pub fn used(&mut self) -> Result<ResourceUse> {
        match self.ask("saying what it has used", &WorkerRequest::Usage {})? {
            WorkerResponse::Used(usage) => Ok(usage),
            other => Err(self.not(&other, "`used`")),
        }
    }

    /// The id of its process.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// The place in the epoch, as text.
    ///
    /// # Errors
    /// A skip if the worker declines; else what went wrong.
    pub fn save(&mut self) -> Result<String> {
        match self.ask("saving its place", &WorkerRequest::Save {})? {
            WorkerResponse::Saved(saved) => Ok(saved.state),
            other => Err(self.not(&other, "`saved`")),
        }
    }

    /// Goes to a place that was saved.
    ///
    /// # Errors
    /// As [`Worker::save`].
    pub fn restore(&mut self, state: &str) -> Result<()> {
        match self.ask("restoring a place", &WorkerRequest::Restore { state: state.to_owned() })? {
            WorkerResponse::Restored(_) => Ok(()),
            other => Err(self.not(&other, "`restored`")),
        }
    }

    /// Asks for something that the contract of what is open has, by its name. `parts` become entries of the
    /// message. Gives the times that are told, in nanoseconds, by the names that the contract has for them.
    ///
    /// # Errors
    /// A skip if the worker declines; else what went wrong.
    pub fn call(&mut self, name: &str, parts: &impl Serialize) -> Result<BTreeMap<String, Vec<u64>>> {
        match self.ask_to(name, parts)? {
            WorkerResponse::Answer(answer) => Ok(answer.times),
            other => Err(self.not(&other, "`answer`")),
        }
    }

    /// Has its collectors collect from now on those of these names that it has; without a name they end.
    ///
    /// # Errors
    /// As [`Worker::call`].
    pub fn collect(&mut self, collectors: &[&str]) -> Result<CollectorAnswer> {
        self.collected_by("collect", &serde_json::json!({ "collectors": collectors }))
    }

    /// Returns the findings of its collectors since they began, or since they were last asked.
    ///
    /// # Errors
    /// As [`Worker::call`].
    pub fn collected(&mut self) -> Result<CollectorAnswer> {
        self.collected_by("collected", &serde_json::json!({}))
    }

    fn collected_by(&mut self, name: &str, parts: &impl Serialize) -> Result<CollectorAnswer> {
        match self.ask_to(name, parts)? {
            WorkerResponse::Answer(answer) => Ok(answer.collected()),
            other => Err(self.not(&other, "`answer`")),
        }
    }

    /// As [`Worker::call`], for what is answered by content.
    ///
    /// # Errors
    /// As [`Worker::call`].
    pub fn call_for_batch(&mut self, name: &str, parts: &impl Serialize) -> Result<ItemCopy> {
        match self.ask_to(name, parts)? {
            WorkerResponse::Batch(batch) => self.read(&batch),
            other => Err(self.not(&other, "`batch`")),
        }
    }

    fn ask_to(&mut self, name: &str, parts: &impl Serialize) -> Result<WorkerResponse> {
        let mut message = object("a call", parts)?;
        add(&mut message, "name", name);
        self.ask(&format!("answering the call `{name}`"), &WorkerRequest::Call(message))
    }

    /// The ids of its processes: itself and what it has started.
    pub fn processes(&self) -> Vec<u32> {
        self.process.tree().processes()
    }

    /// Closes the pipeline, if one is open. How long that took by the worker's clock, where it says so.
    ///
    /// # Errors
    /// What went wrong. The worker is not to be used then.
    pub fn close(&mut self) -> Result<Option<Duration>> {
        let Some(open) = self.open.take() else { return Ok(None) };
        let answer = self.ask_anything("closing a pipeline", &WorkerRequest::Close {});
        let _ = fs::remove_dir_all(&open.folder);
        match answer? {
            WorkerResponse::Closed(closed) => Ok(closed.tear_down.map(Duration::from_nanos)),
            other => {
                // What is not let go would be in the way of the next case.
                self.alive = false;
                Err(self.not(&other, "`closed`"))
            }
        }
    }

    /// Asks something of the open pipeline.
    fn ask(&mut self, doing: &str, ask: &WorkerRequest) -> Result<WorkerResponse> {
        match &self.open {
            None if !matches!(ask, WorkerRequest::Open(_)) => return Err(nothing_open()),
            Some(open) if open.failed => {
                return Err(Error::new("the worker has said that it failed: it can only be closed"));
            }
            _ => {}
        }
        self.ask_anything(doing, ask)
    }

    fn ask_anything(&mut self, doing: &str, ask: &WorkerRequest) -> Result<WorkerResponse> {
        if !self.alive {
            return Err(Error::of(ErrorKind::Protocol, "the worker has ended: it can be asked nothing more"));
        }
        self.process.set_doing(doing);
        let answer = self.process.ask(ask);
        self.alive = answer.is_ok();
        answer
    }

    /// The error of an answer that is not the one that was waited for.
    fn not(&mut self, say: &WorkerResponse, wanted: &str) -> Error {
        match say {
            WorkerResponse::Declined(declined) => skip(&declined.why),
            WorkerResponse::Failed(failed) => {
                if let Some(open) = &mut self.open {
                    open.failed = true;
                }
                Error::new(failed.detail.trim_end())
            }
            say => {
                self.alive = false;
                self.process.broke(format!("the worker said `{}` in the place of {wanted}", say.name()))
            }
        }
    }

    /// Reads a batch that was handed over. One that is not what it is said to be breaks the protocol.
    fn read(&mut self, batch: &ExchangedBatch) -> Result<ItemCopy> {
        let open = self.open.as_ref().ok_or_else(nothing_open)?;
        open.exchange.read(batch).map_err(|why| {
            self.alive = false;
            self.process.broke(format!("the worker handed over a batch that is none: {why}"))
        })
    }
}

impl Worker {
    /// Reads what was copied out of batches.
    fn checked(&mut self, copied: &[CopiedBatch]) -> Result<Vec<CheckedBatch>> {
        let read = |one: &CopiedBatch| {
            let kept = self.read(&one.batch())?;
            Ok(CheckedBatch { pass: one.pass, at: one.at, first: one.first, of: one.of, kept })
        };
        copied.iter().map(read).collect()
    }
}

impl Remote for Worker {
    fn verify(&mut self, epoch: u64, each: &mut dyn FnMut(ItemCopy) -> Result<()>) -> Result<()> {
        let mut ask = WorkerRequest::Verify { epoch };
        loop {
            match self.ask("going through an epoch to be verified", &ask)? {
                WorkerResponse::Batch(batch) => {
                    let kept = self.read(&batch)?;
                    each(kept)?;
                }
                WorkerResponse::End(_) => return Ok(()),
                other => return Err(self.not(&other, "`batch` or `end`")),
            }
            ask = WorkerRequest::Next {};
        }
    }

    fn run(&mut self, epoch: u64, budget: Budget) -> Result<RemoteRun> {
        let Budget { warmup, batches, min_time, .. } = budget;
        let (clock, tree) = (self.process.clock().clone(), self.process.tree());
        let moved = tree.moved();
        let (begun, before, cpu_before) = (clock.now(), tree.processes(), tree.cpu());
        let all = self.expected().map_or(0, |expected| expected.batches());
        let ask = WorkerRequest::Run(RunRequest { epoch, all, warmup, batches, min_time });
        let ran = match self.ask("running the measured loop", &ask)? {
            WorkerResponse::Ran(ran) => *ran,
            other => return Err(self.not(&other, "`ran`")),
        };
        let passed = self.process.answered().saturating_sub(begun);
        let after = tree.processes();
        // Those that ended and were nobody's here took their processor time along.
        let all_seen = before.iter().all(|process| after.contains(process));
        let cpu_seen = tree.cpu().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
        if let (Some(Open { files: Some(files), .. }), Some(before), Some(after)) =
            (&mut self.open, moved, tree.moved())
        {
            files.read = files.read.saturating_add(after.read.saturating_sub(before.read));
        }
        let checked = self.checked(&ran.checked)?;
        Ok(RemoteRun {
            whole_pass: self.opened()?.whole_pass,
            samples: ran.samples,
            elements: ran.elements,
            bytes: ran.bytes,
            wall: ran.wall,
            first: ran.first,
            own: ran.own,
            restarts: ran.restarts,
            warmup: ran.warmup,
            caught_up: ran.caught_up,
            passes: ran.passes,
            ran_out: ran.ran_out,
            usage: ran.usage,
            stopped: ran.stopped,
            processes: ran.processes,
            threads: ran.threads,
            compile: ran.compile,
            audits: ran.audit,
            on_device: self.open.as_ref().is_some_and(|open| open.hands_out_on_device),
            ledger: Ledger {
                begin: ran.ledger.begin,
                warm_up: ran.ledger.warm_up,
                caught_up: ran.ledger.caught_up,
                measured: ran.ledger.measured,
                stopped: ran.ledger.stopped,
                verify: ran.ledger.handed_over,
                ..Ledger::default()
            },
            cpu: ran.cpu.all,
            cpu_seen: cpu_seen.map(|cpu| cpu.as_nanos() as u64),
            all_seen,
            passed: passed.as_nanos() as u64,
            checked,
        })
    }

    fn time_epoch(&mut self, epoch: u64, asked: UnstoppedRequest) -> Result<RemoteEpoch> {
        let clock = self.process.clock().clone();
        let begun = clock.now();
        let UnstoppedRequest { batches, limit, least } = asked;
        let limit = limit.map(|limit| limit.as_nanos() as u64);
        let timed = match self
            .ask("timing an epoch", &WorkerRequest::Epoch(EpochRequest { epoch, batches, limit, least }))?
        {
            WorkerResponse::Timed(timed) => *timed,
            other => return Err(self.not(&other, "`timed`")),
        };
        let passed = clock.now() - begun;
        // Of an epoch that may be cut short the rules judge by the evidence. Of any other there is none.
        if limit.is_none() {
            let TimedEpoch { wall, begin, first, copied, elements, batches, .. } = timed;
            let passed = passed.as_nanos() as u64;
            ClockFault::Epoch { wall, begin, first, copied, passed }.or_go_on()?;
            if let Some(Open { epoch: Some(expected), .. }) = &self.open {
                WorkFault::Epoch { expected: *expected, elements, batches }.or_go_on()?;
            }
        }
        Ok(RemoteEpoch {
            passed: Some(passed),
            wall: Duration::from_nanos(timed.wall),
            begin: Duration::from_nanos(timed.begin),
            first: Duration::from_nanos(timed.first),
            elements: timed.elements,
            batches: timed.batches,
            ended: timed.ended,
            copied: Duration::from_nanos(timed.copied),
            usage: timed.usage,
            checked: self.checked(&timed.checked)?,
        })
    }

    fn budget(&self, asked: Budget) -> Budget {
        match &self.open {
            Some(Open { epoch: Some(expected), what, .. }) => {
                epoch::budget(expected, asked, what.chunk, what.whole_pass)
            }
            _ => asked,
        }
    }

    fn expected(&self) -> Option<ExpectedEpoch> {
        self.open.as_ref().and_then(|open| open.epoch)
    }

    fn whole_pass(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.what.whole_pass)
    }

    fn files(&self) -> Option<FileUse> {
        self.open.as_ref().and_then(|open| open.files)
    }

    fn grown(&self) -> Option<u64> {
        self.open.as_ref().and_then(|open| open.grown)
    }

    fn costs(&self) -> Costs {
        let opened = self.open.as_ref().map(|open| open.what.costs).unwrap_or_default();
        Costs {
            import: Some(self.hello.import),
            convert: opened.convert,
            set_up: opened.set_up,
            compile: opened.compile,
        }
    }
}

/// Bytes of the files in a folder and all below it; those that cannot be looked at count for nothing.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => size(&entry.path()),
        Ok(kind) if kind.is_file() => entry.metadata().map_or(0, |found| found.len()),
        _ => 0,
    };
    entries.map(of).fold(0, u64::saturating_add)
}

fn nothing_open() -> Error {
    Error::new("the worker has no open pipeline")
}

/// The parts of a message.
fn object(of: &str, parts: &impl Serialize) -> Result<Map<String, Value>> {
    match serde_json::to_value(parts) {
        Ok(Value::Object(parts)) => Ok(parts),
        Ok(other) => Err(Error::new(format!("the parts of {of} are no object: {other}"))),
        Err(error) => Err(Error::new(format!("the parts of {of} are no JSON: {error}"))),
    }
}

fn add(message: &mut Map<String, Value>, name: &str, value: &str) {
    message.insert(name.to_owned(), Value::String(value.to_owned()));
}

/// A path as JSON can say it.
fn text(path: &Path) -> Result<String> {
    let text = path.to_str();
    text.map(str::to_owned).ok_or_else(|| {
        Error::new(format!("the folder {} is no UTF-8: a worker cannot be told of it", path.display()))
    })
}
