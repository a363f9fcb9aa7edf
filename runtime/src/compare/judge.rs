//! The judge: walks the cases of a run and holds each against the baseline's.

use std::collections::{HashMap, HashSet};

use super::change::{WeighedMetric, change};
use super::clock::hold_against_cycles;
use super::comparison::{ComparedBaseline, Method};
use super::environment::changes;
use super::rule::{Judgement, LEAST, unsteady};
use super::values::Sides;
use super::{
    Acceptance, Advice, AxisChange, Basis, CaseFailure, Comparison, History, IncomparableReason, Policy,
    ProcessValues, Refusal, Remedy, Row, RowMark, Tendency, Verdict, VerdictCounts,
};
use crate::device::on_all_processors;
use crate::metric::Direction;
use crate::plan::CaseId;
use crate::record::{Baseline, BaselineCase, CaseRecord, CaseStatus, Environment, MetricRecord, RunRecord};
use crate::run::Side;
use crate::verify::Agreement;

/// Judges a run by a baseline.
///
/// The unit of inference is the process: one value per repeat of the metric that stands for the case, and of
/// those that the policy gates. Cases that were skipped on both sides have no row.
pub fn judge(baseline: &Baseline, candidate: &RunRecord, history: &History, policy: &Policy) -> Comparison {
    let manifest = &candidate.manifest;
    let mut comparison = Comparison {
        suite: manifest.suite.clone(),
        method: Method::Stored,
        baseline: ComparedBaseline { name: baseline.name.clone(), run: Some(baseline.run.clone()) },
        candidate: manifest.id.clone(),
        environment: None,
        environment_changes: changes(baseline, manifest),
        notes: Vec::new(),
        refused: refusal(baseline, candidate, policy),
        failures: candidate.cases.iter().filter_map(failure).collect(),
        rows: Vec::new(),
        counts: VerdictCounts::default(),
    };
    if comparison.refused.is_none() {
        let machine = manifest.environment.machine_id();
        let mut policy = policy.clone();
        policy.accepted.retain(|one| one.belongs(&manifest.suite, &machine) && one.came_after(baseline));
        comparison.rows = rows(baseline, candidate, history, &policy);
        comparison.counts = VerdictCounts::of(&comparison.rows);
        if comparison.counts.weighed() == 0 {
            comparison.refused = Some(Refusal::NothingCompared);
        }
    }
    comparison
}

/// The reason why the run cannot be judged by this baseline at all.
fn refusal(baseline: &Baseline, candidate: &RunRecord, policy: &Policy) -> Option<Refusal> {
    let manifest = &candidate.manifest;
    if manifest.id == baseline.run {
        return Some(Refusal::SameRun);
    }
    if manifest.suite != baseline.suite {
        return Some(Refusal::OtherSuite { baseline: baseline.suite.clone() });
    }
    let [there, here] = [&baseline.environment, &manifest.environment].map(Environment::workspace);
    if here.is_other_than(&there) {
        return Some(Refusal::OtherWorkspace { baseline: there.name(), here: here.name() });
    }
    let elsewhere = manifest.environment.machine_id() != baseline.environment.machine_id();
    (elsewhere && !policy.allow_different_machine)
        .then(|| Refusal::OtherMachine(manifest.environment.differences(&baseline.environment).machine))
}

/// The failure of a case by itself: it ended in one, differs from the reference, or does not verify.
fn failure(case: &CaseRecord) -> Option<CaseFailure> {
    let why = match (&case.status, &case.agreement) {
        (CaseStatus::Failed(why), _) => IncomparableReason::Failed(Side::Candidate, why.clone()),
        (_, Agreement::Differs(what)) => IncomparableReason::Differs(Side::Candidate, what.clone()),
        _ => IncomparableReason::Unverified(Side::Candidate, case.failed_rules().next()?.clone()),
    };
    Some(CaseFailure { case: case.id.clone(), why })
}

