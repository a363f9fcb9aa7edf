//! A run of several ranks, as rank 0 goes through it: gathers them, begins, hears what they have found, ends.

use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::rank_facts::{facts, may_differ, must_not_differ};
use super::session::Session;
use super::usage::UsageError;
use super::{Context, TargetError};
use crate::json;
use crate::plan::{CaseId, Isolation, Plan};
use crate::ranks::{Coordinator, MeetingPlace, RankEvent, RankFacts, RankSeat, Rendezvous, listed};
use crate::record::{CaseRecord, RunId, RunRank, RunRanks};
use crate::run::RankLead;
use crate::verify::{Agreement, Caveat, Finding, FindingDetail, Severity};

/// The time that ranks wait for one that does not come, where nobody says.
const PATIENCE: Duration = Duration::from_mins(1);

/// The interval at which it is looked whether the user has asked for an end.
const LOOK: Duration = Duration::from_millis(50);

/// The time that ranks wait for one that does not come.
pub(super) fn patience(context: &Context<'_>) -> Duration {
    context.args.rank_patience.unwrap_or(PATIENCE)
}

/// The place where the ranks of this suite meet.
pub(super) fn rendezvous(context: &Context<'_>, seat: &RankSeat, session: &Session) -> Rendezvous {
    Rendezvous::of(seat, &context.suite.name(), &session.layout.meeting())
}

/// Refuses what ranks cannot do together.
pub(super) fn check(context: &Context<'_>, plan: &Plan) -> Result<(), TargetError> {
    let args = &context.args;
    let refuse = |why: &str| Err(UsageError(why.to_owned()).into());
    if plan.together.isolation == Isolation::None {
        return refuse("ranks measure in child processes alone: leave out --isolation none");
    }
    if args.is_duel() {
        return refuse("a duel is measured in turns by one process: run --versus without ranks");
    }
    if !args.traces.is_empty() {
        return refuse("--trace and --dump are of one process: run them without ranks");
    }
    Ok(())
}

/// The first word of rank 0 to the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RankBegin {
    /// The run, as rank 0 stores it.
    pub(super) run: RunId,
}

/// The findings of a rank in its own repeats of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct RankFindings {
    pub(super) case: CaseId,
    /// Findings that fail it.
    pub(super) failing: Vec<Finding>,
    /// The agreement with the reference, where its work differs.
    pub(super) differs: Option<Agreement>,
}

/// The ranks of a run, gathered.
pub(super) struct Leading {
    coordinator: Coordinator,
    place: MeetingPlace,
    hosts: Vec<String>,
    patience: Duration,
    pub(super) ranks: RunRanks,
}

impl Leading {
    /// Waits until all ranks have joined, and holds what they say of themselves against rank 0.
    ///
    /// # Errors
    /// The ranks that never came, or that are none of this run.
    pub(super) fn gather(
        context: &Context<'_>,
        seat: &RankSeat,
        session: &Session,
        plan: &Plan,
    ) -> Result<Self, TargetError> {
        let (rendezvous, patience) = (rendezvous(context, seat, session), patience(context));
        let at = |source| TargetError::Meeting { place: rendezvous.to_string(), source };
        let (listener, token, address) = rendezvous.open(seat).map_err(at)?;
        let mut coordinator =
            Coordinator::start(listener, token.clone(), seat.ranks, patience).map_err(at)?;
        let joined = joined(context, seat, &coordinator, &rendezvous, patience);
        rendezvous.close();
        let mut all = vec![facts(seat, session, plan)];
        match joined {
            Ok(others) => all.extend(others),
            Err(error) => {
                coordinator.end(Some(error.to_string()));
                return Err(error);
            }
        }
        let differing = must_not_differ(&all, context);
        if !differing.is_empty() {
            let told: Vec<String> = differing.iter().map(ToString::to_string).collect();
            let is_machine = |one: &str| !["program", "commit", "plan"].contains(&one);
            let advice = match differing.iter().any(|one| is_machine(&one.what)) {
                true => " (--allow-different-machine measures on unlike machines, and marks every case)",
                false => "",
            };
            let why = format!("{}{advice}", told.join("; "));
            coordinator.end(Some(why.clone()));
            return Err(TargetError::OtherRanks(why));
        }
        let ranks = RunRanks {
            launcher: seat.launcher.to_owned(),
            each: all.iter().map(of_record).collect(),
            differences: may_differ(&all).iter().map(ToString::to_string).collect(),
            lost: None,
        };
        let hosts: Vec<String> = all.into_iter().map(|facts| facts.host).collect();
        let place = place(seat, address, token);
        Ok(Self { coordinator, place, hosts, patience, ranks })
    }

