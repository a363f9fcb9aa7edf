//! Two sides measured in turns: a round is one fresh process of each, and one of them runs at a time.

use std::cell::{Cell, OnceCell};
use std::path::PathBuf;
use std::time::Duration;

use super::schedule::RoundRunner;
use super::{BrokenDuel, Duel, DuelCase, DuelRound, Relinked, RoundId, Side};
use crate::bencher::{BLOCK, Calibrator, Phase, Purpose, RunSettings, Spot, WorkFault};
use crate::metric::{Block, TimedBy};
use crate::run::protocol::RepeatRequest;
use crate::run::reference::ReferenceElements;
use crate::run::supervised_child::{ChildWatch, EndedRequest, PacedChild, SupervisedChild};
use crate::run::{ChildFault, Failure, How, Outcome, Program, Repeat};
use crate::stats::SplitMix64;

/// About how long the blocks of a round take together.
const ROUND: Duration = Duration::from_millis(200);

/// The fewest pairs of blocks in a round; a body of which so many take longer than [`LONG`] has fewer, but
/// one.
const FEWEST_PAIRS: usize = 8;

/// The most that the fewest pairs may take before they become fewer.
const LONG: Duration = Duration::from_millis(800);

/// Blocks of each side that are run before the first that counts: a process that has just waited has cold
/// caches.
const WARM_UP: usize = 2;

/// Environment variable whose length is drawn anew for each process: it moves the stack, as the size of any
/// user's environment does (Mytkowicz and others, *Producing Wrong Data Without Doing Anything Obviously
/// Wrong!*, 2009).
const PADDING: &str = "WEIGHBRIDGE_PADDING";

/// The longest padding, in bytes: a page.
const LONGEST_PADDING: u64 = 4096;

const SIDES: [Side; 2] = [Side::Baseline, Side::Candidate];

/// Rounds in processes.
pub(super) struct InTurns<'a> {
    duel: &'a Duel<'a>,
    /// The pair whose rounds are run now, and whether they confirm.
    of: Option<(usize, bool)>,
    /// The elements that the baseline has delivered, where both sides were verified: all whole repeats are
    /// held against them.
    known: Option<ReferenceElements>,
    /// True if they were, in this part of the duel.
    verified: bool,
    /// The number of iterations of a block: chosen in the first round, and the same for both sides ever
    /// after.
    iterations: Option<u64>,
    /// The time away during the round that is run.
    away: Cell<Duration>,
    /// The programs of rounds that confirm, once there was one.
    relinked: OnceCell<Option<Relinked>>,
}

impl<'a> InTurns<'a> {
    pub(super) fn new(duel: &'a Duel<'a>) -> Self {
        let (known, iterations, away) = (None, None, Cell::default());
        Self { duel, of: None, known, verified: false, iterations, away, relinked: OnceCell::new() }
    }

    /// The programs of a round.
    fn programs(&self, of: RoundId) -> [&Program; 2] {
        if !of.confirming {
            return self.duel.programs.each_ref();
        }
        let relinked = self.relinked.get_or_init(|| self.duel.relink.and_then(|relink| relink()));
        match relinked {
            Some(layouts) => layouts.each_ref().map(|side| &side[turn_of(of, side.len())]),
            None => self.duel.programs.each_ref(),
        }
    }

    fn turn_to(&mut self, of: RoundId) {
        if self.of != Some((of.pair, of.confirming)) {
            let relinked = std::mem::take(&mut self.relinked);
            *self = Self { of: Some((of.pair, of.confirming)), relinked, ..Self::new(self.duel) };
        }
    }
}

/// The layout whose turn it is, of so many.
fn turn_of(of: RoundId, layouts: usize) -> usize {
    of.number as usize % layouts
}

