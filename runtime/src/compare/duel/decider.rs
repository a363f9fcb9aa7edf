//! A duel from its first round to its verdicts: pair by pair until a look decides, then what regressed once
//! more on fresh rounds.

use super::{Candidate, CaseDuel, confirm};
use crate::bencher::Work;
use crate::compare::{BreakOff, CaseFailure, IncomparableReason, InconclusiveReason, Policy, Row, Verdict};
use crate::metric::names;
use crate::plan::CaseId;
use crate::registry::Equivalence;
use crate::run::{BrokenDuel, DuelRound, EndedRound, Pair, Referee, RoundId, Side};
use crate::verify::{self, Agreement, ExaminedCase, Severity, agree};

/// Decides a duel from its rounds. It knows no process and no clock, so rounds of a file decide as they did
/// when they ran.
pub struct Decider<'a> {
    pairs: &'a [Pair],
    policy: &'a Policy,
    /// Hears of each case as it is decided, confirmation apart.
    told: &'a mut dyn FnMut(usize, &Row),
    current: RunningPair,
    /// The row of each pair whose rounds have ended, in order.
    rows: Vec<Row>,
    failures: Vec<CaseFailure>,
    /// The pairs that regressed.
    regressed: Vec<usize>,
    /// Their rounds with a new seed, as far as they have come.
    fresh: Vec<Result<CaseDuel, PairStop>>,
}

/// The verdicts of a duel.
#[derive(Debug)]
pub struct DuelResult {
    /// One for each pair.
    pub rows: Vec<Row>,
    /// The sides that failed.
    pub failures: Vec<CaseFailure>,
}

/// The pair whose rounds run now.
#[derive(Default)]
struct RunningPair {
    duel: CaseDuel,
    verified: bool,
    /// The work of the baseline, which all rounds are held against.
    reference: Option<Work>,
    /// Nanoseconds that its rounds have taken.
    spent: u64,
}

/// The reason why a case's duel ended without rounds to judge.
#[derive(Debug, PartialEq)]
enum PairStop {
    Failed(IncomparableReason),
    Incomparable(IncomparableReason),
}

impl<'a> Decider<'a> {
    /// A duel of these pairs without a round yet. `told` hears of each pair as soon as it is decided, by its
    /// index.
    pub fn new(pairs: &'a [Pair], policy: &'a Policy, told: &'a mut dyn FnMut(usize, &Row)) -> Self {
        let (rows, failures, regressed, fresh) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut all =
            Self { pairs, policy, told, current: RunningPair::default(), rows, failures, regressed, fresh };
        all.turn();
        all
    }

    /// The result of the duel. Where it was broken off before all was decided, that is said of what was not.
    pub fn finish(mut self, by: BreakOff) -> DuelResult {
        for pair in &self.pairs[self.rows.len()..] {
            let verdict = Verdict::Inconclusive(InconclusiveReason::BrokenOff(by));
            self.rows.push(Row::bare(&pair.candidate.id, names::WALL_TIME, verdict));
        }
        self.confirm(by);
        DuelResult { rows: self.rows, failures: self.failures }
    }

    /// The pair whose rounds are next, and whether they confirm.
    fn at(&self) -> Option<(usize, bool)> {
        if self.rows.len() < self.pairs.len() {
            return Some((self.rows.len(), false));
        }
        self.regressed.get(self.fresh.len()).map(|pair| (*pair, true))
    }

    /// Begins with the next pair.
    fn turn(&mut self) {
        let duel = self.at().map(|(pair, _)| CaseDuel::new(&self.pairs[pair].candidate.id, self.policy));
        self.current = RunningPair { duel: duel.unwrap_or_default(), ..RunningPair::default() };
    }

    /// Takes in a round. Whether the pair needs no more.
    fn add(&mut self, of: RoundId, ended: EndedRound) -> Result<bool, PairStop> {
        let pair = &self.pairs[of.pair];
        let case = &pair.candidate.id;
        self.current.spent += ended.slot;
        match ended.outcome? {
            DuelRound::Verified { works, same } => {
                self.current.verified = true;
                same_work(pair, &works, same)?;
                let [reference, _] = *works;
                self.current.reference = reference;
                Ok(false)
            }
            round => {
                examine(pair, self.current.reference.as_ref(), &round)?;
                let duel = &mut self.current.duel;
                let before = duel.rounds();
                duel.add_of(ended.layout, round);
                if duel.rounds() == before {
                    return Err(PairStop::Failed(IncomparableReason::NoTime));
                }
                // Fresh rounds are all run, whatever they say.
                Ok(if of.confirming {
                    duel.rounds() >= CaseDuel::MOST_ROUNDS
                } else {
                    duel.is_decided(case, self.policy)
                })
            }
        }
    }

