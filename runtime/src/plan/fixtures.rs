//! Plans of scenarios that do nothing, for tests of the stages that take a plan.

use std::time::Duration;

use super::{CaseId, CaseOrder, Isolation, Plan, PlannedCase, RepeatTimes};
use crate::bencher::{Budget, PartialBudget};
use crate::device::Platform;
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
        budget: PartialBudget::NONE,
        run: |_, _, _| Ok(()),
    }))
}

/// A plan of scenarios that need no adapter and are not verified.
pub(crate) fn plan(ids: &[&'static str], repeats: u32, order: CaseOrder) -> Plan {
    let case = |id: &&'static str| PlannedCase {
        id: CaseId { scenario: (*id).to_owned(), point: Point::default(), adapter: None },
        scenario: entry(id, Equivalence::None),
        adapter: None,
        version: None,
        memory: None,
        budget: Budget::SMOKE,
        repeats,
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
        target: None,
        budget: Budget::SMOKE,
        asked: PartialBudget::NONE,
        timeout: Duration::from_secs(1),
        memory: 1 << 30,
        seed: 42,
        order,
        isolation: Isolation::Repeat,
        platform: Platform::Cpu,
        mode: None,
        smoke: false,
        profiled: false,
        verify: true,
    }
}
