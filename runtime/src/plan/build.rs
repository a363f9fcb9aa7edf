//! Making the plan: which cases run, which are skipped and why, which points were left out.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{CaseId, Error, Filter, Param, Profile};
use crate::bencher::Limits;
use crate::registry::{
    AdapterEntry, Availability, Axis, AxisValue, Equivalence, Keep, Point, Registry, ScenarioEntry,
};
use crate::stats::SplitMix64;

/// What was asked for, after it was understood.
#[derive(Clone, Debug)]
pub struct Request {
    /// The budget.
    pub profile: Profile,
    /// Positional filters; a case needs one of them, if there are any.
    pub filters: Vec<String>,
    /// Whether filters must match whole names.
    pub exact: bool,
    /// Filters of cases that are not to run.
    pub skip: Vec<String>,
    /// Scenarios named one by one.
    pub scenarios: Vec<String>,
    /// Adapters named one by one.
    pub adapters: Vec<String>,
    /// A named set; must exist.
    pub set: Option<String>,
    /// Whether the profile's own set holds when nothing else is named.
    pub profile_set: bool,
    /// Values that replace those of axes.
    pub params: Vec<Param>,
    /// The seed of order, data and draws.
    pub seed: u64,
    /// In which order cases run within a round.
    pub order: Order,
    /// How repeats are isolated.
    pub isolation: Isolation,
    /// Memory to be had on this machine, in bytes: the smaller of free memory and container limit.
    pub available_memory: u64,
    /// Whether adapters are asked if they are installed. A listing does not ask.
    pub probe: bool,
    /// Whether each case runs once, on as little as possible.
    pub smoke: bool,
    /// Whether work is verified: an unmeasured repeat of each case that has work to compare.
    pub verify: bool,
}

/// In which order cases run within a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Drawn anew for each round from the run's seed, so that drift of the machine falls on all alike.
    Shuffled,
    /// As listed, for debugging.
    Declared,
}

/// What shares a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolation {
    /// Nothing: a fresh process for every repeat.
    Repeat,
    /// The repeats of one case.
    Case,
    /// All repeats of the run.
    Run,
    /// Everything, the harness too.
    None,
}

impl Order {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Shuffled => "shuffled",
            Self::Declared => "declared",
        }
    }
}

impl Isolation {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Case => "case",
            Self::Run => "run",
            Self::None => "none",
        }
    }
}

/// One case that will run.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    /// Which case.
    pub id: CaseId,
    /// Its scenario.
    pub scenario: &'static ScenarioEntry,
    /// Its adapter.
    pub adapter: Option<&'static AdapterEntry>,
    /// The version of the system behind the adapter.
    pub version: Option<String>,
    /// Whether it is measured; a reference that was not selected only runs to be compared with.
    pub measured: bool,
}

impl PlannedCase {
    /// Whether the case has work that is compared, so that it needs a verifying repeat.
    pub fn is_verified(&self) -> bool {
        self.scenario.equivalence() != Equivalence::None
    }

    /// Whether it is what others of its scenario and point are compared with.
    pub fn is_reference(&self) -> bool {
        self.adapter.is_some_and(|adapter| adapter.tier == 0)
    }

    /// Whether `reference` is what this case is compared with.
    pub fn compares_with(&self, reference: &Self) -> bool {
        reference.is_reference()
            && self.id.scenario == reference.id.scenario
            && self.id.point == reference.id.point
    }
}

/// A case that will not run.
#[derive(Clone, Debug, PartialEq)]
pub struct Skip {
    /// Which case: without an adapter when the point itself is skipped.
    pub id: CaseId,
    /// Why.
    pub why: String,
}

/// What will be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The profile's name.
    pub profile: String,
    /// The cases, in the order of listings.
    pub cases: Vec<PlannedCase>,
    /// What is skipped, and why.
    pub skips: Vec<Skip>,
    /// Points that a filter dropped, per scenario.
    pub dropped: Vec<(String, usize)>,
    /// Points that were left out, per scenario, and the flag that runs them.
    pub left_out: Vec<(String, usize, String)>,
    /// Things to say before the run.
    pub notes: Vec<String>,
    /// Measured repeats of each case.
    pub repeats: u32,
    /// Limits of each repeat.
    pub limits: Limits,
    /// The longest that a repeat may take.
    pub timeout: Duration,
    /// How much memory a repeat's processes may have, in bytes.
    pub memory: u64,
    /// The seed of order, data and draws.
    pub seed: u64,
    /// In which order cases run within a round.
    pub order: Order,
    /// How repeats are isolated.
    pub isolation: Isolation,
    /// Whether each case runs once, on as little as possible.
    pub smoke: bool,
    /// Whether there is a verifying round.
    pub verify: bool,
}

