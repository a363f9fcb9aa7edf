//! The unmeasured repeat did the reference's work.

use super::rule::{Accusation, Rule};
use crate::registry::Equivalence;
use crate::verify::examined_case::EndedRepeat;
use crate::verify::finding::Severity;
use crate::verify::{Agreement, ExaminedCase};

pub(super) const RULE: Rule = Rule {
    name: "same-work",
    lie: "other work under the same name: a transform left out, elements dropped, another type, another \
        order of channels",
    looks: "one unmeasured repeat of each case: every element of an epoch is hashed with the run's key, and \
        their sum, their number, the fields, the moments and the input must be the reference's, as far as \
        the scenario asks. Where the order is free, and an epoch is short enough to be timed whole, one more \
        after the measured passes of each repeat has the reference's elements",
    blind: "what the scenario does not ask for; a subject that behaves otherwise when it is measured, and \
        delivers in order or with `approx`, `alike` or `shape`: for those there is `spot-check`",
    remedy: "do the reference's work, or declare `unequal = \"why\"`: then the case stands apart",
    test: "verify::rules::tests::other_work_is_told_with_what_differs",
    check,
};

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let fail = |repeat: u32, detail: String| {
        vec![Accusation { severity: Severity::Fail, repeats: vec![repeat], detail }]
    };
    if let Agreement::Differs(what) = examined.agreement {
        return fail(0, what.join("; "));
    }
    if examined.equivalence != Equivalence::Exact || examined.is_declared() {
        return Vec::new();
    }
    let differs = |one: &EndedRepeat<'_>| {
        one.evidence.compared.as_ref().and_then(|compared| compared.same) == Some(false)
    };
    let Some(other) = examined.ended().find(differs) else { return Vec::new() };
    let of = if other.is_measured() { "of the epoch after the measured ones " } else { "" };
    let why = format!("its elements {of}are not the reference's by the hashes of this run's key");
    fail(other.repeat.number, why)
}
