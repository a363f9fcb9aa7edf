//! Whole lives of a pipeline, from before its opening to after its end.
//!
//! Whoever makes batches before they are asked for has them in the time of an opening, of a beginning, of the
//! first batch, or of a question about something else. A compiler, an arena or threads may take that time as
//! well; but what they take does not grow with the data. So lives over a part of the data and over all of it
//! are timed, and what is between them is work.

use std::time::Duration;

use super::window::Windows;
use super::{Bencher, LifePair, PipelineLife, Purpose, RemoteEpoch, Result};
use crate::device::{NoiseReader, keep_freed_memory};
use crate::metric::{Entry, ExcludedTime, Surroundings};

/// The data that a pipeline lives over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LifeData {
    /// A part of it, at a place that follows from this number.
    Part(usize),
    /// All of it.
    Whole,
}

/// Pairs are timed until lives over all data have taken so long together.
const ENOUGH: Duration = Duration::from_millis(100);

/// A part that takes longer has no lives: the repeat has a deadline, and an epoch to go through.
const LONGEST: Duration = Duration::from_secs(2);

/// So many pairs at least, unless one is long enough, and so many at most.
const LEAST: usize = 3;
const MOST: usize = 9;

/// A part in another process that takes longer, with its opening, has no lives. No pair begins after twice
/// that.
const ELSEWHERE: Duration = Duration::from_secs(5);

impl Bencher {
    /// Times whole lives of a pipeline in turns, over all data and over a part of it, in a verifying repeat
    /// alone. `elements` are those of a part and of the whole; `live` opens a pipeline over what it is given,
    /// goes through an epoch and lets it go. A pipeline that cannot be opened over a part has no such lives.
    ///
    /// # Errors
    /// What `live` says of all data, a skip among it.
    pub fn lives(&self, elements: [u64; 2], live: &mut dyn FnMut(LifeData) -> Result<()>) -> Result<()> {
        if self.settings.purpose != Purpose::Verify {
            return Ok(());
        }
        let [part, whole] = elements;
        // Memory that is touched for the first time would be most of a life.
        keep_freed_memory();
        // What is done once in a process is in no life that counts.
        let begun = self.settings.clock.now();
        if live(LifeData::Part(0)).is_err() || self.settings.clock.now() - begun > LONGEST {
            return Ok(());
        }
        let (mut pairs, mut took) = (Vec::new(), Duration::ZERO);
        while pairs.len() < MOST && (took < ENOUGH || pairs.len() < LEAST && took < LEAST as u32 * ENOUGH) {
            let whole = self.life(whole, || live(LifeData::Whole))?;
            let part = self.life(part, || live(LifeData::Part(pairs.len() + 1)))?;
            took += Duration::from_nanos(whole.wall);
            pairs.push(LifePair { whole, part });
        }
        self.state.borrow_mut().evidence.lives = pairs;
        self.charge(Entry::Verify);
        Ok(())
    }

    /// The same of a pipeline in another process, by that one's clock: `live` opens one and goes through an
    /// epoch. Opening it is no part of its life: what is imported, compiled or started there is not the same
    /// twice. Short epochs of which there are few tell nothing.
    ///
    /// # Errors
    /// As [`Bencher::lives`].
    pub fn lives_elsewhere(
        &self,
        elements: [u64; 2],
        live: &mut dyn FnMut(LifeData) -> Result<RemoteEpoch>,
    ) -> Result<()> {
        if self.settings.purpose != Purpose::Verify {
            return Ok(());
        }
        let [part, whole] = elements;
        let begun = self.settings.clock.now();
        let passed = || self.settings.clock.now() - begun;
        if live(LifeData::Part(0)).is_err() || passed() > ELSEWHERE {
            return Ok(());
        }
        let (mut pairs, mut took) = (Vec::new(), Duration::ZERO);
        while pairs.len() < MOST && took < ENOUGH && passed() < 2 * ELSEWHERE {
            let life = |elements, epoch: RemoteEpoch| PipelineLife {
                elements,
                wall: epoch.wall.as_nanos() as u64,
                cpu: epoch.usage.cpu.unwrap_or(0),
                wait: epoch.usage.wait,
                faults: epoch.usage.minor_faults,
            };
            let whole = life(whole, live(LifeData::Whole)?);
            let part = life(part, live(LifeData::Part(pairs.len() + 1))?);
            took += Duration::from_nanos(whole.wall);
            pairs.push(LifePair { whole, part });
        }
        if pairs.len() >= LEAST || took >= ENOUGH {
            self.state.borrow_mut().evidence.lives = pairs;
        }
        self.charge(Entry::Verify);
        Ok(())
    }

