//! The bencher itself: state, facts that an author states, and what comes out at the end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use super::copied_item::SpotPlace;
use super::regions::{LiveArrays, Regions};
use super::{
    Budget, ClockPair, Content, Error, ErrorKind, Evidence, FileUse, HashKey, Hashes, ItemCopy, Pace,
    PartialBudget, PerIteration, Phase, Purpose, Result, RunSettings, Spot, Work, WorkReport,
    visible_in_line,
};
use crate::device::{Clock, Device, Platform, family_time, peak_memory};
use crate::metric::{
    Custom, DEVICE_METRICS, Direction, Entry, Ledger, METRICS, Note, Observation, RankMetric, RankStart,
    Reading, Unit,
};
use crate::process::make_own_folder;
use crate::ranks::{Meeting, ReleasedRank};

/// The order for one repeat.
///
/// ```
/// use weighbridge::prelude::*;
/// use weighbridge::{Budget, Purpose, RunSettings, Settings};
///
/// #[scenario(id = "HALVES-1")]
/// fn halves(bencher: &mut Bencher) {
///     bencher.elements(8).iter(|| [7_u8; 8].map(|byte| byte / 2));
/// }
///
/// // A test of the scenario, without a process of its own.
/// let run = RunSettings { seed: 7, ..RunSettings::DEFAULT };
/// let mut bencher = Bencher::new(Settings { run, ..Settings::new(Purpose::Smoke, Budget::SMOKE) });
/// halves(&mut bencher);
/// let seen = bencher.finish()?.seen;
/// assert_eq!(seen.elements, 8 * seen.iterations());
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub struct Settings {
    /// The id of the scenario that is run.
    pub scenario: String,
    /// The name of the adapter that it is run through.
    pub adapter: Option<String>,
    /// The purpose of the repeat: verifying, measuring or a smoke run.
    pub purpose: Purpose,
    /// The budget of the repeat: its warm-up, its samples and their time.
    pub budget: Budget,
    /// Settings of the run, which every repeat has alike: seed, platform, timeout.
    pub run: RunSettings,
    /// The number of the epoch that streams go through.
    pub epoch: u64,
    /// Hashes what is delivered: the parent's, who compares the hashes.
    pub key: HashKey,
    /// The directory that [`Bencher::scratch`] makes on demand.
    pub scratch: PathBuf,
    /// The clock of all samples.
    pub clock: Clock,
    /// Told when the repeat passes into another phase, never inside a timed window.
    pub on_phase: Box<dyn Fn(Phase)>,
    /// Says how many iterations each block of a body has; without it the budget does. A stream has no blocks.
    pub pace: Option<Box<dyn Pace>>,
    /// The share of a body's iterations that is run again and not counted: 0.02 plants a slowdown of 2 %.
    pub inject: f64,
    /// The device, where it is not the platform's own.
    pub device: Option<Rc<dyn Device>>,
    /// True if the traits of elements are looked at: where work must be alike, and not the same.
    pub traits: bool,
    /// True if this process runs nothing beside the repeat: what its other threads do is the subject's then.
    pub alone: bool,
    /// The processes of other ranks, where there are some that it begins together with.
    #[doc(hidden)]
    pub meeting: Option<Meeting>,
}

impl Settings {
    /// Settings for a test in this process: seed 42, the monotonic clock, scratch under the system's
    /// temporary folder.
    pub fn new(purpose: Purpose, budget: Budget) -> Self {
        Self {
            scenario: String::new(),
            adapter: None,
            purpose,
            budget,
            run: RunSettings::DEFAULT,
            epoch: 0,
            key: HashKey::draw(),
            scratch: std::env::temp_dir().join(format!("weighbridge-scratch-{}", std::process::id())),
            clock: Clock::monotonic(),
            on_phase: Box::new(|_| {}),
            pace: None,
            inject: 0.0,
            device: None,
            traits: false,
            alone: false,
            meeting: None,
        }
    }

