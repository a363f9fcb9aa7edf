//! The list of rules, in the order in which findings are told.

mod account;
mod copy;
mod count;
mod device;
mod faults;
mod files;
mod no_time;
mod outside;
mod pending;
mod same_work;
mod samples;
mod spot_check;
mod unstopped;
mod view;

use super::examined::{EndedRepeat, Examined};
use super::finding::{Finding, Severity};

/// A rule: what it is against, where it looks, and what it cannot see.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name in files and tables.
    pub name: &'static str,
    /// The lie that it is against.
    pub lie: &'static str,
    /// Where it looks, and its bounds.
    pub looks: &'static str,
    /// What it cannot see.
    pub blind: &'static str,
    /// What an honest author does about it.
    pub remedy: &'static str,
    /// The test that shows it.
    pub test: &'static str,
    check: fn(&Examined<'_>) -> Vec<Accusation>,
}

/// What a rule says of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Accusation {
    severity: Severity,
    repeats: Vec<u32>,
    detail: String,
}

/// Every rule. To add one: a file, its `mod` line, its place here.
pub const RULES: &[Rule] = &[
    same_work::RULE,
    spot_check::RULE,
    count::RULE,
    unstopped::RULE,
    outside::RULE,
    files::RULE,
    account::RULE,
    samples::RULE,
    pending::RULE,
    no_time::RULE,
    view::RULE,
    copy::RULE,
    faults::RULE,
    device::RULE,
];

/// Judges a case by every rule.
pub fn judge(examined: &Examined<'_>) -> Vec<Finding> {
    let found = |rule: &Rule| {
        let Rule { name, remedy, .. } = *rule;
        (rule.check)(examined).into_iter().map(move |Accusation { severity, repeats, detail }| Finding {
            rule: name.to_owned(),
            severity,
            repeats,
            detail,
            remedy: remedy.to_owned(),
            figure: None,
        })
    };
    RULES.iter().flat_map(found).collect()
}

/// What is found in repeats one by one: of each severity the first repeat's words, and the numbers of all.
fn each_repeat(
    examined: &Examined<'_>,
    look: impl Fn(&EndedRepeat<'_>) -> Option<(Severity, String)>,
) -> Vec<Accusation> {
    let mut found: Vec<Accusation> = Vec::new();
    for one in examined.ended() {
        let Some((severity, detail)) = look(&one) else { continue };
        let number = one.repeat.number;
        match found.iter_mut().find(|accusation| accusation.severity == severity) {
            Some(accusation) => accusation.repeats.push(number),
            None => found.push(Accusation { severity, repeats: vec![number], detail }),
        }
    }
    found
}

/// As [`each_repeat`], of measured repeats alone.
fn each_measured(
    examined: &Examined<'_>,
    look: impl Fn(&EndedRepeat<'_>) -> Option<(Severity, String)>,
) -> Vec<Accusation> {
    each_repeat(examined, |one| if one.is_measured() { look(one) } else { None })
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
