//! Memory of batches is used again, and not given back to the system after each.

use super::rule::{Accusation, Rule, each_measured};
use crate::bencher::Delivery;
use crate::metric::SampleKind;
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "faults",
    lie: "none: a figure of how the memory of a process is set up, in the place of what the subject does",
    looks: "page faults of the measured windows: from four fifths of the delivered bytes on, each of which \
        was touched for the first time, it is a caveat. A batch of less than 256 KiB says nothing",
    blind: "memory that is given back and taken anew now and then",
    remedy: "use buffers again, or leave the allocator as its users have it; where the subject is like that \
        for its users too, the caveat is right",
    test: "verify::rules::tests::a_subject_that_touches_all_its_memory_for_the_first_time_is_told",
    check,
};

/// The share of the delivered bytes that was faulted in.
const SHARE: f64 = 0.8;

/// Smaller batches lie within pages that others have touched.
const LEAST_BATCH: u64 = 256 << 10;

/// A page, in bytes; huge ones make fewer faults, and nothing is said.
const PAGE: f64 = 4096.0;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    each_measured(examined, |one| {
        let delivery = one.work?.report.delivery;
        if delivery != Delivery::Owned
            || !matches!(one.seen.taken, Some(SampleKind::Items | SampleKind::Passes))
        {
            return None;
        }
        let faulted = one.seen.usage.minor_faults as f64 * PAGE;
        let is_large = bytes_of_batch(one)? >= LEAST_BATCH;
        (is_large && one.seen.bytes > 0 && faulted >= one.seen.bytes as f64 * SHARE).then(|| {
            let what = format!(
                "{:.0} MiB of memory were touched for the first time while {:.0} MiB were delivered: batches \
                 are not made in memory that is there",
                faulted / f64::from(1 << 20),
                one.seen.bytes as f64 / f64::from(1 << 20)
            );
            (Severity::Caveat, what)
        })
    })
}

fn bytes_of_batch(one: &EndedRepeat<'_>) -> Option<u64> {
    let expected = one.evidence.expected?;
    Some(expected.bytes / expected.elements.max(1) * expected.batch)
}