    /// Adds to what was delivered, as far as it is looked at; what is compared of it.
    pub(super) fn look_at(&self, content: &mut Content, place: SpotPlace, item: &ItemCopy) -> Result<Spot> {
        let moments = content.take(item, self.traits)?;
        let SpotPlace { at, first, epoch } = place;
        Ok(Spot { at, first, epoch, hashes: Hashes(self.key.hash(item)?), moments })
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("purpose", &self.purpose)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

/// The instrument that a scenario measures with. Every method takes `&self`, so that calls nest.
///
/// | method | times |
/// |---|---|
/// | [`iter`] | the body, in blocks of about a millisecond |
/// | [`iter_batched`] | the body on inputs that are made outside the clock |
/// | [`iter_batched_ref`], [`batched`] | the same |
/// | [`iter_verified`] | the body on inputs that are drawn for each call, and proves its answers |
/// | [`iter_custom`] | what the body says |
/// | [`iter_threads`] | bodies on several threads at once |
/// | [`stream`] | items, each from its request until it is ready |
/// | [`measure`] | a block within any of these, or alone |
///
/// [`iter`]: Bencher::iter
/// [`iter_batched`]: Bencher::iter_batched
/// [`iter_batched_ref`]: Bencher::iter_batched_ref
/// [`batched`]: Bencher::batched
/// [`iter_verified`]: Bencher::iter_verified
/// [`iter_custom`]: Bencher::iter_custom
/// [`iter_threads`]: Bencher::iter_threads
/// [`stream`]: Bencher::stream
/// [`measure`]: Bencher::measure
///
/// ```
/// use weighbridge::prelude::*;
///
/// /// Encode and write a thousand numbers.
/// #[scenario(id = "SAVE-1")]
/// fn save(bencher: &mut Bencher) -> Result<()> {
///     let file = bencher.scratch()?.join("numbers");
///     let numbers: Vec<u64> = (0..1_000).collect();
///     bencher.elements(numbers.len()).bytes(8 * numbers.len());
///     bencher.iter(|| {
///         let bytes: Vec<u8> =
///             bencher.measure("encode", || numbers.iter().flat_map(|n| n.to_le_bytes()).collect());
///         bencher.measure("write", || std::fs::write(&file, bytes))
///     });
///     bencher.metric("compression", 1.0, Unit::RATIO, Direction::Lower);
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Bencher {
    pub(super) settings: Settings,
    pub(super) state: RefCell<BencherState>,
    pub(super) regions: RefCell<Regions>,
    /// The work of one iteration, as stated.
    pub(super) per_iteration: Cell<PerIteration>,
    /// The limits that the scenario has stated.
    stated: Cell<PartialBudget>,
    /// The number of iterations a sample has, where that is stated and not found.
    pub(super) iterations_of_a_sample: Cell<Option<u64>>,
    phase: Cell<Option<Phase>>,
    /// The moment when the repeat began.
    pub(super) begun: Duration,
    /// The same by the kernel's count.
    begun_by_kernel: Option<Duration>,
    /// The account of the repeat's time so far, and the moment up to which it is kept.
    books: Cell<(Ledger, Duration)>,
    /// Time that the collectors of `measure` blocks have cost so far: no block has it, and no sample where
    /// the host's clock alone says what a body takes.
    pub(super) collecting: Cell<Duration>,
    /// Time that dropping results took outside the clock, beside the measured samples.
    pub(super) dropping: Cell<Duration>,
    /// The time of the collectors in nanoseconds by the host's clock of the device, where one is open;
    /// samples of bodies on a device have it where the device may have worked meanwhile.
    pub(super) collecting_by_device: Cell<u64>,
    /// The highest that the device's high-water mark of memory was before a block started it again, in bytes.
    pub(super) device_peak: Cell<Option<u64>>,
    /// Counts the arrays that live, where there are any.
    pub(super) arrays: RefCell<Option<LiveArrays>>,
    pub(super) pace: RefCell<Option<OuterPace>>,
    /// The device, once it has been asked for.
    pub(super) device: RefCell<Option<Rc<dyn Device>>>,
    /// The processes of other ranks; none where this run is of one, and none once they were waited for in
    /// vain.
    meeting: RefCell<Option<Meeting>>,
    /// True if they have been met before what is measured.
    has_met: Cell<bool>,
}

/// The pace from outside, in a cell of its own: the bencher is shared by all that nests in it.
pub(super) struct OuterPace(pub(super) Box<dyn Pace>);

impl fmt::Debug for OuterPace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Paced")
    }
}

