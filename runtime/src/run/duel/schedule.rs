//! Going through the rounds of a duel: which one is next, the referee says; each is told as it ends.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::{BrokenDuel, Duel, DuelRound, EndedRound, RoundId};
use crate::run::schedule::MOST_AGAIN;
use crate::run::{Event, RunEnding, own_disk};
use crate::stats;

/// Decides from the rounds of a duel, and says which one is next.
pub trait Referee {
    /// The next round; `None` when all is decided.
    fn next(&mut self) -> Option<RoundId>;

    /// Hears the result of the round that was asked for last.
    fn hear(&mut self, of: RoundId, ended: EndedRound);
}

/// Runs rounds. The whole scheduling is tested with one that has no processes.
pub(crate) trait RoundRunner {
    /// Runs one round, and tells now and then for how long one of its processes has been running.
    ///
    /// # Errors
    /// What a side ended with.
    fn run(&mut self, of: RoundId, tick: &mut dyn FnMut(Duration)) -> Result<DuelRound, BrokenDuel>;

    /// Takes the time in which the machine slept or this process was stopped during the last round.
    fn take_away(&mut self) -> Duration {
        Duration::ZERO
    }

    /// The layout of the programs in this round, as in [`EndedRound`].
    fn layout(&self, _of: RoundId) -> u32 {
        0
    }

    /// Takes note of a round that an earlier part of the duel has finished.
    fn recall(&mut self, of: RoundId, round: &DuelRound);
}

/// Has every round run that the referee asks for and that is not finished, and tells `sink` of each. An error
/// of the sink (a full disk) ends the duel.
pub(crate) fn go<E>(
    task: &Duel<'_>,
    rounds: &mut dyn RoundRunner,
    referee: &mut dyn Referee,
    sink: &mut dyn FnMut(Event<'_>) -> Result<(), E>,
) -> Result<RunEnding, E> {
    sink(Event::DuelStarted { pairs: task.pairs.len() })?;
    let begun = Instant::now();
    let mut pace = RoundPace::default();
    let mut ending = RunEnding::Complete;
    while let Some(of) = referee.next() {
        if let Some(ended) = task.finished.get(&of) {
            if let Ok(round) = &ended.outcome {
                rounds.recall(of, round);
            }
            referee.hear(of, ended.clone());
            continue;
        }
        if task.interrupted.load(Ordering::Relaxed) {
            ending = RunEnding::Interrupted;
            break;
        }
        if task.budget.is_some_and(|budget| begun.elapsed() >= budget) {
            ending = RunEnding::OutOfBudget;
            break;
        }
        let case = &task.pairs[of.pair].candidate.id;
        let remaining = pace.remaining(task.pairs.len() - of.pair, of);
        sink(Event::RoundStarted { case, of, remaining })?;
        let started = Instant::now();
        let mut told = Ok(());
        let mut again = 0;
        let outcome = loop {
            let outcome = rounds.run(of, &mut |passed| {
                if told.is_ok() {
                    told = sink(Event::RoundGoesOn { case, of, passed, remaining });
                }
            });
            std::mem::replace(&mut told, Ok(()))?;
            let away = rounds.take_away();
            if away.is_zero() || again == MOST_AGAIN || outcome == Err(BrokenDuel::Interrupted) {
                break outcome;
            }
            again += 1;
            sink(Event::Away { case, away })?;
        };
        if outcome == Err(BrokenDuel::Interrupted) {
            ending = RunEnding::Interrupted;
            break;
        }
        if let Err(BrokenDuel::Failed(_, failure)) = &outcome
            && let Some(why) = own_disk::fault(failure, &(task.scratch)(case, 0), false)
        {
            sink(Event::NoRoom { case, why: &why })?;
            ending = RunEnding::NoRoom;
            break;
        }
        let slot = started.elapsed();
        pace.ended(slot);
        let ended = EndedRound { slot: slot.as_nanos() as u64, layout: rounds.layout(of), outcome };
        sink(Event::RoundEnded { case, of, round: &ended })?;
        referee.hear(of, ended);
    }
    sink(Event::Ended(ending))?;
    Ok(ending)
}

/// The time that rounds take.
#[derive(Debug, Default)]
struct RoundPace {
    rounds: u32,
    spent: Duration,
}

impl RoundPace {
    fn ended(&mut self, slot: Duration) {
        (self.rounds, self.spent) = (self.rounds + 1, self.spent + slot);
    }

    /// About how long the rest takes, where so many pairs are left with this one and each is decided at the
    /// first look: there may be more rounds, and some to confirm.
    fn remaining(&self, left: usize, of: RoundId) -> Duration {
        let first_look = stats::LOOKS[0].rounds;
        let here = first_look.saturating_sub(of.number as usize).max(1);
        let rounds = here + if of.confirming { 0 } else { (left - 1) * first_look };
        self.spent / self.rounds.max(1) * rounds as u32
    }
}
