//! Timing a stream item by item, or pass by pass; and going through it once to see what it delivers.

use std::ops::Range;
use std::time::Duration;

use super::content::draw_secret;
use super::copied_item::{CopiedItem, check_shown, draw};
use super::count::ItemCounter;
use super::watch::SampleWatch;
use super::whole_epoch::{WholeEpoch, unstopped};
use super::window::Windows;
use super::yardstick::Yard;
use super::{
    Bencher, Budget, Content, Count, EpochSum, Error, ExpectedEpoch, Item, Phase, Purpose, ResourceUse,
    Result, Source,
};
use crate::device::{Platform, Usage};
use crate::metric::{Entry, Hardware, Observation, RanOut, Reading, SampleKind};
use crate::stats::SplitMix64;

/// The number of batches of the first measured pass that are copied, whole.
const SPOTS: usize = 4;

/// The time that ranks go through passes before they agree again on whether to go on.
const MEETING_EVERY: Duration = Duration::from_millis(10);

impl Bencher {
    /// Times a stream: first one epoch without a stop, then passes of the profile's batches, or of 10 ms,
    /// until enough has been measured. A source is rewound before the first pass, and where its epoch has no
    /// whole pass left; the warm-up batches are left out then. One that does not say how long its epoch is
    /// ([`Source::expected`]) is rewound before every pass. A source with whole passes is timed pass by pass
    /// instead.
    ///
    /// Samples are stamped consecutively: the end of one item is the start of the next. An item ends when the
    /// harness has seen all its bytes. In every pass batches are drawn from a secret, copied between two
    /// stamps from the slices that were seen, and hashed between passes.
    ///
    /// Where other threads or a device may have made items ready while the clock stood, for a copy or to
    /// rewind, items are left out for as long as it stood: those are gone then, and each measured one is
    /// waited for.
    ///
    /// # Errors
    /// What the source says; that it is empty, or shows other items than it counts. Where a slowdown is to be
    /// planted, a skip: an item cannot be asked for twice.
    #[inline] // that the loops are compiled with the caller
    pub fn stream(&self, source: &mut dyn Source) -> Result<()> {
        self.stream_by(source, ItemLoops { unstopped, items: StreamRun::items, pass: StreamRun::pass })
    }

    fn stream_by(&self, source: &mut dyn Source, loops: ItemLoops) -> Result<()> {
        if !self.begin_body() {
            return Ok(()); // refused in `finish`
        }
        self.enter(Phase::WarmUp);
        self.refuse_injection()?;
        self.state.borrow_mut().evidence.expected = source.expected();
        if self.settings.purpose == Purpose::Verify {
            self.count_files(|| self.go_through(source))?;
        } else {
            self.mute_regions(true);
            let mut run = StreamRun::new(self, source.expected());
            let measured = self.count_files(|| run.measure(self, source, loops));
            self.mute_regions(false);
            self.enter(Phase::TearDown);
            measured?;
            run.hand_in(self);
            self.note_machine();
        }
        self.note_files(&source.input());
        Ok(())
    }

    /// A skip where a slowdown is to be planted: what is planted are iterations of a body, and a stream has
    /// none.
    pub(super) fn refuse_injection(&self) -> Result<()> {
        if self.settings.inject == 0.0 {
            return Ok(());
        }
        Err(super::skip(format!(
            "{} repeats iterations of a body, and a stream has none: a slowdown cannot be planted here",
            super::INJECT
        )))
    }

    /// One whole epoch, every element hashed.
    fn go_through(&self, source: &mut dyn Source) -> Result<()> {
        let mut content = Content::default();
        let mut counter = ItemCounter::new(source.expected());
        let mut spots = Vec::new();
        source.rewind()?;
        self.enter(Phase::Timed);
        let mut look = |item: &Item<'_>| -> Result<()> {
            let place = counter.place();
            let at = counter.at();
            counter.see(item);
            let copy = item.copy(None)?;
            counter.see_copy(at, item, copy.elements as u64);
            spots.push(self.settings.look_at(&mut content, place, &copy)?);
            Ok(())
        };
        let mut seen = Ok(());
        let mut see = |item: &Item<'_>| {
            if seen.is_ok() {
                seen = look(item);
            }
        };
        if source.whole_pass() {
            source.pass(u64::MAX, &mut see)?;
        } else {
            while source.next()? {
                source.ready()?;
                source.look(&mut see)?;
            }
        }
        seen?;
        self.enter(Phase::TearDown);
        if spots.is_empty() {
            return Err(empty());
        }
        let state = &mut *self.state.borrow_mut();
        state.evidence.miscounted = counter.miscounted();
        (state.content, state.spots) = (content, spots);
        Ok(())
    }
}

pub(super) fn empty() -> Error {
    Error::new("the source is empty: it gave no item after a rewind")
}

/// The loops that run around every item while the clock runs. Each is marked `#[inline]`, and
/// [`Bencher::stream`] names them: so the crate that calls it compiles them, with its own optimisation,
/// however the harness is built.
#[derive(Clone, Copy)]
struct ItemLoops {
    unstopped: fn(&Bencher, &mut dyn Source, &mut ItemCounter, &mut SplitMix64) -> Result<WholeEpoch>,
    items: fn(&mut StreamRun, &Bencher, u64, &mut dyn Source) -> Result<()>,
    pass: fn(&mut StreamRun, &Bencher, u64, &mut dyn Source) -> Result<()>,
}

