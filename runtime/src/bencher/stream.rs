//! Timing a stream item by item, or pass by pass; and going through it once to see what it delivers.

use std::time::Duration;

use super::source::{Count, Source};
use super::watch::Watch;
use super::window::Windows;
use super::yardstick::Yard;
use super::{Bencher, Content, Error, Kept, Limits, Phase, Purpose, Result, Used};
use crate::device::{Platform, Usage};
use crate::metric::{ELSEWHERE, Hardware, Observation, Reading, Taken};
use crate::stats::SplitMix64;

/// How many batches of a measured repeat are copied and verified after the clock has stopped.
const HELD: usize = 4;

/// The windows and the sum of the samples may differ by this share, and by [`SLACK`] for each sample.
const TOLERANCE: f64 = 0.05;

/// What the clock readings and the bookkeeping of one sample may cost beyond that.
const SLACK: Duration = Duration::from_nanos(500);

impl Bencher {
    /// Times a stream: passes of the profile's batches, each from a rewound source, its warm-up batches left out,
    /// until enough has been measured. A source with whole passes is timed pass by pass instead.
    ///
    /// Samples are stamped consecutively: the end of one item is the start of the next. Four batches, drawn from a seed
    /// that the subject never sees, are copied between two stamps and hashed after the clock has stopped.
    ///
    /// Where other threads or a device may have made items ready while the clock stood, for a copy or to rewind, items are
    /// left out for as long as it stood: those are gone then, and each measured one is waited for.
    ///
    /// # Errors
    /// What the source says; that it is empty; that the samples do not add up to the wall time. Where a slowdown is to be
    /// planted, a skip: an item cannot be asked for twice.
    pub fn stream(&self, source: &mut dyn Source) -> Result<()> {
        if !self.begin_body() {
            return Ok(()); // refused in `finish`
        }
        self.enter(Phase::WarmUp);
        self.refuse_injection()?;
        if self.settings.purpose == Purpose::Verify {
            return self.go_through(source);
        }
        self.mute_regions(true);
        let mut run = Run::new(self);
        let measured = run.measure(self, source);
        self.mute_regions(false);
        self.enter(Phase::TearDown);
        measured?;
        run.hand_in(self)
    }

    /// A skip where a slowdown is to be planted: what is planted are iterations of a body, and a stream has none.
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
        let mut hashes = Vec::new();
        source.rewind()?;
        self.enter(Phase::Timed);
        let mut items = 0;
        let mut look = |counted: Count, item: &Kept| {
            items += 1;
            if counted.elements != item.elements as u64 {
                return Err(miscounted(counted, item));
            }
            content.add(item, &mut |hash| hashes.push(hash));
            Ok(())
        };
        if source.whole_pass() {
            let mut failed = Ok(());
            source.pass(u64::MAX, &mut |count, copy| {
                if failed.is_ok() {
                    failed = look(count, &copy());
                }
            })?;
            failed?;
        } else {
            while let Some(count) = source.next()? {
                source.ready()?;
                look(count, &source.keep()?)?;
            }
        }
        self.enter(Phase::TearDown);
        if items == 0 {
            return Err(empty());
        }
        let state = &mut *self.state.borrow_mut();
        state.content = content;
        state.hashes = hashes;
        Ok(())
    }
}

pub(super) fn miscounted(counted: Count, item: &Kept) -> Error {
    Error::new(format!(
        "the source counted {} elements in a batch that holds {}",
        counted.elements, item.elements
    ))
}

/// The note that an epoch ended within a pass.
pub(super) fn too_small(limits: Limits) -> String {
    format!(
        "the data set is too small for a pass of {} batches after {} of warm-up: the epoch was begun again inside it",
        limits.batches, limits.warmup
    )
}

pub(super) fn empty() -> Error {
    Error::new("the source is empty: it gave no item after a rewind")
}

/// A measured stream in progress.
struct Run {
    windows: Windows,
    watch: Option<Watch>,
    yard: Option<Yard>,
    /// What other processes had used when the window was opened, and what they used in all windows.
    before: Option<Used>,
    elsewhere: Option<Used>,
    samples: Vec<u64>,
    /// CPU time of each pass that ran in one call.
    cpu: Vec<u64>,
    /// Samples that the watch has been told of.
    watched: usize,
    counted: Count,
    first: Option<Duration>,
    warmup: u64,
    /// Items that were left out since they may have been made while the clock stood.
    caught_up: u64,
    meanwhile: Meanwhile,
    passes: u64,
    /// Positions within the first pass that are copied.
    hold: Vec<u64>,
    held: Vec<(Count, Kept)>,
    ran_out: bool,
    taken: Taken,
}

