//! What is done before a pass, and before the first one, is bounded.

use std::time::Duration;

use super::growth::Growth;
use super::rule::{Accusation, Rule, each_measured};
use crate::bencher::Delivery;
use crate::metric::{Ledger, SampleKind};
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "outside",
    lie: "an epoch, or a part of one, is made in `open` or in `begin`",
    looks: "the ledger of a measured repeat, and where batches lie. Beginning epochs may take as \
        long as the measured passes; in a worker it counts from 50 ms of processor time for each \
        beginning on. In a native pipeline it may take three tenths of the passes with workers and \
        two hundredths without, in the quickest of two repeats. Opening a native pipeline may take \
        three times an epoch, in the quickest repeat, or a second where it says that it runs on a \
        device and has one open, for which kernels are compiled; up to 0.1 s the processor's time \
        must say the same. Two fifths of an epoch may not lie side by side in the memory of a \
        native pipeline. A worker's opening may take long, but not take long and make an epoch of \
        memory, and so in the unmeasured repeat as well, after another opening in its process: an \
        import is there then. Time that no entry explains, in the repeat in which it is least, is a \
        caveat from a fifth of the repeat and 0.2 s on; it fails where it is longer than 2 s and than what \
        was measured",
    blind: "beginning epochs of systems that start processes for each, or for little processor time in a \
        worker, which stands beside the rank and takes none away; less than two fifths of a native epoch \
        that is over in milliseconds, and what lies in memory of one of less than 1 MiB; one that a \
        process left running prepares within 0.1 s of `open`; an epoch that is prepared within a second \
        by a native pipeline that has a device open and says that it runs there; one that a worker \
        prepares on the disk in `converted`, or one of less than some 130 MiB beside a compiler that it \
        says it has; a worker that prepares an epoch unless another pipeline was opened in its process",
    remedy: "make batches when they are asked for; what is made once belongs into `open`, what is made for \
        every epoch into the time of its first batch",
    test: "verify::rules::tests::what_is_made_before_a_pass_is_told",
    check,
};

/// Beginning epochs may take so many times the measured passes.
const BEGIN: f64 = 1.0;

/// The same in the quickest of so many repeats of a native pipeline, with workers and without. Honest ones
/// needed 0.07 and 0.002.
const FEW: usize = 2;
const BEGIN_WORKERS: f64 = 0.3;
const BEGIN_ALONE: f64 = 0.02;
const LEAST_BEGIN: u64 = 500_000;

/// The processor time that beginning an epoch may cost in a worker, whatever the epoch holds, in nanoseconds:
/// threads, graphs.
const LEAST_BEGINNING: u64 = 50_000_000;

/// Opening a native pipeline may take so many times an epoch, and so much, in nanoseconds.
const OPEN: f64 = 3.0;
const LEAST: u64 = 20_000_000;
const LEAST_OPEN: u64 = 5_000_000;

/// Up to so much, in nanoseconds, the processor's time must say the same: a thread that opens a pipeline may
/// wait for its processor in every repeat of a busy machine.
const SHORT_OPEN: u64 = 100_000_000;

/// So much where it says that it runs on a device and has one open: a compiler makes its kernels.
const LEAST_OPEN_ON_DEVICE: u64 = 1_000_000_000;

/// From so many batches on it is looked whether each has an address of its own, and so large a part of the
/// epoch lies between them: a loader that lets a batch go uses its memory again (honest ones have an address
/// for 3 batches in 100 at most).
const BATCHES: u64 = 16;
const SIDE_BY_SIDE: f64 = 0.4;

/// Answers of a few bytes lie wherever the allocator has room: an epoch of fewer bytes tells nothing.
const LEAST_KEPT: f64 = (1 << 20) as f64;

/// An epoch of fewer bytes cannot be told from what a system makes for itself.
const LEAST_PREPARED: u64 = 32 << 20;

/// The memory that a compiler may make for itself in a worker that says that it compiled, in bytes: FFCV's
/// made 85 to 105 MiB.
const COMPILER: u64 = 128 << 20;

/// The share of an epoch that must lie in memory to be called prepared.
const PREPARED: f64 = 0.45;

/// The same where a second copy of the data set would be as large.
const PREPARED_OF_TWO: f64 = 0.8;

/// The factor by which the set-up must take longer than that part of the epoch the set-up must take.
const SLOWER: f64 = 3.0;

/// The same where the epoch is no larger than the data set: tf.data copies it twice, into tensors and into
/// its graph, which takes several epochs' time: 11 with 0.8 GB, on a machine whose page faults are slow.
const SLOWER_THAN_COPYING: f64 = 20.0;

