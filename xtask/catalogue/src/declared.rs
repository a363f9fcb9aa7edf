//! The scenarios that each system declares, held against what was executed.
//!
//! A declaration is made by hand, in `scenarios/docs/evidence/declared.json`: for each scenario the adapters
//! that take it in at least one variant. What a run finds out does not change it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};

use crate::dry::{AdapterCoverage, Coverage, Verification};
use weighbridge_xtask::place::Place;
use weighbridge_xtask::table::Table;

/// By scenario: the adapters that declare it.
pub(crate) type Declared = BTreeMap<String, BTreeSet<String>>;

/// Returns what is declared; nothing where the file is not there.
///
/// # Errors
/// A file that is no such list.
pub(crate) fn read(place: &Place) -> Result<Declared> {
    let path = place.root.join("scenarios/docs/evidence/declared.json");
    match fs::read_to_string(&path) {
        Ok(text) => {
            serde_json::from_str(&text).with_context(|| format!("failed to read `{}`", path.display()))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Declared::new()),
        Err(error) => Err(error).with_context(|| format!("failed to read `{}`", path.display())),
    }
}

/// The outcome of an adapter in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Execution {
    /// A variant of it ran.
    Ran,
    /// Every variant that was tried was declined, or broke.
    None,
    /// No variant was tried.
    Untried,
}

fn execution(covered: Option<&AdapterCoverage>, scenario: &str) -> Execution {
    let of_scenario = |name: &str| name.split('/').next() == Some(scenario);
    let variants = covered.into_iter().flat_map(|covered| &covered.variants);
    let standings = variants.filter(|(name, _)| of_scenario(name)).map(|(_, standing)| standing);
    let mut found = Execution::Untried;
    for standing in standings {
        match standing {
            Verification::Verified | Verification::Unequal(_) => return Execution::Ran,
            Verification::Declined(_) | Verification::Failed(_) => found = Execution::None,
            Verification::Skipped(_) => {}
        }
    }
    found
}

/// Says where a declaration and what was executed are at odds, one a line.
pub(crate) fn contradictions(declared: &Declared, coverage: &Coverage) -> Vec<String> {
    let mut said = Vec::new();
    for (scenario, adapters) in declared {
        for adapter in adapters {
            if execution(coverage.get(adapter), scenario) == Execution::None {
                said.push(format!("{scenario}: {adapter} declares it, and does no variant of it"));
            }
        }
        for (adapter, covered) in coverage {
            if !adapters.contains(adapter) && execution(Some(covered), scenario) == Execution::Ran {
                said.push(format!("{scenario}: {adapter} does it, and does not declare it"));
            }
        }
    }
    let executed = coverage.values().flat_map(|covered| covered.variants.keys());
    let executed: BTreeSet<&str> = executed.filter_map(|variant| variant.split('/').next()).collect();
    let rows = executed.into_iter().filter(|scenario| !declared.contains_key(*scenario));
    said.extend(rows.map(|scenario| format!("{scenario}: nobody declares it or its absence: it has no row")));
    said
}

/// A row for each scenario: who declares it, and of those who was not tried here.
pub(crate) fn table(declared: &Declared, coverage: &Coverage) -> String {
    let mut table = Table::new(["scenario", "declared>", "executed>", "declared, and not executed here"]);
    for (scenario, adapters) in declared {
        let is = |adapter: &&String, wanted| execution(coverage.get(*adapter), scenario) == wanted;
        let ran = adapters.iter().filter(|adapter| is(adapter, Execution::Ran)).count();
        let untried = adapters.iter().filter(|adapter| is(adapter, Execution::Untried));
        let untried = untried.map(String::as_str).collect::<Vec<_>>().join(", ");
        table.row([scenario.clone(), adapters.len().to_string(), ran.to_string(), untried]);
    }
    table.markdown()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(standing: Verification) -> Coverage {
        let variants = BTreeMap::from([("CV-1/small".to_owned(), standing)]);
        Coverage::from([("Alpha".into(), AdapterCoverage { tier: 1, version: None, variants })])
    }

    fn declared(adapters: &[&str]) -> Declared {
        Declared::from([("CV-1".into(), adapters.iter().map(|name| (*name).to_owned()).collect())])
    }

    #[test]
    fn a_declaration_that_nothing_bears_out_and_a_deed_that_nobody_declares_are_contradictions() {
        let done = coverage(Verification::Verified);
        let declined = coverage(Verification::Declined("it cannot".into()));
        let untried = coverage(Verification::Skipped("not installed".into()));
        for (declared, coverage) in [
            (declared(&["Alpha"]), &done),
            (declared(&[]), &declined),
            (declared(&["Alpha"]), &untried),
            (declared(&["Alpha", "Beta"]), &done),
        ] {
            assert_eq!(contradictions(&declared, coverage), Vec::<String>::new());
        }
        let idle = contradictions(&declared(&["Alpha"]), &declined);
        assert_eq!(idle, ["CV-1: Alpha declares it, and does no variant of it"]);
        let silent = contradictions(&declared(&[]), &done);
        assert_eq!(silent, ["CV-1: Alpha does it, and does not declare it"]);
        let rowless = contradictions(&Declared::new(), &untried);
        assert_eq!(rowless, ["CV-1: nobody declares it or its absence: it has no row"]);
    }

    #[test]
    fn a_row_counts_who_declares_and_who_did_and_names_who_was_not_tried() {
        let table = table(&declared(&["Alpha", "Beta"]), &coverage(Verification::Verified));
        assert!(table.contains("| CV-1 | 2 | 1 | Beta |"), "{table}");
    }

    #[test]
    fn every_scenario_of_the_catalogue_has_a_row_and_no_committed_cell_contradicts_its_declaration() {
        let declared = include_str!("../../../scenarios/docs/evidence/declared.json");
        let declared: Declared = serde_json::from_str(declared).expect("it is ours");
        let coverage = include_str!("../../../scenarios/docs/evidence/coverage.json");
        let coverage: Coverage = serde_json::from_str(coverage).expect("it is ours");
        let page = include_str!("../../../scenarios/docs/catalogue.md");
        let scenarios: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();
        let rows: BTreeSet<&str> = declared.keys().map(String::as_str).collect();
        assert_eq!(rows, scenarios);
        assert_eq!(contradictions(&declared, &coverage), Vec::<String>::new());
    }
}
