//! The plan itself: a value that is printed, run, and compared with when a run is taken up again.

use std::time::Duration;

use super::{CaseId, CaseOrder, PlanSettings};
use crate::bencher::{Budget, RunSettings, SkipReason};
use crate::registry::{AdapterEntry, Equivalence, ScenarioEntry};
use crate::stats::SplitMix64;

/// One case that will run.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    /// The case's id.
    pub id: CaseId,
    /// Its scenario.
    pub scenario: &'static ScenarioEntry,
    /// Its adapter.
    pub adapter: Option<&'static AdapterEntry>,
    /// The version of the system behind the adapter.
    pub version: Option<String>,
    /// The memory that it is expected to take, in bytes, where its scenario says so.
    pub memory: Option<u64>,
    /// Limits of each of its repeats.
    pub budget: Budget,
    /// Its measured repeats; more where the plan has a target.
    pub repeats: u32,
    /// The measured repeats for which there was time, where there was too little for all.
    pub most: Option<u32>,
    /// True if it is what the others of its group are compared with: the first of them at its point.
    pub leads_group: bool,
    /// True if it is measured; a reference that was not selected only runs to be compared with.
    pub measured: bool,
    /// The times of its repeats in an earlier run.
    pub took: RepeatTimes,
}

/// The times of the repeats of a case, from process start to process end, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RepeatTimes {
    /// The one that verifies, and goes through everything.
    pub verifying: Option<Duration>,
    /// One that measures.
    pub measuring: Option<Duration>,
}

impl RepeatTimes {
    /// Of the repeat with this number: 0 verifies.
    pub fn of(self, number: u32) -> Option<Duration> {
        if number == 0 { self.verifying } else { self.measuring }
    }
}

impl PlannedCase {
    /// Tells whether the case has work that is compared, so that it needs a verifying repeat.
    pub fn is_verified(&self) -> bool {
        self.equivalence() != Equivalence::None
    }

    /// Returns the agreement with the reference that its work must show.
    pub fn equivalence(&self) -> Equivalence {
        self.scenario.equivalence_at(&self.id.point)
    }

    /// Tells whether it is what others of its scenario and point, or of its group and point, are compared
    /// with.
    pub fn is_reference(&self) -> bool {
        self.leads_group || self.adapter.is_some_and(|adapter| adapter.tier == 0)
    }

    /// Tells whether it stands side by side with the other: scenarios of one group, at one point.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.scenario.group.is_some()
            && self.scenario.group == other.scenario.group
            && self.id.point == other.id.point
    }

    /// Tells whether it runs in one process with the cases of the round that have the same adapter.
    pub fn shares_process(&self, other: &Self) -> bool {
        match (self.adapter, other.adapter) {
            (Some(adapter), Some(other)) => adapter.resident && std::ptr::eq(adapter, other),
            _ => false,
        }
    }

    /// About how long a repeat takes of which nothing is known.
    pub fn guess(&self) -> Duration {
        let resident = self.adapter.is_some_and(|adapter| adapter.resident);
        self.budget.min_time.mul_f64(1.2) + if resident { RESIDENT_SET_UP } else { SET_UP }
    }

    /// Tells whether `reference` is what this case is compared with.
    pub fn compares_with(&self, reference: &Self) -> bool {
        let same = self.id.scenario == reference.id.scenario && self.id.point == reference.id.point;
        reference.is_reference() && (same || self.is_beside(reference))
    }
}

/// A case that will not run.
#[derive(Clone, Debug, PartialEq)]
pub struct Skip {
    /// The case's id: without an adapter when the point itself is skipped.
    pub id: CaseId,
    /// The reason.
    pub why: SkipReason,
}

/// An adapter that is not installed, and that nobody named: its cases are no skips of this run.
#[derive(Clone, Debug, PartialEq)]
pub struct Absent {
    /// The adapter's name.
    pub adapter: &'static str,
    /// The part that is missing.
    pub reason: String,
    /// The command that installs it.
    pub install: String,
}

