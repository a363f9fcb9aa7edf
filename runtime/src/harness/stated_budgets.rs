//! Budgets that scenarios state themselves.

use std::collections::BTreeMap;

use crate::bencher::PartialBudget;
use crate::plan::Plan;

/// The budgets that scenarios state, by their ids.
pub(super) fn stated(plan: &Plan) -> BTreeMap<String, PartialBudget> {
    let stated = plan.cases.iter().map(|case| (case.scenario.id.to_owned(), case.scenario.budget));
    stated.filter(|(_, budget)| *budget != PartialBudget::NONE).collect()
}
