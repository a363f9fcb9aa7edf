//! Two sides measured in turns: a round is one fresh process of each, and one of them runs at a time.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::program::Program;
use super::protocol::Ask;
use super::reference::Known;
use super::supervised::{Ended, Opened, Supervised, Watch};
use super::{Failure, How, Outcome, Repeat};
use crate::bencher::{BLOCK, Budget, Calibrator, Key, PerIteration, Phase, Purpose, Spot, Work};
use crate::metric::{Block, TimedBy};
use crate::plan::{CaseId, Plan, PlannedCase};
use crate::stats::SplitMix64;

/// About how long the blocks of a round take together.
const ROUND: Duration = Duration::from_millis(200);

/// The fewest pairs of blocks in a round; a body of which so many take longer than [`LONG`] has fewer, but one.
const FEWEST_PAIRS: usize = 8;

/// The most that the fewest pairs may take before they become fewer.
const LONG: Duration = Duration::from_millis(800);

/// Blocks of each side that are run before the first that counts: a process that has just waited has cold caches.
const WARM_UP: usize = 2;

/// Environment variable whose length is drawn anew for each process: it moves the stack, as the size of any user's
/// environment does (Mytkowicz and others, *Producing Wrong Data Without Doing Anything Obviously Wrong!*, 2009).
const PADDING: &str = "WEIGHBRIDGE_PADDING";

/// The longest padding, in bytes: a page.
const LONGEST_PADDING: u64 = 4096;

/// One side of a duel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What is compared with.
    Baseline,
    /// What is judged.
    Candidate,
}

/// Two programs that have the same cases, or one program twice.
pub struct Duel<'a> {
    /// The baseline's program and the candidate's.
    pub programs: [Program; 2],
    /// Limits, deadline and memory of each repeat.
    pub plan: &'a Plan,
    /// The scratch directory of a repeat.
    pub scratch: &'a dyn Fn(&CaseId, u32) -> PathBuf,
    /// Hashes what both sides deliver: drawn for this duel, and kept nowhere.
    pub key: Key,
    /// The number of the epoch that streams go through: drawn for this duel.
    pub epoch: u64,
    /// The fewest iterations of a block: a planted slowdown repeats a share of them.
    pub least: u64,
    /// Draws the order within pairs, the order of starts, and the padding.
    pub seed: u64,
    /// Set when the user asks for an end.
    pub interrupted: &'a AtomicBool,
}

/// What both sides delivered in an unmeasured repeat.
#[derive(Default)]
pub struct Verified {
    /// The baseline's work, and the candidate's.
    pub works: [Option<Work>; 2],
    /// Whether the candidate's elements are the baseline's, by the duel's key; `None` where one handed in none.
    pub same: Option<bool>,
    /// The baseline's elements: measured repeats of both sides are held against them.
    known: Option<Known>,
}

/// What one round gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Round {
    /// A body, block by block.
    Blocks {
        /// What the authors state of one iteration: of the baseline's, of the candidate's.
        work: [PerIteration; 2],
        /// Pairs of blocks, the baseline's first, whichever ran first.
        pairs: Vec<[Block; 2]>,
    },
    /// Whole repeats in the order baseline, candidate, candidate, baseline, or the other way round: of each side two.
    Repeats([Vec<Repeat>; 2]),
}

/// Why a duel of a case cannot go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Broken {
    /// The user asked for an end.
    Interrupted,
    /// A side failed.
    Failed(Side, Failure),
    /// A side said that it cannot run here.
    Skipped(Side, String),
}

const SIDES: [Side; 2] = [Side::Baseline, Side::Candidate];

