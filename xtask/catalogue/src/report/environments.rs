//! What systems of a run were run with that no configuration says: facts of their processes, and where they
//! differ.

use std::collections::{BTreeMap, BTreeSet};

use weighbridge::data::CaseRecord;

use super::field::name;

/// The section of some cases: a line for each fact that is not alike everywhere, with who has what, and one
/// for all others; nothing where no case has such facts.
pub(super) fn section<'a>(cases: impl Iterator<Item = &'a CaseRecord>) -> String {
    let mut facts: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for case in cases {
        let Some(work) = &case.work else { continue };
        for (fact, value) in &work.report.environment {
            facts.entry(fact).or_default().entry(value).or_default().insert(name(case));
        }
    }
    if facts.is_empty() {
        return String::new();
    }
    let (alike, differ): (Vec<_>, Vec<_>) = facts.into_iter().partition(|(_, values)| values.len() == 1);
    let mut lines = String::new();
    for (fact, values) in differ {
        let each: Vec<String> = values
            .into_iter()
            .map(|(value, systems)| {
                format!("{value} ({})", systems.into_iter().collect::<Vec<_>>().join(", "))
            })
            .collect();
        lines += &format!("- {fact}: {}\n", each.join("; "));
    }
    let alike: Vec<String> = alike
        .into_iter()
        .map(|(fact, values)| format!("{fact} {}", values.into_keys().next().unwrap_or_default()))
        .collect();
    if !alike.is_empty() {
        lines += &format!("- alike wherever it was told: {}\n", alike.join(", "));
    }
    format!(
        "\n## Environments\n\nWhat a system computes with that no configuration says. A difference here \
         makes no work unequal; it may explain a figure.\n\n{lines}"
    )
}

#[cfg(test)]
mod tests {
    use weighbridge::data::{Work, WorkReport};

    use super::*;
    use crate::fixtures::{around, case};

    fn with(adapter: &str, facts: &[(&str, &str)]) -> CaseRecord {
        let mut case = case("TRAIN-1", adapter, &around(1.0));
        let environment = facts.iter().map(|(name, fact)| ((*name).to_owned(), (*fact).to_owned())).collect();
        let report = WorkReport { environment, ..WorkReport::default() };
        case.work = Some(Work { report, ..Work::default() });
        case
    }

    #[test]
    fn a_fact_that_differs_says_who_has_what_and_the_others_are_told_in_a_line() {
        let cases = [
            with("A", &[("threads", "1"), ("Python", "3.13"), ("NumPy", "2.3")]),
            with("B", &[("threads", "2"), ("Python", "3.13")]),
            with("B", &[("threads", "2"), ("Python", "3.13")]),
            with("C", &[("threads", "2")]),
        ];
        let page = section(cases.iter());
        assert!(page.contains("- threads: 1 (A); 2 (B, C)\n"), "{page}");
        assert!(page.contains("- alike wherever it was told: NumPy 2.3, Python 3.13\n"), "{page}");
    }

    #[test]
    fn cases_that_tell_no_facts_have_no_section() {
        assert_eq!(section([with("A", &[])].iter()), "");
    }
}