/// The number of metrics of one's own a repeat may have, how many values together, and how many letters a
/// name.
const MOST_NAMES: usize = 1_000;
const MOST_VALUES: usize = 100_000;
const LONGEST_NAME: usize = 200;

/// The number of notes a repeat may have from its scenario, and how many letters one.
const MOST_NOTES: usize = 100;
const LONGEST_NOTE: usize = 500;

/// Tells whether a metric of the harness has this name, or may have it.
fn is_built_in(name: &str) -> bool {
    ["region/", "phase/", "time/"].iter().any(|of| name.starts_with(of))
        || METRICS.iter().chain(DEVICE_METRICS).any(|metric| metric.name == name)
}

fn note_once(seen: &mut Observation, note: Note) {
    if !seen.notes.contains(&note) {
        seen.notes.push(note);
    }
}

#[derive(Debug, Default)]
pub(super) struct BencherState {
    pub(super) seen: Observation,
    pub(super) report: Option<WorkReport>,
    pub(super) content: Content,
    pub(super) spots: Vec<Spot>,
    pub(super) evidence: Evidence,
    /// Bytes that were read from files and written to them so far.
    pub(super) files: FileUse,
    /// The names of metrics that were handed in.
    pub(super) named: BTreeSet<String>,
    /// The reason why what was handed in is not taken.
    pub(super) refused: Option<Error>,
    /// The number of times that the scenario has noted something.
    noted: usize,
    pub(super) bodies: u32,
    /// True if the body ran in another process.
    pub(super) remote: bool,
}

/// The outcome of one repeat, with its evidence.
///
/// ```
/// use weighbridge::{Bencher, Budget, Purpose, Settings, WorkReport};
///
/// let bencher = Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
/// bencher.work(WorkReport { ran_on: "cpu".to_owned(), ..WorkReport::default() });
/// bencher.iter(|| 1 + 1);
/// let given = bencher.finish()?;
/// assert_eq!(given.work.unwrap().report.ran_on, "cpu");
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RepeatResult {
    /// The raw observation.
    pub seen: Observation,
    /// The work report; `None` when the scenario handed in none.
    pub work: Option<Work>,
    /// The hashes of every element whose content was looked at, batch by batch.
    pub spots: Vec<Spot>,
    /// The evidence that the rules judge by.
    pub evidence: Evidence,
}

impl Bencher {
    /// A bencher for one repeat.
    pub fn new(mut settings: Settings) -> Self {
        let pace = settings.pace.take().map(OuterPace);
        let begun_by_kernel = settings.clock.since_start();
        let now = settings.clock.now();
        Self {
            pace: RefCell::new(pace),
            device: RefCell::new(settings.device.take()),
            meeting: RefCell::new(settings.meeting.take()),
            has_met: Cell::new(false),
            settings,
            state: RefCell::default(),
            regions: RefCell::default(),
            per_iteration: Cell::default(),
            stated: Cell::default(),
            iterations_of_a_sample: Cell::default(),
            phase: Cell::default(),
            begun: now,
            begun_by_kernel,
            books: Cell::new((Ledger::default(), now)),
            collecting: Cell::default(),
            dropping: Cell::default(),
            collecting_by_device: Cell::default(),
            device_peak: Cell::default(),
            arrays: RefCell::default(),
        }
    }

    /// Tells whether this is a smoke run. A scenario may make less of itself in a smoke run; it must not
    /// treat a verifying repeat differently from a measured one.
    pub fn is_smoke(&self) -> bool {
        self.settings.purpose == Purpose::Smoke
    }

    /// The id of the scenario that is run.
    pub fn scenario(&self) -> &str {
        &self.settings.scenario
    }

    /// The name of the adapter that it is run through, where it asks for one.
    pub fn adapter(&self) -> Option<&str> {
        self.settings.adapter.as_deref()
    }

    /// The budget of this repeat, with the limits that the scenario has stated; a smoke run ignores those.
    pub fn budget(&self) -> Budget {
        // A smoke run is as short as it can be, whatever the author says.
        if self.is_smoke() { self.settings.budget } else { self.stated.get().over(self.settings.budget) }
    }