fn rows(baseline: &Baseline, candidate: &RunRecord, history: &History, policy: &Policy) -> Vec<Row> {
    let before: HashMap<String, &BaselineCase> =
        baseline.cases.iter().map(|case| (case.id.to_string(), case)).collect();
    let commit = baseline.environment.software.get("commit");
    let revision = commit.map(|commit| commit.get(..12).unwrap_or(commit));
    let judged = on_all_processors(&candidate.cases, |case| {
        let name = case.id.to_string();
        (row(before.get(&name).copied(), case, history, policy, revision), name)
    });
    let (rows, seen): (Vec<_>, HashSet<_>) = judged.into_iter().unzip();
    let mut rows: Vec<Row> = rows.into_iter().flatten().collect();
    // What the baseline only skipped is nothing that went missing.
    let gone = baseline.cases.iter().filter(|case| {
        !matches!(case.status, CaseStatus::Skipped(_)) && !seen.contains(&case.id.to_string())
    });
    rows.extend(gone.map(|case| Row::bare(&case.id, &case.primary_metric, Verdict::Removed)));
    rows
}

/// The row of a case of the run.
fn row(
    before: Option<&BaselineCase>,
    after: &CaseRecord,
    history: &History,
    policy: &Policy,
    revision: Option<&str>,
) -> Option<Row> {
    let bare = |verdict| Some(Row::bare(&after.id, &after.primary_metric, verdict));
    let incomparable = |why| bare(Verdict::Incomparable(why));
    match (&after.status, before.map(|case| &case.status)) {
        (CaseStatus::Failed(why), _) => {
            return incomparable(IncomparableReason::Failed(Side::Candidate, why.clone()));
        }
        (CaseStatus::Incomplete, _) => {
            let why = after.unfinished().unwrap_or_default();
            return incomparable(IncomparableReason::Incomplete(Side::Candidate, why));
        }
        (CaseStatus::Skipped(why), Some(CaseStatus::Measured)) => {
            return incomparable(IncomparableReason::Skipped(Side::Candidate, why.clone()));
        }
        (CaseStatus::Skipped(_), _) => return None,
        (CaseStatus::Measured, _) => {}
    }
    if let Some(failure) = failure(after) {
        return incomparable(failure.why);
    }
    let Some(before) = before else { return bare(Verdict::Added) };
    match &before.status {
        CaseStatus::Skipped(_) => return bare(Verdict::Added),
        CaseStatus::Failed(why) => {
            return incomparable(IncomparableReason::Failed(Side::Baseline, why.clone()));
        }
        CaseStatus::Incomplete => {
            let why = before.unfinished().unwrap_or_default();
            return incomparable(IncomparableReason::Incomplete(Side::Baseline, why));
        }
        CaseStatus::Measured => {}
    }
    if let Some(why) = unlike(before, after) {
        return incomparable(why);
    }
    let without = || unfit(before, after).map(Verdict::Incomparable);
    let stated = of_nothing(before, after).or_else(without);
    // How far figures wandered is known of the runs that have what was accepted.
    let since = Acceptance::last_run(&policy.accepted, &after.id, &after.primary_metric);
    let past = history.past(&after.id).map(|past| past.since(since));
    Some(weighed(Sides { before, after, past: past.as_deref() }, stated, revision, policy))
}

/// The verdict on a body that has a bound and no figure, on one side or on both: it cannot be told from an
/// empty loop.
fn of_nothing(before: &BaselineCase, after: &CaseRecord) -> Option<Verdict> {
    let named = |metrics: &'_ [MetricRecord]| {
        metrics.iter().find(|metric| metric.name == after.primary_metric).cloned()
    };
    let (old, new) = (named(&before.metrics)?, named(&after.metrics)?);
    let took = |metric: &MetricRecord| metric.estimate.map(|estimate| estimate.median);
    match (old.below(), new.below()) {
        (None, None) => None,
        (Some(_), Some(_)) => Some(Verdict::Unchanged),
        (None, Some(bound)) => {
            Some(Verdict::Incomparable(IncomparableReason::NowBelow { was: took(&old)?, bound }))
        }
        (Some(bound), None) => {
            Some(Verdict::Incomparable(IncomparableReason::NoLongerBelow { bound, is: took(&new)? }))
        }
    }
}

