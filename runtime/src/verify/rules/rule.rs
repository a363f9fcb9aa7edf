//! A rule, what it says of a case, and how repeats are looked at one by one.

use super::super::examined_case::{EndedRepeat, ExaminedCase};
use super::super::finding::Severity;

/// A rule: what it is against, where it looks, and what it cannot see.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name in files and tables.
    pub name: &'static str,
    /// The lie that it is against.
    pub lie: &'static str,
    /// The evidence that it looks at, and its bounds.
    pub looks: &'static str,
    /// The cases that it cannot see.
    pub blind: &'static str,
    /// The remedy of an honest author.
    pub remedy: &'static str,
    /// The test that shows it.
    pub test: &'static str,
    pub(super) check: fn(&ExaminedCase<'_>) -> Vec<Accusation>,
}

/// Accusation of a case by a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Accusation {
    pub(super) severity: Severity,
    pub(super) repeats: Vec<u32>,
    pub(super) detail: String,
}

/// Gathers accusations of repeats one by one: of each severity the first repeat's words, and the numbers of
/// all.
pub(super) fn each_repeat(
    examined: &ExaminedCase<'_>,
    look: impl Fn(&EndedRepeat<'_>) -> Option<(Severity, String)>,
) -> Vec<Accusation> {
    gathered(examined.ended().filter_map(|one| {
        let (severity, detail) = look(&one)?;
        Some((one.repeat.number, severity, detail))
    }))
}

/// Gathers accusations as [`each_repeat`] does, each with the number of its repeat.
pub(super) fn gathered(each: impl Iterator<Item = (u32, Severity, String)>) -> Vec<Accusation> {
    let mut found: Vec<Accusation> = Vec::new();
    for (number, severity, detail) in each {
        match found.iter_mut().find(|accusation| accusation.severity == severity) {
            Some(accusation) => accusation.repeats.push(number),
            None => found.push(Accusation { severity, repeats: vec![number], detail }),
        }
    }
    found
}

/// As [`each_repeat`], of measured repeats alone.
pub(super) fn each_measured(
    examined: &ExaminedCase<'_>,
    look: impl Fn(&EndedRepeat<'_>) -> Option<(Severity, String)>,
) -> Vec<Accusation> {
    each_repeat(examined, |one| if one.is_measured() { look(one) } else { None })
}