    /// Opens a pipeline in another process over a small part of the data and lets it go, in a verifying
    /// repeat alone: what is imported and compiled once is there then, and what the next opening makes is for
    /// its data. One that cannot be opened over a part changes nothing.
    pub fn open_beforehand(&self, open: impl FnOnce() -> Result<()>) {
        if self.settings.purpose == Purpose::Verify {
            self.state.borrow_mut().evidence.reopened = open().is_ok();
            self.charge(Entry::Verify);
        }
    }

    fn life(&self, elements: u64, live: impl FnOnce() -> Result<()>) -> Result<PipelineLife> {
        let noise = NoiseReader::new();
        let before = noise.read();
        let mut windows = Windows::new(self.settings.clock.clone());
        windows.open();
        live()?;
        windows.close();
        let last = windows.last;
        let passed = Duration::from_nanos(last.wall);
        let wait = Surroundings::between(&before, &noise.read(), passed, ExcludedTime::default()).waited;
        Ok(PipelineLife { elements, wall: last.wall, cpu: last.cpu, wait, faults: last.faults })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bencher::{Budget, Settings, skip};
    use crate::device::ManualClock;

    fn lives(purpose: Purpose, whole: Duration) -> (Vec<LifeData>, Vec<LifePair>) {
        let hand = ManualClock::default();
        let settings = Settings { clock: hand.clock(), ..Settings::new(purpose, Budget::SMOKE) };
        let bencher = Bencher::new(settings);
        let mut asked = Vec::new();
        let live = &mut |data| {
            asked.push(data);
            hand.advance(if data == LifeData::Whole { whole } else { whole / 4 });
            Ok(())
        };
        bencher.lives([25, 100], live).unwrap();
        let lives = bencher.state.borrow().evidence.lives.clone();
        (asked, lives)
    }

    #[test]
    fn lives_over_all_and_over_parts_follow_each_other_after_one_that_does_not_count() {
        let (asked, pairs) = lives(Purpose::Verify, Duration::from_millis(40));
        let part = LifeData::Part;
        let whole = LifeData::Whole;
        assert_eq!(asked, [part(0), whole, part(1), whole, part(2), whole, part(3)]);
        let life = |elements, milliseconds: u64| (elements, milliseconds * 1_000_000);
        for LifePair { whole, part } in &pairs {
            assert_eq!((whole.elements, whole.wall), life(100, 40));
            assert_eq!((part.elements, part.wall), life(25, 10));
        }
        let count = |milliseconds| lives(Purpose::Verify, Duration::from_millis(milliseconds)).1.len();
        assert_eq!([0, 11, 12, 90, 200, 300, 1_000].map(count), [9, 9, 9, 3, 2, 1, 1]);
        assert_eq!(count(8_004), 0, "a part takes over two seconds");
    }

    #[test]
    fn epochs_in_another_process_are_lives_by_its_clock_and_few_short_ones_are_none() {
        let lives = |epoch: Duration, opening: Duration| {
            let hand = ManualClock::default();
            let settings = Settings { clock: hand.clock(), ..Settings::new(Purpose::Verify, Budget::SMOKE) };
            let bencher = Bencher::new(settings);
            let live = &mut |data| {
                let wall = if data == LifeData::Whole { epoch } else { epoch / 4 };
                hand.advance(opening + wall);
                Ok(RemoteEpoch { wall, ..RemoteEpoch::default() })
            };
            bencher.lives_elsewhere([25, 100], live).unwrap();
            bencher.state.borrow().evidence.lives.clone()
        };
        let second = Duration::from_secs(1);
        let pairs = lives(second / 5, second / 100);
        assert_eq!(pairs.len(), 1);
        assert_eq!((pairs[0].whole.wall, pairs[0].part.wall), (200_000_000, 50_000_000));
        assert_eq!(lives(second / 1_000, second / 100).len(), MOST);
        assert!(lives(second / 1_000, second * 9 / 2).is_empty(), "two short epochs tell nothing");
        assert!(lives(second / 5, second * 6).is_empty(), "a part takes over five seconds");
    }

    #[test]
    fn no_other_repeat_has_them_nor_a_pipeline_that_has_no_parts() {
        assert_eq!(lives(Purpose::Measure, Duration::from_millis(1)), (Vec::new(), Vec::new()));
        let bencher = Bencher::new(Settings::new(Purpose::Verify, Budget::SMOKE));
        bencher.lives([25, 100], &mut |_| Err(skip("it has no parts"))).unwrap();
        assert!(bencher.state.borrow().evidence.lives.is_empty());
        let whole_fails = &mut |data| if data == LifeData::Whole { Err(skip("no")) } else { Ok(()) };
        assert!(bencher.lives([25, 100], whole_fails).unwrap_err().is_skip());
    }
}
