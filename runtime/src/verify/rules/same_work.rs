//! The unmeasured repeat did the reference's work.

use super::rule::{Accusation, Rule};
use crate::registry::Equivalence;
use crate::verify::finding::Severity;
use crate::verify::{Agreement, ExaminedCase};

pub(super) const RULE: Rule = Rule {
    name: "same-work",
    lie: "other work under the same name: a transform left out, elements dropped, another type, another \
        order of channels",
    looks: "one unmeasured repeat of each case: every element of an epoch is hashed with the run's key, and \
        their sum, their number, the fields, the moments and the input must be the reference's, as far as \
        the scenario asks",
    blind: "what the scenario does not ask for; a subject that behaves otherwise when it is measured",
    remedy: "do the reference's work, or declare `unequal = \"why\"`: then the case stands apart",
    test: "verify::rules::tests::other_work_is_told_with_what_differs",
    check,
};

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    let fail = |detail: String| vec![Accusation { severity: Severity::Fail, repeats: vec![0], detail }];
    if let Agreement::Differs(what) = examined.agreement {
        return fail(what.join("; "));
    }
    let differs = |one: &crate::verify::examined::EndedRepeat<'_>| {
        one.evidence.compared.as_ref().and_then(|compared| compared.same) == Some(false)
    };
    if examined.equivalence == Equivalence::Exact
        && !examined.is_declared()
        && examined.ended().any(|one| differs(&one))
    {
        return fail("its elements are not the reference's by the hashes of this run's key".to_owned());
    }
    Vec::new()
}
