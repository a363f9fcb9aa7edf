//! From a suite file to what the plan is asked for: one request for each benchmark, with the command line
//! over the file.

use super::form::{SuiteBenchmark, SuiteFile};
use super::node::Position;
use crate::plan::{Param, Plan, PlanError, Request};
use crate::registry::{Axis, Registry};

impl SuiteFile {
    /// A request for each benchmark that the command line has not left out. `typed` is what the command line
    /// asks for: its adapters and its values of an axis go over those of the file, and its scenarios and
    /// filters choose among the benchmarks.
    ///
    /// # Errors
    /// A name, an axis or a value that is not there, with its place in `file`; a value on the command line
    /// for an axis that no benchmark of the file has.
    pub fn requests(
        &self,
        file: &str,
        registry: &Registry,
        typed: &Request,
    ) -> Result<Vec<Request>, PlanError> {
        let mut untaken: Vec<&Param> = typed.params.iter().collect();
        let mut requests = Vec::new();
        let mut axes_known = Vec::new();
        for benchmark in &self.benchmarks {
            let (id, axes) = checked(file, registry, benchmark)?;
            axes_known.extend(axes.iter().map(|axis| axis.name));
            let is_for = |param: &Param| axes.iter().any(|axis| param.is_for(id, axis.name));
            untaken.retain(|param| !is_for(param));
            let Some(filters) = filters(id, registry, typed) else { continue };
            let mut params: Vec<Param> = typed.params.iter().filter(|param| is_for(param)).cloned().collect();
            for (key, values) in &benchmark.options {
                if !params.iter().any(|param| param.is_for(id, &key.name)) {
                    let values = values.iter().map(|value| value.text.clone()).collect();
                    params.push(Param { scenario: Some(id.to_owned()), axis: key.name.clone(), values });
                }
            }
            let named = benchmark.adapters.iter().map(|adapter| adapter.text.clone()).collect();
            requests.push(Request {
                scenarios: vec![id.to_owned()],
                adapters: if typed.adapters.is_empty() { named } else { typed.adapters.clone() },
                filters,
                params,
                ..typed.clone()
            });
        }
        if let Some(param) = untaken.first() {
            return Err(PlanError::unknown("axis", &param.axis, &mut axes_known.into_iter()));
        }
        Ok(requests)
    }

    /// Returns a line on the expansion of the suite: so many of its benchmarks run, as so many cases.
    pub fn expansion(&self, chosen: usize, plan: &Plan) -> String {
        let dropped: usize = plan.dropped.iter().map(|(_, points)| points).sum();
        format!(
            "suite `{}`: {chosen} of {} benchmarks; {} cases planned, {} skipped, {dropped} points dropped",
            self.name,
            self.benchmarks.len(),
            plan.measured(),
            plan.skips.len(),
        )
    }
}

/// The filters of a benchmark of this scenario: those that are the ids of others are not for it. `None` if it
/// is left out.
fn filters(id: &str, registry: &Registry, typed: &Request) -> Option<Vec<String>> {
    if !typed.scenarios.is_empty() && !typed.scenarios.iter().any(|name| name.eq_ignore_ascii_case(id)) {
        return None;
    }
    let is_other = |filter: &String| {
        let of_a_scenario = registry.scenarios().iter().any(|scenario| scenario.id == filter);
        of_a_scenario && filter != id
    };
    let filters: Vec<String> = typed.filters.iter().filter(|filter| !is_other(filter)).cloned().collect();
    (typed.filters.is_empty() || !filters.is_empty()).then_some(filters)
}

/// The id of a benchmark's scenario and its axes, after all names and values of the benchmark were found
/// right.
fn checked<'a>(
    file: &str,
    registry: &'a Registry,
    benchmark: &SuiteBenchmark,
) -> Result<(&'a str, Vec<Axis>), PlanError> {
    let at = |place: Position, error: PlanError| PlanError::Suite {
        file: file.to_owned(),
        why: format!("{place}: {error}"),
    };
    let wanted = &benchmark.scenario;
    let found = registry.scenarios().iter().find(|scenario| scenario.id.eq_ignore_ascii_case(&wanted.text));
    let scenario = found.ok_or_else(|| {
        let ids = &mut registry.scenarios().iter().map(|scenario| scenario.id);
        at(wanted.place, PlanError::unknown("scenario", &wanted.text, ids))
    })?;
    let adapters: Vec<&str> = registry.adapters_for(scenario).map(|adapter| adapter.name).collect();
    for named in &benchmark.adapters {
        if !adapters.iter().any(|adapter| adapter.eq_ignore_ascii_case(&named.text)) {
            let unknown = PlanError::unknown("adapter", &named.text, &mut adapters.iter().copied());
            return Err(at(named.place, unknown));
        }
    }
    let axes = scenario.axes();
    for (key, values) in &benchmark.options {
        let Some(axis) = axes.iter().find(|axis| axis.name == key.name) else {
            let unknown = PlanError::unknown("axis", &key.name, &mut axes.iter().map(|axis| axis.name));
            return Err(at(key.place, unknown));
        };
        if values.len() == 1 && values[0].text == "all" {
            continue;
        }
        for value in values {
            axis.parse(&value.text).map_err(|why| {
                let (axis, text) = (key.name.clone(), value.text.clone());
                at(value.place, PlanError::Value { axis, value: text, why })
            })?;
        }
    }
    Ok((scenario.id, axes))
}
