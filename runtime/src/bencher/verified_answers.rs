//! Bodies whose answers are proven: each call has an input that was drawn for it, and answers at drawn places
//! of the measured blocks are read at once and held against the reference's.

use std::fmt::{self, Write as _};
use std::hint::black_box;
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_128;

use super::bench::BencherState;
use super::content::draw_secret;
use super::evidence::AnswerReading;
use super::{
    Bencher, Dtype, FieldCopy, HashKey, Hashes, ItemCopy, MomentsByField, PerIteration, Purpose, Spot,
    visible_in_line,
};
use crate::device::Delays;
use crate::stats::{SplitMix64, median};

/// Inputs whose answers the reference knows. A verifying repeat makes as many calls, so it is few: bodies may
/// be slow.
const KNOWN: u64 = 16;

/// The most inputs that are made at once.
const MOST_INPUTS: u64 = 1024;

/// Known inputs that are handed out before looks become rarer by half, and how often they do. A repeat of few
/// blocks is looked at several times, one of thousands in all its parts.
const LOOKS: [u64; 2] = [4, 4];

/// The most answers of a block that are read, and the time after which no further one is.
const READ: usize = 64;
const LONG: Duration = Duration::from_millis(2);

/// Letters of an answer that are shown where it is another one.
const SHOWN: usize = 60;

impl Bencher {
    /// Times `body` on inputs that `draw` makes, and proves its answers. Each call has an input of its own:
    /// `draw` is called with a number that nobody can foresee, and makes an input of it, outside the clock.
    /// Answers at places that are drawn are read as soon as their block is over, and must be those that the
    /// reference gives for the same numbers: two are equal if their `Debug` is, so a hash map, which shows
    /// its entries in any order, is given as a sorted list. Neither an answer that was remembered, nor one
    /// that is made when somebody reads it, nor a call that was left out keeps a rank.
    ///
    /// The scenario, or its [group](macro@crate::scenario), says `equivalence = exact`; the reference is the
    /// adapter of tier 0, or the first scenario of the group. Neither making inputs nor dropping answers is
    /// timed. A verifying repeat makes sixteen calls.
    ///
    /// ```
    /// use weighbridge::prelude::*;
    ///
    /// /// The standard library's stable sort.
    /// #[scenario(id = "SORT-STABLE", group = "Sorting", equivalence = exact)]
    /// fn stable(bencher: &mut Bencher) {
    ///     bencher.iter_verified(numbers, |mut numbers| {
    ///         numbers.sort();
    ///         numbers
    ///     });
    /// }
    ///
    /// fn numbers(drawn: u64) -> Vec<u64> {
    ///     (1..=1_000).map(|i| drawn.wrapping_mul(i) % 1_009).collect()
    /// }
    /// ```
    pub fn iter_verified<I, T: fmt::Debug>(
        &self,
        mut draw: impl FnMut(u64) -> I,
        mut body: impl FnMut(I) -> T,
    ) {
        let verifies = self.settings.purpose == Purpose::Verify;
        let mut looks = AnswerLooks::new(self.settings.key, verifies);
        let (mut inputs, mut answers) = (Vec::new(), Vec::new());
        self.run_counted(MOST_INPUTS, |windows, clock, iterations| {
            looks.begin_block(iterations);
            inputs.extend((0..iterations).map(|at| draw(looks.number(at))));
            answers.reserve(iterations as usize); // so that no push below allocates
            let took = self.timed(windows, clock, || {
                for input in inputs.drain(..) {
                    answers.push(black_box(body(input)));
                }
            });
            looks.read(self, &answers);
            self.drop_results(&mut answers);
            (took, PerIteration::default())
        });
        if verifies {
            looks.begin_known();
            inputs.extend((0..KNOWN).map(|at| draw(looks.number(at))));
            answers.extend(inputs.drain(..).map(body));
            looks.read(self, &answers);
        }
        self.state.borrow_mut().evidence.answers = Some(looks.into_reading());
        self.state.borrow_mut().report.get_or_insert_default();
    }

    /// Hands in the answer to a known input. Its content is counted and no more: the known inputs are drawn
    /// anew where a run is resumed, and answers are compared by the hashes of their key alone.
    fn hand_in_answer(&self, number: u64, text: &str) {
        let bytes = xxh3_128(text.as_bytes()).to_le_bytes().to_vec();
        let field = FieldCopy { name: "answer".to_owned(), dtype: Dtype::U8, shape: vec![16], bytes };
        let item = ItemCopy { elements: 1, fields: vec![field] };
        let BencherState { content, spots, refused, .. } = &mut *self.state.borrow_mut();
        match self.settings.key.hash(&item) {
            Ok(hashes) => {
                content.elements += 1;
                let (hashes, moments) = (Hashes(hashes), MomentsByField::new());
                spots.push(Spot { at: Some(number), first: 0, epoch: None, hashes, moments });
            }
            Err(error) => drop(refused.get_or_insert(error)),
        }
    }