/// What a repeat costs beside its measured time: process, set-up, warm-up. A guess until it has been seen.
const SET_UP: Duration = Duration::from_millis(250);

impl Plan {
    /// The cases of each round, in order. Round 0 is the verifying one, references first.
    pub fn rounds(&self) -> Vec<Vec<usize>> {
        let verified = |reference: bool| {
            let takes = move |case: &PlannedCase| case.is_verified() && case.is_reference() == reference;
            (0..self.cases.len()).filter(move |index| takes(&self.cases[*index]))
        };
        let verifying =
            if self.verify { verified(true).chain(verified(false)).collect() } else { Vec::new() };
        let measured: Vec<usize> =
            (0..self.cases.len()).filter(|index| self.cases[*index].measured).collect();
        let round = |number: u32| {
            let mut order = measured.clone();
            if self.order == Order::Shuffled {
                SplitMix64::new(self.seed ^ (u64::from(number) << 32)).shuffle(&mut order);
            }
            order
        };
        std::iter::once(verifying).chain((1..=self.repeats).map(round)).collect()
    }

    /// About how long it will take.
    pub fn estimate(&self) -> Duration {
        let repeats: usize = self.rounds().iter().map(Vec::len).sum();
        (self.limits.min_time.mul_f64(1.2) + SET_UP) * repeats as u32
    }

    /// How many cases are measured.
    pub fn measured(&self) -> usize {
        self.cases.iter().filter(|case| case.measured).count()
    }
}

/// Makes the plan.
///
/// # Errors
/// When a name, a filter or a value is wrong.
pub fn build(registry: &Registry, request: &Request) -> Result<Plan, Error> {
    let mut plan = Plan {
        profile: request.profile.name.clone(),
        cases: Vec::new(),
        skips: Vec::new(),
        dropped: Vec::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
        repeats: if request.smoke { 1 } else { request.profile.repeats },
        limits: if request.smoke { Limits::SMOKE } else { request.profile.limits },
        timeout: request.profile.timeout,
        memory: request.profile.memory.bytes(request.available_memory),
        seed: request.seed,
        order: request.order,
        isolation: request.isolation,
        smoke: request.smoke,
        verify: request.verify,
    };
    let choice = Choice::new(registry, request, &mut plan.notes)?;
    check_params(request, &choice.scenarios)?;
    let mut probes = BTreeMap::new();
    for scenario in &choice.scenarios {
        add_scenario(&mut plan, registry, request, &choice, scenario, &mut probes);
    }
    check_names(&plan)?;
    Ok(plan)
}

/// What was chosen by name.
struct Choice {
    scenarios: Vec<&'static ScenarioEntry>,
    filters: Vec<Filter>,
    skip: Vec<Filter>,
}

