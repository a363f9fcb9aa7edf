//! What the attributes register arrives: ids, axes, contracts, adapters, and the values that a scenario is
//! given.
#![forbid(unsafe_code)]
#![deny(rust_2018_idioms, unused)]

mod adapters;
mod contract;
mod renamed;
mod scenarios;
mod strict;

use std::any::TypeId;
use std::time::Duration;

use weighbridge::__private::{Bencher, Keep, Registry, ScenarioEntry, find_adapter, find_scenario};
use weighbridge::{Availability, Budget, Equivalence, PartialBudget, Point, Purpose, Settings};

fn registry() -> Registry {
    Registry::collect().expect("nothing is doubled")
}

fn scenario(id: &str) -> &'static ScenarioEntry {
    find_scenario(id).unwrap_or_else(|| panic!("{id} is not registered"))
}

/// The point of these values, each as one would type it.
fn point(scenario: &ScenarioEntry, values: &[&str]) -> Point {
    let axes = scenario.axes();
    assert_eq!(axes.len(), values.len(), "{} has other axes", scenario.id);
    axes.iter().zip(values).map(|(axis, text)| axis.parse(text).expect("a value of the axis")).collect()
}

/// Runs a scenario at a point and gives back what it saw: the value of its metric `seen`.
fn run(id: &str, values: &[&str], adapter: Option<&str>) -> Result<f64, weighbridge::Error> {
    let scenario = scenario(id);
    let bencher = &mut Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE));
    let mut subject = match (scenario.contract, adapter) {
        (Some(contract), Some(name)) => {
            Some((find_adapter((contract.id)(), name).expect("the adapter is registered").make)()?)
        }
        _ => None,
    };
    (scenario.run)(bencher, subject.as_deref_mut(), &point(scenario, values))?;
    let owned = std::mem::replace(bencher, Bencher::new(Settings::new(Purpose::Smoke, Budget::SMOKE)));
    let seen = owned.finish()?.seen;
    Ok(seen.custom.iter().find(|metric| metric.name == "seen").expect("the scenario says what it saw").value)
}

#[test]
fn a_scenario_is_registered_as_its_author_wrote_it() {
    let sort = scenario("SORT-1");
    assert_eq!((sort.category, sort.description), ("Algorithms", "Sort a vector of integers."));
    assert_eq!(sort.sets, ["gate", "canonical"]);
    assert_eq!(sort.location.module, "expansion::scenarios");
    assert!(sort.location.file.ends_with("tests/expansion/scenarios.rs"), "{}", sort.location);
    assert_eq!(sort.contract, None);
    assert_eq!(sort.equivalence(), Equivalence::None);
    let plain = scenario("PLAIN-1");
    assert_eq!((plain.category, plain.description, plain.sets.len()), ("Uncategorised", "", 0));
}

#[test]
fn unlabelled_values_arrive_typed_and_others_are_parsed() {
    assert_eq!(run("SORT-1", &["1000"], None), Ok(1000.0));
    assert_eq!(run("SORT-1", &["0042"], None), Ok(42.0));
    assert_eq!(point(scenario("SORT-1"), &["0042"]).to_string(), "len=42");
}

#[test]
fn a_generic_scenario_has_its_types_and_constants_as_its_first_axes() {
    let generic = scenario("TYPES-1");
    let shown: Vec<String> = generic
        .axes()
        .iter()
        .map(|axis| {
            let values: Vec<&str> = axis.values.iter().map(|value| value.text.as_str()).collect();
            format!("{}: {}", axis.name, values.join(" "))
        })
        .collect();
    assert_eq!(shown, ["T: u8 wide NonZero<u32>", "N: 1 1000", "times: 2 3"]);
    assert_eq!(run("TYPES-1", &["u8", "1000", "2"], None), Ok(2000.0));
    assert_eq!(run("TYPES-1", &["wide", "1", "3"], None), Ok(48.0));
    assert_eq!(run("TYPES-1", &["NonZero<u32>", "1", "2"], None), Ok(8.0));
    let point = point(generic, &["wide", "1000", "3"]);
    assert_eq!(point.to_string(), "wide/N=1000/times=3");
    assert_eq!((generic.keep)(&point), Keep::Drop, "the filter takes the other axes alone");
    let refused = generic.axes()[0].parse("u16").unwrap_err();
    assert_eq!(refused, "it takes one of `u8`, `wide`, `NonZero<u32>`");
    let refused = generic.axes()[1].parse("7").unwrap_err();
    assert_eq!(refused, "it takes only the values that its author wrote");
}