    /// Reads answers of a block, as many as take little time: how many, and the nanoseconds that it takes for
    /// the first and for the second time. The last one comes first: a thread that was handed all of them may
    /// still be at work on it. While the reader is ready and waits for a processor that others have, nobody
    /// makes its answers: that time does not count.
    fn read_answers(&self, answers: &[impl fmt::Debug], delays: &Delays) -> (usize, [u64; 2]) {
        let clock = &self.settings.clock;
        let [others @ .., last] = answers else { return (0, [0; 2]) };
        let mut delay = delays.read().unwrap_or(0);
        let mut waited = || {
            let before = std::mem::replace(&mut delay, delays.read().unwrap_or(0));
            Duration::from_nanos(delay.saturating_sub(before))
        };
        let begun = clock.now();
        read(last);
        let mut count = 1;
        for answer in others.iter().take(READ - 1) {
            if clock.now() - begun > LONG {
                break;
            }
            read(answer);
            count += 1;
        }
        let first = (clock.now() - begun).saturating_sub(waited());
        let begun = clock.now();
        read(last);
        others[..count - 1].iter().for_each(read);
        let again = (clock.now() - begun).saturating_sub(waited());
        (count, [first, again].map(|time| time.as_nanos() as u64))
    }
}

/// Reads an answer.
fn read(answer: &impl fmt::Debug) {
    let mut letters = Letters(0);
    let _ = write!(letters, "{:?}", black_box(answer)); // it takes whatever it is given
    black_box(letters.0);
}

/// Takes letters, and counts them.
struct Letters(usize);

impl fmt::Write for Letters {
    fn write_str(&mut self, letters: &str) -> fmt::Result {
        self.0 += letters.len();
        Ok(())
    }
}

/// Decides which calls are looked at, and keeps what reading their answers took.
struct AnswerLooks {
    key: HashKey,
    random: SplitMix64,
    /// Known inputs that were handed out.
    handed: u64,
    /// Blocks until the next look.
    wait: u64,
    /// The calls of this block that have known inputs: the first one's place, and the inputs' numbers.
    known: Option<(u64, std::ops::Range<u64>)>,
    /// Nanoseconds of an answer in each look, for the first and the second time, and how many were read.
    first: Vec<f64>,
    again: Vec<f64>,
    counts: Vec<f64>,
    /// The beginning of the answer to the first known input.
    shown: String,
    delays: Delays,
}

impl AnswerLooks {
    /// A verifying repeat looks at all known inputs at its end, and at nothing before.
    fn new(key: HashKey, verifies: bool) -> Self {
        let mut random = SplitMix64::new(draw_secret());
        let wait = if verifies { u64::MAX } else { random.below(2) };
        Self {
            key,
            random,
            handed: 0,
            wait,
            known: None,
            first: Vec::new(),
            again: Vec::new(),
            counts: Vec::new(),
            shown: String::new(),
            delays: Delays::of_this_thread(),
        }
    }

    /// Draws whether, and where, a block of so many calls is looked at: two calls that follow each other.
    fn begin_block(&mut self, calls: u64) {
        self.known = None;
        if self.wait > 0 {
            self.wait -= 1;
            return;
        }
        let looks = calls.min(2);
        let place = self.random.below(calls - looks + 1);
        let fresh = self.handed + looks <= KNOWN;
        let first = if fresh { self.handed } else { self.random.below(KNOWN - looks + 1) };
        self.known = Some((place, first..first + looks));
        self.handed += looks;
        self.wait = self.random.below(2 << (self.handed / LOOKS[0]).min(LOOKS[1]));
    }

    /// A block of all known inputs.
    fn begin_known(&mut self) {
        self.known = Some((0, 0..KNOWN));
    }

    /// The known input that the call at this place has, if it has one.
    fn known_at(&self, at: u64) -> Option<u64> {
        let (place, known) = self.known.as_ref()?;
        let number = at.checked_sub(*place)? + known.start;
        known.contains(&number).then_some(number)
    }

    /// The number that the input of the call at this place is made of.
    fn number(&mut self, at: u64) -> u64 {
        match self.known_at(at) {
            Some(known) => self.key.number(known),
            None => self.random.draw(),
        }
    }

    /// Reads the answers of a block that is looked at, and hands in those to known inputs.
    fn read<T: fmt::Debug>(&mut self, bencher: &Bencher, answers: &[T]) {
        let Some((place, known)) = self.known.take() else { return };
        let (count, times) = bencher.read_answers(&answers[place as usize..], &self.delays);
        self.took(count, times);
        for (number, answer) in known.zip(&answers[place as usize..]) {
            let text = format!("{answer:?}");
            if number == 0 {
                self.shown = visible_in_line(&text).chars().take(SHOWN).collect();
            }
            bencher.hand_in_answer(number, &text);
        }
    }

    fn took(&mut self, count: usize, times: [u64; 2]) {
        let [first, again] = times.map(|time| time as f64 / count.max(1) as f64);
        self.first.push(first);
        self.again.push(again);
        self.counts.push(count as f64);
    }

    /// The medians over all looks; zeros where there was none.
    fn into_reading(self) -> AnswerReading {
        if self.counts.is_empty() {
            return AnswerReading::default();
        }
        let late: Vec<f64> = self.first.iter().zip(&self.again).map(|(first, again)| first - again).collect();
        let count = median(&self.counts) as u64;
        AnswerReading { count, late: median(&late), again: median(&self.again), shown: self.shown }
    }
}
