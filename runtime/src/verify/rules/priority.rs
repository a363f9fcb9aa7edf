//! A case gets no more of the machine than those beside it.

use super::rule::{Accusation, Rule, each_measured};
use crate::verify::ExaminedCase;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "priority",
    lie: "threads of a higher priority than those of the other cases, or on processors that those may not \
        use",
    looks: "the priority of every thread of the case's processes, and the processors that it may be on, read \
        by the harness when the measured part of a repeat is over, beside its own: no priority may be higher \
        (a lower nice value, or a class of real time), and no processor another",
    blind: "what is given back before the measured part is over; rounds of a duel; what is no Linux",
    remedy: "leave both as they are, or give them to all: start `cargo bench` under `nice` or `taskset`",
    test: "verify::rules::tests::a_priority_that_was_raised_is_told_and_a_lower_one_is_not",
    check,
};

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    each_measured(examined, |one| {
        if let Some(more @ 1..) = one.evidence.processors_beyond {
            let what = format!(
                "a thread of it may be on {more} processors that the harness and the cases beside it may not \
                 use"
            );
            return Some((Severity::Fail, what));
        }
        let [harness, least] = one.evidence.priority?;
        (least < harness).then(|| {
            let what = format!(
                "a thread of it has the priority {least}, where the harness and the cases beside it have \
                 {harness}: less is more of the processor"
            );
            (Severity::Fail, what)
        })
    })
}