    /// Lets all ranks know which run it is: from here on they do what they are asked.
    pub(super) fn begin<'a>(&'a self, context: &'a Context<'_>, run: &RunId) -> RankLead<'a> {
        let begin = json::write(&RankBegin { run: run.clone() }).unwrap_or_default();
        self.coordinator.order(FIRST_TURN, begin);
        RankLead {
            coordinator: &self.coordinator,
            place: self.place.clone(),
            hosts: &self.hosts,
            patience: self.patience,
            interrupted: &context.interrupted,
            turn: Cell::new(FIRST_TURN),
        }
    }

    /// Ends the run on all ranks; why, where it did not come to its end.
    pub(super) fn end(&mut self, why: Option<String>) {
        self.coordinator.end(why);
    }

    /// The machine of each rank.
    pub(super) fn hosts(&self) -> Vec<&str> {
        self.hosts.iter().map(String::as_str).collect()
    }

    /// The ranks and their machines in a line.
    pub(super) fn summary(&self) -> String {
        let mut machines: Vec<(&str, usize)> = Vec::new();
        for host in &self.hosts {
            match machines.iter_mut().find(|(known, _)| known == host) {
                Some((_, count)) => *count += 1,
                None => machines.push((host, 1)),
            }
        }
        let of: Vec<String> = machines.iter().map(|(host, count)| format!("{host} ({count})")).collect();
        let s = if machines.len() == 1 { "" } else { "s" };
        let many = of.len().saturating_sub(MOST_HOSTS);
        let more = if many > 0 { format!(" and {many} more") } else { String::new() };
        let shown = of[..of.len().min(MOST_HOSTS)].join(", ");
        let (ranks, launcher) = (self.hosts.len(), &self.ranks.launcher);
        format!("{ranks} ranks on {} machine{s}, by {launcher}: {shown}{more}", machines.len())
    }

    /// Names the machines in what is aggregated over ranks, and marks every case where they differ.
    pub(super) fn mark(&self, cases: &mut [CaseRecord]) {
        for case in cases {
            for aggregate in &mut case.ranks {
                aggregate.name_hosts(&self.hosts);
            }
            if !self.ranks.differences.is_empty() && !case.metrics.is_empty() {
                case.findings.push(Caveat::RanksDiffer(self.ranks.differences.clone()).of_case());
            }
        }
    }

    /// Returns the findings of all others in their own repeats, each with its rank.
    ///
    /// # Errors
    /// The rank that told none.
    pub(super) fn findings(lead: &RankLead<'_>) -> Result<Vec<(usize, RankFindings)>, String> {
        let mut found = Vec::new();
        for (rank, told) in (1..).zip(lead.tell_findings()?) {
            let of_rank: Vec<RankFindings> = json::read(told.as_bytes()).map_err(|error| {
                format!("rank {rank} ({}) told what are no findings: {error}", lead.hosts[rank])
            })?;
            found.extend(of_rank.into_iter().map(|one| (rank, one)));
        }
        Ok(found)
    }

    /// Adds what ranks have found in their own repeats: work or a clock that does not verify there does not
    /// verify for all.
    pub(super) fn add_findings(&self, found: Vec<(usize, RankFindings)>, cases: &mut [CaseRecord]) {
        for (rank, RankFindings { case, failing, differs }) in found {
            let of = format!("rank {rank} ({})", self.hosts[rank]);
            if let Some(record) = cases.iter_mut().find(|record| record.id == case) {
                add(record, &of, failing, differs);
            }
        }
    }
}

/// The most machines that a line names.
const MOST_HOSTS: usize = 8;

/// The turn in which ranks hear which run it is.
const FIRST_TURN: u64 = 1;

/// The place where measuring processes of this rank meet the others.
pub(super) fn place(seat: &RankSeat, address: SocketAddr, token: String) -> MeetingPlace {
    let local_rank = seat.local_rank.unwrap_or(0);
    MeetingPlace {
        address,
        token,
        rank: seat.rank,
        ranks: seat.ranks,
        local_rank,
        turn: 0,
        collective: false,
    }
}

fn of_record(facts: &RankFacts) -> RunRank {
    RunRank { host: facts.host.clone(), local_rank: facts.local_rank, devices: facts.devices }
}

/// Waits for all others. Returns their facts, by rank.
fn joined(
    context: &Context<'_>,
    seat: &RankSeat,
    coordinator: &Coordinator,
    rendezvous: &Rendezvous,
    patience: Duration,
) -> Result<Vec<RankFacts>, TargetError> {
    let begun = Instant::now();
    let mut joined: Vec<Option<RankFacts>> = vec![None; seat.ranks];
    loop {
        let missing: Vec<usize> = (1..seat.ranks).filter(|rank| joined[*rank].is_none()).collect();
        if missing.is_empty() {
            return Ok(joined.into_iter().flatten().collect());
        }
        if context.interrupted.load(Ordering::Relaxed) {
            return Err(TargetError::Interrupted);
        }
        match coordinator.next(LOOK) {
            Some(RankEvent::Joined { rank, facts }) => joined[rank] = Some(*facts),
            Some(RankEvent::Left { rank, why }) => {
                let host = joined[rank].as_ref().map_or("unknown", |facts| &facts.host);
                return Err(TargetError::LeftEarly(format!("rank {rank} ({host}): {why}")));
            }
            None if begun.elapsed() >= patience => {
                let (missing, ranks, place) = (listed(&missing), seat.ranks, rendezvous.to_string());
                return Err(TargetError::NeverCame { missing, ranks, place, patience });
            }
            _ => {}
        }
    }
}

/// Adds to the record of all what one of them has found.
fn add(record: &mut CaseRecord, of: &str, failing: Vec<Finding>, differs: Option<Agreement>) {
    for finding in failing {
        let detail = match finding.detail {
            FindingDetail::Evidence(words) => FindingDetail::Evidence(format!("{of}: {words}")),
            estimate @ FindingDetail::Estimate(_) => estimate,
        };
        let is_known = |known: &Finding| known.rule == finding.rule && known.severity == Severity::Fail;
        if !record.findings.iter().any(is_known) {
            record.findings.push(Finding { detail, ..finding });
        }
    }
    if let (Some(Agreement::Differs(what)), false) =
        (differs, matches!(record.agreement, Agreement::Differs(_)))
    {
        record.agreement = Agreement::Differs(what.into_iter().map(|what| format!("{of}: {what}")).collect());
    }
}