impl Run {
    fn new(bencher: &Bencher) -> Self {
        let batches = bencher.settings.limits.batches;
        Self {
            windows: Windows::measured(bencher.settings.clock.clone()),
            watch: None,
            yard: None,
            before: None,
            elsewhere: None,
            cpu: Vec::new(),
            watched: 0,
            samples: Vec::with_capacity(1 << 16), // so that pushing a sample does not allocate in a common run
            counted: Count::default(),
            first: None,
            warmup: 0,
            caught_up: 0,
            meanwhile: Meanwhile::of(bencher),
            passes: 0,
            hold: draw(bencher.settings.hold_seed, batches),
            held: Vec::with_capacity(HELD),
            ran_out: false,
            taken: Taken::Items,
        }
    }

    fn measure(&mut self, bencher: &Bencher, source: &mut dyn Source) -> Result<()> {
        let limits = bencher.settings.limits;
        let whole = source.whole_pass();
        if whole {
            self.taken = Taken::Passes;
        }
        if bencher.pace.borrow().is_none() {
            self.yard = Yard::begin(bencher.settings.purpose, limits);
        }
        loop {
            source.rewind()?;
            let (due, begun) = (self.meanwhile.due(&self.windows), bencher.settings.clock.now());
            if whole {
                self.warm_up_pass(limits.warmup, source)?;
            } else {
                // The first item of the process is a metric of its own, so a measuring repeat leaves out one at least.
                let first = u64::from(self.first.is_none() && limits.min_time > Duration::ZERO);
                self.warm_up(bencher, limits.warmup.max(first), source)?;
            }
            let warming_up = bencher.settings.clock.now() - begun;
            self.catch_up(bencher, due.saturating_sub(warming_up), source)?;
            bencher.enter(Phase::Timed);
            bencher.mute_regions(false);
            self.watch.get_or_insert_with(|| Watch::begin(&bencher.settings.clock));
            if whole {
                self.pass(bencher, limits.batches, source)?;
            } else {
                self.items(bencher, limits.batches, source)?;
            }
            bencher.mute_regions(true);
            self.passes += 1;
            if self.windows.wall >= limits.min_time {
                return Ok(());
            }
            if let Some(yard) = &mut self.yard {
                yard.between(self.windows.wall);
            }
        }
    }

    fn warm_up(&mut self, bencher: &Bencher, items: u64, source: &mut dyn Source) -> Result<()> {
        let clock = &bencher.settings.clock;
        for _ in 0..items {
            let start = clock.now();
            if source.next()?.is_none() {
                self.ran_out = true;
                source.rewind()?;
                continue;
            }
            source.ready()?;
            self.first.get_or_insert_with(|| clock.now() - start);
            self.warmup += 1;
        }
        Ok(())
    }

    fn warm_up_pass(&mut self, items: u64, source: &mut dyn Source) -> Result<()> {
        if items > 0 {
            let done = source.pass(items, &mut |_, _| {})?;
            self.warmup += done;
            if done < items {
                self.ran_out = true;
                source.rewind()?;
            }
        }
        Ok(())
    }

    /// Leaves out items for so long, or to the end of the epoch.
    fn catch_up(&mut self, bencher: &Bencher, due: Duration, source: &mut dyn Source) -> Result<()> {
        let clock = &bencher.settings.clock;
        let begun = clock.now();
        while clock.now() - begun < due {
            let is_more = match self.taken {
                Taken::Passes => source.pass(1, &mut |_, _| {})? > 0,
                _ => source.next()?.is_some(),
            };
            if !is_more {
                self.ran_out = true;
                return source.rewind();
            }
            if self.taken != Taken::Passes {
                source.ready()?;
            }
            self.caught_up += 1;
        }
        Ok(())
    }

