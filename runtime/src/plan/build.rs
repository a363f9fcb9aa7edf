//! Making the plan: which cases run, which are skipped and why, which points were left out.

use std::ptr;

use super::apart::tell_apart;
use super::filter::named_in;
use super::{Absent, CaseId, Filter, Param, Plan, PlanError, PlannedCase, RepeatTimes, Request, Skip};
use crate::bencher::{Budget, SkipReason};
use crate::registry::{
    AdapterEntry, Availability, Axis, AxisValue, Keep, Point, Registry, Requirements, ScenarioEntry,
};

/// Makes the plan.
///
/// # Errors
/// When a name, a filter or a value is wrong.
pub fn build(registry: &Registry, request: &Request) -> Result<Plan, PlanError> {
    build_all(registry, request, std::slice::from_ref(request))
}

/// Makes one plan of several requests, which choose different things to run in the same way: as `request`
/// says. A case that two of them choose runs once.
///
/// # Errors
/// As [`build`].
pub fn build_all(registry: &Registry, request: &Request, requests: &[Request]) -> Result<Plan, PlanError> {
    let mut plan = Plan {
        profile: request.profile.name.clone(),
        cases: Vec::new(),
        skips: Vec::new(),
        absent: Vec::new(),
        dropped: Vec::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
        repeats: if request.smoke { 1 } else { request.profile.repeats },
        budget: if request.smoke { Budget::SMOKE } else { request.profile.budget },
        memory: request.profile.memory.bytes(request.available_memory),
        run: request.run,
        together: request.together,
        smoke: request.smoke,
        verify: request.verify,
    };
    let mut probes = Vec::new();
    for request in requests {
        let choice = Choice::new(registry, request, &mut plan.notes)?;
        check_params(request, &choice.scenarios)?;
        for scenario in &choice.scenarios {
            add_scenario(&mut plan, registry, request, &choice, scenario, &mut probes);
        }
    }
    if requests.len() > 1 {
        once(&mut plan);
    }
    lead_groups(&mut plan.cases);
    tell_apart(registry, &mut plan.cases)?;
    Ok(plan)
}

/// Leaves of each case and of each skip the first. A case that is measured for one request is no mere
/// reference for another.
fn once(plan: &mut Plan) {
    let mut cases: Vec<PlannedCase> = Vec::with_capacity(plan.cases.len());
    for case in plan.cases.drain(..) {
        match cases.iter_mut().find(|other| other.id == case.id) {
            Some(other) => other.measured |= case.measured,
            None => cases.push(case),
        }
    }
    plan.cases = cases;
    let mut skips: Vec<Skip> = Vec::with_capacity(plan.skips.len());
    for skip in plan.skips.drain(..) {
        if !skips.contains(&skip) {
            skips.push(skip);
        }
    }
    plan.skips = skips;
}

/// Of each group and point, the first case whose work can be compared is what the others are compared with.
fn lead_groups(cases: &mut [PlannedCase]) {
    for at in 0..cases.len() {
        let (before, case) = cases.split_at_mut(at);
        let case = &mut case[0];
        let is_led = before.iter().any(|other| other.leads_group && case.is_beside(other));
        case.leads_group = case.scenario.group.is_some() && case.is_verified() && !is_led;
    }
}

