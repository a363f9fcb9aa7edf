//! Plans of scenarios that do nothing, for tests of the stages that take a plan.

use std::time::Duration;

use super::{CaseId, CaseOrder, Plan, PlanSettings, PlannedCase, RepeatTimes};
use crate::bencher::{Budget, PartialBudget, RunSettings};
use crate::registry::{Axes, Contract, Equivalence, Keep, Location, Point, ScenarioEntry};

/// A scenario that does nothing.
pub(crate) fn entry(id: &'static str, equivalence: Equivalence) -> &'static ScenarioEntry {
    Box::leak(Box::new(ScenarioEntry {
        id,
        category: "",
        description: "",
        sets: &[],
        equivalence: Some(equivalence),
        equivalence_by: None,
        contract: None::<Contract>,
        location: Location { file: "", line: 0, module: "" },
        axes: Axes::NONE,
        keep: |_| Keep::Yes,
        needs: None,
        describe: None,
        group: None,
        collective: false,
        budget: PartialBudget::NONE,
        run: |_, _, _| Ok(()),
    }))
}

/// A plan of scenarios that need no adapter and are not verified.
pub(crate) fn plan(ids: &[&'static str], repeats: u32, order: CaseOrder) -> Plan {
    let case = |id: &&'static str| PlannedCase {
        id: CaseId { scenario: (*id).to_owned(), point: Point::default(), adapter: None, told_apart: false },
        scenario: entry(id, Equivalence::None),
        adapter: None,
        version: None,
        memory: None,
        budget: Budget::SMOKE,
        repeats,
        most: None,
        leads_group: false,
        measured: true,
        took: RepeatTimes::default(),
    };
    Plan {
        profile: "test".into(),
        cases: ids.iter().map(case).collect(),
        skips: Vec::new(),
        absent: Vec::new(),
        dropped: Vec::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
        repeats,
        budget: Budget::SMOKE,
        memory: 1 << 30,
        run: RunSettings { timeout: Some(Duration::from_secs(1)), ..RunSettings::DEFAULT },
        together: PlanSettings { order, ..PlanSettings::default() },
        smoke: false,
        verify: true,
    }
}
