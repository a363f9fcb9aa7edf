//! From the repeats of a case to its record.

use super::caveat::{
    fake, memory, missing, notes, sampled_memory, short_data, skew, stability, surroundings, uneven,
    unsettled,
};
use super::derive::{MeasuredRepeat, metrics};
use super::{CaseRecord, CaseStatus, FailureReason, MetricRecord, MissingRanks, Process, ranks};
use crate::bencher::{Purpose, SkipReason, Work};
use crate::metric::names;
use crate::metric::{DEVICE_METRICS, METRICS, Stationarity, own_share};
use crate::plan::CaseId;
use crate::registry::Equivalence;
use crate::run::{Outcome, Repeat};
use crate::stats;
use crate::verify::{self, Agreement, Caveat, ExaminedCase, UnverifiedReason, agree};

/// The facts of a case that are known before it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFacts {
    /// The case's id.
    pub id: CaseId,
    /// Its scenario's category.
    pub category: String,
    /// Its scenario's description.
    pub description: String,
    /// The group of scenarios that it is shown side by side with.
    pub beside: Option<String>,
    /// The adapter's tier (0 is the reference).
    pub tier: Option<u8>,
    /// The version of the system behind the adapter.
    pub version: Option<String>,
    /// The agreement with the reference that its work must show.
    pub equivalence: Equivalence,
    /// The memory that the plan expected it to take, in bytes.
    pub memory: Option<u64>,
    /// The metric that is to stand for the case, where the scenario names one.
    pub primary_metric: Option<String>,
}

/// The standard that the work of a case is held against.
#[derive(Clone, Debug, PartialEq)]
pub enum HeldAgainst<'a> {
    /// The case is the reference.
    Itself,
    /// The work of the reference.
    Work(&'a Work),
    /// There is none, and why.
    Missing(UnverifiedReason),
}

/// The record of a case that ran: `planned` is the number of measured repeats that were asked for.
///
/// Everything in it can be derived again from the repeats in it, so a run that was killed is assembled from
/// its journal.
pub fn assemble(
    case: CaseFacts,
    mut repeats: Vec<Repeat>,
    planned: u32,
    reference: &HeldAgainst<'_>,
) -> CaseRecord {
    repeats.sort_by_key(|repeat| repeat.number);
    let mut status = status(&repeats, planned);
    let work = verified_work(&repeats).cloned();
    let agreement = agreement(&repeats, work.as_ref(), case.equivalence, reference);
    let mut findings = verify::judge(&ExaminedCase {
        equivalence: case.equivalence,
        agreement: &agreement,
        reference: match reference {
            HeldAgainst::Itself => work.as_ref(),
            HeldAgainst::Work(work) => Some(work),
            HeldAgainst::Missing(_) => None,
        },
        repeats: &repeats,
    });

    let measured: Vec<MeasuredRepeat<'_>> = measured(&repeats).filter_map(MeasuredRepeat::of).collect();
    let mut metrics = metrics(&measured);
    let is_alone = work.as_ref().is_some_and(|work| work.report.workers == 0);
    let looped = is_alone.then(|| note_loops(&mut metrics, &measured)).flatten();
    let ranks = ranks::aggregates(&measured.iter().map(|one| one.seen).collect::<Vec<_>>());
    if status == CaseStatus::Measured && !MissingRanks::of(&ranks).is_empty() {
        status = CaseStatus::Incomplete;
    }
    let processes = measured.iter().map(|one| Process::of(one.seen)).collect();
    let primary_metric = primary_metric(&metrics, case.primary_metric.as_deref());
    let standing = metrics.iter().find(|metric| metric.name == primary_metric);
    let numbers: Vec<u32> = measured.iter().map(|one| one.repeat.number).collect();
    let median_repeat = standing.and_then(|metric| median_repeat(metric, &numbers));

    let stationarities: Vec<Stationarity> = measured.iter().filter_map(|one| one.seen.stationarity).collect();
    let stationarity = Stationarity::of_most(&stationarities);

    let series = measured.iter().map(|one| &one.seen.samples[..]);
    findings.extend(stationarity.and_then(|stationarity| unsettled(stationarity, series, standing)));
    findings.extend(
        case.primary_metric
            .filter(|wanted| !measured.is_empty() && *wanted != primary_metric)
            .map(|metric| Caveat::NoPrimaryMetric(metric).of_case()),
    );
    let is_nothing = standing.is_some_and(|metric| metric.below().is_some());
    findings.extend(uneven(&measured.iter().map(|one| one.seen).collect::<Vec<_>>()));
    findings.extend(is_nothing.then(|| Caveat::Nothing.of_case()));
    findings.extend(standing.into_iter().flat_map(|metric| stability(metric, &numbers)));
    findings.extend(sampled_memory(&measured.iter().map(|one| one.repeat).collect::<Vec<_>>()));
    findings.extend(case.memory.and_then(|planned| memory(planned, &metrics)));
    findings.extend(metrics.iter().filter_map(missing));
    findings.extend(surroundings(&repeats));
    findings.extend(looped.map(|share| Caveat::OwnLoop(share).of_case()));
    findings.extend(fake(&measured));
    findings.extend(short_data(&measured));
    findings.extend(skew(&measured));
    findings.extend(notes(&measured.iter().map(|one| (one.repeat, &one.seen.notes[..])).collect::<Vec<_>>()));

    let mut record = CaseRecord {
        id: case.id,
        category: case.category,
        description: case.description,
        beside: case.beside,
        tier: case.tier,
        version: case.version,
        equivalence: case.equivalence,
        status,
        primary_metric,
        metrics,
        ranks,
        processes,
        median_repeat,
        work,
        agreement,
        findings,
        stationarity,
        stopped: None,
        attached: Vec::new(),
        repeats,
    };
    if let Some(share) = record.waiting() {
        let instead = record.leading().filter(|metric| metric.name != record.primary_metric);
        let waited = Caveat::Waited { share, instead: instead.map(|metric| metric.name.clone()) };
        record.findings.push(waited.of_case());
    }
    record
}