/// Adapters that were asked whether they are installed, and what they said.
type Probes = Vec<(&'static AdapterEntry, Availability)>;

/// Scenarios and filters that the request names.
struct Choice {
    scenarios: Vec<&'static ScenarioEntry>,
    filters: Vec<Filter>,
    skip: Vec<Filter>,
}

impl Choice {
    fn new(registry: &Registry, request: &Request, notes: &mut Vec<String>) -> Result<Self, PlanError> {
        let all = registry.scenarios();
        let ids: Vec<&str> = all.iter().map(|scenario| scenario.id).collect();
        let parse = |texts: &[String]| -> Result<Vec<Filter>, PlanError> {
            texts.iter().map(|text| Filter::parse(text, request.matching(), &ids)).collect()
        };
        let (filters, skip) = (parse(&request.filters)?, parse(&request.skip)?);
        for name in &request.scenarios {
            if named_in(&ids, name).is_none() {
                return Err(PlanError::unknown("scenario", name, &mut ids.into_iter()));
            }
        }
        let adapters: Vec<&str> = registry.adapters().iter().map(|adapter| adapter.name).collect();
        for name in &request.adapters {
            if !adapters.iter().any(|adapter| adapter.eq_ignore_ascii_case(name)) {
                return Err(PlanError::unknown("adapter", name, &mut adapters.into_iter()));
            }
        }
        let in_set = |set: &str| -> Vec<&'static ScenarioEntry> {
            all.iter().copied().filter(|scenario| set == "all" || scenario.sets.contains(&set)).collect()
        };
        // A scenario that is named is run whatever the profile's set holds.
        let named = |scenario: &ScenarioEntry| {
            request.scenarios.iter().any(|name| named_in(&ids, name) == Some(scenario.id))
                || filters.iter().any(|filter| matches!(filter, Filter::Scenario(id) if id == scenario.id))
        };
        let names_scenarios = !request.scenarios.is_empty()
            || filters.iter().any(|filter| matches!(filter, Filter::Scenario(_)));
        let scenarios = if let Some(set) = &request.set {
            let chosen = in_set(set);
            if chosen.is_empty() {
                let mut sets = vec!["all"];
                for scenario in all {
                    sets.extend_from_slice(scenario.sets);
                }
                return Err(PlanError::unknown("set", set, &mut sets.into_iter()));
            }
            chosen.into_iter().filter(|scenario| !names_scenarios || named(scenario)).collect()
        } else if names_scenarios {
            let others = filters.iter().any(|filter| !matches!(filter, Filter::Scenario(_)));
            all.iter()
                .copied()
                .filter(|scenario| named(scenario) || (others && request.scenarios.is_empty()))
                .collect()
        } else if request.profile_set && !request.exact {
            let (set, include) = (&request.profile.set, &request.profile.include);
            let mut chosen = in_set(set);
            for scenario in all {
                let included = include.iter().any(|id| id == scenario.id);
                if included && !chosen.iter().any(|other| other.id == scenario.id) {
                    chosen.push(scenario);
                }
            }
            if chosen.is_empty() && !all.is_empty() {
                // Who has no sets need not hear of them.
                if all.iter().any(|scenario| !scenario.sets.is_empty()) {
                    notes.push(format!(
                        "no scenario here is in the set `{set}` of profile `{}`: all run",
                        request.profile.name
                    ));
                }
                all.to_vec()
            } else {
                chosen
            }
        } else {
            all.to_vec()
        };
        Ok(Self { scenarios, filters, skip })
    }

    fn takes(&self, id: &CaseId) -> bool {
        let asked = self.filters.is_empty() || self.filters.iter().any(|filter| filter.takes(id));
        asked && !self.skip.iter().any(|filter| filter.takes(id))
    }
}

