//! Which system did which scenario, and how it ended.

use weighbridge::data::{CaseRecord, RunRecord};

use super::CaseState;

/// Scenarios and points against systems.
pub(crate) struct CoverageView<'a> {
    /// The systems, by tier and name.
    pub(crate) systems: Vec<&'a str>,
    /// Scenario, and one cell for each system.
    pub(crate) rows: Vec<(&'a str, Vec<CoverageCell>)>,
}

/// The number of cases of a scenario that one system ended in each way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CoverageCell {
    pub(crate) ranked: usize,
    pub(crate) unranked: usize,
    pub(crate) failed: usize,
    /// Skipped, or not finished.
    pub(crate) missing: usize,
}

impl CoverageCell {
    /// All cases behind it.
    pub(crate) fn all(self) -> usize {
        self.ranked + self.unranked + self.failed + self.missing
    }

    /// Its state, by the worst that happened: `None` without a case.
    pub(crate) fn state(self) -> Option<CaseState> {
        match self {
            _ if self.all() == 0 => None,
            _ if self.failed > 0 => Some(CaseState::Failed),
            _ if self.unranked > 0 => Some(CaseState::Unranked),
            _ if self.ranked > 0 => Some(CaseState::Ranked),
            _ => Some(CaseState::Skipped),
        }
    }
}

impl<'a> CoverageView<'a> {
    pub(super) fn of(run: &'a RunRecord) -> Self {
        let name = |case: &'a CaseRecord| case.id.adapter.as_deref();
        let mut systems: Vec<(u8, &str)> =
            run.cases.iter().filter_map(|case| Some((case.tier.unwrap_or(u8::MAX), name(case)?))).collect();
        systems.sort_unstable();
        let mut names: Vec<&str> = Vec::new();
        for (_, system) in systems {
            // A case that was skipped has no tier, and its system may have one elsewhere.
            if !names.contains(&system) {
                names.push(system);
            }
        }
        let mut rows: Vec<(&str, Vec<CoverageCell>)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for case in &run.cases {
            let Some(column) = name(case).and_then(|of| names.iter().position(|system| *system == of)) else {
                continue;
            };
            let row = *places.entry(case.id.scenario.as_str()).or_insert_with(|| {
                rows.push((&case.id.scenario, vec![CoverageCell::default(); names.len()]));
                rows.len() - 1
            });
            let cell = &mut rows[row].1[column];
            *match CaseState::of(case) {
                CaseState::Ranked => &mut cell.ranked,
                CaseState::Unranked => &mut cell.unranked,
                CaseState::Failed => &mut cell.failed,
                CaseState::Skipped | CaseState::Incomplete => &mut cell.missing,
            } += 1;
        }
        Self { systems: names, rows }
    }
}