/// The share of a repeat from which on unexplained time stands beside the rank, if it is also so much, in
/// nanoseconds, in the repeat in which it is least; where it is longer than what was measured, and so long,
/// it takes the rank away.
const UNEXPLAINED: f64 = 0.2;
const LEAST_UNEXPLAINED: u64 = 200_000_000;
const TOO_LONG: u64 = 2_000_000_000;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    // What does not grow with the data is no batch: an arena is one, and what is compiled.
    // (Lives in a worker begin when it is open.)
    let is_elsewhere = examined.ended().any(|one| one.is_measured() && one.evidence.account.is_some());
    let is_free = !is_elsewhere && Growth::of(examined).is_some_and(Growth::clears);
    // Nor is what was there for an opening that came after another one.
    let is_made_once =
        examined.ended().any(|one| one.evidence.reopened && prepared_share(&one) < Some(PREPARED));
    let mut found = each_measured(examined, |one| {
        if !matches!(one.seen.taken, Some(SampleKind::Items | SampleKind::Passes)) {
            return None;
        }
        let kept = || if is_free { None } else { kept(one) };
        let prepared = || if is_made_once { None } else { prepared(one) };
        begin(one).or_else(kept).or_else(prepared)
    });
    found.extend(begun(examined));
    found.extend(if is_free { None } else { open(examined) });
    found.extend(unexplained(examined));
    found
}

/// Time of a repeat that is in no entry of its ledger. On a busy machine a process may wait before it is seen
/// to have ended: the least of all repeats counts.
fn unexplained(examined: &ExaminedCase<'_>) -> Option<Accusation> {
    let left = |one: &EndedRepeat<'_>| one.repeat.slot.saturating_sub(one.seen.ledger.sum());
    let one = examined.ended().filter(EndedRepeat::is_measured).min_by_key(left)?;
    let left = left(&one);
    if one.seen.ledger == Ledger::default()
        || left < LEAST_UNEXPLAINED
        || left as f64 <= one.repeat.slot as f64 * UNEXPLAINED
    {
        return None;
    }
    let fails = left > TOO_LONG && left > one.seen.wall;
    Some(Accusation {
        severity: if fails { Severity::Fail } else { Severity::Caveat },
        repeats: Vec::new(),
        detail: format!(
            "{:?} of a repeat are in no part of its ledger, and {:?} were measured",
            Duration::from_nanos(left),
            Duration::from_nanos(one.seen.wall)
        ),
    })
}

fn begin(one: &EndedRepeat<'_>) -> Option<(Severity, String)> {
    let Ledger { begin, .. } = one.seen.ledger;
    let measured = one.seen.wall;
    if begin < LEAST || begin as f64 <= measured as f64 * BEGIN {
        return None;
    }
    let severity = if is_work(one) { Severity::Fail } else { Severity::Caveat };
    let what = format!(
        "beginning epochs took {:?}, outside the clock, and {:?} were measured",
        Duration::from_nanos(begin),
        Duration::from_nanos(measured)
    );
    Some((severity, what))
}

/// Beginning the epochs of a native pipeline, in the quickest repeat: on a busy machine any other may have
/// waited.
fn begun(examined: &ExaminedCase<'_>) -> Option<Accusation> {
    let measured = examined.ended().filter(|one| one.is_measured() && one.seen.wall > 0);
    let all: Vec<(f64, u64, f64)> = measured
        .map(|one| {
            let report = &one.work?.report;
            if one.evidence.account.is_some() || report.delivery == Delivery::Device {
                return None;
            }
            let begin = one.seen.ledger.begin;
            let most = if report.workers == 0 { BEGIN_ALONE } else { BEGIN_WORKERS };
            Some((begin as f64 / one.seen.wall as f64, begin, most))
        })
        .collect::<Option<_>>()?;
    let (share, begin, most) = all.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let is_told = (BEGIN..).contains(&share) && begin >= LEAST; // by the rule of each repeat
    (all.len() >= FEW && share > most && begin >= LEAST_BEGIN && !is_told).then(|| Accusation {
        severity: Severity::Fail,
        repeats: Vec::new(),
        detail: format!(
            "beginning epochs took {:?} at least, outside the clock: {:.1} % of what was measured",
            Duration::from_nanos(begin),
            share * 100.0
        ),
    })
}

/// Tells whether what went by while epochs were begun was work: of a native pipeline always. A worker's
/// threads start, end and wait for each other, by far longer on a busy machine: there it is processor time
/// that counts, of each beginning and of all.
fn is_work(one: &EndedRepeat<'_>) -> bool {
    let Some(account) = &one.evidence.account else { return true };
    let Some(stopped) = account.stopped.cpu else { return !one.has_processes() };
    !one.has_processes()
        && stopped / one.evidence.begun.max(1) >= LEAST_BEGINNING
        && account.running.is_some_and(|running| stopped > running)
}

/// Nanoseconds of an epoch at the rate of the measured passes.
fn epoch(one: &EndedRepeat<'_>) -> Option<f64> {
    Some(one.each()? * one.evidence.expected?.elements as f64)
}

