//! `--list`: what could run. Nothing is measured; adapters are asked whether they are installed, and a case
//! of one that is absent is no case of this machine.

use std::collections::BTreeMap;

use serde::Serialize;

use super::usage::ListFormat;
use crate::bencher::{visible_in_line, visible_json};
use crate::json;
use crate::metric::{Direction, Metric};
use crate::plan::{Absent, Plan, PlannedCase};
use crate::registry::{AdapterEntry, Axis, AxisValue, Equivalence, Point, Registry, ScenarioEntry};

/// The listing of the plan's cases in this format.
pub(super) fn list(registry: &Registry, plan: &Plan, format: ListFormat) -> String {
    match format {
        ListFormat::Terse => {
            plan.cases.iter().map(|case| format!("{}: benchmark\n", case.id.slug())).collect()
        }
        ListFormat::Pretty => pretty(registry, plan),
        ListFormat::Json => {
            let text = json::write(&listing(registry, plan));
            visible_json(&text.expect("texts and numbers are always JSON")) + "\n"
        }
    }
}

/// Scenarios with their descriptions by category, then how many cases they make.
fn pretty(registry: &Registry, plan: &Plan) -> String {
    let scenarios = selected(registry, plan);
    let mut categories: Vec<&str> = scenarios.iter().map(|scenario| scenario.category).collect();
    categories.sort_unstable();
    categories.dedup();
    let width = scenarios.iter().map(|scenario| scenario.id.len()).max().unwrap_or(0);
    let mut lines: Vec<String> = Vec::new();
    for category in categories {
        lines.push(category.to_owned());
        for scenario in scenarios.iter().filter(|scenario| scenario.category == category) {
            lines.push(format!("  {:width$}  {}", scenario.id, scenario.description));
            let axes = scenario.axes();
            for axis in &axes {
                let value = |value: &AxisValue| {
                    format!("{}{}", value.text, if axis.implies(value) { " (implied)" } else { "" })
                };
                let values: Vec<String> = axis.values.iter().map(value).collect();
                lines.push(format!("  {:width$}    {}: {}", "", axis.name, values.join(", ")));
                for (value, description) in described(scenario, &axes, axis) {
                    lines.push(format!("  {:width$}      {value}: {description}", ""));
                }
            }
        }
    }
    lines.push(format!(
        "scenarios: {}, cases at their default points: {}",
        scenarios.len(),
        plan.cases.len()
    ));
    if !plan.absent.is_empty() {
        lines.push("adapters that are not installed:".to_owned());
    }
    let width = plan.absent.iter().map(|absent| absent.adapter.len()).max().unwrap_or(0);
    for Absent { adapter, reason, install } in &plan.absent {
        lines.push(format!("  {adapter:width$}  {reason}; install it with `{install}`"));
    }
    // What others wrote into a line stays in it.
    lines.iter().map(|line| visible_in_line(line) + "\n").collect()
}

/// Descriptions of the variants of a labelled axis, the other axes at their first value, where the author
/// gives them.
fn described(scenario: &ScenarioEntry, axes: &[Axis], axis: &Axis) -> Vec<(String, String)> {
    let Some(describe) = scenario.describe.filter(|_| axis.is_labelled()) else { return Vec::new() };
    let of = |value: &AxisValue| Some((value.text.clone(), describe(&point(axes, axis, value))?));
    axis.values.iter().filter_map(of).collect()
}

/// The point with this value on an axis, and the first on all others.
fn point(axes: &[Axis], axis: &Axis, value: &AxisValue) -> Point {
    let first = |other: &Axis| {
        if other.name == axis.name { Some(value.clone()) } else { other.values.first().cloned() }
    };
    Point(axes.iter().filter_map(first).collect())
}

/// The equivalence at a scenario's first point, and the other ones by the one value that brings them:
/// `operators=own`.
fn agreements(scenario: &ScenarioEntry, axes: &[Axis]) -> (Equivalence, BTreeMap<String, Equivalence>) {
    let first = Point(axes.iter().filter_map(|axis| axis.values.first().cloned()).collect());
    let usual = scenario.equivalence_at(&first);
    let of = |axis: &Axis| {
        let asked = |value: &AxisValue| {
            let there = scenario.equivalence_at(&point(axes, axis, value));
            (there != usual).then(|| (format!("{}={}", value.axis, value.text), there))
        };
        axis.values.iter().filter_map(asked).collect::<Vec<_>>()
    };
    (usual, axes.iter().flat_map(of).collect())
}

