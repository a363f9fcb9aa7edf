//! The list of rules, in the order in which findings are told.

mod account;
mod answers;
mod checkpoint;
mod claims;
mod clock;
mod copy;
mod count;
mod device;
mod faults;
mod files;
mod growth;
mod no_time;
mod outside;
mod pending;
mod priority;
mod processors;
mod rule;
mod same_work;
mod samples;
mod spot_check;
mod unstopped;
mod view;

use super::examined_case::ExaminedCase;
use super::finding::{Finding, FindingDetail};
use rule::Accusation;

pub use rule::Rule;

/// Every rule. To add one: a file, its `mod` line, its place here.
pub const RULES: &[Rule] = &[
    same_work::RULE,
    spot_check::RULE,
    answers::RULE,
    count::RULE,
    unstopped::RULE,
    growth::RULE,
    outside::RULE,
    files::RULE,
    claims::RULE,
    clock::RULE,
    account::RULE,
    checkpoint::RULE,
    samples::RULE,
    pending::RULE,
    no_time::RULE,
    view::RULE,
    copy::RULE,
    faults::RULE,
    processors::RULE,
    priority::RULE,
    device::RULE,
];

/// Judges a case by every rule.
pub fn judge(examined: &ExaminedCase<'_>) -> Vec<Finding> {
    let found = |rule: &Rule| {
        let Rule { name, remedy, .. } = *rule;
        (rule.check)(examined).into_iter().map(move |Accusation { severity, repeats, detail }| Finding {
            rule: name.to_owned(),
            severity,
            repeats,
            detail: FindingDetail::Evidence(detail),
            remedy: remedy.to_owned(),
            figure: None,
        })
    };
    RULES.iter().flat_map(found).collect()
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
