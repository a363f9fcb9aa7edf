//! Rank 0 of several: asks all for each repeat, runs its own, and puts together what all tell.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::merge::RepeatMerge;
use super::order::{RankAsk, RepeatAnswer, RepeatOrder};
use crate::json;
use crate::plan::{Plan, PlannedCase};
use crate::ranks::{Coordinator, MeetingPlace, RankEvent};
use crate::run::executor::{ChildExecutor, Executor, Together, Turn};
use crate::run::protocol::RepeatRequest;
use crate::run::supervised_child::EndedRequest;
use crate::run::{Outcome, Repeat};

/// The interval at which it is looked whether the user has asked for an end.
const LOOK: Duration = Duration::from_millis(50);

/// The number of times the timeout of a repeat that a rank may take with a resident adapter, whose set-up it
/// guards itself.
const RESIDENT: u32 = 11;

/// Rank 0's line to the others.
pub(crate) struct RankLead<'a> {
    /// The coordinator, whom all others have joined.
    pub(crate) coordinator: &'a Coordinator,
    /// The place where measuring processes of rank 0 meet the others.
    pub(crate) place: MeetingPlace,
    /// The machine of each rank.
    pub(crate) hosts: &'a [String],
    /// The time that a rank is waited for beyond what a repeat may take.
    pub(crate) patience: Duration,
    /// True once the user has asked for an end.
    pub(crate) interrupted: &'a AtomicBool,
    /// The number of the last turn.
    pub(crate) turn: Cell<u64>,
}

impl RankLead<'_> {
    /// Asks all ranks for what they have found in their own repeats. Returns the answers by rank, from 1; or
    /// why there are none.
    ///
    /// # Errors
    /// The rank that has left or is late.
    pub(crate) fn tell_findings(&self) -> Result<Vec<String>, String> {
        let turn = self.next_turn();
        self.coordinator.order(turn, json::write(&RankAsk::Tell).unwrap_or_default());
        let mut told: Vec<Option<String>> = vec![None; self.hosts.len()];
        self.answers(turn, self.patience, &mut |rank, body| {
            told[rank] = Some(body);
            Ok(())
        })?;
        Ok(told.into_iter().skip(1).flatten().collect())
    }

    fn next_turn(&self) -> u64 {
        self.turn.set(self.turn.get() + 1);
        self.turn.get()
    }

    /// Waits for the answers of all others to this turn.
    fn answers(
        &self,
        turn: u64,
        within: Duration,
        each: &mut dyn FnMut(usize, String) -> Result<(), String>,
    ) -> Result<(), String> {
        let name = |rank: usize| format!("rank {rank} ({})", self.hosts[rank]);
        let begun = Instant::now();
        let mut missing: Vec<usize> = (1..self.hosts.len()).collect();
        while !missing.is_empty() {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err("interrupted".to_owned());
            }
            match self.coordinator.next(LOOK) {
                Some(RankEvent::Answer { rank, turn: of, body }) if of == turn => {
                    missing.retain(|other| *other != rank);
                    each(rank, body).map_err(|why| format!("{} {why}", name(rank)))?;
                }
                Some(RankEvent::Left { rank, why }) => return Err(format!("{} has left: {why}", name(rank))),
                None if begun.elapsed() >= within => {
                    let late: Vec<String> = missing.iter().map(|rank| name(*rank)).collect();
                    let seconds = within.as_secs_f64();
                    return Err(format!("{} did not answer within {seconds:.0} s", late.join(", ")));
                }
                // What was broken off is still answered by those that had run it.
                _ => {}
            }
        }
        Ok(())
    }
}

/// Runs repeats on all ranks.
pub(in crate::run) struct LeadingExecutor<'a> {
    own: ChildExecutor<'a>,
    lead: &'a RankLead<'a>,
    plan: &'a Plan,
    is_resident: bool,
}

impl<'a> LeadingExecutor<'a> {
    pub(in crate::run) fn new(own: ChildExecutor<'a>, lead: &'a RankLead<'a>, plan: &'a Plan) -> Self {
        Self { own, lead, plan, is_resident: false }
    }
}

impl Executor for LeadingExecutor<'_> {
    fn run(&mut self, turn: Turn, request: &RepeatRequest, tick: &mut dyn FnMut(Duration)) -> EndedRequest {
        let case = &self.plan.cases[turn.case];
        let number = self.lead.next_turn();
        self.is_resident = turn.resident;
        let order = RepeatOrder {
            case: case.id.clone(),
            index: turn.case,
            number: turn.number,
            resident: turn.resident,
            last: turn.last,
            request: request.clone(),
        };
        let body = json::write(&RankAsk::Repeat(Box::new(order))).unwrap_or_default();
        self.lead.coordinator.order(number, body);
        let place =
            MeetingPlace { turn: number, collective: case.scenario.collective, ..self.lead.place.clone() };
        let own = RepeatRequest { meeting: Some(place), ..request.clone() };
        let ended = self.own.run(turn, &own, tick);
        let why = match &ended.outcome {
            Some((Outcome::Failed(failure), _)) => Some(failure.to_string()),
            Some((Outcome::Skipped { why }, _)) => Some(why.to_string()),
            Some((Outcome::Measured { .. }, _)) => None,
            None => Some("it was broken off".to_owned()),
        };
        self.lead.coordinator.ended(number, why);
        ended
    }

    fn together(&mut self, case: &PlannedCase, own: &Repeat) -> Together {
        let hosts = self.lead.hosts;
        let mut merge = RepeatMerge::new(hosts.len(), case.scenario.collective);
        merge.add(0, &hosts[0], own.clone());
        let timeout = self.plan.timeout();
        let most = if self.is_resident { timeout * RESIDENT } else { timeout };
        let told = self.lead.answers(self.lead.turn.get(), most + self.lead.patience, &mut |rank, body| {
            let answer: RepeatAnswer =
                json::read(body.as_bytes()).map_err(|error| format!("told what is no repeat: {error}"))?;
            merge.add(rank, &hosts[rank], answer.repeat);
            Ok(())
        });
        match told {
            Ok(()) => Together::All(Box::new(merge.finish())),
            Err(why) => Together::Lost(why),
        }
    }
}