/// The scenarios that the plan has cases or skips of, by id.
fn selected(registry: &Registry, plan: &Plan) -> Vec<&'static ScenarioEntry> {
    let cases = plan.cases.iter().map(|case| case.id.scenario.as_str());
    let mut ids: Vec<&str> = cases.chain(plan.skips.iter().map(|skip| skip.id.scenario.as_str())).collect();
    ids.sort_unstable();
    let mut scenarios = registry.scenarios().to_vec();
    scenarios.retain(|scenario| ids.binary_search(&scenario.id).is_ok());
    scenarios
}

/// The listing of `--list --format json`, for programs. Its parts are written as they lie: 10,000 cases are
/// quickly listed.
#[derive(Serialize)]
struct ListedCases<'a> {
    scenarios: Vec<ListedScenario<'a>>,
    adapters: Vec<ListedAdapter>,
    cases: Vec<ListedCase<'a>>,
}

#[derive(Serialize)]
struct ListedScenario<'a> {
    id: &'a str,
    category: &'a str,
    description: &'a str,
    sets: &'a [&'a str],
    equivalence: Equivalence,
    /// The place where something else must agree.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    equivalence_with: BTreeMap<String, Equivalence>,
    contract: Option<&'a str>,
    file: &'a str,
    line: u32,
    axes: Vec<ListedAxis>,
}

#[derive(Serialize)]
struct ListedAxis {
    name: &'static str,
    all: bool,
    implied: bool,
    values: Vec<AxisValue>,
    descriptions: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct ListedAdapter {
    name: &'static str,
    tier: u8,
    contract: &'static str,
    description: &'static str,
    resident: bool,
}

#[derive(Serialize)]
struct ListedCase<'a> {
    id: String,
    name: String,
    scenario: &'a str,
    adapter: Option<&'a str>,
    point: &'a Point,
}

fn listing<'a>(registry: &Registry, plan: &'a Plan) -> ListedCases<'a> {
    let adapter = |adapter: &&AdapterEntry| ListedAdapter {
        name: adapter.name,
        tier: adapter.tier,
        contract: adapter.contract.name,
        description: adapter.description,
        resident: adapter.resident,
    };
    let case = |case: &'a PlannedCase| ListedCase {
        id: case.id.to_string(),
        name: case.id.slug(),
        scenario: &case.id.scenario,
        adapter: case.id.adapter.as_deref(),
        point: &case.id.point,
    };
    ListedCases {
        scenarios: selected(registry, plan).into_iter().map(listed).collect(),
        adapters: registry.adapters().iter().map(adapter).collect(),
        cases: plan.cases.iter().map(case).collect(),
    }
}

fn listed(scenario: &'static ScenarioEntry) -> ListedScenario<'static> {
    let axes = scenario.axes();
    let (equivalence, equivalence_with) = agreements(scenario, &axes);
    let descriptions: Vec<Vec<(String, String)>> =
        axes.iter().map(|axis| described(scenario, &axes, axis)).collect();
    let axis = |(axis, described): (Axis, Vec<(String, String)>)| {
        let mut descriptions = BTreeMap::new();
        for (value, description) in described {
            descriptions.insert(value, description);
        }
        ListedAxis {
            name: axis.name,
            all: axis.all,
            implied: axis.implied,
            values: axis.values,
            descriptions,
        }
    };
    ListedScenario {
        id: scenario.id,
        category: scenario.category,
        description: scenario.description,
        sets: scenario.sets,
        equivalence,
        equivalence_with,
        contract: scenario.contract.map(|contract| contract.name),
        file: scenario.location.file,
        line: scenario.location.line,
        axes: axes.into_iter().zip(descriptions).map(axis).collect(),
    }
}

/// Every metric with its unit, its direction and what it is.
pub(super) fn metrics<'a>(metrics: impl Iterator<Item = &'a Metric>) -> String {
    let line = |metric: &Metric| {
        let direction = match metric.direction {
            Direction::Higher => "higher is better",
            Direction::Lower => "lower is better",
            Direction::Information => "information",
        };
        format!("{:22} {:7} {direction:17} {}\n", metric.name, metric.unit.symbol(), metric.description)
    };
    metrics.map(line).collect()
}