/// A measured stream in progress.
struct StreamRun {
    windows: Windows,
    watch: Option<SampleWatch>,
    yard: Option<Yard>,
    /// The use of other processes up to the opening of the window, and their use in all windows.
    before: Option<ResourceUse>,
    elsewhere: Option<ResourceUse>,
    samples: Vec<u64>,
    /// CPU time of each pass that ran in one call.
    cpu: Vec<u64>,
    /// Samples that the watch has been told of.
    watched: usize,
    counted: Count,
    counter: ItemCounter,
    first: Option<Duration>,
    warmup: u64,
    /// Items that were left out since they may have been made while the clock stood.
    caught_up: u64,
    meanwhile: Meanwhile,
    passes: u64,
    /// The number of times that the epoch was begun for them; and whether it was for the pass in progress.
    begun: u64,
    /// Passes until ranks agree again on whether to go on.
    until_meeting: u64,
    is_first_of_epoch: bool,
    /// Batches of an epoch; none where that is not known.
    epoch: Option<u64>,
    /// Draws what is copied; no subject can foresee it.
    secret: SplitMix64,
    /// Items that were copied since the last hashing.
    copied: Vec<CopiedItem>,
    /// The place where the data set lies; and whether batches lie in it.
    input: Vec<Range<usize>>,
    view: Option<bool>,
    ran_out: bool,
    taken: SampleKind,
}

impl StreamRun {
    fn new(bencher: &Bencher, expected: Option<ExpectedEpoch>) -> Self {
        Self {
            windows: Windows::measured(bencher.settings.clock.clone()),
            watch: None,
            yard: None,
            before: None,
            elsewhere: None,
            cpu: Vec::new(),
            watched: 0,
            // So that pushing a sample does not allocate in a common run.
            samples: Vec::with_capacity(1 << 16),
            counted: Count::default(),
            counter: ItemCounter::new(expected),
            first: None,
            warmup: 0,
            caught_up: 0,
            meanwhile: Meanwhile::of(bencher),
            passes: 0,
            begun: 0,
            until_meeting: 0,
            is_first_of_epoch: true,
            epoch: expected.map(|expected| expected.batches()),
            secret: SplitMix64::new(draw_secret()),
            copied: Vec::with_capacity(SPOTS),
            input: Vec::new(),
            view: None,
            ran_out: false,
            taken: SampleKind::Items,
        }
    }

    fn measure(&mut self, bencher: &Bencher, source: &mut dyn Source, loops: ItemLoops) -> Result<()> {
        let mut budget = bencher.budget();
        let whole = source.whole_pass();
        self.input = source.input();
        if whole {
            self.taken = SampleKind::Passes;
        }
        if budget.min_time > Duration::ZERO {
            let epoch = (loops.unstopped)(bencher, source, &mut self.counter, &mut self.secret)?;
            self.first = epoch.first_item;
            self.copied = epoch.copied;
            if !whole {
                budget = budget.stretched(&epoch.seen, self.epoch);
            }
            budget.batches = bencher.agree_on(budget.batches);
            bencher.state.borrow_mut().evidence.unstopped = Some(epoch.seen);
            bencher.charge(Entry::Unstopped);
            self.windows.stand();
            self.hash(bencher)?;
        }
        if bencher.pace.borrow().is_none() {
            self.yard = Yard::begin(&bencher.settings, budget);
        }
        bencher.charge(Entry::Stopped);
        loop {
            self.is_first_of_epoch = !self.goes_on(bencher, budget, source)?;
            if self.is_first_of_epoch {
                self.begin(bencher, budget, source)?;
            }
            bencher.enter(Phase::Timed);
            bencher.mute_regions(false);
            self.watch.get_or_insert_with(|| SampleWatch::begin(&bencher.settings.clock));
            bencher.meet();
            if bencher.has_waited_in_vain() {
                return Ok(()); // the repeat fails by it in the end
            }
            let pass = if whole { loops.pass } else { loops.items };
            pass(self, bencher, budget.batches, source)?;
            bencher.mute_regions(true);
            bencher.charge(Entry::Measured);
            self.hash(bencher)?;
            self.passes += 1;
            if self.is_enough(bencher, budget) {
                return self.audit(bencher, source);
            }
            if let Some(yard) = &mut self.yard {
                yard.between(self.windows.wall, self.watch.as_mut());
                bencher.charge(Entry::Stopped);
            }
        }
    }

    /// Tells whether enough has been measured. Of ranks that do one thing together rank 0 decides, now and
    /// then, so that all go through as many passes.
    fn is_enough(&mut self, bencher: &Bencher, budget: Budget) -> bool {
        let is_enough = self.windows.wall >= budget.min_time;
        if !bencher.is_in_lockstep() {
            return is_enough;
        }
        if self.until_meeting > 0 {
            self.until_meeting -= 1;
            return false;
        }
        let each = (self.windows.wall.as_nanos() / u128::from(self.passes)).max(1);
        let more = (MEETING_EVERY.as_nanos() / each).clamp(1, 1 << 20) as u64;
        let more = bencher.agree_on(if is_enough { 0 } else { more });
        self.until_meeting = more.saturating_sub(1);
        more == 0
    }