    /// States the least number of samples, as `samples` on the attribute does; this one is stronger. What
    /// whoever runs it has asked for is stronger than both. Counts for the body that follows.
    pub fn samples(&self, least: usize) -> &Self {
        self.state_budget(|stated| stated.samples = Some(least.max(1) as u64))
    }

    /// States the least time that the repeat measures, as [`Bencher::samples`] does their number.
    pub fn min_time(&self, least: Duration) -> &Self {
        self.state_budget(|stated| stated.min_time = Some(least))
    }

    /// States the most time that samples take, as [`Bencher::samples`] does their number: a slow body gets
    /// fewer.
    pub fn max_time(&self, most: Duration) -> &Self {
        self.state_budget(|stated| stated.max_time = Some(most))
    }

    /// States how often the case is measured, each time in a process of its own; the run goes by what the
    /// first of them says.
    pub fn repeats(&self, measured: u32) -> &Self {
        self.state_budget(|stated| stated.repeats = Some(measured.max(1)))
    }

    /// States how many iterations a sample has, instead of as many as fill a block. A smoke run and a duel
    /// have their own number.
    #[doc(hidden)] // for benches in divan's style
    pub fn state_iterations_of_a_sample(&self, iterations: u64) -> &Self {
        self.iterations_of_a_sample.set(Some(iterations.max(1)));
        self
    }

    /// Forgets what a body that panicked has left, for another try. What it took stays in the ledger.
    #[doc(hidden)] // for benches in criterion's style
    pub fn begin_again(&self) {
        self.state.replace(BencherState::default());
        self.regions.replace(Regions::default());
    }

    fn state_budget(&self, change: impl FnOnce(&mut PartialBudget)) -> &Self {
        let mut stated = self.stated.get();
        change(&mut stated);
        self.stated.set(self.settings.run.asked.or(stated));
        self
    }

    /// The run's seed: the same in every repeat of a run, so that all do the same work.
    pub fn seed(&self) -> u64 {
        self.settings.run.seed
    }

    /// The number of the epoch that a stream goes through, again and again: the same in every repeat of a
    /// run, and drawn anew for each run. Draws that depend on it make an epoch that was kept from an earlier
    /// run worth nothing.
    pub fn epoch(&self) -> u64 {
        self.settings.epoch
    }

    /// The platform of the run: the host, or a device.
    pub fn platform(&self) -> Platform {
        self.settings.run.platform
    }

    /// The rank of this process among those that do the scenario's one thing together, from 0. It is 0 where
    /// the run is of one process, and where each rank does the whole by itself.
    pub fn rank(&self) -> usize {
        self.of_collective(|meeting| meeting.place().rank).unwrap_or(0)
    }

    /// The number of ranks that do the scenario's one thing together: 1 where the run is of one process, and
    /// where each rank does the whole by itself.
    pub fn ranks(&self) -> usize {
        self.of_collective(|meeting| meeting.place().ranks).unwrap_or(1)
    }

    /// The rank of this process among those of its machine; as [`Bencher::rank`].
    pub fn local_rank(&self) -> usize {
        self.of_collective(|meeting| meeting.place().local_rank).unwrap_or(0)
    }

    /// The address of rank 0's machine, as it is reached from here: where libraries that meet by themselves
    /// are told to look for it. `None` where the run is of one process, or each rank does the whole by
    /// itself.
    pub fn first_rank_host(&self) -> Option<std::net::IpAddr> {
        self.of_collective(Meeting::host_of_first)
    }

    /// Hands a word of rank 0 to all ranks, and waits until all have come for it: the port at which rank 0
    /// listens, say. Every rank calls it as often as the others; what others than rank 0 say is passed over.
    /// Where there is one rank, it gets its own word.
    ///
    /// # Errors
    /// A rank that has failed, has left or does not come.
    pub fn agree(&self, word: &str) -> Result<String> {
        let mut meeting = self.meeting.borrow_mut();
        let Some(meeting) = meeting.as_mut().filter(|meeting| meeting.place().collective) else {
            return Ok(word.to_owned());
        };
        let said = (meeting.place().rank == 0).then(|| word.to_owned());
        let released = meeting.meet(said).map_err(|error| Error::of(ErrorKind::Ranks, error))?;
        Ok(released.word.unwrap_or_default())
    }