impl Duel<'_> {
    /// Whether a side's program was built with debug assertions, as it says itself.
    ///
    /// # Errors
    /// What it ended with instead.
    pub fn has_debug_assertions(&self, side: Side) -> Result<bool, Broken> {
        let side = side as usize;
        let greeting = self.start(side, 0)?.greeting(self.watch(false));
        greeting.map_err(|ended| broken(side, ended.outcome.map(|(outcome, _)| outcome)))
    }

    /// One unmeasured repeat of each side, that hashes every element: what each did.
    ///
    /// # Errors
    /// What a side ended with.
    pub fn verify(&self, cases: [&CaseId; 2]) -> Result<Verified, Broken> {
        let mut verified = Verified::default();
        for side in [0, 1] {
            let ask = self.ask(cases[side], 0, Purpose::Verify);
            let ended =
                self.start(side, 0)?.run(&ask, self.watch(self.is_resident(cases[side])), true, &mut |_| {});
            let (repeat, spots) = Self::repeat(side, ended, &ask)?;
            let Outcome::Measured { work, evidence, .. } = repeat.outcome else { continue };
            verified.works[side] = work;
            match &verified.known {
                None if side == 0 && !spots.is_empty() => verified.known = Some(Known::of(&spots, &evidence)),
                Some(known) if side == 1 => {
                    verified.same = known.compare(ask.purpose, &evidence, &spots).same;
                }
                _ => {}
            }
        }
        Ok(verified)
    }

    /// One round, the `number`-th. `iterations` is what a block of the case has: chosen in its first round, and the
    /// same for both sides ever after.
    ///
    /// # Errors
    /// What a side ended with.
    pub fn round(
        &self,
        cases: [&CaseId; 2],
        number: u32,
        iterations: &mut Option<u64>,
        verified: &Verified,
    ) -> Result<Round, Broken> {
        let mut random = SplitMix64::new(self.seed ^ (u64::from(number) << 32));
        let first = random.below(2) as usize;
        let second = 1 - first;
        let one = match self.open(first, cases[first], number, random.draw(), verified)? {
            Reached::Blocks(opened) => opened,
            Reached::End(repeat) => {
                return self.repeats(cases, number, first, repeat, &mut random, verified);
            }
        };
        let Reached::Blocks(two) = self.open(second, cases[second], number, random.draw(), verified)? else {
            return Err(unlike(SIDES[first]));
        };
        let mut sides = [one, two];
        if first == 1 {
            sides.swap(0, 1);
        }
        let work = [sides[0].work, sides[1].work];
        let mut turn = |side: usize, iterations: u64| {
            let ended = match sides[side].block(iterations, self.watch(self.is_resident(cases[side]))) {
                Ok((block, passed)) => return Ok((block, time_of(&block, passed))),
                Err(ended) => ended,
            };
            Err(broken(side, ended.outcome.map(|(outcome, _)| outcome)))
        };
        let iterations = match *iterations {
            Some(chosen) => chosen,
            None => *iterations.insert(self.calibrate(&mut turn)?),
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
        Ok(Round::Blocks { work, pairs })
    }

    /// The other three of four whole repeats, in an order that a drift falls on alike.
    fn repeats(
        &self,
        cases: [&CaseId; 2],
        number: u32,
        first: usize,
        repeat: Repeat,
        random: &mut SplitMix64,
        verified: &Verified,
    ) -> Result<Round, Broken> {
        let mut of = [Vec::new(), Vec::new()];
        of[first].push(repeat);
        for side in [1 - first, 1 - first, first] {
            match self.open(side, cases[side], number, random.draw(), verified)? {
                Reached::End(repeat) => of[side].push(repeat),
                Reached::Blocks(_) => return Err(unlike(SIDES[first])),
            }
        }
        Ok(Round::Repeats(of))
    }

    /// Grows the block on the baseline until it is long enough; where the candidate is given fewer at once
    /// (`iter_batched` prepares so many inputs at most), that counts.
    fn calibrate(&self, turn: &mut Turn<'_>) -> Result<u64, Broken> {
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

    fn ask(&self, case: &CaseId, number: u32, purpose: Purpose) -> Ask {
        Ask {
            scenario: case.scenario.clone(),
            point: case.point.clone(),
            adapter: case.adapter.clone(),
            purpose,
            budget: self.budget(case),
            asked: self.plan.asked,
            timeout: Some(self.plan.timeout),
            seed: self.plan.seed,
            epoch: self.epoch,
            key: self.key,
            scratch: (self.scratch)(case, number),
            memory: (!self.is_resident(case)).then_some(self.plan.memory),
            paced: purpose == Purpose::Measure,
            profiled: false,
            keep: false,
            platform: self.plan.platform,
            mode: self.plan.mode,
        }
    }

    fn watch(&self, patient: bool) -> Watch<'_> {
        let Plan { timeout, memory, .. } = *self.plan;
        Watch { timeout, patient, memory, interrupted: self.interrupted }
    }

    fn is_resident(&self, case: &CaseId) -> bool {
        self.planned(case).and_then(|planned| planned.adapter).is_some_and(|adapter| adapter.resident)
    }

    fn budget(&self, case: &CaseId) -> Budget {
        self.planned(case).map_or(self.plan.budget, |planned| planned.budget)
    }

    fn planned(&self, case: &CaseId) -> Option<&PlannedCase> {
        self.plan.cases.iter().find(|planned| planned.id == *case)
    }

    fn start(&self, side: usize, drawn: u64) -> Result<Supervised, Broken> {
        let mut program = self.programs[side].clone().on(self.plan.platform);
        let padding = "x".repeat((drawn % LONGEST_PADDING) as usize);
        program.variables.push((PADDING.to_owned(), padding));
        Supervised::start(&program, self.plan.timeout).map_err(|error| {
            let detail = format!("failed to start {}: {error}", program.path.display());
            let failure = Failure { how: How::Protocol, phase: Phase::SetUp, detail, stderr: String::new() };
            Broken::Failed(SIDES[side], failure)
        })
    }

    /// Starts a side and waits until it has come to its blocks, or to its end.
    fn open(
        &self,
        side: usize,
        case: &CaseId,
        number: u32,
        drawn: u64,
        verified: &Verified,
    ) -> Result<Reached, Broken> {
        let ask = self.ask(case, number, Purpose::Measure);
        match self.start(side, drawn)?.open(&ask, self.watch(self.is_resident(case))) {
            Ok(opened) => Ok(Reached::Blocks(opened)),
            Err(ended) => {
                let (mut repeat, spots) = Self::repeat(side, *ended, &ask)?;
                if let (Outcome::Measured { evidence, .. }, Some(known)) =
                    (&mut repeat.outcome, &verified.known)
                {
                    known.note(ask.purpose, evidence, &spots);
                }
                Ok(Reached::End(repeat))
            }
        }
    }

    /// What a repeat ended with, if it ended well.
    fn repeat(side: usize, ended: Ended, ask: &Ask) -> Result<(Repeat, Vec<Spot>), Broken> {
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
                    outcome,
                };
                Ok((repeat, spots))
            }
            outcome => Err(broken(side, outcome.map(|(outcome, _)| outcome))),
        }
    }
}

