//! A batch is there when its time is taken. What a device is still to do for it is nobody's time.

use std::time::Duration;

use super::rule::{Accusation, Rule, each_measured};
use crate::bencher::{Account, Audit};
use crate::verify::ExaminedCase;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "pending",
    lie: "a batch is handed out while a device is still at work on it",
    looks: "a worker waits for its device after the stamp of each copied batch of the first pass, and once \
        more when nothing is pending: over half of the waits must be no longer than three of those, 20 us, \
        or a fifth of a batch's time. One whose batches are on a device and that says nothing of it fails",
    blind: "a worker that waits itself and does not say so; work on a device that its framework does not \
        know of",
    remedy: "wait for the device before a batch is handed out",
    test: "verify::rules::tests::a_device_that_is_still_at_work_is_told_by_name",
    check,
};

/// A device is still at work on a batch if waiting for it takes over so many times what it costs to ask, and
/// over `PENDING` of the time that the batch takes: the bounds of the same caveat about a body on a device.
const ROUND_TRIPS: u64 = 3;
const PENDING: f64 = 0.2;

/// And over so much, in nanoseconds: asking costs a few microseconds, now more and now less. A choice.
const LEAST_PENDING: u64 = 20_000;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    each_measured(examined, |one| Some((Severity::Fail, late(one.evidence.account.as_ref()?)?)))
}

fn late(account: &Account) -> Option<String> {
    let Account { audits, batch, on_device, .. } = account;
    if *on_device && audits.is_empty() {
        return Some(
            "the worker says nothing of what was pending on its device when it handed batches out (`audit`)"
                .to_owned(),
        );
    }
    let pending = |audit: &&Audit| {
        let Audit { waited, again } = **audit;
        waited > LEAST_PENDING
            && waited > again.saturating_mul(ROUND_TRIPS)
            && waited as f64 > batch.saturating_add(waited) as f64 * PENDING
    };
    let late: Vec<&Audit> = audits.iter().filter(pending).collect();
    if 2 * late.len() <= audits.len() {
        return None;
    }
    let longest = late.iter().map(|audit| audit.waited).max().unwrap_or(0);
    Some(format!(
        "it forgets to synchronise: its device was at work for up to {:?} more on {} of {} batches when they \
         were handed out, and a batch takes {:?}",
        Duration::from_nanos(longest),
        late.len(),
        audits.len(),
        Duration::from_nanos(*batch)
    ))
}