/// Refuses params that nothing selected can take.
fn check_params(request: &Request, scenarios: &[&'static ScenarioEntry]) -> Result<(), PlanError> {
    let mut axes: Vec<(&str, Axis)> = Vec::new();
    for scenario in scenarios {
        axes.extend(scenario.axes().into_iter().map(|axis| (scenario.id, axis)));
    }
    for param in &request.params {
        if let Some(name) = &param.scenario
            && !scenarios.iter().any(|scenario| scenario.id.eq_ignore_ascii_case(name))
        {
            return Err(PlanError::unknown(
                "selected scenario",
                name,
                &mut scenarios.iter().map(|scenario| scenario.id),
            ));
        }
        let takers: Vec<&Axis> =
            axes.iter().filter(|(id, axis)| param.is_for(id, axis.name)).map(|(_, axis)| axis).collect();
        if takers.is_empty() {
            return Err(PlanError::unknown("axis", &param.axis, &mut axes.iter().map(|(_, axis)| axis.name)));
        }
        if param.is_all() {
            continue;
        }
        for value in &param.values {
            let refusals: Vec<String> = takers.iter().filter_map(|axis| axis.parse(value).err()).collect();
            if refusals.len() == takers.len() {
                let why = refusals.into_iter().next().unwrap_or_default();
                return Err(PlanError::Value { axis: param.axis.clone(), value: value.clone(), why });
            }
        }
    }
    Ok(())
}

fn add_scenario(
    plan: &mut Plan,
    registry: &Registry,
    request: &Request,
    choice: &Choice,
    scenario: &'static ScenarioEntry,
    probes: &mut Probes,
) {
    let axes = scenario.axes();
    let (points, refused) = points(scenario.id, &axes, request);
    for (value, why) in refused {
        plan.skips.push(Skip { id: case(scenario, &Point(vec![value]), None), why: why.into() });
    }
    note_left_out(plan, scenario.id, &axes, request);
    let mut dropped = 0;
    for point in points {
        match (scenario.keep)(&point) {
            Keep::Yes => add_point(plan, registry, request, choice, scenario, &point, probes),
            Keep::Drop => dropped += 1,
            Keep::Skip(why) => plan.skips.push(Skip { id: case(scenario, &point, None), why: why.into() }),
        }
    }
    if dropped > 0 {
        plan.dropped.push((scenario.id.to_owned(), dropped));
    }
}

/// Notes how many of the author's points do not run though nobody asked for others, and the flags that run
/// them.
fn note_left_out(plan: &mut Plan, scenario: &str, axes: &[Axis], request: &Request) {
    let asked = |axis: &Axis| request.params.iter().any(|param| param.is_for(scenario, axis.name));
    let taken = |axis: &Axis| chosen(scenario, axis, request).0.len();
    // What is implied is how a scenario runs unless it is asked for something else.
    let open = || axes.iter().filter(|axis| !asked(axis) && !axis.implied);
    let whole: usize = open().map(|axis| axis.values.len()).product();
    let run: usize = open().map(&taken).product();
    if run < whole {
        let narrowed = open().filter(|axis| taken(axis) < axis.values.len());
        let flags: Vec<String> =
            narrowed.map(|axis| format!("--param {scenario}.{}=all", axis.name)).collect();
        plan.left_out.push((scenario.to_owned(), whole - run, flags.join(" ")));
    }
}

fn case(scenario: &ScenarioEntry, point: &Point, adapter: Option<&AdapterEntry>) -> CaseId {
    CaseId {
        scenario: scenario.id.to_owned(),
        point: point.clone(),
        adapter: adapter.map(|adapter| adapter.name.to_owned()),
        told_apart: false,
    }
}

fn add_point(
    plan: &mut Plan,
    registry: &Registry,
    request: &Request,
    choice: &Choice,
    scenario: &'static ScenarioEntry,
    point: &Point,
    probes: &mut Probes,
) {
    let needs = scenario.needs.and_then(|needs| needs(point));
    let memory = needs.map(|needs| needs.memory);
    let budget = plan.run.asked.or(scenario.budget);
    let add = |plan: &mut Plan, adapter: Option<&'static AdapterEntry>, version, measured| {
        plan.cases.push(PlannedCase {
            id: case(scenario, point, adapter),
            scenario,
            adapter,
            version,
            memory,
            budget: if plan.smoke { plan.budget } else { budget.over(plan.budget) },
            repeats: budget.repeats.filter(|_| !plan.smoke).unwrap_or(plan.repeats),
            most: None,
            leads_group: false,
            measured,
            took: RepeatTimes::default(),
        });
    };
    let too_much = needs.and_then(|needs| too_much(plan, request, needs));
    if scenario.contract.is_none() {
        let id = case(scenario, point, None);
        if choice.takes(&id) {
            match too_much {
                Some(why) => plan.skips.push(Skip { id, why }),
                None => add(plan, None, None, true),
            }
        }
        return;
    }
    let adapters: Vec<&'static AdapterEntry> = registry.adapters_for(scenario).collect();
    if adapters.is_empty() {
        let contract = scenario.contract.map_or("", |contract| contract.name);
        let why = SkipReason::NoAdapter(contract.to_owned());
        plan.skips.push(Skip { id: case(scenario, point, None), why });
        return;
    }
    let before = plan.cases.len();
    for adapter in &adapters {
        let named = request.adapters.is_empty()
            || request.adapters.iter().any(|name| name.eq_ignore_ascii_case(adapter.name));
        let id = case(scenario, point, Some(adapter));
        if !named || !choice.takes(&id) {
            continue;
        }
        match (&probed(probes, adapter), &too_much) {
            (Availability::Missing { reason, install }, _) if request.adapters.is_empty() => {
                if !plan.absent.iter().any(|absent| absent.adapter == adapter.name) {
                    let (reason, install) = (reason.clone(), install.clone());
                    plan.absent.push(Absent { adapter: adapter.name, reason, install });
                }
            }
            (Availability::Missing { reason, install }, _) => {
                let (reason, install) = (reason.clone(), install.clone());
                plan.skips.push(Skip { id, why: SkipReason::NotInstalled { reason, install } });
            }
            (Availability::Available { .. }, Some(why)) => plan.skips.push(Skip { id, why: why.clone() }),
            (Availability::Available { version }, None) => {
                let version = Some(version.clone()).filter(|version| !version.is_empty());
                add(plan, Some(adapter), version, true);
            }
        }
    }
    // What was selected is compared with the reference, so the reference runs even if it was not selected.
    let selected = &plan.cases[before..];
    let verified = request.verify && selected.iter().any(PlannedCase::is_verified);
    if verified
        && !selected.iter().any(PlannedCase::is_reference)
        && let Some(reference) = adapters.iter().find(|adapter| adapter.tier == 0)
    {
        add(plan, Some(reference), None, false);
    }
}