    fn settle(&mut self, of: RoundId, ended: Result<(), PairStop>) {
        let RunningPair { duel, spent, .. } = std::mem::take(&mut self.current);
        if of.confirming {
            self.fresh.push(ended.map(|()| duel));
        } else {
            let case = &self.pairs[of.pair].candidate.id;
            let row = match ended {
                Ok(()) => {
                    let mut row = duel.row(case, self.policy);
                    if let Some(rounds) = &mut row.rounds {
                        rounds.seconds = spent as f64 / 1e9;
                    }
                    row
                }
                Err(stop) => Row::bare(case, names::WALL_TIME, stop.verdict(case, &mut self.failures)),
            };
            (self.told)(of.pair, &row);
            if row.verdict == Verdict::Regressed {
                self.regressed.push(of.pair);
            }
            self.rows.push(row);
        }
        self.turn();
    }

    /// Lets fresh rounds decide on the regressed cases. One whose rounds ended otherwise is no regression
    /// that stands, and no success either: it is what it ended with.
    fn confirm(&mut self, by: BreakOff) {
        let mut fresh = std::mem::take(&mut self.fresh).into_iter();
        let mut stopped = Vec::new();
        let mut candidates = Vec::new();
        let mut regressed = self.regressed.iter().peekable();
        for (at, row) in self.rows.iter_mut().enumerate() {
            if regressed.next_if(|of| **of == at).is_none() {
                continue;
            }
            // One without rounds counts among those that Holm's procedure adjusts for: it was to be
            // confirmed.
            let fresh = fresh.next().map_or_else(|| Err(None), |fresh| fresh.map_err(Some));
            let fresh = fresh.unwrap_or_else(|stop| {
                stopped.push((at, stop));
                CaseDuel::default()
            });
            candidates.push(Candidate { row, fresh });
        }
        confirm(&mut candidates, self.policy);
        for (at, stop) in stopped {
            let case = self.rows[at].case.clone();
            self.rows[at].verdict = match stop {
                Some(stop) => stop.verdict(&case, &mut self.failures),
                None => Verdict::Inconclusive(InconclusiveReason::BrokenOffUnconfirmed(by)),
            };
        }
    }
}

impl Referee for Decider<'_> {
    fn next(&mut self) -> Option<RoundId> {
        let (pair, confirming) = self.at()?;
        let is_due = self.pairs[pair].candidate.is_verified() && !self.current.verified;
        let number = if is_due { RoundId::VERIFYING } else { self.current.duel.rounds() as u32 + 1 };
        Some(RoundId { pair, confirming, number })
    }

    fn hear(&mut self, of: RoundId, ended: EndedRound) {
        match self.add(of, ended) {
            Ok(false) => {}
            Ok(true) => self.settle(of, Ok(())),
            Err(stop) => self.settle(of, Err(stop)),
        }
    }
}

/// Both sides must have done the same.
fn same_work(pair: &Pair, works: &[Option<Work>; 2], same: Option<bool>) -> Result<(), PairStop> {
    let [Some(old), Some(new)] = works else { return Ok(()) };
    let equivalence = pair.candidate.equivalence;
    Err(PairStop::Incomparable(match agree(new, old, equivalence) {
        Agreement::Differs(what) => IncomparableReason::OtherWork(what),
        Agreement::Agrees if equivalence == Equivalence::Exact && same == Some(false) => {
            IncomparableReason::OtherElements
        }
        _ => return Ok(()),
    }))
}

/// Judges the whole repeats of a round by the same rules as those of a run.
fn examine(pair: &Pair, reference: Option<&Work>, round: &DuelRound) -> Result<(), PairStop> {
    let DuelRound::Repeats(sides) = round else { return Ok(()) };
    for (side, repeats) in [Side::Candidate, Side::Baseline].into_iter().zip(sides.iter().rev()) {
        let findings = verify::judge(&ExaminedCase {
            equivalence: pair.candidate.equivalence,
            agreement: &Agreement::Agrees,
            reference,
            repeats,
        });
        if let Some(fault) = findings.iter().find(|finding| finding.severity == Severity::Fail) {
            let why = IncomparableReason::Unverified(side, fault.clone());
            return Err(match side {
                Side::Candidate => PairStop::Failed(why),
                Side::Baseline => PairStop::Incomparable(why),
            });
        }
    }
    Ok(())
}

impl PairStop {
    /// The verdict on the case; a failure is noted as one besides.
    fn verdict(self, case: &CaseId, failures: &mut Vec<CaseFailure>) -> Verdict {
        match self {
            Self::Failed(why) => {
                failures.push(CaseFailure { case: case.clone(), why: why.clone() });
                Verdict::Incomparable(why)
            }
            Self::Incomparable(why) => Verdict::Incomparable(why),
        }
    }
}

impl From<BrokenDuel> for PairStop {
    fn from(broken: BrokenDuel) -> Self {
        match broken {
            BrokenDuel::Interrupted => Self::Incomparable(IncomparableReason::Interrupted),
            BrokenDuel::Failed(side, failure) => {
                let why = IncomparableReason::RepeatFailed(side, failure);
                if side == Side::Candidate { Self::Failed(why) } else { Self::Incomparable(why) }
            }
            BrokenDuel::Skipped(side, why) => Self::Incomparable(IncomparableReason::Skipped(side, why)),
        }
    }
}

#[cfg(test)]
mod tests;