    /// Goes through one more epoch, unmeasured, where the order of elements is free: whoever leaves elements
    /// out and gives others again is seen in few of them. Nobody can know that it is the last one.
    fn audit(&mut self, bencher: &Bencher, source: &mut dyn Source) -> Result<()> {
        let state = bencher.state.borrow();
        let is_free = state.evidence.expected.is_some_and(|expected| !expected.in_order);
        let is_short = state.evidence.unstopped.is_some_and(|epoch| epoch.ended);
        drop(state);
        if !is_free || !is_short {
            return Ok(());
        }
        self.rewind(source)?;
        let (mut sum, mut failed) = (EpochSum::default(), Ok(()));
        let mut look = |item: &Item<'_>| {
            let hashes = item.copy(None).and_then(|copy| bencher.settings.key.hash(&copy));
            match hashes {
                Ok(hashes) => sum.add(&hashes),
                Err(error) => failed = Err(error),
            }
        };
        if source.whole_pass() {
            source.pass(u64::MAX, &mut look)?;
        } else {
            while source.next()? {
                source.ready()?;
                source.look(&mut look)?;
            }
        }
        failed?;
        bencher.state.borrow_mut().evidence.last_epoch = Some(sum);
        bencher.charge(Entry::Verify);
        Ok(())
    }

    /// Tells whether another pass follows in the same epoch, once what may have been made meanwhile is left
    /// out. The last batch of an epoch may be a short one: such a pass stops before it.
    fn goes_on(&mut self, bencher: &Bencher, budget: Budget, source: &mut dyn Source) -> Result<bool> {
        let has_more = |of: &Self| of.epoch.is_some_and(|all| of.counter.at() + budget.batches < all);
        if self.begun == 0 || !has_more(self) {
            return Ok(false);
        }
        let due = self.meanwhile.due(&self.windows);
        let is_more = self.catch_up(bencher, due, source)?;
        bencher.charge(Entry::CaughtUp);
        Ok(is_more && has_more(self))
    }

    /// Begins the epoch and leaves out what warms it up.
    fn begin(&mut self, bencher: &Bencher, budget: Budget, source: &mut dyn Source) -> Result<()> {
        self.begun += 1;
        self.rewind(source)?;
        bencher.charge(Entry::Begin);
        let (due, begun) = (self.meanwhile.due(&self.windows), bencher.settings.clock.now());
        if source.whole_pass() {
            self.warm_up_pass(budget.warmup, source)?;
        } else {
            // The first item of the process is a metric of its own, so a measuring repeat leaves out one at
            // least.
            let first = u64::from(self.first.is_none() && budget.min_time > Duration::ZERO);
            self.warm_up(bencher, budget.warmup.max(first), source)?;
        }
        bencher.charge(Entry::WarmUp);
        let warming_up = bencher.settings.clock.now() - begun;
        if !self.catch_up(bencher, due.saturating_sub(warming_up), source)? {
            self.ran_out = true;
            self.rewind(source)?;
        }
        bencher.charge(Entry::CaughtUp);
        Ok(())
    }

    fn rewind(&mut self, source: &mut dyn Source) -> Result<()> {
        self.counter.rewind();
        source.rewind()
    }

    /// Hashes what was copied since the last time, with the clock stopped.
    fn hash(&mut self, bencher: &Bencher) -> Result<()> {
        if self.copied.is_empty() {
            return Ok(());
        }
        let state = &mut *bencher.state.borrow_mut();
        state.evidence.spots.passes += 1;
        for CopiedItem { place, kept } in self.copied.drain(..) {
            state.spots.push(bencher.settings.look_at(&mut state.content, place, &kept)?);
        }
        bencher.charge(Entry::Verify);
        Ok(())
    }

    /// The positions of this pass that are copied, the last first.
    fn draw(&mut self, batches: u64) -> Vec<u64> {
        let count = if self.passes == 0 { SPOTS } else { 1 };
        let mut drawn = draw(&mut self.secret, count, batches);
        drawn.sort_unstable_by(|a, b| b.cmp(a));
        drawn
    }

    fn warm_up(&mut self, bencher: &Bencher, items: u64, source: &mut dyn Source) -> Result<()> {
        let clock = &bencher.settings.clock;
        for _ in 0..items {
            let start = clock.now();
            if !self.leave_out(source)? {
                self.ran_out = true;
                self.rewind(source)?;
                continue;
            }
            self.first.get_or_insert_with(|| clock.now() - start);
            self.warmup += 1;
        }
        Ok(())
    }

    /// Goes over one item, complete, which counts for nothing; whether there was one.
    fn leave_out(&mut self, source: &mut dyn Source) -> Result<bool> {
        if !source.next()? {
            return Ok(false);
        }
        source.ready()?;
        let counter = &mut self.counter;
        source.look(&mut |item| {
            counter.see(item);
        })?;
        Ok(true)
    }

    /// Goes over up to so many items in one call, which count for nothing; how many there were.
    fn leave_out_pass(&mut self, items: u64, source: &mut dyn Source) -> Result<u64> {
        let counter = &mut self.counter;
        let mut shown = 0;
        let said = source.pass(items, &mut |item| {
            counter.see(item);
            shown += 1;
        })?;
        check_shown(items, said, shown)?;
        Ok(said)
    }

    fn warm_up_pass(&mut self, items: u64, source: &mut dyn Source) -> Result<()> {
        if items > 0 {
            let done = self.leave_out_pass(items, source)?;
            self.warmup += done;
            if done < items {
                self.ran_out = true;
                self.rewind(source)?;
            }
        }
        Ok(())
    }

    /// Leaves out items for so long, or to the end of the epoch; whether it is not there yet.
    fn catch_up(&mut self, bencher: &Bencher, due: Duration, source: &mut dyn Source) -> Result<bool> {
        let clock = &bencher.settings.clock;
        let begun = clock.now();
        while clock.now() - begun < due {
            let is_more = match self.taken {
                SampleKind::Passes => self.leave_out_pass(1, source)? > 0,
                _ => self.leave_out(source)?,
            };
            if !is_more {
                return Ok(false);
            }
            self.caught_up += 1;
        }
        Ok(true)
    }

    /// Catches up within a pass.
    fn catch_up_within(&mut self, bencher: &Bencher, source: &mut dyn Source) -> Result<()> {
        let due = self.meanwhile.due(&self.windows);
        if due.is_zero() {
            return Ok(());
        }
        bencher.charge(Entry::Measured);
        if !self.catch_up(bencher, due, source)? {
            self.ran_out |= self.is_first_of_epoch;
            self.rewind(source)?;
        }
        bencher.charge(Entry::CaughtUp);
        Ok(())
    }

    /// One pass, item by item.
    #[inline]
    fn items(&mut self, bencher: &Bencher, items: u64, source: &mut dyn Source) -> Result<()> {
        let clock = &bencher.settings.clock;
        let mut spots = self.draw(items);
        // How often the data has ended since the last item. The second time it is as long as what was caught
        // up with, or empty.
        let mut ends = 0;
        let mut item = 0;
        self.samples.reserve(items as usize);
        let mut last = self.open(source)?;
        while item < items {
            // The timed region: ask, wait, see all of it, stamp. The stamp that ends this item starts the
            // next.
            if !source.next()? {
                // The end of the data is no item: close the window at the last stamp, go back, go on.
                self.windows.close_at(last);
                self.closed(source)?;
                ends += 1;
                self.ran_out |= self.is_first_of_epoch;
                self.rewind(source)?;
                match ends {
                    1 => self.catch_up_within(bencher, source)?,
                    2 => {}
                    _ => return Err(empty()),
                }
                last = self.open(source)?;
                continue;
            }
            source.ready()?;
            let spot = spots.last() == Some(&item);
            let (mut now, mut shown) = (last, 0);
            let mut copied = None;
            let Self { counter, counted, windows, secret, passes, view, input, .. } = self;
            source.look(&mut |item| {
                let place = counter.place();
                let count = counter.see(item);
                now = clock.now();
                counted.elements += count.elements;
                counted.bytes += count.bytes;
                shown += 1;
                if spot {
                    // Copied between two stamps and left out of every window alike.
                    windows.close_at(now);
                    *view = view.or(item.lies_in(input));
                    copied = Some(CopiedItem::of(item, place, secret, *passes == 0));
                }
            })?;
            check_shown(1, 1, shown)?;
            ends = 0;
            self.samples.push((now - last).as_nanos() as u64);
            last = now;
            if let Some(copied) = copied {
                spots.pop();
                self.copied.push(copied?);
                self.closed(source)?;
                self.catch_up_within(bencher, source)?;
                last = self.open(source)?;
            }
            item += 1;
        }
        self.windows.close_at(last);
        self.closed(source)
    }

    /// Opens a window of items, and says when.
    fn open(&mut self, source: &mut dyn Source) -> Result<Duration> {
        self.before = source.used_elsewhere()?;
        Ok(self.windows.open())
    }

    /// Takes in a window of items that has been closed. What disturbed it is known of all its items together:
    /// counters are not read between two stamps.
    fn closed(&mut self, source: &mut dyn Source) -> Result<()> {
        if let (Some(before), Some(after)) = (self.before.take(), source.used_elsewhere()?) {
            let used = after.since(before);
            self.windows.last.preemptions += used.involuntary_switches;
            self.windows.last.faults += used.minor_faults;
            self.elsewhere = Some(self.elsewhere.map_or(used, |sum| sum.with(used)));
        }
        self.watch_window();
        Ok(())
    }

    fn watch_window(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.window(&self.windows.last, self.samples.len() - self.watched);
        }
        self.watched = self.samples.len();
    }

    /// One pass in one call (or in as many as what is left out and the data's length ask for).
    #[inline]
    fn pass(&mut self, bencher: &Bencher, items: u64, source: &mut dyn Source) -> Result<()> {
        let clock = &bencher.settings.clock;
        let before = (self.windows.wall, self.windows.usage.cpu);
        let mut spots = self.draw(items);
        let mut done = 0;
        let mut ended = false;
        let mut left_out: Option<(Duration, Duration)> = None; // since when items are, and for how long
        while done < items {
            let asked = items - done;
            let meanwhile = self.meanwhile;
            let Self { counter, counted, windows, secret, passes, copied, caught_up, view, input, .. } =
                &mut *self;
            let mut shown = 0;
            let mut failed = Ok(());
            if left_out.is_none() {
                windows.open();
            }
            let more = source.pass(asked, &mut |item| {
                let place = counter.place();
                let count = counter.see(item);
                shown += 1;
                if let Some((begun, due)) = left_out {
                    *caught_up += 1;
                    if clock.now() - begun >= due {
                        left_out = None;
                        windows.open();
                    }
                    return;
                }
                counted.elements += count.elements;
                counted.bytes += count.bytes;
                if spots.last() == Some(&done) {
                    spots.pop();
                    windows.close();
                    *view = view.or(item.lies_in(input));
                    match CopiedItem::of(item, place, secret, *passes == 0) {
                        Ok(copy) => copied.push(copy),
                        Err(error) => failed = Err(error),
                    }
                    let due = meanwhile.due(windows);
                    if due.is_zero() {
                        windows.open();
                    } else {
                        left_out = Some((clock.now(), due));
                    }
                }
                done += 1;
            })?;
            self.windows.close();
            failed?;
            check_shown(asked, more, shown)?;
            if more == 0 && ended {
                return Err(empty());
            }
            if more < asked {
                left_out = None;
                self.ran_out |= self.is_first_of_epoch;
                self.rewind(source)?;
                if more > 0 {
                    self.catch_up_within(bencher, source)?;
                }
            }
            ended = more == 0;
        }
        self.samples.push((self.windows.wall - before.0).as_nanos() as u64);
        self.cpu.push((self.windows.usage.cpu - before.1).as_nanos() as u64);
        self.watch_window();
        Ok(())
    }

    /// Hands everything to the bencher.
    fn hand_in(mut self, bencher: &Bencher) {
        let state = &mut *bencher.state.borrow_mut();
        state.remote = self.elsewhere.is_some();
        (state.evidence.miscounted, state.evidence.view) = (self.counter.miscounted(), self.view);
        state.evidence.begun = self.begun;
        let items = self.samples.len() as u64;
        let seen = &mut state.seen;
        if self.ran_out {
            let Budget { batches, warmup, .. } = bencher.budget();
            seen.ran_out = Some(RanOut { batches, warmup });
        }
        seen.taken = Some(self.taken);
        seen.iterations_per_sample = match self.taken {
            SampleKind::Passes => bencher.budget().batches,
            _ => 1,
        };
        seen.passes = self.passes;
        (seen.warmup, seen.caught_up) = (self.warmup, self.caught_up);
        seen.elements = self.counted.elements;
        seen.bytes = self.counted.bytes;
        seen.flops = bencher.per_iteration.get().flops * items * seen.iterations_per_sample;
        seen.wall = self.windows.wall.as_nanos() as u64;
        seen.first_item = self.first.map(|first| first.as_nanos() as u64);
        seen.usage = self.windows.usage;
        seen.own_cpu = self.windows.own_cpu().filter(|_| self.elsewhere.is_none());
        seen.epoch_start = state.evidence.unstopped.as_ref().map(|epoch| epoch.begin + epoch.first);
        seen.hardware = self.windows.hardware();
        seen.samples = self.samples;
        seen.cpu = self.cpu;
        if let Some(watch) = self.watch {
            watch.end(seen);
        }
        if let Some(used) = self.elsewhere {
            add(seen, used);
        }
        if let Some(yard) = self.yard {
            yard.end(self.windows.wall, seen);
        }
    }
}

