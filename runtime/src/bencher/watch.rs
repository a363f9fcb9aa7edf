//! Watching what disturbs samples: counters of each window, and a look at the machine now and then between
//! two.

use std::time::Duration;

use crate::device::{Clock, Noise, NoiseReader, ProcessorLoss, frequency, load_average, own_schedule};
use crate::metric::{Block, Cause, DisturbedSamples, ExcludedTime, Observation, Surroundings};
use crate::stats;

/// The kernel counts stolen time in ticks, mostly of this length: looking more often would see nothing more.
const TICK: Duration = Duration::from_millis(10);

/// Looking takes at most one part in so many of the time.
const SHARE: u32 = 100;

/// Watches the measured samples of one repeat.
#[derive(Debug)]
pub(super) struct SampleWatch {
    clock: Clock,
    reader: NoiseReader,
    before: Noise,
    /// The moment when that was read.
    since: Duration,
    apart: ExcludedTime,
    frequency: Option<u64>,
    load: Option<f64>,
    /// The last look at what is taken away, when it was, and how many samples there were.
    looked: (ProcessorLoss, Duration, usize),
    /// Until the next look.
    pause: Duration,
    /// Page faults and samples of each window.
    windows: Vec<(u64, u32)>,
    /// Samples so far.
    samples: usize,
    preempted: Vec<u32>,
    stolen: Vec<u32>,
    throttled: Vec<u32>,
}

impl SampleWatch {
    /// Begins to watch: right before the first measured window opens.
    pub(super) fn begin(clock: &Clock) -> Self {
        let (reader, frequency, load) = (NoiseReader::new(), frequency(), load_average());
        let before = reader.read();
        Self {
            looked: (before.lost, clock.now(), 0),
            since: clock.now(),
            apart: ExcludedTime::default(),
            clock: clock.clone(),
            reader,
            before,
            frequency,
            load,
            pause: TICK,
            windows: Vec::new(),
            samples: 0,
            preempted: Vec::new(),
            stolen: Vec::new(),
            throttled: Vec::new(),
        }
    }

    /// Takes in a closed window that gave so many samples. Streams have many items in one: a window that was
    /// disturbed tags them all, since counters are not read between two stamps.
    pub(super) fn window(&mut self, seen: &Block, samples: usize) {
        let from = self.samples;
        self.samples += samples;
        self.windows.push((seen.faults, samples as u32));
        if seen.preemptions > 0 {
            self.preempted.extend(from as u32..self.samples as u32);
        }
        let now = self.clock.now();
        if now - self.looked.1 >= self.pause {
            self.look(self.reader.lost());
            self.pause = TICK.max((self.clock.now() - now) * SHARE);
        }
    }

    /// Does something of the harness's own on the measuring thread, between two windows: what it runs and
    /// waits meanwhile is none of the subject's.
    pub(super) fn apart(&mut self, work: impl FnOnce()) {
        let (start, before) = (self.clock.now(), own_schedule());
        work();
        self.apart.wall += self.clock.now() - start;
        if let (Some((ran, waited)), Some(after)) = (before, own_schedule()) {
            self.apart.ran += after.0.saturating_sub(ran);
            self.apart.waited += after.1.saturating_sub(waited);
        }
    }

    /// Tags all samples since the last look with what has grown.
    fn look(&mut self, lost: ProcessorLoss) {
        let (before, _, from) = self.looked;
        let samples = from as u32..self.samples as u32;
        for cause in Cause::between(before, lost) {
            let tagged = if cause == Cause::Stolen { &mut self.stolen } else { &mut self.throttled };
            tagged.extend(samples.clone());
        }
        self.looked = (lost, self.clock.now(), self.samples);
    }