/// The reason why two cases of one name do not measure the same.
fn unlike(before: &BaselineCase, after: &CaseRecord) -> Option<IncomparableReason> {
    if let Agreement::Differs(what) = &before.agreement {
        return Some(IncomparableReason::Differs(Side::Baseline, what.clone()));
    }
    if let Some(finding) = before.findings.first() {
        return Some(IncomparableReason::Unverified(Side::Baseline, finding.clone()));
    }
    if let Some(change) = axis_changed(&before.id, &after.id) {
        return Some(IncomparableReason::Axis(change));
    }
    if let (Some(old), Some(work)) = (&before.report, &after.work) {
        let new = &work.report;
        if old.input != new.input {
            return Some(IncomparableReason::Input([old.input.clone(), new.input.clone()]));
        }
        let places = [old.delivery.place(), new.delivery.place()];
        if places[0] != places[1] {
            return Some(IncomparableReason::Delivery(places.map(str::to_owned)));
        }
        if old.transforms != new.transforms {
            return Some(IncomparableReason::Transforms([old.transforms.clone(), new.transforms.clone()]));
        }
    }
    let metric = after.primary_metric.clone();
    if before.primary_metric != metric {
        return Some(IncomparableReason::PrimaryMetric([before.primary_metric.clone(), metric]));
    }
    None
}

/// The reason why the metric that stands for both cannot be weighed.
fn unfit(before: &BaselineCase, after: &CaseRecord) -> Option<IncomparableReason> {
    let metric = after.primary_metric.clone();
    let named = |metrics: &[MetricRecord]| {
        metrics.iter().find(|one| one.name == metric && one.estimate.is_some()).cloned()
    };
    let (Some(old), Some(new)) = (named(&before.metrics), named(&after.metrics)) else {
        return Some(IncomparableReason::NoValue(metric));
    };
    if (&old.unit, old.direction) != (&new.unit, new.direction) {
        return Some(IncomparableReason::Unit(metric));
    }
    (new.direction == Direction::Information).then_some(IncomparableReason::Information(metric))
}

/// A value that keeps its label but not its meaning, by the text that `Debug` gives of it.
pub(crate) fn axis_changed(before: &CaseId, after: &CaseId) -> Option<AxisChange> {
    after.point.iter().find_map(|new| {
        let old = before.point.get(&new.axis)?;
        let (was, is) = (old.debug.clone()?, new.debug.clone()?);
        (was != is).then(|| AxisChange { axis: new.axis.clone(), value: new.text.clone(), was, is })
    })
}

/// The metric that is to gate beside the one that stands for the case, and that one side alone has.
fn lacking(before: &BaselineCase, after: &CaseRecord, policy: &Policy) -> Option<IncomparableReason> {
    let has = |metrics: &[MetricRecord], name: &str| {
        let named = metrics.iter().find(|metric| metric.name == name);
        named.is_some_and(|metric| metric.estimate.is_some() || metric.below().is_some())
    };
    let gated = policy.gated(&after.id.scenario).iter().filter(|name| **name != after.primary_metric);
    let mut lacking = gated.filter(|name| has(&before.metrics, name) != has(&after.metrics, name));
    lacking.next().map(|name| IncomparableReason::NoValue(name.clone()))
}