/// Nanoseconds that opening the pipeline took.
fn opening(one: &EndedRepeat<'_>) -> u64 {
    let open = one.seen.ledger.open;
    match one.evidence.opening {
        Some(ran) if open < SHORT_OPEN => open.min(ran),
        _ => open,
    }
}

/// The quickest opening counts: on a busy machine any other may have waited.
fn open(examined: &ExaminedCase<'_>) -> Option<Accusation> {
    let measured = examined.ended().filter(EndedRepeat::is_measured);
    let openings: Vec<(f64, u64, f64)> = measured
        .map(|one| {
            let on_device = one.work.is_some_and(|work| work.report.delivery == Delivery::Device);
            if one.evidence.account.is_some() || on_device || !one.evidence.expected?.transforms {
                return None;
            }
            let (open, epoch) = (opening(&one), epoch(&one)?);
            Some((open as f64 / epoch, open, epoch))
        })
        .collect::<Option<_>>()?;
    let (ratio, open, epoch) = openings.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let runs_there = |one: EndedRepeat<'_>| {
        one.evidence.gpu_open == Some(true)
            && one.work.is_some_and(|work| work.report.ran_on.starts_with("cuda"))
    };
    let least = if examined.ended().any(runs_there) { LEAST_OPEN_ON_DEVICE } else { LEAST_OPEN };
    (open > least && ratio > OPEN).then(|| Accusation {
        severity: Severity::Fail,
        repeats: Vec::new(),
        detail: format!(
            "opening the pipeline took {:?} at least, and an epoch goes by in {:?} when it is timed",
            Duration::from_nanos(open),
            Duration::from_nanos(epoch as u64)
        ),
    })
}

/// All batches of an epoch are there at once, each at its own place: they were made before they were asked
/// for, or are kept.
fn kept(one: &EndedRepeat<'_>) -> Option<(Severity, String)> {
    let (epoch, expected) = (one.evidence.unstopped?, one.evidence.expected?);
    // A view of the data set is told by another rule.
    if expected.keeps || one.evidence.view == Some(true) || epoch.batches < BATCHES {
        return None;
    }
    let bytes = expected.bytes as f64 * epoch.batches as f64 / expected.batches() as f64;
    let many = epoch.addresses as f64 >= epoch.batches as f64 * SIDE_BY_SIDE;
    (many && bytes >= LEAST_KEPT && epoch.span as f64 >= bytes * SIDE_BY_SIDE).then(|| {
        let what = format!(
            "its {} batches lie at {} places in {} MiB of memory: so many of an epoch are there at once",
            epoch.batches,
            epoch.addresses,
            epoch.span >> 20
        );
        (Severity::Fail, what)
    })
}

/// The share of the delivered epoch that opening made in memory, beside a copy of the data set and what a
/// compiler may have made; `None` where an epoch is too small to tell.
fn prepared_share(one: &EndedRepeat<'_>) -> Option<f64> {
    let (expected, grown) = (one.evidence.expected?, one.evidence.grown?);
    if !expected.transforms || expected.bytes < LEAST_PREPARED {
        return None;
    }
    let compiler = if one.evidence.costs.compile.is_some_and(|time| time > 0) { COMPILER } else { 0 };
    let own = grown.saturating_sub(expected.source).saturating_sub(compiler);
    Some(own as f64 / expected.bytes as f64)
}

/// Batches are made when they are asked for. Whoever has an epoch of them in memory when the set-up is over,
/// and hands them out in a small part of the time that it took, has made them there.
fn prepared(one: &EndedRepeat<'_>) -> Option<(Severity, String)> {
    let (expected, grown) = (one.evidence.expected?, one.evidence.grown?);
    let set_up = one.evidence.costs.set_up? as f64;
    let share = prepared_share(one)?;
    // A copy of the data set is no batch. Two copies of it look like one of it and one of batches of the same
    // size: then the set-up must take longer still.
    let is_wider = expected.bytes > expected.source * 3 / 2;
    let prepared = if is_wider { PREPARED } else { PREPARED_OF_TWO };
    let slower = if is_wider { SLOWER } else { SLOWER_THAN_COPYING };
    let epoch = epoch(one)?;
    if share < prepared || set_up < epoch * share.min(1.0) * slower {
        return None;
    }
    let mebibytes = |bytes: u64| bytes >> 20;
    let what = format!(
        "it prepares its batches in set-up: that made {} MiB of memory in {:?}, the delivered epoch has {} \
         MiB, and goes by in {:?} when it is timed",
        mebibytes(grown),
        Duration::from_nanos(set_up as u64),
        mebibytes(expected.bytes),
        Duration::from_nanos(epoch as u64),
    );
    Some((Severity::Fail, what))
}