/// The share of an item's time from which on leads are given without a worker's own loop.
const LOOPED: f64 = 0.05;

/// Notes in what is measured of items the share that is a worker's own loop, where it is that much: in one
/// thread the loop and the system take turns. Returns the largest.
fn note_loops(metrics: &mut [MetricRecord], measured: &[MeasuredRepeat<'_>]) -> Option<f64> {
    let share = |by_processors| {
        let shares: Vec<f64> = measured.iter().filter_map(|one| own_share(one.seen, by_processors)).collect();
        Some(stats::median(&shares)).filter(|share| *share >= LOOPED)
    };
    let (wall, cpu) = (share(false), share(true));
    for metric in metrics {
        metric.looped = match &*metric.name {
            names::THROUGHPUT | names::THROUGHPUT_BYTES | names::ITEM_RATE | names::WALL_TIME => wall,
            names::THROUGHPUT_CPU | names::CPU_TIME => cpu,
            _ => None,
        };
    }
    wall.or(cpu)
}

/// The record of a case that the plan left out, with its reason.
pub fn skipped(case: CaseFacts, why: impl Into<SkipReason>) -> CaseRecord {
    let reference = HeldAgainst::Missing(UnverifiedReason::NotRun);
    let record = assemble(case, Vec::new(), 0, &reference);
    CaseRecord { status: CaseStatus::Skipped(why.into()), ..record }
}

/// Repeats that were run for their figures.
fn measured(repeats: &[Repeat]) -> impl Iterator<Item = &Repeat> {
    repeats.iter().filter(|repeat| repeat.purpose != Purpose::Verify)
}

/// A failure outweighs a skip, and both outweigh what is missing.
fn status(repeats: &[Repeat], planned: u32) -> CaseStatus {
    let failure = repeats.iter().find_map(|repeat| match &repeat.outcome {
        Outcome::Failed(failure) => Some(FailureReason::repeat(repeat.number, failure)),
        Outcome::Measured { .. } | Outcome::Skipped { .. } => None,
    });
    if let Some(failure) = failure {
        return CaseStatus::Failed(failure);
    }
    let skip = repeats.iter().find_map(|repeat| match &repeat.outcome {
        Outcome::Skipped { why } => Some(why.clone()),
        Outcome::Measured { .. } | Outcome::Failed(_) => None,
    });
    match skip {
        Some(why) => CaseStatus::Skipped(why),
        None if measured(repeats).count() < planned as usize => CaseStatus::Incomplete,
        None => CaseStatus::Measured,
    }
}

/// The work of the verifying repeat, where it ended well and handed in a work report.
fn verified_work(repeats: &[Repeat]) -> Option<&Work> {
    repeats.iter().filter(|repeat| repeat.purpose == Purpose::Verify).find_map(|repeat| {
        match &repeat.outcome {
            Outcome::Measured { work, .. } => work.as_ref(),
            Outcome::Failed(_) | Outcome::Skipped { .. } => None,
        }
    })
}

fn agreement(
    repeats: &[Repeat],
    work: Option<&Work>,
    equivalence: Equivalence,
    reference: &HeldAgainst<'_>,
) -> Agreement {
    let verified = repeats.iter().any(|repeat| {
        repeat.purpose == Purpose::Verify && matches!(repeat.outcome, Outcome::Measured { .. })
    });
    if let Some(why) = work.and_then(|work| work.report.unverified.as_ref()) {
        return Agreement::Unverified(UnverifiedReason::Stated(why.clone()));
    }
    match (work, reference) {
        (Some(_), HeldAgainst::Itself) => Agreement::Reference,
        (Some(work), HeldAgainst::Work(reference)) => match other_answers(repeats) {
            Some(what) if equivalence == Equivalence::Exact => Agreement::Differs(vec![what]),
            _ => agree(work, reference, equivalence),
        },
        _ if equivalence == Equivalence::None => Agreement::NotAsked,
        (Some(_), HeldAgainst::Missing(why)) => Agreement::Unverified(why.clone()),
        (None, _) if verified => Agreement::Unverified(UnverifiedReason::NoReport),
        (None, _) => Agreement::Unverified(UnverifiedReason::NotVerified),
    }
}

/// The difference of the answers of the unmeasured repeat from the reference's, where it hands in other ones.
fn other_answers(repeats: &[Repeat]) -> Option<String> {
    let unmeasured = repeats.iter().filter(|repeat| repeat.purpose == Purpose::Verify);
    let mut evidence = unmeasured.filter_map(|repeat| match &repeat.outcome {
        Outcome::Measured { evidence, .. } => Some(evidence),
        Outcome::Failed(_) | Outcome::Skipped { .. } => None,
    });
    evidence.find_map(|evidence| verify::other_answers(evidence))
}

/// The metric that stands for the case: the one that the scenario names; else the time by a device's clock,
/// where one was taken; else throughput, where elements are stated; else the time of an iteration, of the
/// first block, or the first value that the author handed in.
fn primary_metric(metrics: &[MetricRecord], wanted: Option<&str>) -> String {
    let has_value = |metric: &&MetricRecord| metric.estimate.is_some();
    let named = |name: &str| metrics.iter().filter(has_value).find(|metric| metric.name == name);
    let listed = |name: &str| METRICS.iter().chain(DEVICE_METRICS).any(|metric| metric.name == name);
    let bound = || metrics.iter().find(|metric| metric.name == names::WALL_TIME && metric.below().is_some());
    let block = || metrics.iter().find(|metric| metric.name.starts_with("region/") && has_value(metric));
    let custom = || {
        let own = |metric: &&MetricRecord| {
            !["region/", "phase/", "time/"].iter().any(|of| metric.name.starts_with(of))
                && !listed(&metric.name)
        };
        metrics.iter().filter(has_value).find(own)
    };
    let found = wanted
        .and_then(named)
        .or_else(|| named(names::DEVICE_TIME))
        .or_else(|| named(names::THROUGHPUT))
        .or_else(|| named(names::ITEM_RATE))
        .or_else(|| named(names::WALL_TIME))
        .or_else(bound)
        .or_else(block)
        .or_else(custom);
    found.map_or(wanted.unwrap_or(names::WALL_TIME), |metric| &metric.name).to_owned()
}

/// The metric that stands for these repeats where its scenario names none, and all metrics of them.
pub(crate) fn standing_metrics(repeats: &[Repeat]) -> (String, Vec<MetricRecord>) {
    let measured: Vec<MeasuredRepeat<'_>> = repeats.iter().filter_map(MeasuredRepeat::of).collect();
    let metrics = metrics(&measured);
    (primary_metric(&metrics, None), metrics)
}

/// The number of the repeat that is nearest to the median of all; the earlier on a tie.
fn median_repeat(metric: &MetricRecord, numbers: &[u32]) -> Option<u32> {
    let centre = metric.estimate?.median;
    let distances: Vec<(f64, u32)> = (metric.values.iter().zip(numbers))
        .filter_map(|(reading, number)| Some(((reading.value()? - centre).abs(), *number)))
        .collect();
    let least = distances.iter().map(|(distance, _)| *distance).min_by(f64::total_cmp)?;
    // Of an even number the middle two are equally near; rounding must not choose between them.
    let near = least + centre.abs() * 1e-12;
    distances.into_iter().find(|(distance, _)| *distance <= near).map(|(_, number)| number)
}

#[cfg(test)]
mod tests;