impl RoundRunner for InTurns<'_> {
    fn run(&mut self, of: RoundId, tick: &mut dyn FnMut(Duration)) -> Result<DuelRound, BrokenDuel> {
        self.turn_to(of);
        let pair = &self.duel.pairs[of.pair];
        let is_due = of.number == RoundId::VERIFYING;
        // A duel that is taken up again has a new key: what its sides deliver is hashed once more.
        if is_due || (pair.candidate.is_verified() && !self.verified) {
            let (round, known) = self.duel.verify(of, tick)?;
            (self.known, self.verified) = (known, true);
            if is_due {
                return Ok(round);
            }
        }
        let one = OneRound {
            duel: self.duel,
            programs: self.programs(of),
            cases: [&pair.baseline, &pair.candidate],
            number: self.duel.drawn(of),
            known: self.known.as_ref(),
            away: &self.away,
        };
        let mut iterations = self.iterations;
        let round = one.run(&mut iterations, tick);
        if self.away.get().is_zero() {
            self.iterations = iterations; // else they may be those of a stop
        }
        round
    }

    fn take_away(&mut self) -> Duration {
        self.away.take()
    }

    fn layout(&self, of: RoundId) -> u32 {
        match self.relinked.get() {
            Some(Some([one, _])) if of.confirming => 1 + turn_of(of, one.len()) as u32,
            _ => 0,
        }
    }

    fn recall(&mut self, of: RoundId, round: &DuelRound) {
        self.turn_to(of);
        if let DuelRound::Blocks { pairs, .. } = round {
            self.iterations = pairs.first().map(|pair| pair[0].iterations).or(self.iterations);
        }
    }
}

/// A round that is being run.
struct OneRound<'a> {
    duel: &'a Duel<'a>,
    programs: [&'a Program; 2],
    cases: [&'a DuelCase; 2],
    /// Draws the order and the padding, and names the scratch directories.
    number: u32,
    known: Option<&'a ReferenceElements>,
    away: &'a Cell<Duration>,
}

impl OneRound<'_> {
    fn run(
        &self,
        iterations: &mut Option<u64>,
        tick: &mut dyn FnMut(Duration),
    ) -> Result<DuelRound, BrokenDuel> {
        let mut random = SplitMix64::new(self.duel.seed ^ (u64::from(self.number) << 32));
        let first = random.below(2) as usize;
        let second = 1 - first;
        let one = match self.open(first, random.draw(), tick)? {
            SideState::Blocks(opened) => *opened,
            SideState::End(repeat) => return self.repeats(first, *repeat, &mut random, tick),
        };
        let SideState::Blocks(two) = self.open(second, random.draw(), tick)? else {
            return Err(unlike(SIDES[first], SIDES[first]));
        };
        let mut sides = [one, *two];
        if first == 1 {
            sides.swap(0, 1);
        }
        let round = self.blocks(&mut sides, first, iterations, &mut random);
        for side in &sides {
            self.note(side.away());
        }
        drop(sides);
        for side in [0, 1] {
            let _ = std::fs::remove_dir_all(self.scratch(side)); // there only if the scenario asked for it
        }
        round
    }

    fn blocks(
        &self,
        sides: &mut [PacedChild; 2],
        first: usize,
        iterations: &mut Option<u64>,
        random: &mut SplitMix64,
    ) -> Result<DuelRound, BrokenDuel> {
        let (duel, second) = (self.duel, 1 - first);
        let work = [sides[0].work, sides[1].work];
        let mut turn = |side: usize, iterations: u64| {
            let ended = match sides[side].block(iterations, duel.watch(self.cases[side].resident)) {
                Ok((block, passed)) => return Ok((block, time_of(&block, passed))),
                Err(ended) => ended,
            };
            Err(broken(side, ended.outcome.map(|(outcome, _)| outcome)))
        };
        let iterations = match *iterations {
            Some(chosen) => chosen,
            None => *iterations.insert(duel.calibrate(&mut turn)?),
        };
        for _ in 0..WARM_UP {
            turn(first, iterations)?;
            turn(second, iterations)?;
        }
        let mut pairs: Vec<[Block; 2]> = Vec::new();
        let mut spent = Duration::ZERO;
        while spent < ROUND || pairs.len() < fewest(spent, pairs.len()) {
            let mut pair = [Block::default(); 2];
            let first = random.below(2) as usize;
            for side in [first, 1 - first] {
                let (block, took) = turn(side, iterations)?;
                pair[side] = block;
                spent += took;
            }
            pairs.push(pair);
        }
        Ok(DuelRound::Blocks { work, pairs })
    }

    /// The other three of four whole repeats, in an order that a drift falls on alike.
    fn repeats(
        &self,
        first: usize,
        repeat: Repeat,
        random: &mut SplitMix64,
        tick: &mut dyn FnMut(Duration),
    ) -> Result<DuelRound, BrokenDuel> {
        let mut of = [Vec::new(), Vec::new()];
        of[first].push(repeat);
        for side in [1 - first, 1 - first, first] {
            match self.open(side, random.draw(), tick)? {
                SideState::End(repeat) => of[side].push(*repeat),
                SideState::Blocks(_) => return Err(unlike(SIDES[first], SIDES[side])),
            }
        }
        Ok(DuelRound::Repeats(of))
    }

    /// Starts a side and waits until it has come to its blocks, or to its end.
    fn open(&self, side: usize, drawn: u64, tick: &mut dyn FnMut(Duration)) -> Result<SideState, BrokenDuel> {
        let case = self.cases[side];
        let ask = self.duel.ask(case, self.scratch(side), Purpose::Measure);
        let watch = self.duel.watch(case.resident);
        match self.duel.start(self.programs[side], side, drawn)?.open(&ask, watch, tick) {
            Ok(opened) => Ok(SideState::Blocks(Box::new(opened))),
            Err(ended) => {
                self.note(ended.away);
                let (mut repeat, spots) = whole(side, *ended, &ask)?;
                if let (Outcome::Measured { evidence, .. }, Some(known)) = (&mut repeat.outcome, self.known) {
                    known.note(ask.purpose, evidence, &spots);
                }
                Ok(SideState::End(Box::new(repeat)))
            }
        }
    }

    fn note(&self, away: Duration) {
        self.away.set(self.away.get() + away);
    }

    fn scratch(&self, side: usize) -> PathBuf {
        (self.duel.scratch)(&self.cases[side].id, 2 * self.number + side as u32)
    }
}