    /// One pass, item by item.
    fn items(&mut self, bencher: &Bencher, items: u64, source: &mut dyn Source) -> Result<()> {
        let clock = &bencher.settings.clock;
        // How often the data has ended since the last item. The second time it is as long as what was caught up with, or empty.
        let mut ends = 0;
        let mut item = 0;
        self.samples.reserve(items as usize);
        let mut last = self.open(source)?;
        while item < items {
            // The timed region: ask, wait, stamp. The stamp that ends this item starts the next.
            let Some(count) = source.next()? else {
                // The end of the data is no item: close the window at the last stamp, go back, go on.
                self.close_at(last, source)?;
                (ends, self.ran_out) = (ends + 1, true);
                source.rewind()?;
                match ends {
                    1 => self.catch_up(bencher, self.meanwhile.due(&self.windows), source)?,
                    2 => {}
                    _ => return Err(empty()),
                }
                last = self.open(source)?;
                continue;
            };
            source.ready()?;
            let now = clock.now();
            ends = 0;
            self.samples.push((now - last).as_nanos() as u64);
            self.counted.elements += count.elements;
            self.counted.bytes += count.bytes;
            last = now;
            if self.passes == 0 && self.hold.contains(&item) {
                // Copied between two stamps and left out of every window alike.
                self.close_at(now, source)?;
                self.held.push((count, source.keep()?));
                self.catch_up(bencher, self.meanwhile.due(&self.windows), source)?;
                last = self.open(source)?;
            }
            item += 1;
        }
        self.close_at(last, source)
    }

    /// Opens a window of items, and says when.
    fn open(&mut self, source: &mut dyn Source) -> Result<Duration> {
        self.before = source.used_elsewhere()?;
        Ok(self.windows.open())
    }

