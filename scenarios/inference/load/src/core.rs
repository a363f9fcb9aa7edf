//! One core of the client: a thread with a runtime of its own, and connections that never leave it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::LocalSet;
use weighbridge::data::SplitMix64;

use crate::arrivals::{Arrival, Think};
use crate::clock::{Stamp, thread_time};
use crate::connection::{Connection, ConnectionCounts, ExchangeLimits, RequestHead};
use crate::exchange::{Class, Exchange};
use crate::failure::Failure;
use crate::pacer::{Due, Wish};
use crate::sink::SinkEnd;
use crate::slots::{Offer, Slots};
use crate::workload::{Ask, Workload};

/// The setting that all cores of a level share.
pub(crate) struct LevelSetting {
    pub(crate) head: RequestHead,
    pub(crate) target: crate::target::Target,
    pub(crate) workload: Workload,
    /// The think time of a closed loop; `None` in an open one.
    pub(crate) think: Option<Think>,
    /// The first number of the level's prompts.
    pub(crate) first: u64,
    /// Requests that are due from here on are measured.
    pub(crate) measured_from: Stamp,
    /// No user of a closed loop begins again after it.
    pub(crate) end: Stamp,
    pub(crate) limits: ExchangeLimits,
    /// The most requests that are sent in a closed loop.
    pub(crate) most: u64,
    pub(crate) begun: AtomicU64,
    pub(crate) stop: Arc<AtomicBool>,
}

/// The part of a level that a core has.
pub(crate) struct CorePart {
    pub(crate) place: usize,
    pub(crate) setting: Arc<LevelSetting>,
    pub(crate) dues: UnboundedReceiver<Due>,
    pub(crate) wishes: Sender<Wish>,
    pub(crate) sink: SinkEnd,
    /// The most connections of this core.
    pub(crate) connections: usize,
}

/// A core's account of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoreReport {
    pub(crate) counts: ConnectionCounts,
    /// The nanoseconds that each tick was late.
    pub(crate) late: Vec<u64>,
    /// The share of the time in which the thread had the processor.
    pub(crate) busy: f64,
    /// The most requests that were due while all connections were taken.
    pub(crate) backlog: usize,
}

/// A request that a connection is to take up.
#[derive(Clone, Copy)]
struct Job {
    ask: Ask,
    due: Stamp,
}

/// The state that the tasks of a core share.
struct CoreState {
    setting: Arc<LevelSetting>,
    place: usize,
    wishes: Sender<Wish>,
    slots: Slots<Job>,
    draws: SplitMix64,
    sink: SinkEnd,
    /// The bytes of all answers that are being read.
    underway: Rc<Cell<usize>>,
    report: CoreReport,
}

type Shared = Rc<RefCell<CoreState>>;

/// Runs a core to the end of its level: until all that was due has been answered or given up.
pub(crate) fn run(part: CorePart) -> std::io::Result<CoreReport> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (begin, begin_time) = (Stamp::now(), thread_time());
    let CorePart { place, setting, dues, wishes, sink, connections } = part;
    let state = Rc::new(RefCell::new(CoreState {
        draws: SplitMix64::new(setting.workload.seed ^ (place as u64 + 1) << 32 ^ setting.first),
        setting,
        place,
        wishes,
        slots: Slots::new(connections),
        sink,
        underway: Rc::default(),
        report: CoreReport::default(),
    }));
    let tasks = LocalSet::new();
    tasks.block_on(&runtime, receive(Rc::clone(&state), dues));
    // Every slot ends once nothing more is due.
    runtime.block_on(tasks);
    let mut state = state.borrow_mut();
    state.report.busy =
        thread_time().saturating_sub(begin_time) as f64 / Stamp::now().since(begin).max(1) as f64;
    Ok(std::mem::take(&mut state.report))
}

/// Takes what is due, and gives it to a connection; opens one where all are taken.
async fn receive(shared: Shared, mut dues: UnboundedReceiver<Due>) {
    while let Some(due) = dues.recv().await {
        let mut state = shared.borrow_mut();
        let job = match due {
            Due::Request { number, at, arrival } => {
                Some(Job { ask: state.ask(number, Some(arrival)), due: at })
            }
            Due::User { at } => state.user(at),
            Due::Tick { at } => {
                let late = Stamp::now().since(at);
                state.report.late.push(late);
                None
            }
            Due::End => break,
        };
        let Some(job) = job else { continue };
        match state.slots.offer(job) {
            Offer::Taken => {}
            Offer::Opens(place) => drop(tokio::task::spawn_local(slot(Rc::clone(&shared), place))),
            Offer::Waits => state.report.backlog = state.report.backlog.max(state.slots.waiting()),
        }
    }
    shared.borrow_mut().slots.end();
}

impl CoreState {
    fn ask(&self, number: u64, arrival: Option<Arrival>) -> Ask {
        let workload = &self.setting.workload;
        Ask {
            number: self.setting.first + number,
            words: arrival.and_then(|arrival| arrival.words).unwrap_or(workload.words),
            tokens: arrival.and_then(|arrival| arrival.tokens).or(workload.tokens),
        }
    }

    /// The next request of a user, if there is to be one more.
    fn user(&mut self, due: Stamp) -> Option<Job> {
        let begun = self.setting.begun.fetch_add(1, Ordering::Relaxed);
        if begun < self.setting.most {
            return Some(Job { ask: self.ask(begun, None), due });
        }
        self.setting.stop.store(true, Ordering::Relaxed);
        None
    }

    /// Takes the end of an exchange, and lets its user begin again.
    fn done(&mut self, exchange: &Exchange) {
        self.slots.done();
        self.sink.take(exchange);
        let Some(think) = self.setting.think else { return };
        // A server that refuses is not asked again in a loop that does nothing else.
        let rest = if exchange.status == 0 {
            std::time::Duration::from_millis(1)
        } else {
            std::time::Duration::ZERO
        };
        let thought = think.draw(&mut self.draws).max(rest);
        let due = exchange.end.after(thought);
        if due >= self.setting.end {
            return;
        }
        if thought.is_zero() {
            if let Some(job) = self.user(due) {
                self.slots.follow(job);
            }
        } else {
            let _ = self.wishes.send(Wish { at: due, core: self.place });
        }
    }
}

/// A place for a connection: takes one job after another.
async fn slot(shared: Shared, place: usize) {
    let mut connection = Connection::beside(&shared.borrow().underway);
    let setting = Arc::clone(&shared.borrow().setting);
    while let Some(job) = poll_fn(|context| shared.borrow_mut().slots.take(place, context.waker())).await {
        let class = if job.due < setting.measured_from { Class::WarmUp } else { Class::Measured };
        let mut exchange = Exchange::begin(job.ask, class, job.due);
        if exchange.started.since(setting.end) > setting.limits.time.as_nanos() as u64 {
            // The level ended long ago: so late it tells nothing of the server.
            exchange.failure = Some(Failure::NeverSent);
        } else {
            let body = setting.workload.body(&setting.target, job.ask);
            connection.exchange(&setting.head, body, setting.limits, &mut exchange).await;
        }
        shared.borrow_mut().done(&exchange);
    }
    let counts = connection.counts;
    let all = &mut shared.borrow_mut().report.counts;
    all.opened += counts.opened;
    all.reused += counts.reused;
    all.failed += counts.failed;
}
