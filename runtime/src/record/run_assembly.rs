//! From a plan and its journal to the records of all cases.

use super::assemble::{CaseFacts, HeldAgainst, assemble, skipped};
use super::{CaseRecord, CaseStatus, MetricRecord, StopReason};
use crate::bencher::Purpose;
use crate::metric::Reading;
use crate::plan::{CaseId, Plan, PlannedCase};
use crate::registry::Equivalence;
use crate::run::{Outcome, Repeat, half_width};
use crate::verify::{Caveat, SpentLimit, UnverifiedReason};

/// The records of every planned case and every skip, in the order of the plan. A reference that was only
/// verified has no record of its own.
pub fn assemble_run(plan: &Plan, journal: &[(CaseId, Repeat)]) -> Vec<CaseRecord> {
    let repeats_of = |case: &PlannedCase| -> Vec<Repeat> {
        journal.iter().filter(|(id, _)| *id == case.id).map(|(_, repeat)| repeat.clone()).collect()
    };
    let cases = plan.cases.iter().filter(|case| case.measured).map(|case| {
        let reference = reference(plan, journal, case);
        let mut record = assemble(facts(case), repeats_of(case), planned(case, journal), &reference);
        if let Some(target) = plan.together.target {
            stop(&mut record, target);
        }
        record
    });
    let skips = plan.skips.iter().map(|skip| {
        let scenario = plan.cases.iter().find(|case| case.id.scenario == skip.id.scenario);
        let text = |text: fn(&PlannedCase) -> &str| scenario.map_or("", text).to_owned();
        let facts = CaseFacts {
            id: skip.id.clone(),
            category: text(|case| case.scenario.category),
            description: text(|case| case.scenario.description),
            beside: scenario.and_then(|case| case.scenario.group.map(str::to_owned)),
            tier: None,
            version: None,
            equivalence: Equivalence::None,
            memory: None,
            primary_metric: None,
        };
        skipped(facts, skip.why.clone())
    });
    cases.chain(skips).collect()
}

/// The number of measured repeats a case was to have: as planned, or as its body asked for, as far as there
/// was time.
fn planned(case: &PlannedCase, journal: &[(CaseId, Repeat)]) -> u32 {
    let own = journal.iter().filter(|(id, _)| *id == case.id);
    let stated = own.filter_map(|(_, repeat)| match &repeat.outcome {
        Outcome::Measured { seen, .. } if repeat.purpose == Purpose::Measure => seen.repeats,
        _ => None,
    });
    stated.min().unwrap_or(case.repeats).min(case.most.unwrap_or(u32::MAX))
}

/// Says what ended the repeats of a case that had a target, and warns if it is not met.
fn stop(record: &mut CaseRecord, target: f64) {
    let values =
        |metric: &MetricRecord| metric.values.iter().filter_map(Reading::value).collect::<Vec<f64>>();
    let Some(values) = record.primary_metric().map(values).filter(|_| record.status == CaseStatus::Measured)
    else {
        return;
    };
    let half = half_width(&values);
    if half.is_some_and(|half| half <= target) {
        record.stopped = Some(StopReason::Target);
        return;
    }
    let most = values.len() >= Plan::MOST_REPEATS as usize;
    let (stopped, ended) =
        if most { (StopReason::Most, SpentLimit::Repeats) } else { (StopReason::Budget, SpentLimit::Budget) };
    record.stopped = Some(stopped);
    record.findings.push(Caveat::OffTarget { target, half, ended }.of_case());
}

fn facts(case: &PlannedCase) -> CaseFacts {
    CaseFacts {
        id: case.id.clone(),
        category: case.scenario.category.to_owned(),
        description: case.scenario.description.to_owned(),
        beside: case.scenario.group.map(str::to_owned),
        tier: case.adapter.map(|adapter| adapter.tier),
        version: case.version.clone(),
        equivalence: case.equivalence(),
        // What a scenario needs is told of loaders in this process; a system in another one brings its own.
        memory: case.memory.filter(|_| !case.adapter.is_some_and(|adapter| adapter.resident)),
        primary_metric: None,
    }
}

/// The standard that the work of a case is held against.
fn reference<'a>(plan: &Plan, journal: &'a [(CaseId, Repeat)], case: &PlannedCase) -> HeldAgainst<'a> {
    if case.is_reference() {
        return HeldAgainst::Itself;
    }
    let Some(reference) = plan.cases.iter().find(|other| case.compares_with(other)) else {
        return HeldAgainst::Missing(UnverifiedReason::NoReference);
    };
    let verified =
        journal.iter().find(|(id, repeat)| *id == reference.id && repeat.purpose == Purpose::Verify);
    let id = || reference.id.clone();
    HeldAgainst::Missing(match verified.map(|(_, repeat)| &repeat.outcome) {
        Some(Outcome::Measured { work: Some(work), .. }) => return HeldAgainst::Work(work),
        Some(Outcome::Measured { work: None, .. }) => UnverifiedReason::ReferenceWithoutReport(id()),
        Some(Outcome::Failed(failure)) => UnverifiedReason::ReferenceFailed(id(), failure.without_output()),
        Some(Outcome::Skipped { why }) => UnverifiedReason::ReferenceSkipped(id(), why.clone()),
        None => UnverifiedReason::ReferenceNotVerified(id()),
    })
}
