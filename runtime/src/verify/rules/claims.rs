//! No claim is beyond what there can be.

use super::rule::{Accusation, Rule, each_measured, gathered};
use crate::bencher::{
    Account, ClaimedProcessorTime, ClaimedTime, ClockFault, CountedEvent, UnstoppedEpoch, visible,
};
use crate::metric::Observation;
use crate::run::How;
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "claims",
    lie: "more time, processor time or content than there can be",
    looks: "what a worker says of a measured run, beside what passed by the harness's clock, and 1 ms: no \
        time may be longer, no processor time longer than that of all processors, and 50 ms; no page faults \
        or switches may be more than one in 50 ns of it. What it says of the epoch that nobody stops, and \
        the parts of that. The numbers of a repeat that ended since there was nothing to go on with: times \
        of steps that are not as many as were asked for, or longer than what passed; bytes that are not \
        those of so many elements; items, elements and batches that are said and not shown",
    blind: "a claim that is possible and wrong, which `account` and `samples` look for",
    remedy: "tell times by a monotonic clock, and count what is handed over",
    test: "verify::rules::tests::no_claim_is_beyond_what_there_can_be",
    check,
};

/// The amount by which times may be beyond the harness's clock: the two are read one after the other.
/// Nanoseconds.
const SLACK: u64 = 1_000_000;

/// Processor time is told in steps, and read after the clock. Nanoseconds.
const CPU_SLACK: u64 = 50_000_000;

/// Nanoseconds that a fault or a switch takes a processor at least: no counter of the system goes up faster.
const LEAST_EVENT: u64 = 50;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let failed = examined.failed().filter_map(|(repeat, how)| {
        let words = match how {
            How::Clock(fault) if fault.is_proven() => fault.to_string(),
            How::Work(fault) if fault.is_proven() && !fault.is_of_checkpoint() => fault.to_string(),
            _ => return None,
        };
        Some((repeat.number, Severity::Fail, visible(&words)))
    });
    let ended = each_measured(examined, |one| Some((Severity::Fail, impossible(one)?.to_string())));
    gathered(failed).into_iter().chain(ended).collect()
}

/// The first claim of a repeat that cannot be.
fn impossible(one: &EndedRepeat<'_>) -> Option<ClockFault> {
    let of_epoch = one.evidence.unstopped.as_ref().and_then(epoch);
    let of_run = one.evidence.account.iter().flat_map(|account| run(account, one.seen));
    of_run.chain(of_epoch).find(ClockFault::is_proven)
}

/// The parts of an epoch without a stop; `None` where its times are of the harness's own clock.
fn epoch(epoch: &UnstoppedEpoch) -> Option<ClockFault> {
    let UnstoppedEpoch { wall, begin, first, copied, passed, .. } = *epoch;
    Some(ClockFault::Epoch { wall, begin, first, copied, passed: passed? })
}

/// All that is claimed of a measured run.
fn run(account: &Account, seen: &Observation) -> Vec<ClockFault> {
    let passed = account.passed.saturating_add(SLACK);
    let times = [
        (ClaimedTime::Measured, Some(account.wall)),
        (ClaimedTime::Samples, Some(account.samples)),
        (ClaimedTime::First, seen.first_item),
        (ClaimedTime::Begin, account.begins),
        (ClaimedTime::Stopped, account.stopped.wall),
        (ClaimedTime::Compile, account.compile),
        (ClaimedTime::Ledger, Some(account.claimed)),
    ];
    let time = |(of, claimed): (_, Option<u64>)| Some(ClockFault::Time { of, claimed: claimed?, passed });
    let mut claims: Vec<ClockFault> = times.into_iter().filter_map(time).collect();
    let Some(processors) = account.processors else { return claims };
    let had = passed.saturating_mul(u64::from(processors)).saturating_add(CPU_SLACK);
    let used = [
        (ClaimedProcessorTime::Running, account.running),
        (ClaimedProcessorTime::Stopped, account.stopped.cpu),
        (ClaimedProcessorTime::OthersStopped, account.stopped.others),
        (ClaimedProcessorTime::All, account.cpu_claimed),
    ];
    claims.extend(
        used.into_iter().filter_map(|(of, claimed)| {
            Some(ClockFault::Processors { of, claimed: claimed?, processors, had })
        }),
    );
    let usage = &seen.usage;
    let counts = [
        (CountedEvent::MinorFaults, usage.minor_faults),
        (CountedEvent::MajorFaults, usage.major_faults),
        (CountedEvent::Switches, usage.voluntary_switches.max(usage.involuntary_switches)),
    ];
    let most = had / LEAST_EVENT + 1;
    claims.extend(counts.map(|(of, claimed)| ClockFault::Events { of, claimed, most, passed }));
    claims
}
