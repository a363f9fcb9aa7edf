//! A batch is a view of the data set or a buffer of its own, as its addresses tell.

use super::rule::{Accusation, Rule, each_measured};
use crate::bencher::Delivery;
use crate::verify::ExaminedCase;
use crate::verify::finding::Severity;

pub(super) const RULE: Rule = Rule {
    name: "view",
    lie: "a view of the data set that is called a buffer of its own, or stands for one where nothing but a \
        copy is asked for",
    looks: "the addresses of native batches beside those of the mapped data set. A pipeline without \
        transforms asks for batches of their own: there a view is no batch, whatever it is called",
    blind: "views of memory that is not the data set's; batches of other processes",
    remedy: "say `delivery = view`, or copy",
    test: "verify::rules::tests::a_view_that_calls_itself_owned_is_told",
    check,
};

fn check(examined: &ExaminedCase<'_>) -> Vec<Accusation> {
    each_measured(examined, |one| {
        if one.evidence.view == Some(true)
            && one.evidence.expected.is_some_and(|expected| !expected.transforms)
        {
            let what = "its batches are views of the data set, and the work is to make batches of their own"
                .to_owned();
            return Some((Severity::Fail, what));
        }
        let says_owned = one.work.is_some_and(|work| work.report.delivery == Delivery::Owned);
        (says_owned && one.evidence.view == Some(true)).then(|| {
            let what =
                "its batches lie in the memory of the data set, and its work report calls them its own"
                    .to_owned();
            (Severity::Fail, what)
        })
    })
}