    /// Has rank 0 measure for all, from here on: it gives the orders, as a process that is alone would give
    /// them to threads, and no rank waits for another before a measured part. Another rank does its share as
    /// it is told, and need measure nothing; its repeat counts as part of rank 0's.
    pub fn led_by_first(&self) {
        let is_led = self.rank() > 0;
        *self.meeting.borrow_mut() = None;
        self.state.borrow_mut().seen.led = is_led;
    }

    fn of_collective<T>(&self, read: impl FnOnce(&Meeting) -> T) -> Option<T> {
        self.meeting.borrow().as_ref().filter(|meeting| meeting.place().collective).map(read)
    }

    /// Tells whether other ranks go through the same body in lockstep.
    pub(super) fn is_in_lockstep(&self) -> bool {
        self.of_collective(|_| ()).is_some() && self.settings.purpose != Purpose::Verify
    }

    /// Waits for the other ranks right before the measured part, the first time that it is called. Where not
    /// all come, the repeat fails at its end, and nobody is waited for any more.
    pub(super) fn meet(&self) {
        let is_due = self.meeting.borrow().is_some() && self.settings.purpose != Purpose::Verify;
        if !is_due || self.has_met.replace(true) {
            return;
        }
        if let Some(ReleasedRank { left, unsure, waited, .. }) = self.meet_with(None) {
            self.state.borrow_mut().seen.met = Some(RankStart { left, unsure, waited });
        }
    }

    /// Waits for the other ranks, where all do one thing together, and takes rank 0's number for its own. Its
    /// own where it is alone, and where not all come.
    pub(super) fn agree_on(&self, own: u64) -> u64 {
        if !self.is_in_lockstep() {
            return own;
        }
        let word = self.meet_with((self.rank() == 0).then(|| own.to_string()));
        word.and_then(|released| released.word?.parse().ok()).unwrap_or(own)
    }

    /// Waits for the other ranks, with a word of rank 0 for all. `None` where not all come.
    pub(super) fn meet_with(&self, word: Option<String>) -> Option<ReleasedRank> {
        let mut meeting = self.meeting.borrow_mut();
        let released = meeting.as_mut()?.meet(word);
        match released {
            Ok(released) => Some(released),
            Err(error) => {
                *meeting = None;
                let refused = &mut self.state.borrow_mut().refused;
                refused.get_or_insert(Error::of(ErrorKind::Ranks, error));
                None
            }
        }
    }

    /// Tells whether the repeat fails already, since ranks were waited for in vain.
    pub(super) fn has_waited_in_vain(&self) -> bool {
        self.state.borrow().refused.as_ref().is_some_and(|error| *error.kind() == ErrorKind::Ranks)
    }