    /// Ends: right after the last measured window has closed. What was seen goes into the observation.
    pub(super) fn end(mut self, seen: &mut Observation) {
        let after = self.reader.read();
        self.look(after.lost);
        seen.around = Surroundings {
            frequency: [self.frequency, frequency()],
            load: [self.load, load_average()],
            ..Surroundings::between(&self.before, &after, self.clock.now() - self.since, self.apart)
        };
        let faulted = faulted(&self.windows);
        let tags = [
            (Cause::Preempted, self.preempted),
            (Cause::Faulted, faulted),
            (Cause::Stolen, self.stolen),
            (Cause::Throttled, self.throttled),
        ];
        for (cause, samples) in tags {
            if !samples.is_empty() {
                seen.tags.push(DisturbedSamples { cause, samples });
            }
        }
        seen.classify();
    }
}

/// The samples of windows with more page faults than the median window: a body that always faults is not
/// disturbed by it.
fn faulted(windows: &[(u64, u32)]) -> Vec<u32> {
    let mut found = Vec::new();
    if windows.iter().all(|(faults, _)| *faults == 0) {
        return found;
    }
    let faults: Vec<f64> = windows.iter().map(|(faults, _)| *faults as f64).collect();
    let usual = stats::median(&faults);
    let mut from = 0;
    for (faults, samples) in windows {
        if *faults as f64 > usual {
            found.extend(from..from + samples);
        }
        from += samples;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::ManualClock;

    fn tags(watch: SampleWatch) -> Vec<(Cause, Vec<u32>)> {
        let mut seen = Observation::default();
        watch.end(&mut seen);
        let outside = [Cause::Stolen, Cause::Throttled]; // whatever this machine does while the test runs
        seen.tags.retain(|tag| !outside.contains(&tag.cause));
        seen.tags.into_iter().map(|tag| (tag.cause, tag.samples)).collect()
    }

    #[test]
    fn a_window_that_was_preempted_tags_its_samples_and_no_others() {
        let mut watch = SampleWatch::begin(&ManualClock::default().clock());
        for (preemptions, samples) in [(0, 1), (2, 1), (0, 20), (1, 3), (0, 1)] {
            watch.window(&Block { preemptions, ..Block::default() }, samples);
        }
        assert_eq!(tags(watch), [(Cause::Preempted, vec![1, 22, 23, 24])]);
    }

    #[test]
    fn a_sample_is_faulted_by_more_faults_than_its_repeat_usually_has() {
        let run = |faults: &[u64]| {
            let mut watch = SampleWatch::begin(&ManualClock::default().clock());
            for faults in faults {
                watch.window(&Block { faults: *faults, ..Block::default() }, 1);
            }
            tags(watch)
        };
        assert_eq!(run(&[0, 0, 7, 0, 1]), [(Cause::Faulted, vec![2, 4])]);
        assert_eq!(run(&[256, 256, 256, 300, 256]), [(Cause::Faulted, vec![3])], "a body that allocates");
        assert_eq!(run(&[0; 5]), []);
        assert_eq!(run(&[]), []);
    }

    #[test]
    fn what_is_done_apart_is_no_time_of_the_subject() {
        let hand = ManualClock::default();
        let mut watch = SampleWatch::begin(&hand.clock());
        hand.advance(Duration::from_secs(1));
        watch.apart(|| hand.advance(Duration::from_secs(5)));
        let mut seen = Observation::default();
        watch.end(&mut seen);
        assert_eq!(seen.around.span, 1_000_000_000);
    }

    #[test]
    fn what_was_taken_away_tags_the_samples_since_the_last_look() {
        let mut watch = SampleWatch::begin(&ManualClock::default().clock());
        let lost = |stolen, throttled| ProcessorLoss { stolen: Some(stolen), throttled: Some(throttled) };
        watch.looked.0 = lost(5, 1);
        let window = |watch: &mut SampleWatch| watch.window(&Block::default(), 2);
        window(&mut watch);
        watch.look(lost(5, 1));
        window(&mut watch);
        watch.look(lost(15, 1));
        window(&mut watch);
        watch.look(lost(15, 3));
        assert_eq!((watch.stolen, watch.throttled), (vec![2, 3], vec![4, 5]));
    }
}
