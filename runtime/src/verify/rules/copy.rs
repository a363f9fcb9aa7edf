//! Batches of one's own are not made faster than they could be copied.

use std::time::Duration;

use super::rule::{Accusation, Rule, each_measured};
use crate::bencher::Delivery;
use crate::metric::SampleKind;
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "copy",
    lie: "batches that are said to be buffers of their own, and come faster than bytes can be written",
    looks: "the time of a batch beside the fastest copy of as many bytes, from cache to cache, which each \
        repeat takes of its machine, by as many processors as were used: less is a caveat",
    blind: "whatever is slower than a copy",
    remedy: "say `delivery = view` where no bytes are written for a batch",
    test: "verify::rules::tests::a_batch_that_comes_faster_than_it_is_copied_is_told",
    check,
};

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    each_measured(examined, |one| {
        let is_owned = one.work?.report.delivery == Delivery::Owned;
        if !is_owned || !matches!(one.seen.taken, Some(SampleKind::Items | SampleKind::Passes)) {
            return None;
        }
        let batch = one.each()? * one.evidence.expected?.batch as f64;
        let copy = one.evidence.copy? / processors(one);
        (batch < copy).then(|| {
            let time = |nanoseconds: f64| Duration::from_secs_f64(nanoseconds * 1e-9);
            let what = format!(
                "a batch takes {:?}, and {:.1} processors copy as many bytes in {:?} from cache to cache",
                time(batch),
                processors(one),
                time(copy)
            );
            (Severity::Caveat, what)
        })
    })
}

/// The number of processors that were at work on the batches: one at least.
fn processors(one: &EndedRepeat<'_>) -> f64 {
    let ran = one.seen.around.ran.unwrap_or(one.seen.usage.cpu.as_nanos() as u64);
    (ran as f64 / one.seen.wall.max(1) as f64).max(1.0)
}