/// Runs a block of so many iterations of a side, and says what it takes of a round.
type Turn<'a> = dyn FnMut(usize, u64) -> Result<(Block, Duration), Broken> + 'a;

/// What a block takes of a round: a short body on a device costs the host many times what the device's clock says of it.
fn time_of(block: &Block, passed: Duration) -> Duration {
    let wall = Duration::from_nanos(block.wall);
    if block.by == TimedBy::Host { wall } else { wall.max(passed) }
}

/// Where a side is after its start.
enum Reached {
    Blocks(Opened),
    End(Repeat),
}

fn broken(side: usize, outcome: Option<Outcome>) -> Broken {
    let side = SIDES[side];
    match outcome {
        None => Broken::Interrupted,
        Some(Outcome::Failed(failure)) => Broken::Failed(side, failure),
        Some(Outcome::Skipped { why }) => Broken::Skipped(side, why),
        Some(Outcome::Measured { .. }) => Broken::Failed(
            side,
            Failure {
                how: How::Protocol,
                phase: Phase::Timed,
                detail: "it ended before its blocks had been asked for".to_owned(),
                stderr: String::new(),
            },
        ),
    }
}

/// One side has blocks of iterations and the other has not: they do not measure the same thing.
fn unlike(side: Side) -> Broken {
    let detail = "one side measures a body in blocks, the other does not".to_owned();
    Broken::Failed(side, Failure { how: How::Work, phase: Phase::Timed, detail, stderr: String::new() })
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
