//! Calls that are timed, with notes of some of their answers while the clock runs: nobody foresees which, and
//! no answer can be given before its input is drawn.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use weighbridge::{Error, Remote, Result};
use weighbridge_data::{Batch, Epochs, ExecutedWork, Rank};
use weighbridge_loaders::contract::Phases;

use super::noted_call::{NotedAnswer, NotedCall};
use super::predictor::PredictionLoop;
use crate::workload::PredictionSpec;

/// The number of the first of many epochs: nobody can foresee it. It has 31 bits.
pub(crate) fn draw_epoch() -> u64 {
    1 + (RandomState::new().hash_one(0_u8) >> 33)
}

/// One call of so many is noted, in the mean. The others of an epoch are as they would be without a note.
const ONE_OF: u64 = 8;

/// Samples of a call that are noted at most.
const SAMPLES: usize = 2;

/// Notes that are kept at most: of more, each is as likely to be among them.
const KEPT: usize = 64;

/// Open predictions as they are timed. Each epoch that is begun is another one than those before.
pub(crate) struct NotedCalls<'a> {
    calls: &'a mut dyn PredictionLoop,
    spec: &'a PredictionSpec,
    notes: &'a mut Vec<NotedCall>,
    epoch: u64,
    begun: u64,
    call: u64,
    seen: u64,
}

impl<'a> NotedCalls<'a> {
    /// Begins with this epoch, and goes on with the numbers after it.
    pub(crate) fn from(
        first: u64,
        calls: &'a mut dyn PredictionLoop,
        spec: &'a PredictionSpec,
        notes: &'a mut Vec<NotedCall>,
    ) -> Self {
        Self { calls, spec, notes, epoch: first, begun: 0, call: 0, seen: 0 }
    }

    fn note(&mut self) -> Result<()> {
        let bits = RandomState::new().hash_one(self.call);
        // The first call of all is noted, so that there is a note however few there are.
        if self.seen > 0 && !bits.is_multiple_of(ONE_OF) {
            return Ok(());
        }
        self.seen += 1;
        let count = SAMPLES.min(self.spec.batch);
        let first = (bits >> 8) as usize % (self.spec.batch - count + 1);
        let answer = read_answer(self.spec, self.calls.batch().bytes(0), first, count)?;
        let note = NotedCall { epoch: self.epoch, call: self.call, samples: first..first + count, answer };
        if self.notes.len() < KEPT {
            self.notes.push(note);
        } else if let Some(place) = self.notes.get_mut((bits >> 32) as usize % self.seen as usize) {
            *place = note;
        }
        Ok(())
    }
}

/// The answer to some samples of a call, from the bytes of its field.
fn read_answer(spec: &PredictionSpec, bytes: &[u8], first: usize, count: usize) -> Result<NotedAnswer> {
    let each = bytes.len() / spec.batch;
    let part = bytes.get(first * each..(first + count) * each);
    let part = part.ok_or_else(|| Error::new("a call handed out another answer than is due"))?;
    let words = part.as_chunks::<4>().0.iter().copied();
    Ok(match spec.generation {
        Some(_) => NotedAnswer::Tokens(words.map(i32::from_le_bytes).collect()),
        None => NotedAnswer::Logits(words.map(f32::from_le_bytes).collect()),
    })
}

impl Epochs for NotedCalls<'_> {
    fn begin(&mut self, epoch: u64) -> Result<()> {
        self.epoch = epoch + self.begun;
        self.begun += 1;
        self.call = 0;
        self.calls.begin(self.epoch)
    }

    fn advance(&mut self) -> Result<bool> {
        let is_more = self.calls.advance()?;
        if is_more && self.calls.rank().is_none() {
            self.note()?;
        }
        self.call += 1;
        Ok(is_more)
    }

    fn batch(&self) -> &dyn Batch {
        self.calls.batch()
    }

    fn executed(&self) -> ExecutedWork {
        self.calls.executed()
    }

    fn remote(&mut self) -> Result<Option<&mut dyn Remote>> {
        self.calls.remote()
    }

    fn rank(&mut self) -> Option<&mut dyn Rank> {
        self.calls.rank()
    }
}

impl PredictionLoop for NotedCalls<'_> {
    fn settings(&self) -> BTreeMap<String, String> {
        self.calls.settings()
    }

    fn call_times(&mut self, epoch: u64, calls: usize) -> Result<Vec<Duration>> {
        if self.calls.rank().is_some() {
            return self.calls.call_times(epoch, calls);
        }
        self.begin(epoch)?;
        let timed = |_| {
            let start = Instant::now();
            if self.advance()? { Ok(start.elapsed()) } else { Err(Error::new("the epoch has fewer calls")) }
        };
        (0..calls).map(timed).collect()
    }

    fn phases(&mut self, skip_calls: usize, calls: usize) -> Result<Phases> {
        self.calls.phases(skip_calls, calls)
    }

    fn opened_memory(&mut self) -> Result<Option<[u64; 2]>> {
        self.calls.opened_memory()
    }

    fn process(&self) -> u32 {
        self.calls.process()
    }
}