#[test]
fn a_scenario_may_state_its_budget_and_its_group_and_borrow_its_options() {
    let stated = scenario("BUDGET-1");
    assert_eq!(stated.group, Some("Budgets"));
    let expected = PartialBudget {
        samples: Some(50),
        min_time: Some(Duration::from_millis(250)),
        max_time: Some(Duration::from_secs(2)),
        repeats: Some(9),
    };
    assert_eq!(stated.budget, expected);
    assert_eq!(scenario("PLAIN-1").budget, PartialBudget::NONE);
    assert_eq!(run("BORROWED-1", &["2", "safe"], None), Ok(2.0));
}

#[test]
fn labelled_values_need_no_trait_at_all() {
    assert_eq!(run("LABEL-1", &["small", "224px"], None), Ok(32.0 + 224.0));
    let axes = scenario("LABEL-1").axes();
    assert_eq!((axes[0].all, axes[1].all), (false, true));
    assert_eq!((axes[0].default_values().len(), axes[1].default_values().len()), (1, 2));
    assert_eq!(axes[0].parse("huge").unwrap_err(), "it takes one of `small`, `large`");
}

#[test]
fn text_on_an_axis_needs_no_lifetime_and_takes_any_text() {
    assert_eq!(run("TEXT-1", &["zstd"], None), Ok(4.0));
    assert_eq!(run("TEXT-1", &["brotli"], None), Ok(6.0));
}

#[test]
fn an_options_struct_brings_its_axes_and_its_filter() {
    let load = scenario("LOAD-1");
    let names: Vec<_> = load.axes().iter().map(|axis| axis.name).collect();
    assert_eq!(names, ["batch", "workers", "mode"]);
    assert_eq!(run("LOAD-1", &["8", "2", "fast"], None), Ok(8.0 * 2.0 + 100.0));
    assert_eq!((load.keep)(&point(load, &["8", "2", "fast"])), Keep::Yes);
    assert_eq!((load.keep)(&point(load, &["8", "0", "fast"])), Keep::Drop);
    let why = "64 workers need 64 cores".to_owned();
    assert_eq!((load.keep)(&point(load, &["8", "64", "safe"])), Keep::Skip(why));
}

#[test]
fn a_filter_sees_all_axes_in_order() {
    let filtered = scenario("FILTER-1");
    assert_eq!((filtered.keep)(&point(filtered, &["1", "a"])), Keep::Yes);
    assert_eq!((filtered.keep)(&point(filtered, &["2", "a"])), Keep::Drop);
    assert_eq!((scenario("SORT-1").keep)(&point(scenario("SORT-1"), &["7"])), Keep::Yes);
}

#[test]
fn scenario_and_adapter_meet_by_the_type_of_the_contract() {
    let registry = registry();
    let load = scenario("CONTRACT-1");
    let names: Vec<_> = registry.adapters_for(load).map(|adapter| adapter.name).collect();
    assert_eq!(names, ["Reference", "Broken", "Opened", "Skipped"]);
    assert_eq!(load.contract.expect("it has one").name, "Loader");
    assert_eq!(load.equivalence(), Equivalence::Exact);
    assert_eq!(run("CONTRACT-1", &["3"], Some("Reference")), Ok(3.0));
    assert_eq!(run("CONTRACT-1", &["3"], Some("Opened")), Ok(30.0));
}

#[test]
fn what_new_gives_back_as_an_error_is_a_failure_or_a_skip() {
    let failed = run("CONTRACT-1", &["3"], Some("Broken")).unwrap_err();
    assert_eq!((failed.to_string().as_str(), failed.is_skip()), ("no such file", false));
    assert!(run("CONTRACT-1", &["3"], Some("Skipped")).unwrap_err().is_skip());
}