impl Duel<'_> {
    /// Tells whether a side's program was built with debug assertions, as it says itself.
    ///
    /// # Errors
    /// What it ended with instead.
    pub fn has_debug_assertions(&self, side: Side) -> Result<bool, BrokenDuel> {
        let side = side as usize;
        let greeting = self.start(&self.programs[side], side, 0)?.greeting(self.watch(false));
        greeting.map_err(|ended| broken(side, ended.outcome.map(|(outcome, _)| outcome)))
    }

    /// A number that tells a round from all others of this duel: drawn from its seed, so that whatever
    /// follows from it is the same when the duel is taken up again.
    fn drawn(&self, of: RoundId) -> u32 {
        let stream = if of.confirming { !self.seed } else { self.seed };
        // Of 24 bits, so that the scratch directories of both sides have numbers of their own.
        (SplitMix64::new(stream ^ of.pair as u64).draw() as u32 >> 8) + of.number + 1
    }

    /// One unmeasured repeat of each side, that hashes every element: what each did, and what the baseline
    /// delivered.
    fn verify(
        &self,
        of: RoundId,
        tick: &mut dyn FnMut(Duration),
    ) -> Result<(DuelRound, Option<ReferenceElements>), BrokenDuel> {
        let pair = &self.pairs[of.pair];
        let (mut works, mut same, mut known) = ([None, None], None, None);
        for (side, case) in [&pair.baseline, &pair.candidate].into_iter().enumerate() {
            let ask = self.ask(case, (self.scratch)(&case.id, side as u32), Purpose::Verify);
            let ended =
                self.start(&self.programs[side], side, 0)?.run(&ask, self.watch(case.resident), true, tick);
            let (repeat, spots) = whole(side, ended, &ask)?;
            let Outcome::Measured { work, evidence, .. } = repeat.outcome else { continue };
            works[side] = work;
            match &known {
                None if side == 0 && !spots.is_empty() => {
                    known = Some(ReferenceElements::of(&spots, &evidence));
                }
                Some(known) if side == 1 => same = known.compare(ask.purpose, &evidence, &spots).same,
                _ => {}
            }
        }
        Ok((DuelRound::Verified { works: Box::new(works), same }, known))
    }

    /// Grows the block on the baseline until it is long enough; where the candidate is given fewer at once
    /// (`iter_batched` prepares so many inputs at most), that counts.
    fn calibrate(&self, turn: &mut RunBlock<'_>) -> Result<u64, BrokenDuel> {
        let mut calibration = Calibrator::new(BLOCK, (self.least, u64::MAX));
        loop {
            let asked = calibration.iterations();
            let (block, _) = turn(0, asked)?;
            let settled = calibration.took(Duration::from_nanos(block.wall));
            if settled || block.iterations < asked {
                let wanted = if settled { calibration.iterations() } else { block.iterations };
                return Ok(turn(0, wanted)?.0.iterations.min(turn(1, wanted)?.0.iterations));
            }
        }
    }

    fn ask(&self, case: &DuelCase, scratch: PathBuf, purpose: Purpose) -> RepeatRequest {
        RepeatRequest {
            scenario: case.id.scenario.clone(),
            point: case.id.point.clone(),
            adapter: case.id.adapter.clone(),
            purpose,
            budget: case.budget,
            run: RunSettings { profiled: false, ..self.settings.run },
            epoch: self.epoch,
            key: self.key,
            scratch,
            memory: (!case.resident).then_some(self.settings.memory),
            paced: purpose == Purpose::Measure,
            keep: false,
            meeting: None,
        }
    }

    fn watch(&self, patient: bool) -> ChildWatch<'_> {
        let (timeout, memory) = (self.settings.timeout, self.settings.memory);
        ChildWatch { timeout, patient, memory, interrupted: self.interrupted, until: None, samples: None }
    }

    fn start(&self, program: &Program, side: usize, drawn: u64) -> Result<SupervisedChild, BrokenDuel> {
        let mut program = program.clone().on(self.settings.run.platform);
        let padding = "x".repeat((drawn % LONGEST_PADDING) as usize);
        program.variables.push((PADDING.to_owned(), padding));
        SupervisedChild::start(&program, self.settings.timeout).map_err(|error| {
            let how = How::Child(program.not_started(&error));
            BrokenDuel::Failed(SIDES[side], Failure::plain(how, Phase::SetUp))
        })
    }
}