    /// Closes a window of items. What disturbed it is known of all its items together: counters are not read between
    /// two stamps.
    fn close_at(&mut self, end: Duration, source: &mut dyn Source) -> Result<()> {
        self.windows.close_at(end);
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
    fn pass(&mut self, bencher: &Bencher, items: u64, source: &mut dyn Source) -> Result<()> {
        let clock = &bencher.settings.clock;
        let before = (self.windows.wall, self.windows.usage.cpu);
        let mut done = 0;
        let mut ended = false;
        let mut left_out: Option<(Duration, Duration)> = None; // since when items are, and for how long
        while done < items {
            let (hold, held, counted, windows, caught_up) =
                (&self.hold, &mut self.held, &mut self.counted, &mut self.windows, &mut self.caught_up);
            let (first_pass, meanwhile) = (self.passes == 0, self.meanwhile);
            let asked = items - done;
            if left_out.is_none() {
                windows.open();
            }
            let more = source.pass(asked, &mut |count, copy| {
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
                if first_pass && hold.contains(&done) {
                    windows.close();
                    held.push((count, copy()));
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
            if more == 0 && ended {
                return Err(empty());
            }
            if more < asked {
                (self.ran_out, left_out) = (true, None);
                source.rewind()?;
                if more > 0 {
                    self.catch_up(bencher, self.meanwhile.due(&self.windows), source)?;
                }
            }
            ended = more == 0;
        }
        self.samples.push((self.windows.wall - before.0).as_nanos() as u64);
        self.cpu.push((self.windows.usage.cpu - before.1).as_nanos() as u64);
        self.watch_window();
        Ok(())
    }

    /// Checks the sum of the samples, hashes what was held back, and hands everything to the bencher.
    fn hand_in(mut self, bencher: &Bencher) -> Result<()> {
        let sum = Duration::from_nanos(self.samples.iter().sum());
        let gap = sum.abs_diff(self.windows.wall);
        let allowed = self.windows.wall.mul_f64(TOLERANCE) + SLACK * self.samples.len() as u32;
        if gap > allowed {
            return Err(Error::new(format!(
                "the clock does not verify: the samples add up to {sum:?}, but {:?} of wall time passed",
                self.windows.wall
            )));
        }
        let state = &mut *bencher.state.borrow_mut();
        state.remote = self.elsewhere.is_some();
        for (count, item) in &self.held {
            if count.elements != item.elements as u64 {
                return Err(miscounted(*count, item));
            }
            state.content.add(item, &mut |hash| state.hashes.push(hash));
        }
        let items = self.samples.len() as u64;
        let seen = &mut state.seen;
        if self.ran_out {
            seen.notes.push(too_small(bencher.settings.limits));
        }
        seen.taken = Some(self.taken);
        seen.iterations_per_sample = match self.taken {
            Taken::Passes => bencher.settings.limits.batches,
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
            yard.end(seen);
        }
        Ok(())
    }
}

/// What may make items while the clock stands.
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
        match (settings.purpose, settings.platform) {
            (Purpose::Measure, Platform::Cpu) if settings.alone => Self::Threads,
            (Purpose::Measure, Platform::Cpu) | (Purpose::Verify | Purpose::Smoke, _) => Self::Nothing,
            (Purpose::Measure, _) => Self::Device,
        }
    }

    /// For how long items are to be left out: as long as the clock has stood, where some may have been made meanwhile.
    fn due(self, windows: &Windows) -> Duration {
        match (self, windows.stood()) {
            (Self::Threads, (stood, true)) | (Self::Device, (stood, _)) => stood,
            _ => Duration::ZERO,
        }
    }
}

/// Adds what other processes used in the windows to what this one did, and takes out what is known of this one alone.
fn add(seen: &mut Observation, elsewhere: Used) {
    let Used { cpu, wait, minor_faults, major_faults, voluntary_switches, involuntary_switches } = elsewhere;
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
    let unknown = || Some(Reading::absent(ELSEWHERE));
    seen.hardware = Hardware { instructions: unknown(), cycles: unknown(), cache_misses: unknown() };
}

/// Draws [`HELD`] different positions below `batches`, or all of them if there are fewer.
pub(super) fn draw(seed: u64, batches: u64) -> Vec<u64> {
    let mut random = SplitMix64::new(seed);
    let mut drawn = Vec::new();
    while drawn.len() < HELD.min(batches as usize) {
        let position = random.below(batches);
        if !drawn.contains(&position) {
            drawn.push(position);
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::bencher::{Dtype, Each, KeptField, Limits, Settings, Yield};
    use crate::device::{Clock, ManualClock};

    const LIMITS: Limits = Limits { warmup: 3, batches: 20, min_time: Duration::from_millis(100) };

    /// Batches of two rows, each batch taking one millisecond by the clock, the last of the epoch one row.
    struct Rows {
        hand: ManualClock,
        batches: u64,
        at: u64,
        copies: u32,
        whole: bool,
        lie: u64,
        /// What its other processes have used: a millisecond more each time that it is asked, if it tells.
        elsewhere: Option<Used>,
    }

    impl Rows {
        fn new(batches: u64) -> Self {
            let hand = ManualClock::default();
            Self { hand, batches, at: 0, copies: 0, whole: false, lie: 0, elsewhere: None }
        }

        fn item(at: u64) -> Kept {
            let bytes = [at, at + 1000].iter().flat_map(|row| (*row as i64).to_le_bytes()).collect();
            let field = KeptField { name: "row".into(), dtype: Dtype::I64, shape: vec![], bytes };
            Kept { elements: 2, fields: vec![field] }
        }
    }

    impl Source for Rows {
        fn rewind(&mut self) -> Result<()> {
            self.hand.advance(Duration::from_secs(1)); // outside the clock
            self.at = 0;
            Ok(())
        }

        fn next(&mut self) -> Result<Option<Count>> {
            self.hand.advance(Duration::from_micros(600));
            if self.at == self.batches {
                return Ok(None);
            }
            self.at += 1;
            Ok(Some(Count { elements: 2 + self.lie, bytes: 16 }))
        }

        fn ready(&mut self) -> Result<()> {
            self.hand.advance(Duration::from_micros(400));
            Ok(())
        }

        fn keep(&mut self) -> Result<Kept> {
            self.hand.advance(Duration::from_secs(1)); // outside the clock
            self.copies += 1;
            Ok(Self::item(self.at))
        }

        fn used_elsewhere(&mut self) -> Result<Option<Used>> {
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

        fn pass(&mut self, items: u64, each: &mut Each<'_>) -> Result<u64> {
            let items = items.min(self.batches - self.at);
            for _ in 0..items {
                self.at += 1;
                self.hand.advance(Duration::from_millis(1));
                let (hand, at) = (&self.hand, self.at);
                each(Count { elements: 2, bytes: 16 }, &|| {
                    hand.advance(Duration::from_secs(1)); // outside the clock
                    Self::item(at)
                });
            }
            Ok(items)
        }
    }

    fn stream(purpose: Purpose, limits: Limits, source: &mut Rows) -> Result<Yield> {
        let clock: Clock = source.hand.clock();
        let bencher = Bencher::new(Settings { clock, ..Settings::new(purpose, limits) });
        bencher.work(crate::bencher::Ticket::default());
        bencher.stream(source)?;
        bencher.finish()
    }

    #[test]
    fn each_item_is_timed_from_its_request_until_it_is_ready_and_nothing_else_is() {
        let mut rows = Rows::new(100);
        let seen = stream(Purpose::Measure, LIMITS, &mut rows).unwrap().seen;
        assert_eq!(seen.samples, vec![1_000_000; 100]);
        assert_eq!((seen.passes, seen.wall, seen.warmup), (5, 100_000_000, 15));
        assert_eq!((seen.elements, seen.bytes), (200, 1600));
        assert_eq!(seen.first_item, Some(1_000_000));
        assert!(seen.notes.is_empty(), "{:?}", seen.notes);
    }

    #[test]
    fn what_other_processes_use_in_the_windows_is_added_and_what_is_known_of_one_alone_is_absent() {
        let told = Used { cpu: Some(5_000_000_000), wait: Some(7), ..Used::default() };
        let mut rows = Rows { elsewhere: Some(told), ..Rows::new(100) };
        let done = stream(Purpose::Measure, LIMITS, &mut rows).unwrap();
        // Five passes, the first of them in five windows.
        let windows = 9;
        assert_eq!(done.seen.samples, vec![1_000_000; 100], "asking is outside the clock");
        assert!(done.seen.usage.cpu >= Duration::from_millis(windows), "{:?}", done.seen.usage);
        assert!(done.seen.usage.cpu < Duration::from_secs(5), "what was used before is not counted");
        assert!(done.seen.usage.minor_faults >= 3 * windows);
        assert!(done.seen.around.ran.unwrap() >= windows * 1_000_000);
        assert!(done.seen.ran_elsewhere() && done.seen.around.helpers.is_none());
        assert_eq!((done.seen.usage.moved, done.seen.usage.allocated), (None, None));
        assert_eq!(done.seen.hardware.cycles.unwrap().why(), Some(ELSEWHERE));
        let silent = Some(Used { cpu: None, ..told });
        let mut rows = Rows { elsewhere: silent, ..Rows::new(100) };
        let seen = stream(Purpose::Measure, LIMITS, &mut rows).unwrap().seen;
        assert_eq!((seen.around.ran, seen.usage.cpu), (None, Duration::ZERO), "a part is not the whole");
    }

    #[test]
    fn four_batches_of_a_measured_repeat_are_held_back_and_hashed() {
        let mut rows = Rows::new(100);
        let yielded = stream(Purpose::Measure, LIMITS, &mut rows).unwrap();
        assert_eq!((rows.copies, yielded.hashes.len()), (4, 8));
        let everything = stream(Purpose::Verify, LIMITS, &mut Rows::new(100)).unwrap();
        assert!(yielded.hashes.iter().all(|hash| everything.hashes.contains(hash)));
    }

    #[test]
    fn a_verifying_repeat_hashes_every_element_of_the_epoch() {
        for whole in [false, true] {
            let mut rows = Rows { whole, ..Rows::new(100) };
            let yielded = stream(Purpose::Verify, LIMITS, &mut rows).unwrap();
            assert_eq!(yielded.work.unwrap().content.elements, 200);
            assert_eq!(yielded.hashes.len(), 200);
            assert!(yielded.seen.samples.is_empty());
        }
    }

    #[test]
    fn a_whole_pass_is_one_sample_without_what_was_copied_in_it() {
        let mut rows = Rows { whole: true, ..Rows::new(100) };
        let yielded = stream(Purpose::Measure, LIMITS, &mut rows).unwrap();
        assert_eq!(yielded.seen.taken, Some(Taken::Passes));
        assert_eq!(yielded.seen.samples, vec![20_000_000; 5]);
        assert_eq!((yielded.seen.elements, yielded.hashes.len()), (200, 8));
    }

    /// Items that take a millisecond each when they are waited for, and nothing when they are there: while one is copied, or
    /// an epoch begun, which takes five, another thread makes three.
    struct Ahead {
        rows: Rows,
        there: Cell<u32>,
    }

    impl Ahead {
        fn copy(&self) -> Kept {
            self.stand();
            Rows::item(self.rows.at)
        }

        fn stand(&self) {
            self.there.set(3);
            self.rows.hand.work(Duration::from_millis(3));
            self.rows.hand.advance(Duration::from_millis(5));
        }

        fn take(&mut self) -> Option<Count> {
            match self.there.get() {
                0 => self.rows.hand.advance(Duration::from_millis(1)),
                more => self.there.set(more - 1),
            }
            let is_more = self.rows.at < self.rows.batches;
            self.rows.at += u64::from(is_more);
            is_more.then_some(Count { elements: 2, bytes: 16 })
        }
    }

    impl Source for Ahead {
        fn rewind(&mut self) -> Result<()> {
            self.rows.at = 0;
            self.stand();
            Ok(())
        }

        fn next(&mut self) -> Result<Option<Count>> {
            Ok(self.take())
        }

        fn keep(&mut self) -> Result<Kept> {
            Ok(self.copy())
        }

        fn whole_pass(&self) -> bool {
            self.rows.whole
        }

        fn pass(&mut self, items: u64, each: &mut Each<'_>) -> Result<u64> {
            for done in 0..items {
                let Some(count) = self.take() else { return Ok(done) };
                each(count, &|| self.copy());
            }
            Ok(items)
        }
    }

    fn ahead(whole: bool, batches: u64, limits: Limits) -> Observation {
        let mut ahead = Ahead { rows: Rows { whole, ..Rows::new(batches) }, there: Cell::default() };
        let clock = ahead.rows.hand.clock();
        let settings = Settings { alone: true, clock, ..Settings::new(Purpose::Measure, limits) };
        let bencher = Bencher::new(settings);
        bencher.work(crate::bencher::Ticket::default());
        bencher.stream(&mut ahead).unwrap();
        bencher.finish().unwrap().seen
    }

    #[test]
    fn what_other_threads_make_while_the_clock_stands_is_in_no_sample() {
        for whole in [false, true] {
            let seen = ahead(whole, 1000, LIMITS);
            let each = if whole { vec![20_000_000; 5] } else { vec![1_000_000; 100] };
            assert_eq!((seen.samples, seen.elements), (each, 200));
            // Of each copy, the three that were there and those of the five milliseconds that it took. Where an epoch begins,
            // the three warm up.
            assert_eq!((seen.warmup, seen.caught_up), (5 * 3, 4 * 8 + 5 * 5), "whole passes: {whole}");
        }
    }

    #[test]
    fn an_epoch_that_ends_where_it_is_caught_up_with_is_begun_again() {
        // One long pass: between passes yardsticks take their time, which is real.
        let limits = Limits { batches: 100, min_time: Duration::ZERO, ..LIMITS };
        for (whole, batches) in (1..60).flat_map(|batches| [(false, batches), (true, batches)]) {
            let seen = ahead(whole, batches, limits);
            assert_eq!((seen.elements, seen.passes), (200, 1), "{batches} batches, whole passes: {whole}");
        }
    }

    #[test]
    fn a_data_set_too_small_for_a_pass_is_begun_again_and_the_record_says_so() {
        for whole in [false, true] {
            let mut rows = Rows { whole, ..Rows::new(7) };
            let seen = stream(Purpose::Measure, LIMITS, &mut rows).unwrap().seen;
            assert_eq!(seen.elements, 200, "the end of the data is no item");
            assert_eq!(seen.wall, 100_000_000);
            assert!(seen.notes[0].contains("too small"), "{:?}", seen.notes);
        }
    }

    #[test]
    fn an_empty_source_and_a_miscounting_one_are_errors() {
        for (purpose, whole) in
            [(Purpose::Measure, false), (Purpose::Measure, true), (Purpose::Verify, false)]
        {
            let error = stream(purpose, LIMITS, &mut Rows { whole, ..Rows::new(0) }).unwrap_err();
            assert!(error.to_string().contains("empty"), "{error}");
        }
        let error = stream(Purpose::Measure, LIMITS, &mut Rows { lie: 1, ..Rows::new(100) }).unwrap_err();
        assert!(error.to_string().contains("counted 3 elements"), "{error}");
    }

    #[test]
    fn a_planted_slowdown_is_skipped_since_no_item_can_be_asked_for_twice() {
        let settings = Settings { inject: 0.02, ..Settings::new(Purpose::Measure, LIMITS) };
        let refused = Bencher::new(settings).stream(&mut Rows::new(100)).unwrap_err();
        assert!(refused.is_skip() && refused.to_string().contains("a stream has none"), "{refused}");
    }

    #[test]
    fn held_back_positions_differ_and_follow_from_the_seed() {
        assert_eq!(draw(1, 20), draw(1, 20));
        assert_ne!(draw(1, 20), draw(2, 20));
        let mut positions = draw(9, 20);
        positions.sort_unstable();
        positions.dedup();
        assert_eq!(positions.len(), HELD);
        assert_eq!(draw(9, 2).len(), 2);
    }
}
