//! A body takes some time.

use super::rule::{Accusation, Rule, each_measured};
use crate::metric::SampleKind;
use crate::stats;
use crate::verify::ExaminedCase;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "no-time",
    lie: "a loop of one's own that ignores how many iterations it was asked for, or says that they took no \
        time",
    looks: "the median time of an iteration: at least a tenth of a nanosecond, which is less than a cycle of \
        any processor; times of `iter_custom` that are longer than what passed; measured time that is longer \
        than the repeat by the parent's clock",
    blind: "a loop that says a time which is possible and wrong",
    remedy: "run as many iterations as are asked for, and return the time of all of them",
    test: "verify::rules::tests::a_body_that_takes_no_time_is_none",
    check,
};

/// Nanoseconds of an iteration: half a cycle at 5 GHz.
const LEAST: f64 = 0.1;

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    each_measured(examined, |one| {
        let seen = one.seen;
        if one.evidence.stated {
            return None;
        }
        if let Some((claimed, passed)) = one.evidence.overclaimed {
            let time = std::time::Duration::from_nanos;
            let what =
                format!("its own loop says that it took {:?}, and {:?} passed", time(claimed), time(passed));
            return Some((Severity::Fail, what));
        }
        if let Some(what) = longer_than_the_repeat(one) {
            return Some((Severity::Fail, what));
        }
        if seen.taken != Some(SampleKind::Iterations) || seen.samples.is_empty() || seen.device.is_some() {
            return None;
        }
        let samples: Vec<f64> = seen.samples.iter().map(|sample| *sample as f64).collect();
        let each = stats::median(&samples) / seen.iterations_per_sample.max(1) as f64;
        (each < LEAST).then(|| {
            let what = format!(
                "{} iterations are said to take {} ns: {each:.1e} ns each, and no processor does anything in \
                 that time",
                seen.iterations_per_sample,
                stats::median(&samples)
            );
            (Severity::Fail, what)
        })
    })
}

/// A fake may have a clock of its own, which runs as fast as it likes. Its figures are of no device anyway.
fn longer_than_the_repeat(one: &EndedRepeat<'_>) -> Option<String> {
    let (claimed, passed) = (one.seen.wall, one.repeat.slot);
    let is_of_a_fake = one.seen.device.as_ref().is_some_and(|device| device.info.fake);
    (passed > 0 && claimed > passed && !is_of_a_fake).then(|| {
        let time = std::time::Duration::from_nanos;
        format!("it claims {:?} of measured time, but {:?} passed", time(claimed), time(passed))
    })
}
