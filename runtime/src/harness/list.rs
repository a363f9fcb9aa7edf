//! `--list`: what could run, with no side effects. Adapters are not asked whether they are installed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::args::ListFormat;
use crate::metric::{Direction, Metric};
use crate::plan::Plan;
use crate::registry::{Axis, AxisValue, Point, Registry, ScenarioEntry};

/// The listing of the plan's cases in this format.
pub(super) fn list(registry: &Registry, plan: &Plan, format: ListFormat) -> String {
    match format {
        ListFormat::Terse => {
            plan.cases.iter().map(|case| format!("{}: benchmark\n", case.id.slug())).collect()
        }
        ListFormat::Pretty => pretty(registry, plan),
        ListFormat::Json => format!("{}\n", json(registry, plan)),
    }
}

/// Scenarios with their descriptions by category, then how many cases they make.
fn pretty(registry: &Registry, plan: &Plan) -> String {
    let mut scenarios = selected(registry, plan);
    scenarios.sort_by_key(|scenario| scenario.category);
    let width = scenarios.iter().map(|scenario| scenario.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut category = "";
    for scenario in &scenarios {
        if scenario.category != category {
            category = scenario.category;
            text.push_str(&format!("{category}\n"));
        }
        text.push_str(&format!("  {:width$}  {}\n", scenario.id, scenario.description));
        let axes = (scenario.axes)();
        for axis in &axes {
            let values: Vec<&str> = axis.values.iter().map(|value| value.text.as_str()).collect();
            text.push_str(&format!("  {:width$}    {}: {}\n", "", axis.name, values.join(", ")));
            for (value, description) in described(scenario, &axes, axis) {
                text.push_str(&format!("  {:width$}      {value}: {description}\n", ""));
            }
        }
    }
    text.push_str(&format!(
        "scenarios: {}, cases at their default points: {}\n",
        scenarios.len(),
        plan.cases.len()
    ));
    text
}

/// What each variant of a labelled axis does, the other axes at their first value, where the author says.
fn described(scenario: &ScenarioEntry, axes: &[Axis], axis: &Axis) -> Vec<(String, String)> {
    let Some(describe) = scenario.describe.filter(|_| axis.is_labelled()) else { return Vec::new() };
    let point = |value: &AxisValue| {
        let first = |other: &Axis| {
            if other.name == axis.name { Some(value.clone()) } else { other.values.first().cloned() }
        };
        Point(axes.iter().filter_map(first).collect())
    };
    axis.values.iter().filter_map(|value| Some((value.text.clone(), describe(&point(value))?))).collect()
}

/// The scenarios that the plan has cases or skips of, by id.
fn selected(registry: &Registry, plan: &Plan) -> Vec<&'static ScenarioEntry> {
    let cases = plan.cases.iter().map(|case| case.id.scenario.as_str());
    let ids: BTreeSet<&str> = cases.chain(plan.skips.iter().map(|skip| skip.id.scenario.as_str())).collect();
    registry.scenarios().iter().copied().filter(|scenario| ids.contains(scenario.id)).collect()
}

/// Scenarios, axes, adapters and cases, for programs.
fn json(registry: &Registry, plan: &Plan) -> Value {
    let scenarios: Vec<Value> = selected(registry, plan)
        .iter()
        .map(|scenario| {
            let axes = (scenario.axes)();
            let axis = |axis: &Axis| {
                let descriptions: BTreeMap<String, String> = described(scenario, &axes, axis).into_iter().collect();
                json!({ "name": axis.name, "all": axis.all, "values": axis.values, "descriptions": descriptions })
            };
            let axes: Vec<Value> = axes.iter().map(axis).collect();
            json!({
                "id": scenario.id,
                "category": scenario.category,
                "description": scenario.description,
                "sets": scenario.sets,
                "equivalence": scenario.equivalence(),
                "contract": scenario.contract.map(|contract| contract.name),
                "file": scenario.location.file,
                "line": scenario.location.line,
                "axes": axes,
            })
        })
        .collect();
    let adapters: Vec<Value> = registry
        .adapters()
        .iter()
        .map(|adapter| {
            json!({
                "name": adapter.name,
                "tier": adapter.tier,
                "contract": adapter.contract.name,
                "description": adapter.description,
            })
        })
        .collect();
    let cases: Vec<Value> = plan
        .cases
        .iter()
        .map(|case| {
            json!({ "id": case.id.to_string(), "name": case.id.slug(), "scenario": case.id.scenario,
                            "adapter": case.id.adapter, "point": case.id.point })
        })
        .collect();
    json!({ "scenarios": scenarios, "adapters": adapters, "cases": cases })
}

/// Every metric with its unit, its direction and what it is.
pub(super) fn metrics(metrics: &[Metric]) -> String {
    let line = |metric: &Metric| {
        let direction = match metric.direction {
            Direction::Higher => "higher is better",
            Direction::Lower => "lower is better",
            Direction::Information => "information",
        };
        format!("{:22} {:7} {direction:17} {}\n", metric.name, metric.unit.symbol(), metric.description)
    };
    metrics.iter().map(line).collect()
}