/// A party that may make items while the clock stands.
#[derive(Clone, Copy, Debug)]
enum Meanwhile {
    /// Nothing that counts: no time is kept, or who else is at work in this process is not known.
    Nothing,
    /// Other threads, whose processor time is seen.
    Threads,
    /// A device, whose work is not.
    Device,
}

impl Meanwhile {
    fn of(bencher: &Bencher) -> Self {
        let settings = &bencher.settings;
        match (settings.purpose, settings.run.platform) {
            (Purpose::Measure, Platform::Cpu) if settings.alone => Self::Threads,
            (Purpose::Measure, Platform::Cpu) | (Purpose::Verify | Purpose::Smoke, _) => Self::Nothing,
            (Purpose::Measure, _) => Self::Device,
        }
    }

    /// For how long items are to be left out: as long as the clock has stood, where some may have been made
    /// meanwhile.
    fn due(self, windows: &Windows) -> Duration {
        match (self, windows.stood()) {
            (Self::Threads, (stood, true)) | (Self::Device, (stood, _)) => stood,
            _ => Duration::ZERO,
        }
    }
}

/// Adds what other processes used in the windows to what this one did, and takes out what is known of this
/// one alone.
fn add(seen: &mut Observation, elsewhere: ResourceUse) {
    let ResourceUse { cpu, wait, minor_faults, major_faults, voluntary_switches, involuntary_switches } =
        elsewhere;
    let around = &mut seen.around;
    let own = around.ran.unwrap_or(seen.usage.cpu.as_nanos() as u64);
    around.ran = cpu.map(|cpu| own + cpu);
    around.waited = around.waited.zip(wait).map(|(own, wait)| own + wait);
    around.helpers = None; // they are among `cpu`, which is of the windows alone
    seen.usage = Usage {
        // Where they cannot tell, a part would pass for the whole: `around.ran` says that there is none.
        cpu: cpu.map_or(Duration::ZERO, |cpu| seen.usage.cpu + Duration::from_nanos(cpu)),
        minor_faults: seen.usage.minor_faults + minor_faults,
        major_faults: seen.usage.major_faults + major_faults,
        voluntary_switches: seen.usage.voluntary_switches + voluntary_switches,
        involuntary_switches: seen.usage.involuntary_switches + involuntary_switches,
        moved: None,
        allocated: None,
        ..seen.usage
    };
    let unknown = || Some(Reading::Elsewhere);
    seen.hardware = Hardware { instructions: unknown(), cycles: unknown(), cache_misses: unknown() };
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::bencher::{Budget, Dtype, Field, FieldKind, ItemBytes, RepeatResult, See, Settings, Spot};
    use crate::device::{Clock, ManualClock};

    const BUDGET: Budget =
        Budget { warmup: 3, batches: 20, min_time: Duration::from_millis(100), max_time: None };

    /// Batches of two rows, each batch taking one millisecond by the clock, the last of the epoch one row.
    struct Rows {
        hand: ManualClock,
        batches: u64,
        at: u64,
        whole: bool,
        lie: u64,
        /// The use of its other processes: a millisecond more each time that it is asked, if it tells.
        elsewhere: Option<ResourceUse>,
    }

    impl Rows {
        fn new(batches: u64) -> Self {
            let hand = ManualClock::default();
            Self { hand, batches, at: 0, whole: false, lie: 0, elsewhere: None }
        }

        fn show(at: u64, elements: u64, see: &mut See<'_>) {
            let bytes: Vec<u8> = [at, at + 1000].iter().flat_map(|row| (*row as i64).to_le_bytes()).collect();
            let kind = FieldKind { name: "row".into(), dtype: Dtype::I64, shape: vec![] };
            see(&Item { elements, bytes: ItemBytes::Here(&[Field { kind: &kind, bytes: &bytes }]) });
        }
    }

    impl Source for Rows {
        fn rewind(&mut self) -> Result<()> {
            self.hand.advance(Duration::from_secs(1)); // outside the clock
            self.at = 0;
            Ok(())
        }

        fn next(&mut self) -> Result<bool> {
            self.hand.advance(Duration::from_micros(600));
            let is_more = self.at < self.batches;
            self.at += u64::from(is_more);
            Ok(is_more)
        }

        fn ready(&mut self) -> Result<()> {
            self.hand.advance(Duration::from_micros(400));
            Ok(())
        }

        fn look(&mut self, see: &mut See<'_>) -> Result<()> {
            Self::show(self.at, 2 + self.lie, see);
            Ok(())
        }

        fn expected(&self) -> Option<ExpectedEpoch> {
            let elements = 2 * self.batches;
            let bytes = 8 * elements;
            let of = ExpectedEpoch {
                elements,
                batch: 2,
                bytes,
                source: bytes,
                transforms: true,
                in_order: true,
                in_memory: true,
                makers: 1,
                keeps: false,
                renewed: false,
            };
            (self.batches > 0).then_some(of)
        }

        fn used_elsewhere(&mut self) -> Result<Option<ResourceUse>> {
            self.hand.advance(Duration::from_secs(1)); // outside the clock
            if let Some(used) = &mut self.elsewhere {
                used.cpu = used.cpu.map(|cpu| cpu + 1_000_000);
                used.minor_faults += 3;
            }
            Ok(self.elsewhere)
        }

        fn whole_pass(&self) -> bool {
            self.whole
        }

        fn pass(&mut self, items: u64, see: &mut See<'_>) -> Result<u64> {
            let items = items.min(self.batches - self.at);
            for _ in 0..items {
                self.at += 1;
                self.hand.advance(Duration::from_millis(1));
                Self::show(self.at, 2, see);
            }
            Ok(items + self.lie)
        }
    }

    fn stream(purpose: Purpose, budget: Budget, source: &mut Rows) -> Result<RepeatResult> {
        let clock: Clock = source.hand.clock();
        let bencher = Bencher::new(Settings { clock, ..Settings::new(purpose, budget) });
        bencher.work(crate::bencher::WorkReport::default());
        bencher.stream(source)?;
        bencher.finish()
    }

    #[test]
    fn each_item_is_timed_from_its_request_until_it_is_ready_and_nothing_else_is() {
        let mut rows = Rows::new(100);
        let seen = stream(Purpose::Measure, BUDGET, &mut rows).unwrap().seen;
        assert_eq!(seen.samples, vec![1_000_000; 100]);
        assert_eq!((seen.passes, seen.wall, seen.warmup), (5, 100_000_000, 6));
        assert_eq!((seen.elements, seen.bytes), (200, 1600));
        assert_eq!(seen.first_item, Some(1_000_000));
        assert!(seen.notes.is_empty(), "{:?}", seen.notes);
    }

    #[test]
    fn what_other_processes_use_in_the_windows_is_added_and_what_is_known_of_one_alone_is_absent() {
        let told = ResourceUse { cpu: Some(5_000_000_000), wait: Some(7), ..ResourceUse::default() };
        let mut rows = Rows { elsewhere: Some(told), ..Rows::new(100) };
        let done = stream(Purpose::Measure, BUDGET, &mut rows).unwrap();
        // Five passes, the first of them in five windows.
        let windows = 9;
        assert_eq!(done.seen.samples, vec![1_000_000; 100], "asking is outside the clock");
        assert!(done.seen.usage.cpu >= Duration::from_millis(windows), "{:?}", done.seen.usage);
        assert!(done.seen.usage.cpu < Duration::from_secs(5), "what was used before is not counted");
        assert!(done.seen.usage.minor_faults >= 3 * windows);
        assert!(done.seen.around.ran.unwrap() >= windows * 1_000_000);
        assert!(done.seen.ran_elsewhere() && done.seen.around.helpers.is_none());
        assert_eq!((done.seen.usage.moved, done.seen.usage.allocated), (None, None));
        assert_eq!(done.seen.hardware.cycles, Some(Reading::Elsewhere));
        let silent = Some(ResourceUse { cpu: None, ..told });
        let mut rows = Rows { elsewhere: silent, ..Rows::new(100) };
        let seen = stream(Purpose::Measure, BUDGET, &mut rows).unwrap().seen;
        assert_eq!((seen.around.ran, seen.usage.cpu), (None, Duration::ZERO), "a part is not the whole");
    }

    #[test]
    fn four_batches_of_a_measured_repeat_are_held_back_and_hashed() {
        let mut rows = Rows::new(100);
        let result = stream(Purpose::Measure, BUDGET, &mut rows).unwrap();
        // Of the epoch without a stop four, of the first pass four, of each later one one.
        assert_eq!(places(&result).len(), 4 + 4 + 4);
        assert_eq!(result.evidence.spots.passes, 1 + 5);
        let expected = (4 + 4 + 4) * 2;
        assert_eq!(result.work.unwrap().content.elements, expected);
    }

    fn places(result: &RepeatResult) -> Vec<u64> {
        result.spots.iter().map(|spot| spot.at.unwrap()).collect()
    }

    #[test]
    fn what_is_copied_differs_from_run_to_run_and_is_hashed_as_in_the_verifying_repeat() {
        let key = crate::bencher::HashKey::draw();
        let with_key = |purpose, rows: &mut Rows| {
            let clock = rows.hand.clock();
            let bencher = Bencher::new(Settings { key, clock, ..Settings::new(purpose, BUDGET) });
            bencher.stream(rows).unwrap();
            bencher.state.into_inner().spots
        };
        let whole = with_key(Purpose::Verify, &mut Rows::new(1000));
        let first = with_key(Purpose::Measure, &mut Rows::new(1000));
        for spot in &first {
            assert_eq!(spot.hashes, whole[spot.at.unwrap() as usize].hashes, "{spot:?}");
        }
        let second = with_key(Purpose::Measure, &mut Rows::new(1000));
        let at = |spots: &[Spot]| spots.iter().map(|spot| spot.at).collect::<Vec<_>>();
        assert_ne!(at(&first), at(&second), "twelve places drawn twice");
    }

    #[test]
    fn an_epoch_without_a_stop_comes_first_and_is_timed_from_before_it_was_begun() {
        let mut rows = Rows::new(100);
        let result = stream(Purpose::Measure, BUDGET, &mut rows).unwrap();
        let seen = result.evidence.unstopped.unwrap();
        assert_eq!((seen.elements, seen.batches, seen.ended), (200, 100, true));
        assert_eq!(Duration::from_nanos(seen.begin), Duration::from_secs(1));
        assert_eq!(Duration::from_nanos(seen.first), Duration::from_millis(1));
        // To the end of the data, which takes a request as well.
        assert_eq!(Duration::from_nanos(seen.wall), Duration::from_micros(1_100_600));
        let mut endless = Rows::new(1_000_000);
        let seen = stream(Purpose::Measure, BUDGET, &mut endless).unwrap().evidence.unstopped.unwrap();
        assert_eq!((seen.batches, seen.ended), (1000, false), "twenty times what is measured, at most");
    }

    #[test]
    fn passes_follow_each_other_and_the_epoch_is_begun_where_none_is_left_before_its_last_batch() {
        // Three batches of warm-up and twenty of each pass. The last batch may be a short one.
        for (batches, begun) in [(104, 1), (103, 2), (64, 2), (63, 3), (44, 3), (43, 5), (24, 5)] {
            let stream = stream(Purpose::Measure, BUDGET, &mut Rows::new(batches)).unwrap();
            assert_eq!((stream.seen.passes, stream.evidence.begun), (5, begun), "{batches} batches");
            assert_eq!(stream.seen.warmup, 3 * begun);
            assert_eq!(stream.seen.notes.len(), 0, "{:?}", stream.seen.notes);
        }
        let mut whole = Rows { whole: true, ..Rows::new(64) };
        assert_eq!(stream(Purpose::Measure, BUDGET, &mut whole).unwrap().evidence.begun, 2);
    }

    #[test]
    fn the_ledger_of_a_stream_adds_up_to_its_life() {
        let mut rows = Rows::new(100);
        let (clock, before) = (rows.hand.clock(), rows.hand.clock().now());
        let ledger = stream(Purpose::Measure, BUDGET, &mut rows).unwrap().seen.ledger;
        assert_eq!(Duration::from_nanos(ledger.sum()), clock.now() - before);
        assert_eq!(Duration::from_nanos(ledger.measured), Duration::from_millis(100));
        assert_eq!(Duration::from_nanos(ledger.begin), Duration::from_secs(2));
    }

    #[test]
    fn a_batch_that_holds_other_elements_than_it_must_is_evidence() {
        for lie in [1, 1 << 62] {
            let noted = stream(Purpose::Measure, BUDGET, &mut Rows { lie, ..Rows::new(100) });
            assert!(noted.is_err(), "a copy of elements that are not there is refused");
        }
        let said = stream(Purpose::Measure, BUDGET, &mut Rows { lie: 1, whole: true, ..Rows::new(100) });
        let said = said.unwrap_err().to_string();
        assert!(said.contains("went through 101 items and showed 100"), "{said}");
    }

    #[test]
    fn a_verifying_repeat_hashes_every_element_of_the_epoch() {
        for whole in [false, true] {
            let mut rows = Rows { whole, ..Rows::new(100) };
            let result = stream(Purpose::Verify, BUDGET, &mut rows).unwrap();
            assert_eq!(result.work.unwrap().content.elements, 200);
            assert_eq!(result.spots.len(), 100);
            assert!(result.seen.samples.is_empty());
        }
    }

    #[test]
    fn a_whole_pass_is_one_sample_without_what_was_copied_in_it() {
        let mut rows = Rows { whole: true, ..Rows::new(100) };
        let result = stream(Purpose::Measure, BUDGET, &mut rows).unwrap();
        assert_eq!(result.seen.taken, Some(SampleKind::Passes));
        assert_eq!(result.seen.samples, vec![20_000_000; 5]);
        assert_eq!((result.seen.elements, result.spots.len()), (200, 12));
    }

    /// Items that take a millisecond each when they are waited for, and nothing when they are there: while an
    /// epoch is begun, which takes five, another thread makes three.
    struct AheadSource {
        rows: Rows,
        there: Cell<u32>,
    }

    impl AheadSource {
        fn stand(&self) {
            self.there.set(3);
            self.rows.hand.work(Duration::from_millis(3));
            self.rows.hand.advance(Duration::from_millis(5));
        }

        fn take(&mut self) -> bool {
            match self.there.get() {
                0 => self.rows.hand.advance(Duration::from_millis(1)),
                more => self.there.set(more - 1),
            }
            let is_more = self.rows.at < self.rows.batches;
            self.rows.at += u64::from(is_more);
            is_more
        }
    }

    impl Source for AheadSource {
        fn rewind(&mut self) -> Result<()> {
            self.rows.at = 0;
            self.stand();
            Ok(())
        }

        fn next(&mut self) -> Result<bool> {
            Ok(self.take())
        }

        fn look(&mut self, see: &mut See<'_>) -> Result<()> {
            Rows::show(self.rows.at, 2, see);
            Ok(())
        }

        fn whole_pass(&self) -> bool {
            self.rows.whole
        }

        fn pass(&mut self, items: u64, see: &mut See<'_>) -> Result<u64> {
            for done in 0..items {
                if !self.take() {
                    return Ok(done);
                }
                Rows::show(self.rows.at, 2, see);
            }
            Ok(items)
        }
    }

    fn ahead(whole: bool, batches: u64, budget: Budget) -> Observation {
        let mut ahead = AheadSource { rows: Rows { whole, ..Rows::new(batches) }, there: Cell::default() };
        let clock = ahead.rows.hand.clock();
        let settings = Settings { alone: true, clock, ..Settings::new(Purpose::Measure, budget) };
        let bencher = Bencher::new(settings);
        bencher.work(crate::bencher::WorkReport::default());
        bencher.stream(&mut ahead).unwrap();
        bencher.finish().unwrap().seen
    }

    #[test]
    fn what_other_threads_make_while_the_clock_stands_is_in_no_sample() {
        for whole in [false, true] {
            let seen = ahead(whole, 1000, BUDGET);
            let each = if whole { vec![20_000_000; 5] } else { vec![1_000_000; 100] };
            assert_eq!((seen.samples, seen.elements), (each, 200));
            // Where an epoch begins, the three that are there warm up, and those of the five milliseconds are
            // caught up with.
            assert_eq!((seen.warmup, seen.caught_up), (5 * 3, 5 * 5), "whole passes: {whole}");
        }
    }

    #[test]
    fn an_epoch_that_ends_where_it_is_caught_up_with_is_begun_again() {
        // One long pass: between passes yardsticks take their time, which is real.
        let budget = Budget { batches: 100, min_time: Duration::ZERO, ..BUDGET };
        for (whole, batches) in (1..60).flat_map(|batches| [(false, batches), (true, batches)]) {
            let seen = ahead(whole, batches, budget);
            assert_eq!((seen.elements, seen.passes), (200, 1), "{batches} batches, whole passes: {whole}");
        }
    }

    #[test]
    fn a_data_set_too_small_for_a_pass_is_begun_again_and_the_record_says_so() {
        for whole in [false, true] {
            let mut rows = Rows { whole, ..Rows::new(7) };
            let seen = stream(Purpose::Measure, BUDGET, &mut rows).unwrap().seen;
            assert_eq!(seen.elements, 200, "the end of the data is no item");
            assert_eq!(seen.wall, 100_000_000);
            assert!(seen.ran_out.is_some());
        }
    }

    #[test]
    fn an_empty_source_and_a_miscounting_one_are_errors() {
        for (purpose, whole) in
            [(Purpose::Measure, false), (Purpose::Measure, true), (Purpose::Verify, false)]
        {
            let error = stream(purpose, BUDGET, &mut Rows { whole, ..Rows::new(0) }).unwrap_err();
            assert!(error.to_string().contains("empty"), "{error}");
        }
        let error = stream(Purpose::Measure, BUDGET, &mut Rows { lie: 1, ..Rows::new(100) }).unwrap_err();
        assert!(error.to_string().contains("not those of 3 elements"), "{error}");
    }

    #[test]
    fn a_planted_slowdown_is_skipped_since_no_item_can_be_asked_for_twice() {
        let settings = Settings { inject: 0.02, ..Settings::new(Purpose::Measure, BUDGET) };
        let refused = Bencher::new(settings).stream(&mut Rows::new(100)).unwrap_err();
        assert!(refused.is_skip() && refused.to_string().contains("a stream has none"), "{refused}");
    }

    #[test]
    fn drawn_positions_differ_from_each_other() {
        let mut random = SplitMix64::new(draw_secret());
        let mut positions = draw(&mut random, SPOTS, 20);
        positions.sort_unstable();
        positions.dedup();
        assert_eq!(positions.len(), SPOTS);
        assert_eq!(draw(&mut random, SPOTS, 2).len(), 2);
    }
}