/// The cases that will be run, and the settings for all of them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The profile's name.
    pub profile: String,
    /// The cases, in the order of listings.
    pub cases: Vec<PlannedCase>,
    /// The skipped cases, with reasons.
    pub skips: Vec<Skip>,
    /// Adapters that are not installed, and that nobody named.
    pub absent: Vec<Absent>,
    /// Points that a filter dropped, per scenario.
    pub dropped: Vec<(String, usize)>,
    /// Points that were left out, per scenario, and the flag that runs them.
    pub left_out: Vec<(String, usize, String)>,
    /// Things to say before the run.
    pub notes: Vec<String>,
    /// Measured repeats of each case whose scenario states nothing else.
    pub repeats: u32,
    /// Limits of each repeat of a case whose scenario states nothing else.
    pub budget: Budget,
    /// The memory that a repeat's processes may have, in bytes.
    pub memory: u64,
    /// Settings for every repeat.
    pub run: RunSettings,
    /// Settings for all repeats together.
    pub together: PlanSettings,
    /// True if each case runs once, on as little as possible.
    pub smoke: bool,
    /// True if there is a verifying round.
    pub verify: bool,
}

/// Time of a repeat beside its measured time: process, set-up, warm-up. A guess until it has been seen.
const SET_UP: Duration = Duration::from_millis(250);

/// The same of a resident adapter, which is a framework elsewhere: importing it, converting data, epochs at
/// its speed. The mean of 621 repeats of 21 frameworks was 1.6 s on two cores, 0.1 s of it measured; native
/// repeats took 0.23 s.
const RESIDENT_SET_UP: Duration = Duration::from_millis(1500);

/// Stands for no timeout at all, and can still be added to.
const NO_TIMEOUT: Duration = Duration::from_hours(24 * 365);

impl Plan {
    /// The cases of each round, in order. Round 0 is the verifying one, references first. In each round the
    /// cases of a resident adapter follow each other.
    pub fn rounds(&self) -> Vec<Vec<usize>> {
        let verified = |reference: bool| {
            let takes = move |case: &PlannedCase| case.is_verified() && case.is_reference() == reference;
            (0..self.cases.len()).filter(move |index| takes(&self.cases[*index]))
        };
        let verifying =
            if self.verify { verified(true).chain(verified(false)).collect() } else { Vec::new() };
        let verifying = self.together(verifying).concat();
        std::iter::once(verifying).chain((1..=self.most_repeats()).map(|number| self.round(number))).collect()
    }

    /// The longest that a repeat may take.
    pub fn timeout(&self) -> Duration {
        self.run.timeout.unwrap_or(NO_TIMEOUT)
    }

    /// The most measured repeats of a case that has a target.
    pub const MOST_REPEATS: u32 = 100;

    /// The most planned repeats of any case.
    pub fn most_repeats(&self) -> u32 {
        let measured = self.cases.iter().filter(|case| case.measured);
        measured.map(|case| case.repeats).max().unwrap_or(self.repeats)
    }

    /// The measured cases that have this round, in its order; all of them in a round that a target adds.
    pub fn round(&self, number: u32) -> Vec<usize> {
        let added = number > self.most_repeats();
        let has_it = |case: &PlannedCase| case.measured && (added || number <= case.repeats);
        let measured = (0..self.cases.len()).filter(|index| has_it(&self.cases[*index])).collect();
        let mut order = self.together(measured);
        if self.together.order == CaseOrder::Shuffled {
            let mut random = SplitMix64::new(self.run.seed ^ (u64::from(number) << 32));
            random.shuffle(&mut order);
            for group in order.iter_mut().filter(|group| group.len() > 1) {
                random.shuffle(group);
            }
        }
        order.concat()
    }

    /// The cases in groups that share a process, each where its first case stands. A case that shares with
    /// none is alone.
    fn together(&self, cases: Vec<usize>) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::with_capacity(cases.len());
        let mut resident: Vec<usize> = Vec::new(); // groups that another case may join
        for case in cases {
            let joins = |at: &&usize| self.cases[groups[**at][0]].shares_process(&self.cases[case]);
            match resident.iter().find(joins) {
                Some(&at) => groups[at].push(case),
                None => {
                    if self.cases[case].adapter.is_some_and(|adapter| adapter.resident) {
                        resident.push(groups.len());
                    }
                    groups.push(vec![case]);
                }
            }
        }
        groups
    }

    /// About how long it will take: what each case took before, and a guess where it never ran.
    pub fn estimate(&self) -> Duration {
        let rounds = self.rounds().into_iter().zip(0..);
        let slot = |case: &PlannedCase, number| case.took.of(number).unwrap_or_else(|| case.guess());
        rounds
            .map(|(round, number)| {
                round.iter().map(|case| slot(&self.cases[*case], number)).sum::<Duration>()
            })
            .sum()
    }

    /// The number of cases that are measured.
    pub fn measured(&self) -> usize {
        self.cases.iter().filter(|case| case.measured).count()
    }
}