/// The row of a case whose figures are weighed. `stated` is the verdict on the metric that stands for it,
/// where that has no figures; those that the policy gates are judged all the same.
fn weighed(sides: Sides<'_>, stated: Option<Verdict>, revision: Option<&str>, policy: &Policy) -> Row {
    let Sides { before, after, .. } = sides;
    let find = |metrics: &[MetricRecord], name: &str| metrics.iter().position(|metric| metric.name == name);
    let gone = before.metrics.iter().filter(|metric| find(&after.metrics, &metric.name).is_none());
    let both = after.metrics.iter().map(|new| {
        let old = find(&before.metrics, &new.name).map(|at| &before.metrics[at]);
        (old, Some(new))
    });
    let pairs = both.chain(gone.map(|old| (Some(old), None)));
    let mut all: Vec<WeighedMetric> =
        pairs.filter_map(|(old, new)| change(&sides, old, new, policy)).collect();
    let judged = all.iter_mut().map(|weighed| (weighed.change.metric.as_str(), &mut weighed.judgement));
    let explained: Vec<String> = hold_against_cycles(judged).into_iter().map(str::to_owned).collect();
    for weighed in all.iter_mut().filter(|weighed| explained.contains(&weighed.change.metric)) {
        weighed.change.tendency = Tendency::Unclear;
        weighed.reservations.clock = true;
    }

    let is_stated = stated.is_some();
    let gated = |weighed: &&WeighedMetric| match weighed.change.metric == after.primary_metric {
        true => !is_stated,
        false => policy.gates(&after.id.scenario, &weighed.change.metric),
    };
    // The worst verdict stands; of equals the one of the metric that stands for the case, or else the first.
    let own = |weighed: &WeighedMetric| weighed.change.metric == after.primary_metric;
    let rank = |weighed: &WeighedMetric| weighed.judgement.as_ref().map(Judgement::rank);
    let judged = all.iter().filter(gated).filter(|weighed| weighed.judgement.is_some());
    let lacking = lacking(before, after, policy);
    let metric = match &lacking {
        Some(IncomparableReason::NoValue(metric)) => metric,
        _ => &after.primary_metric,
    };
    let stated = lacking.as_ref().map(|why| Verdict::Incomparable(why.clone())).or(stated);
    let standing = stated.as_ref().map_or(u8::MAX, Judgement::rank_of);
    let deciding = judged.min_by_key(|weighed| (rank(weighed), !own(weighed)));
    let deciding = deciding.filter(|weighed| rank(weighed).is_some_and(|rank| rank < standing));
    let mut row = Row::bare(&after.id, metric, stated.unwrap_or(Verdict::Unchanged));
    if let Some((weighed, judgement)) =
        deciding.and_then(|weighed| Some((weighed, weighed.judgement.as_ref()?)))
    {
        let WeighedMetric { change, tolerance, values, reservations, accepted, .. } = weighed;
        row.verdict = judgement.verdict.clone();
        row.metric.clone_from(&change.metric);
        row.effect = judgement.effect;
        row.tolerance = Some(*tolerance);
        row.detectable = judgement.effect.map(|effect| effect.detectable(tolerance.share));
        row.marks.extend((tolerance.basis == Basis::FirstRuns).then_some(RowMark::FirstRuns));
        row.accepted = accepted.map(f64::exp_m1);
        row.marks.extend(accepted.map(|_| RowMark::Accepted));
        row.marks.extend(values.by_cpu.then_some(RowMark::ByCpuClock));
        row.marks.extend(values.undelayed.then_some(RowMark::Undelayed));
        row.marks.extend(values.yardstick.map(|_| RowMark::ByYardstick));
        row.advice = matches!(row.verdict, Verdict::Inconclusive(_)).then(|| advice(weighed, revision));
        row.processes = Some(ProcessValues {
            values: values.sides.clone(),
            past: values.past.clone(),
            yardstick: values.yardstick.map(str::to_owned),
            switched: reservations.switched,
        });
        row.warn(policy);
    }
    row.metrics = all.into_iter().map(|weighed| weighed.change).collect();
    row
}

/// Advice that would make an inconclusive case decidable.
fn advice(weighed: &WeighedMetric, revision: Option<&str>) -> Advice {
    let [before, after] = &weighed.values.sides;
    let remedy = if before.len().min(after.len()) < LEAST {
        Remedy::Repeats(LEAST)
    } else if weighed.reservations.clock {
        Remedy::SteadyClock
    } else if weighed.reservations.disturbed().is_some() {
        Remedy::QuieterMachine
    } else if unsteady(weighed.reservations.unsteady).is_some() {
        Remedy::Settling
    } else if weighed.tolerance.basis == Basis::FirstRuns {
        Remedy::StoredRuns
    } else {
        Remedy::MoreRepeats
    };
    Advice { remedy, revision: revision.map(str::to_owned) }
}

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod process_tests;
#[cfg(test)]
mod tests;