/// Returns what the adapter says of its availability; each is asked once.
fn probed(probes: &mut Probes, adapter: &'static AdapterEntry) -> Availability {
    if let Some((_, said)) = probes.iter().find(|(asked, _)| ptr::eq(*asked, adapter)) {
        return said.clone();
    }
    let said = adapter.availability();
    probes.push((adapter, said.clone()));
    said
}

/// The reason why the point asks for more than the profile allows, if it does.
fn too_much(plan: &Plan, request: &Request, needs: Requirements) -> Option<SkipReason> {
    let most = request.profile.max_batch_size;
    if needs.batch > most {
        return Some(SkipReason::BatchSize { size: needs.batch, most, profile: plan.profile.clone() });
    }
    let largest = request.profile.largest.map(|largest| largest.bytes(request.available_memory));
    let limit = plan.memory.min(largest.unwrap_or(u64::MAX));
    let profile = plan.profile.clone();
    (needs.memory > limit).then_some(SkipReason::Memory { needs: needs.memory, limit, profile })
}

/// The points of a scenario, and the values that this scenario does not take though another does.
fn points(scenario: &str, axes: &[Axis], request: &Request) -> (Vec<Point>, Vec<(AxisValue, String)>) {
    let mut points = vec![Point::default()];
    let mut refused = Vec::new();
    for axis in axes {
        let (values, not_taken) = chosen(scenario, axis, request);
        refused.extend(not_taken);
        let mut longer = Vec::with_capacity(points.len() * values.len());
        for point in &points {
            for value in &values {
                let mut point = point.clone();
                point.0.extend((!axis.implies(value)).then(|| value.clone()));
                longer.push(point);
            }
        }
        points = longer;
    }
    (points, refused)
}

/// The values of an axis that run: params, else the profile's pins, else the axis' own rule.
fn chosen(scenario: &str, axis: &Axis, request: &Request) -> (Vec<AxisValue>, Vec<(AxisValue, String)>) {
    let params: Vec<&Param> =
        request.params.iter().filter(|param| param.is_for(scenario, axis.name)).collect();
    let own: Vec<&&Param> = params.iter().filter(|param| param.scenario.is_some()).collect();
    // What addresses this scenario alone wins over what addresses all.
    let params: Vec<&Param> =
        if own.is_empty() { params.clone() } else { own.into_iter().copied().collect() };
    if params.iter().any(|param| param.is_all()) {
        return (axis.values.clone(), Vec::new());
    }
    if !params.is_empty() {
        let (mut values, mut refused): (Vec<AxisValue>, Vec<_>) = (Vec::new(), Vec::new());
        for text in params.iter().flat_map(|param| &param.values) {
            match axis.parse(text) {
                Ok(value) if values.contains(&value) => {}
                Ok(value) => values.push(value),
                Err(why) => refused.push((typed(axis.name, text), why)),
            }
        }
        return (values, refused);
    }
    let pins = &request.profile.pins;
    let pin = pins.get(&format!("{scenario}.{}", axis.name)).or_else(|| pins.get(axis.name));
    // A pin of all scenarios is for those that take its value.
    if let Some(value) = pin.and_then(|text| axis.parse(text).ok()) {
        return (vec![value], Vec::new());
    }
    (axis.default_values().to_vec(), Vec::new())
}

fn typed(axis: &str, text: &str) -> AxisValue {
    AxisValue { axis: axis.to_owned(), text: text.to_owned(), labelled: false, debug: None }
}

#[cfg(test)]
#[expect(unused_imports, reason = "of the traits that an expansion looks in, each axis uses some")]
mod tests;