#[test]
fn what_a_scenario_gives_back_as_an_error_is_a_failure_or_a_skip() {
    let skipped = run("ERROR-1", &["true"], None).unwrap_err();
    assert_eq!((skipped.to_string().as_str(), skipped.is_skip()), ("needs 64 GB", true));
    let failed = run("ERROR-2", &[], None).unwrap_err();
    assert_eq!((failed.to_string().as_str(), failed.is_skip()), ("it broke", false));
}

#[test]
fn one_type_may_fulfil_a_generic_contract_twice() {
    assert_eq!(run("GENERIC-1", &[], Some("Queue")), Ok(8.0));
    assert_eq!(run("GENERIC-2", &[], Some("Queue")), Ok(16.0));
    assert_eq!(scenario("GENERIC-1").contract.expect("it has one").name, "Width<u8>");
    assert_eq!(scenario("GENERIC-1").equivalence(), Equivalence::Approx(1e-5));
}

#[test]
fn options_may_be_handed_on_by_a_macro() {
    let wide = find_adapter(TypeId::of::<dyn contract::Width<u32>>(), "Wide").expect("it is registered");
    let wider = find_adapter(TypeId::of::<dyn contract::Width<u64>>(), "Wider").expect("it is registered");
    assert_eq!((wide.tier, wide.resident, wide.description), (2, true, "Four bytes."));
    assert_eq!((wider.tier, wider.resident, wider.description), (3, false, "Eight bytes."));
    assert_eq!(scenario("HANDED-1").sets, ["gate"]);
    assert_eq!(run("HANDED-1", &[], Some("Wide")), Ok(32.0));
}

#[test]
fn a_probe_tells_availability_and_without_one_it_is_the_authors_version() {
    let loader = TypeId::of::<dyn contract::Loader>();
    let opened = find_adapter(loader, "Opened").expect("it is registered");
    let install = "cargo catalogue peers install opened".to_owned();
    assert_eq!(opened.availability(), Availability::Missing { reason: "not installed".to_owned(), install });
    let reference = find_adapter(loader, "Reference").expect("it is registered");
    assert_eq!((reference.tier, reference.description), (0, "Counts without loading."));
    assert_eq!(
        reference.availability(),
        Availability::Available { version: env!("CARGO_PKG_VERSION").to_owned() }
    );
    assert_eq!(opened.unequal, Some("counts in tens"));
}

#[test]
fn a_renamed_runtime_is_named_by_its_path() {
    assert_eq!(run("RENAMED-1", &["3"], Some("Renamed")), Ok(3.0));
}

#[test]
fn what_is_configured_out_is_not_registered() {
    assert!(find_scenario("GONE-1").is_none());
}

#[test]
fn an_options_struct_in_an_options_struct_brings_its_axes_and_its_filter() {
    let nested = scenario("NESTED-1");
    let names: Vec<_> = nested.axes().iter().map(|axis| axis.name).collect();
    assert_eq!(names, ["count", "workers", "mode"]);
    let seen = run("NESTED-1", &["3", "2", "fast"], None).expect("it runs");
    assert!((seen - 5.0).abs() < f64::EPSILON, "{seen}");
    let kept = |workers| (nested.keep)(&point(nested, &["1", workers, "safe"]));
    assert!(matches!(kept("2"), Keep::Yes));
    assert!(matches!(kept("64"), Keep::Skip(why) if why.contains("64 cores")));
}

#[test]
fn what_must_agree_is_what_the_workload_says_unless_the_scenario_says_it() {
    let agreement = |id: &str, count: &str| {
        let scenario = scenario(id);
        scenario.equivalence_at(&point(scenario, &[count]))
    };
    assert_eq!(agreement("WORKLOAD-1", "8"), Equivalence::Approx(4.0));
    assert_eq!(agreement("WORKLOAD-1", "2"), Equivalence::Approx(1.0));
    assert_eq!(agreement("WORKLOAD-2", "2"), Equivalence::Shape);
    assert_eq!(agreement("WORKLOAD-3", "2"), Equivalence::None, "no adapters, so nothing to agree on");
}