    /// A fresh directory for files of this repeat; removed after it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn scratch(&self) -> Result<PathBuf> {
        make_own_folder(&self.settings.scratch).map_err(|error| {
            let kind = match error.kind() {
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::NoRoom,
                _ => ErrorKind::Failure,
            };
            let folder = self.settings.scratch.display();
            Error::of(kind, format!("failed to make the scratch directory {folder}: {error}"))
        })?;
        Ok(self.settings.scratch.clone())
    }

    /// States how many elements one iteration handles. A stream counts its own.
    pub fn elements(&self, per_iteration: usize) -> &Self {
        self.state_per_iteration(|stated| stated.elements = per_iteration as u64)
    }

    /// States how many bytes one iteration moves. A stream counts its own.
    pub fn bytes(&self, per_iteration: usize) -> &Self {
        self.state_per_iteration(|stated| stated.bytes = per_iteration as u64)
    }

    /// States how many floating-point operations one iteration (or streamed item) does.
    pub fn flops(&self, per_iteration: u64) -> &Self {
        self.state_per_iteration(|stated| stated.flops = per_iteration)
    }

    pub(super) fn state_per_iteration(&self, change: impl FnOnce(&mut PerIteration)) -> &Self {
        let mut stated = self.per_iteration.get();
        change(&mut stated);
        self.per_iteration.set(stated);
        self
    }

    /// Hands in a value of the author's own. A name handed in twice keeps both values; the record shows their
    /// median. What is no finite number is left out, and the record says so; so is what goes beyond a
    /// thousand names or a hundred thousand values, and what a name has beyond 200 letters.
    ///
    /// A name that is a built-in metric's (`wall_time`), or begins as those of blocks, phases and the ledger
    /// do (`region/`, `phase/`, `time/`), is a mistake: the repeat fails and names this call. Any other name
    /// is taken. Those of the harness are words of snake case, groups by a slash (`cache_speedup`,
    /// `loss_at/64`), and it is best to follow them.
    #[track_caller]
    pub fn metric(&self, name: &str, value: f64, unit: Unit, direction: Direction) {
        if is_built_in(name) {
            let why = format!(
                "{}: `metric` was called with `{}`, which is the name of a built-in metric: choose another \
                 one",
                std::panic::Location::caller(),
                visible_in_line(name)
            );
            self.state.borrow_mut().refused.get_or_insert(Error::new(why));
            return;
        }
        if !value.is_finite() {
            let note =
                Note::NotFinite { metric: visible_in_line(name), rank: None, value: value.to_string() };
            self.state.borrow_mut().seen.notes.push(note);
            return;
        }
        let mut name = visible_in_line(name);
        let BencherState { seen, named, .. } = &mut *self.state.borrow_mut();
        if name.chars().count() > LONGEST_NAME {
            name = name.chars().take(LONGEST_NAME).chain("...".chars()).collect();
            note_once(seen, Note::CutName(name.clone()));
        }
        if !named.contains(&name) {
            if named.len() == MOST_NAMES {
                note_once(seen, Note::ManyMetrics(MOST_NAMES));
                return;
            }
            named.insert(name.clone());
        }
        if seen.custom.len() == MOST_VALUES {
            note_once(seen, Note::ManyValues(MOST_VALUES));
            return;
        }
        seen.custom.push(Custom { name, value, unit, direction });
    }

    /// Notes something that whoever reads the figures should know, as that something beside them could not be
    /// had. It is a caveat of the case, and no failure. The first hundred notes of a repeat are kept, of each
    /// its first 500 letters.
    pub fn note(&self, note: &str) {
        let BencherState { seen, noted, .. } = &mut *self.state.borrow_mut();
        if *noted < MOST_NOTES {
            *noted += 1;
            let cut: String = note.chars().take(LONGEST_NOTE).collect();
            note_once(seen, Note::Scenario(visible_in_line(&cut)));
        }
    }

    /// Hands in a value of each of several ranks: by rank what it told, `None` of one that told nothing or
    /// never came. The record has them aggregated over all ranks, and the slowest stands for the case; where
    /// one is missing, nothing does, and the case is incomplete. Every rank hands in what it has once a
    /// repeat. A name that is not its own is a mistake, as in [`Bencher::metric`].
    #[track_caller]
    pub fn rank_metric(&self, name: &str, values: &[Option<f64>], unit: Unit, direction: Direction) {
        let BencherState { seen, refused, .. } = &mut *self.state.borrow_mut();
        let name = visible_in_line(name);
        let taken = seen.ranks.iter().any(|metric| metric.name == name)
            || seen.custom.iter().any(|metric| metric.name == name);
        if is_built_in(&name) || taken {
            let why = format!(
                "{}: `rank_metric` was called with `{name}`, which is the name of another metric: choose \
                 another one",
                std::panic::Location::caller(),
            );
            refused.get_or_insert(Error::new(why));
            return;
        }
        let mut finite = Vec::with_capacity(values.len());
        for (rank, value) in values.iter().enumerate() {
            let known = value.filter(|value| value.is_finite());
            if let (Some(value), None) = (value, known) {
                let (metric, value) = (name.clone(), value.to_string());
                seen.notes.push(Note::NotFinite { metric, rank: Some(rank), value });
            }
            finite.push(known);
        }
        seen.ranks.push(RankMetric { name, unit, direction, values: finite });
    }

    /// Hands in the work report. The last one counts.
    pub fn work(&self, report: WorkReport) {
        self.state.borrow_mut().report = Some(report.visible());
    }

    /// Hands in content that was delivered, for verification: for scenarios that do not stream.
    /// Hashing takes time: call it outside the timed body. Bytes that are not those of so many elements fail
    /// the repeat.
    pub fn delivered(&self, item: &ItemCopy) {
        let BencherState { content, spots, refused, .. } = &mut *self.state.borrow_mut();
        match self.settings.look_at(content, SpotPlace::default(), item) {
            Ok(spot) => spots.push(spot),
            Err(error) => drop(refused.get_or_insert(error)),
        }
    }

    /// Opens what is to be measured: the time that it takes is told as `open`, apart from making data.
    pub fn open<T>(&self, make: impl FnOnce() -> T) -> T {
        self.charge(Entry::Data);
        let before = family_time();
        let made = self.count_files(make);
        let used = family_time().saturating_sub(before).as_nanos() as u64;
        *self.state.borrow_mut().evidence.opening.get_or_insert(0) += used;
        self.charge(Entry::Open);
        made
    }

    /// Charges the time since the last charge to an entry of the ledger. Never within a timed window.
    pub(crate) fn charge(&self, entry: Entry) {
        let (mut ledger, since) = self.books.get();
        let now = self.settings.clock.now();
        ledger.add(entry, now.saturating_sub(since).as_nanos() as u64);
        self.books.set((ledger, now));
    }

    /// Moves time that another process says it took for something out of the entry that it was charged to.
    pub(super) fn recharge(&self, from: Entry, to: Entry, nanoseconds: u64) {
        let (mut ledger, since) = self.books.get();
        ledger.move_to(from, to, nanoseconds);
        self.books.set((ledger, since));
    }

    /// Ends the repeat and gives what was seen.
    ///
    /// # Errors
    /// When the scenario measured nothing, or measured two bodies; when content that it handed in is none.
    pub fn finish(self) -> Result<RepeatResult> {
        self.charge(self.phase.get().map_or(Entry::Data, Phase::entry));
        let clocks = self.clocks();
        let BencherState { mut seen, report, content, spots, mut evidence, refused, bodies, remote, .. } =
            self.state.into_inner();
        evidence.clocks = clocks;
        if let Some(error) = refused {
            return Err(error);
        }
        let regions = self.regions.into_inner().into_finished();
        if bodies > 1 {
            return Err(Error::new(
                "the scenario measured more than one body: use one of iter, iter_batched, iter_custom, \
                 iter_threads, stream, once; `measure` blocks inside it may be many",
            ));
        }
        let has_values = !seen.custom.is_empty() || !seen.ranks.is_empty();
        if bodies == 0 && regions.is_empty() && !has_values && !seen.led {
            return Err(Error::new(
                "the scenario measured nothing: it called neither iter, stream, measure nor metric",
            ));
        }
        seen.regions = regions;
        seen.repeats = self.stated.get().repeats;
        seen.peak_memory = Some(match peak_memory() {
            _ if remote => Reading::Elsewhere,
            Ok(bytes) => Reading::Value(bytes as f64),
            Err(error) => Reading::absent(format!("VmHWM cannot be read: {error}")),
        });
        seen.ledger = self.books.into_inner().0;
        // The clock stood for what was neither measured nor anything else that is told.
        let stood = seen.ledger.measured.saturating_sub(seen.wall);
        seen.ledger.move_to(Entry::Measured, Entry::Stopped, stood);
        let work = report.map(|report| Work { report, content });
        Ok(RepeatResult { seen, work, spots, evidence })
    }

    /// The time of the repeat so far by both clocks.
    fn clocks(&self) -> Option<ClockPair> {
        let own = self.settings.clock.now() - self.begun;
        let kernel = self.settings.clock.since_start()?.saturating_sub(self.begun_by_kernel?);
        Some(ClockPair { own: own.as_nanos() as u64, kernel: kernel.as_nanos() as u64 })
    }

    /// Tells that the repeat passes into this phase, if it is not in it: telling costs a system call, and
    /// wakes the parent.
    pub(crate) fn enter(&self, phase: Phase) {
        let before = self.phase.replace(Some(phase));
        if before != Some(phase) {
            // Whoever has measured nothing until here keeps nobody waiting who will.
            if phase == Phase::TearDown {
                self.meet();
            }
            self.charge(before.map_or(Entry::Data, Phase::entry));
            (self.settings.on_phase)(phase);
        }
    }

    /// Counts a measured body; the second one is refused in [`Bencher::finish`].
    pub(super) fn begin_body(&self) -> bool {
        let mut state = self.state.borrow_mut();
        state.bodies += 1;
        state.bodies == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_told_once_however_many_passes_it_has() {
        let told = std::rc::Rc::new(RefCell::new(Vec::new()));
        let tells = told.clone();
        let on_phase = Box::new(move |phase| tells.borrow_mut().push(phase));
        let bencher = Bencher::new(Settings { on_phase, ..Settings::new(Purpose::Measure, Budget::SMOKE) });
        for phase in [Phase::WarmUp, Phase::Timed, Phase::Timed, Phase::TearDown, Phase::TearDown] {
            bencher.enter(phase);
        }
        assert_eq!(*told.borrow(), [Phase::WarmUp, Phase::Timed, Phase::TearDown]);
    }

    #[test]
    fn values_of_ranks_keep_their_places_and_a_name_that_is_taken_is_refused() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        let values = [Some(2.0), None, Some(f64::NAN)];
        bencher.rank_metric("step", &values, Unit::SECONDS, Direction::Lower);
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(seen.ranks[0].values, [Some(2.0), None, None]);
        assert_eq!(
            seen.notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["the metric `step` of rank 2 was handed in as NaN: left out"]
        );
        for name in ["wall_time", "step", "own"] {
            let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
            bencher.metric("own", 1.0, Unit::SECONDS, Direction::Lower);
            bencher.rank_metric("step", &values, Unit::SECONDS, Direction::Lower);
            bencher.rank_metric(name, &values, Unit::SECONDS, Direction::Lower);
            let said = bencher.finish().unwrap_err().to_string();
            assert!(said.contains(&format!("`rank_metric` was called with `{name}`")), "{said}");
        }
    }

    #[test]
    fn a_metric_with_a_built_in_name_is_refused_and_the_call_named() {
        for name in ["wall_time", "device_time", "region/load/wall_time", "phase/x", "time/measured"] {
            let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
            bencher.metric(name, 1.0, Unit::SECONDS, Direction::Lower);
            let said = bencher.finish().unwrap_err().to_string();
            assert!(
                said.contains(file!()) && said.contains(&format!("`{name}`, which is the name")),
                "{said}"
            );
        }
    }

    #[test]
    fn metrics_of_ones_own_are_bounded_and_the_cut_is_told() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        for at in 0..20_000 {
            bencher.metric(&format!("own_{at}"), 1.0, Unit::COUNT, Direction::Lower);
        }
        for _ in 0..200_000 {
            bencher.metric("own_7", 1.0, Unit::COUNT, Direction::Lower);
        }
        let long = "x".repeat(100_000);
        bencher.metric(&long, 1.0, Unit::COUNT, Direction::Lower);
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(seen.custom.len(), MOST_VALUES);
        let notes: String = seen.notes.iter().map(ToString::to_string).collect();
        for told in ["more than 1000 metrics", "more than 100000 values", "x...` was cut"] {
            assert!(notes.contains(told) && notes.len() < 1_000, "{notes}");
        }
    }

    #[test]
    fn notes_are_bounded_visible_and_said_once() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        bencher.metric("any", 1.0, Unit::COUNT, Direction::Lower);
        for _ in 0..2 {
            bencher.note("no counters\u{1b}[2J\nhere");
        }
        for at in 0..1_000 {
            bencher.note(&format!("{at}{}", "x".repeat(10_000)));
        }
        let notes: Vec<String> =
            bencher.finish().unwrap().seen.notes.iter().map(ToString::to_string).collect();
        assert!(
            notes.len() <= MOST_NOTES && notes.iter().all(|note| note.len() <= LONGEST_NOTE),
            "{notes:?}"
        );
        assert_eq!(notes.iter().filter(|note| note.starts_with("no counters")).count(), 1);
        assert!(!notes[0].contains(['\u{1b}', '\n']), "{:?}", notes[0]);
    }

    #[test]
    fn a_metric_that_is_no_number_is_left_out_and_said() {
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        bencher.metric("loss", f64::NAN, Unit::COUNT, Direction::Lower);
        bencher.metric("accuracy", 0.5, Unit::RATIO, Direction::Higher);
        let seen = bencher.finish().unwrap().seen;
        assert_eq!(seen.custom.len(), 1);
        let told = seen.notes[0].to_string();
        assert!(told.contains("`loss` was handed in as NaN"), "{told}");
    }
}