impl Choice {
    fn new(registry: &Registry, request: &Request, notes: &mut Vec<String>) -> Result<Self, Error> {
        let all = registry.scenarios();
        let ids: Vec<&str> = all.iter().map(|scenario| scenario.id).collect();
        let parse = |texts: &[String]| -> Result<Vec<Filter>, Error> {
            texts.iter().map(|text| Filter::parse(text, request.exact, &ids)).collect()
        };
        let (filters, skip) = (parse(&request.filters)?, parse(&request.skip)?);
        for name in &request.scenarios {
            if !ids.iter().any(|id| id.eq_ignore_ascii_case(name)) {
                return Err(Error::unknown("scenario", name, ids));
            }
        }
        let adapters: Vec<&str> = registry.adapters().iter().map(|adapter| adapter.name).collect();
        for name in &request.adapters {
            if !adapters.iter().any(|adapter| adapter.eq_ignore_ascii_case(name)) {
                return Err(Error::unknown("adapter", name, adapters));
            }
        }
        let in_set = |set: &str| -> Vec<&'static ScenarioEntry> {
            all.iter().copied().filter(|scenario| set == "all" || scenario.sets.contains(&set)).collect()
        };
        // A scenario that is named is run whatever the profile's set holds.
        let named = |scenario: &ScenarioEntry| {
            request.scenarios.iter().any(|name| name.eq_ignore_ascii_case(scenario.id))
                || filters.iter().any(|filter| matches!(filter, Filter::Scenario(id) if id == scenario.id))
        };
        let names_scenarios = !request.scenarios.is_empty()
            || filters.iter().any(|filter| matches!(filter, Filter::Scenario(_)));
        let scenarios = if let Some(set) = &request.set {
            let chosen = in_set(set);
            if chosen.is_empty() {
                let sets: Vec<&str> = all.iter().flat_map(|scenario| scenario.sets.iter().copied()).collect();
                return Err(Error::unknown("set", set, sets.into_iter().chain(["all"])));
            }
            chosen.into_iter().filter(|scenario| !names_scenarios || named(scenario)).collect()
        } else if names_scenarios {
            let others = filters.iter().any(|filter| !matches!(filter, Filter::Scenario(_)));
            all.iter()
                .copied()
                .filter(|scenario| named(scenario) || (others && request.scenarios.is_empty()))
                .collect()
        } else if request.profile_set && !request.exact {
            let set = &request.profile.set;
            let chosen = in_set(set);
            if chosen.is_empty() && !all.is_empty() {
                notes.push(format!(
                    "no scenario here is in the set `{set}` of profile `{}`: all run",
                    request.profile.name
                ));
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
fn check_params(request: &Request, scenarios: &[&'static ScenarioEntry]) -> Result<(), Error> {
    let axes: Vec<(&str, Axis)> = scenarios
        .iter()
        .flat_map(|scenario| (scenario.axes)().into_iter().map(|axis| (scenario.id, axis)))
        .collect();
    for param in &request.params {
        if let Some(name) = &param.scenario
            && !scenarios.iter().any(|scenario| scenario.id.eq_ignore_ascii_case(name))
        {
            return Err(Error::unknown(
                "selected scenario",
                name,
                scenarios.iter().map(|scenario| scenario.id),
            ));
        }
        let takers: Vec<&Axis> =
            axes.iter().filter(|(id, axis)| param.is_for(id, axis.name)).map(|(_, axis)| axis).collect();
        if takers.is_empty() {
            return Err(Error::unknown("axis", &param.axis, axes.iter().map(|(_, axis)| axis.name)));
        }
        if param.is_all() {
            continue;
        }
        for value in &param.values {
            let refusals: Vec<String> = takers.iter().filter_map(|axis| axis.parse(value).err()).collect();
            if refusals.len() == takers.len() {
                let why = refusals.into_iter().next().unwrap_or_default();
                return Err(Error::Value { axis: param.axis.clone(), value: value.clone(), why });
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
    probes: &mut BTreeMap<*const AdapterEntry, Availability>,
) {
    let axes = (scenario.axes)();
    let (points, refused) = points(scenario.id, &axes, request);
    for (value, why) in refused {
        plan.skips.push(Skip { id: case(scenario, &Point(vec![value]), None), why });
    }
    let whole: usize = axes.iter().map(|axis| axis.values.len()).product();
    if points.len() < whole {
        let narrowed =
            axes.iter().find(|axis| chosen(scenario.id, axis, request).0.len() < axis.values.len());
        let flag =
            narrowed.map_or_else(String::new, |axis| format!("--param {}.{}=all", scenario.id, axis.name));
        plan.left_out.push((scenario.id.to_owned(), whole - points.len(), flag));
    }
    let mut dropped = 0;
    for point in points {
        match (scenario.keep)(&point) {
            Keep::Yes => add_point(plan, registry, request, choice, scenario, &point, probes),
            Keep::Drop => dropped += 1,
            Keep::Skip(why) => plan.skips.push(Skip { id: case(scenario, &point, None), why }),
        }
    }
    if dropped > 0 {
        plan.dropped.push((scenario.id.to_owned(), dropped));
    }
}

fn case(scenario: &ScenarioEntry, point: &Point, adapter: Option<&AdapterEntry>) -> CaseId {
    CaseId {
        scenario: scenario.id.to_owned(),
        point: point.clone(),
        adapter: adapter.map(|adapter| adapter.name.to_owned()),
    }
}

fn add_point(
    plan: &mut Plan,
    registry: &Registry,
    request: &Request,
    choice: &Choice,
    scenario: &'static ScenarioEntry,
    point: &Point,
    probes: &mut BTreeMap<*const AdapterEntry, Availability>,
) {
    let add = |plan: &mut Plan, adapter: Option<&'static AdapterEntry>, version, measured| {
        plan.cases.push(PlannedCase {
            id: case(scenario, point, adapter),
            scenario,
            adapter,
            version,
            measured,
        });
    };
    let too_much = too_much(plan, request, scenario, point);
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
        let why = format!("no adapter is registered for the contract `{contract}`");
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
        let probed = || match request.probe {
            true => adapter.availability(),
            false => Availability::Available { version: String::new() },
        };
        match (probes.entry(std::ptr::from_ref(*adapter)).or_insert_with(probed), &too_much) {
            (Availability::Missing { reason, install }, _) => {
                plan.skips
                    .push(Skip { id, why: format!("not installed: {reason}; install it with `{install}`") });
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

/// Why the point asks for more than the profile allows, if it does.
fn too_much(plan: &Plan, request: &Request, scenario: &ScenarioEntry, point: &Point) -> Option<String> {
    let needs = scenario.needs?(point)?;
    let most = request.profile.max_batch_size;
    if needs.batch > most {
        return Some(format!(
            "its batch size {} is above the limit {most} of profile `{}`",
            needs.batch, plan.profile
        ));
    }
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    (needs.memory > plan.memory).then(|| {
        let (needed, limit) = (mebibytes(needs.memory), mebibytes(plan.memory));
        format!(
            "it needs about {needed} MiB of memory, and profile `{}` allows {limit} MiB here",
            plan.profile
        )
    })
}

/// The points of a scenario, and the values that this scenario does not take though another does.
fn points(scenario: &str, axes: &[Axis], request: &Request) -> (Vec<Point>, Vec<(AxisValue, String)>) {
    let mut points = vec![Point::default()];
    let mut refused = Vec::new();
    for axis in axes {
        let (values, not_taken) = chosen(scenario, axis, request);
        refused.extend(not_taken);
        points = points
            .iter()
            .flat_map(|point| {
                values.iter().map(|value| Point(point.iter().cloned().chain([value.clone()]).collect()))
            })
            .collect();
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

/// Two cases of one name could not be told apart in files.
fn check_names(plan: &Plan) -> Result<(), Error> {
    let mut names = BTreeMap::new();
    for case in &plan.cases {
        if let Some(other) = names.insert(case.id.slug(), &case.id)
            && *other != case.id
        {
            return Err(Error::Clash(other.to_string(), case.id.to_string(), case.id.slug()));
        }
    }
    Ok(())
}

#[cfg(test)]
#[expect(unused_imports, reason = "of the traits that an expansion looks in, each axis uses some")]
mod tests {
    use weighbridge_macros::{adapter, scenario};

    use super::*;
    use crate::bencher::{Bencher, Result};
    use crate::plan::Profiles;
    use crate::registry::Needs;

    trait Loader {}

    #[derive(Default)]
    struct Plain;

    #[adapter(name = "Reference", tier = 0, crate = crate)]
    impl Loader for Plain {}

    #[derive(Default)]
    struct Fused;

    #[adapter(name = "Reference (fused)", crate = crate)]
    impl Loader for Fused {}

    #[derive(Default)]
    struct Absent;

    fn absent() -> Availability {
        Availability::Missing {
            reason: "no module grain".into(),
            install: "cargo xtask peers install grain".into(),
        }
    }

    #[adapter(name = "Google Grain", probe = absent, crate = crate)]
    impl Loader for Absent {}

    fn needs(_: &u32, batch: &u64) -> Needs {
        Needs { memory: batch << 20, batch: *batch }
    }

    /// Images.
    #[scenario(id = "CV-1", sets = ["gate"], needs = needs, crate = crate)]
    fn images(
        _: &mut Bencher,
        _: &mut dyn Loader,
        #[sweep(small = 1, medium = 2)] _variant: u32,
        #[sweep(64)] _batch: u64,
    ) {
    }

    fn fits(_: &u32, workers: &u64) -> Result<(), String> {
        if *workers > 4 { Err(format!("{workers} workers need more cores")) } else { Ok(()) }
    }

    /// Depths.
    #[scenario(id = "PC-1", sets = ["gate", "deep"], filter = fits, crate = crate)]
    fn depths(
        _: &mut Bencher,
        _: &mut dyn Loader,
        #[sweep(all, depth_1 = 1, depth_2 = 2, depth_5 = 5)] _variant: u32,
        #[sweep(0, 2)] _workers: u64,
    ) {
    }

    /// A heavy cousin of CV-1.
    #[scenario(id = "HCV-1", sets = ["heavy"], filter = odd, crate = crate)]
    fn heavy(_: &mut Bencher, #[sweep(1, 2, 3, 4)] _n: u32) {}

    fn odd(n: &u32) -> bool {
        n % 2 == 1
    }

    fn request(profile: &str) -> Request {
        Request {
            profile: Profiles::load(None).unwrap().get(profile).unwrap(),
            filters: Vec::new(),
            exact: false,
            skip: Vec::new(),
            scenarios: Vec::new(),
            adapters: Vec::new(),
            set: None,
            profile_set: true,
            params: Vec::new(),
            seed: 42,
            order: Order::Shuffled,
            isolation: Isolation::Repeat,
            available_memory: 10 << 30,
            probe: true,
            smoke: false,
            verify: true,
        }
    }

    fn params(texts: &[&str]) -> Vec<Param> {
        texts.iter().map(|text| Param::parse(text).unwrap()).collect()
    }

    fn planned(request: &Request) -> Plan {
        build(&Registry::collect().unwrap(), request).unwrap()
    }

    fn names(plan: &Plan) -> Vec<String> {
        plan.cases.iter().map(|case| case.id.to_string()).collect()
    }

    fn refused(request: &Request) -> String {
        build(&Registry::collect().unwrap(), request).unwrap_err().to_string()
    }

    #[test]
    fn a_plain_run_takes_the_profiles_set_with_its_pins_and_says_what_it_leaves_out() {
        let plan = planned(&request("ci_cpu"));
        let expected = [
            "CV-1/small/batch=64/Reference",
            "CV-1/small/batch=64/Reference (fused)",
            "PC-1/depth_1/workers=0/Reference",
            "PC-1/depth_1/workers=0/Reference (fused)",
        ];
        assert_eq!(names(&plan), expected);
        let left: Vec<(&str, usize)> =
            plan.left_out.iter().map(|(id, points, _)| (id.as_str(), *points)).collect();
        assert_eq!(left, [("CV-1", 1), ("PC-1", 5)]);
    }

    #[test]
    fn an_adapter_that_is_not_installed_is_skipped_with_the_command_that_installs_it() {
        let plan = planned(&request("ci_cpu"));
        let skip = &plan.skips[0];
        assert_eq!(skip.id.adapter.as_deref(), Some("Google Grain"));
        assert!(
            skip.why.contains("no module grain") && skip.why.contains("cargo xtask peers install grain"),
            "{}",
            skip.why
        );
        let unasked = planned(&Request { probe: false, ..request("ci_cpu") });
        assert!(unasked.skips.is_empty(), "a listing asks nobody");
    }

    #[test]
    fn params_replace_an_axis_and_all_means_every_value() {
        let all = Request {
            params: params(&["PC-1.variant=all", "workers=0,2"]),
            scenarios: vec!["PC-1".into()],
            ..request("ci_cpu")
        };
        assert_eq!(planned(&all).measured(), 3 * 2 * 2);
        let own = Request {
            params: params(&["batch=8,0008,9"]),
            scenarios: vec!["CV-1".into()],
            ..request("ci_cpu")
        };
        let names = names(&planned(&own));
        assert_eq!(names.len(), 2 * 2, "0008 is 8: {names:?}");
    }

    #[test]
    fn a_filter_skips_with_its_reason_or_drops_and_is_counted() {
        let request_ =
            Request { params: params(&["workers=2,9"]), scenarios: vec!["PC-1".into()], ..request("ci_cpu") };
        let plan = planned(&request_);
        assert!(plan.skips.iter().any(|skip| skip.why == "9 workers need more cores"), "{:?}", plan.skips);
        let heavy = planned(&Request { set: Some("heavy".into()), ..request("ci_cpu") });
        assert_eq!((heavy.measured(), heavy.dropped), (2, vec![("HCV-1".to_owned(), 2)]));
    }

    #[test]
    fn what_is_too_large_for_the_profile_is_a_recorded_skip() {
        let large = Request {
            params: params(&["batch=64,257,4000"]),
            scenarios: vec!["CV-1".into()],
            available_memory: 100 << 20,
            ..request("ci_cpu")
        };
        let plan = planned(&large);
        assert!(plan.cases.is_empty());
        let whys: Vec<&str> = plan.skips.iter().map(|skip| skip.why.as_str()).collect();
        assert!(whys.contains(&"its batch size 257 is above the limit 256 of profile `ci_cpu`"), "{whys:?}");
        assert!(
            whys.contains(&"it needs about 64 MiB of memory, and profile `ci_cpu` allows 60 MiB here"),
            "{whys:?}"
        );
    }

    #[test]
    fn a_named_scenario_runs_whatever_the_profiles_set_holds() {
        for request in [
            Request { scenarios: vec!["hcv-1".into()], ..request("ci_cpu") },
            Request { filters: vec!["HCV-1".into()], ..request("ci_cpu") },
        ] {
            assert_eq!(planned(&request).measured(), 2);
        }
        let part = planned(&Request { filters: vec!["CV".into()], ..request("ci_cpu") });
        assert!(
            part.cases.iter().all(|case| case.id.scenario == "CV-1"),
            "part of a name stays inside the set"
        );
    }

    #[test]
    fn a_set_that_nobody_is_in_runs_all_from_a_profile_and_is_an_error_when_named() {
        let plan = planned(&request("tpu_v5e"));
        assert_eq!(plan.notes, ["no scenario here is in the set `tpu` of profile `tpu_v5e`: all run"]);
        let ids: std::collections::BTreeSet<&str> =
            plan.cases.iter().map(|case| case.id.scenario.as_str()).collect();
        assert_eq!(ids.len(), 3);
        let error = refused(&Request { set: Some("gaet".into()), ..request("ci_cpu") });
        assert_eq!(error, "no set is called `gaet`; did you mean `gate`?");
    }

    #[test]
    fn the_reference_is_verified_even_if_it_was_not_selected() {
        let fused = Request {
            adapters: vec!["reference (fused)".into()],
            scenarios: vec!["CV-1".into()],
            ..request("ci_cpu")
        };
        let plan = planned(&fused);
        let measured: Vec<bool> = plan.cases.iter().map(|case| case.measured).collect();
        assert_eq!((names(&plan).len(), measured), (2, vec![true, false]));
        assert_eq!(plan.rounds()[0], [1, 0], "the reference first");
        assert_eq!(plan.rounds()[1], [0]);
    }

    #[test]
    fn mistakes_name_the_nearest_right_thing() {
        let with = |change: fn(&mut Request)| {
            let mut request = request("ci_cpu");
            change(&mut request);
            refused(&request)
        };
        assert_eq!(
            with(|r| r.scenarios = vec!["CV1".into()]),
            "no scenario is called `CV1`; did you mean `CV-1`?"
        );
        assert_eq!(
            with(|r| r.adapters = vec!["Refrence".into()]),
            "no adapter is called `Refrence`; did you mean `Reference`?"
        );
        assert_eq!(
            with(|r| r.params = params(&["wrokers=2"])),
            "no axis is called `wrokers`; did you mean `workers`?"
        );
        let bad = with(|r| r.params = params(&["workers=two"]));
        assert!(bad.starts_with("axis `workers` does not take `two`:"), "{bad}");
    }

    #[test]
    fn a_value_that_one_scenario_takes_is_a_skip_for_another_that_has_the_axis() {
        let plan = planned(&Request { params: params(&["variant=medium"]), ..request("ci_cpu") });
        assert!(plan.cases.iter().all(|case| case.id.scenario == "CV-1"));
        assert!(
            plan.skips
                .iter()
                .any(|skip| skip.id.scenario == "PC-1" && skip.id.to_string().contains("medium"))
        );
    }
}