/// Returns the repeat that a request ended with, if it ended well.
fn whole(side: usize, ended: EndedRequest, ask: &RepeatRequest) -> Result<(Repeat, Vec<Spot>), BrokenDuel> {
    let _ = std::fs::remove_dir_all(&ask.scratch); // there only if the scenario asked for it
    let (slot, start, tree) = (ended.slot, ended.start, ended.tree);
    let nanoseconds = |time: Duration| time.as_nanos() as u64;
    match ended.outcome {
        Some((outcome @ Outcome::Measured { .. }, spots)) => {
            let repeat = Repeat {
                number: 0,
                purpose: ask.purpose,
                slot: nanoseconds(slot),
                start: start.map(nanoseconds),
                tree,
                utilisation: None,
                surroundings: 0,
                outcome,
            };
            Ok((repeat, spots))
        }
        outcome => Err(broken(side, outcome.map(|(outcome, _)| outcome))),
    }
}

/// Runs a block of so many iterations of a side, and says what it takes of a round.
type RunBlock<'a> = dyn FnMut(usize, u64) -> Result<(Block, Duration), BrokenDuel> + 'a;

/// Returns the time that a block takes of a round: a short body on a device costs the host many times what
/// the device's clock says of it.
fn time_of(block: &Block, passed: Duration) -> Duration {
    let wall = Duration::from_nanos(block.wall);
    if block.by == TimedBy::Host { wall } else { wall.max(passed) }
}

/// The state of a side after its start.
enum SideState {
    Blocks(Box<PacedChild>),
    End(Box<Repeat>),
}

fn broken(side: usize, outcome: Option<Outcome>) -> BrokenDuel {
    let side = SIDES[side];
    match outcome {
        None => BrokenDuel::Interrupted,
        Some(Outcome::Failed(failure)) => BrokenDuel::Failed(side, failure),
        Some(Outcome::Skipped { why }) => BrokenDuel::Skipped(side, why),
        Some(Outcome::Measured { .. }) => {
            BrokenDuel::Failed(side, Failure::plain(How::Child(ChildFault::NoBlocks), Phase::Timed))
        }
    }
}

/// One side has blocks of iterations (`in_blocks`) and the other has not: they do not measure the same thing.
fn unlike(side: Side, in_blocks: Side) -> BrokenDuel {
    let baseline = in_blocks == Side::Baseline;
    let how = How::Work(Box::new(WorkFault::Blocks { baseline, candidate: !baseline }));
    BrokenDuel::Failed(side, Failure::plain(how, Phase::Timed))
}

/// The fewest pairs, when `done` of them took this long.
fn fewest(spent: Duration, done: usize) -> usize {
    let each = spent.as_secs_f64() / done.max(1) as f64;
    let affordable = if each > 0.0 { (LONG.as_secs_f64() / each) as usize } else { FEWEST_PAIRS };
    affordable.clamp(1, FEWEST_PAIRS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_eight_pairs_unless_they_would_take_too_long() {
        let spent = |pairs: u32, each: u64| Duration::from_millis(each) * pairs;
        assert_eq!(fewest(Duration::ZERO, 0), 8);
        assert_eq!(fewest(spent(4, 8), 4), 8, "8 ms a pair: the round's time gives 25");
        assert_eq!(fewest(spent(1, 400), 1), 2);
        assert_eq!(fewest(spent(1, 5000), 1), 1);
    }
}
