//! A worker's samples are its wall time.

use std::time::Duration;

use super::rule::{Accusation, Rule, each_measured};
use crate::verify::ExaminedCase;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "samples",
    lie: "samples that are shorter than the time that they were taken in",
    looks: "the samples of a worker beside its own wall time: 5 % and half a microsecond a sample apart at \
        most. (Samples that are taken here add up by construction: there is nothing to check.)",
    blind: "a worker whose samples and wall time are wrong alike, which `account` looks for",
    remedy: "stamp batches consecutively: the end of one is the start of the next",
    test: "verify::rules::tests::a_workers_samples_add_up_to_its_wall_time",
    check,
};

const TOLERANCE: f64 = 0.05;
const SLACK: u64 = 500;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    each_measured(examined, |one| {
        let account = one.evidence.account.as_ref()?;
        let allowed = account.wall as f64 * TOLERANCE + (SLACK * account.count) as f64;
        (account.samples.abs_diff(account.wall) as f64 > allowed).then(|| {
            let (sum, wall) = (Duration::from_nanos(account.samples), Duration::from_nanos(account.wall));
            (
                Severity::Fail,
                format!("the worker's samples add up to {sum:?}, but its clock ran for {wall:?}"),
            )
        })
    })
}
