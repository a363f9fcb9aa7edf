//! Plans over a registry of fixtures.

use weighbridge_macros::{adapter, scenario};

use super::*;
use crate::bencher::{Bencher, Result, RunSettings};
use crate::plan::{MemoryLimit, PlanSettings, Profiles, suite};
use crate::registry::Requirements;

trait Loader {}

#[derive(Default)]
struct Plain;

#[adapter(name = "Reference", tier = 0, crate = crate)]
impl Loader for Plain {}

#[derive(Default)]
struct FusedAdapter;

#[adapter(name = "Reference (fused)", crate = crate)]
impl Loader for FusedAdapter {}

#[derive(Default)]
struct Absent;

fn absent() -> Availability {
    Availability::Missing {
        reason: "no module grain".into(),
        install: "cargo catalogue peers install grain".into(),
    }
}

#[adapter(name = "Google Grain", probe = absent, crate = crate)]
impl Loader for Absent {}

trait Trainer {}

#[derive(Default)]
struct Here;

#[adapter(name = "Here", resident = true, crate = crate)]
impl Trainer for Here {}

#[adapter(name = "Away", resident = true, probe = absent, crate = crate)]
impl Trainer for Absent {}

/// Steps.
#[scenario(id = "TRAIN-1", sets = ["training"], crate = crate)]
fn steps(
    _: &mut Bencher,
    _: &mut dyn Trainer,
    #[sweep(all, one = 1, two = 2)] _variant: u32,
    #[sweep(implied, 0, 8)] _ahead: u32,
) {
}

fn needs(_: &u32, batch: &u64) -> Requirements {
    Requirements { memory: batch << 20, batch: *batch }
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
        expressions: false,
        skip: Vec::new(),
        scenarios: Vec::new(),
        adapters: Vec::new(),
        set: None,
        profile_set: true,
        params: Vec::new(),
        run: RunSettings::DEFAULT,
        together: PlanSettings::default(),
        available_memory: 10 << 30,
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
fn an_implied_value_is_how_a_plain_run_measures_and_stands_in_no_name() {
    let ahead = |asked: &[&str]| {
        let asked = params(&[&["TRAIN-1.variant=one"], asked].concat());
        planned(&Request { params: asked, scenarios: vec!["TRAIN-1".into()], ..request("ci_cpu") })
    };
    let plain = ahead(&[]);
    assert_eq!(names(&plain), ["TRAIN-1/one/Here"]);
    assert_eq!(plain.left_out, [], "nobody is told of it unasked");
    assert_eq!(names(&ahead(&["ahead=0"])), names(&plain), "named or not, it is the same case");
    assert_eq!(names(&ahead(&["ahead=8"])), ["TRAIN-1/one/ahead=8/Here"]);
    assert_eq!(names(&ahead(&["ahead=all"])), ["TRAIN-1/one/Here", "TRAIN-1/one/ahead=8/Here"]);
}

/// Two ways.
#[scenario(id = "TWICE-1", sets = ["twice"], crate = crate)]
fn twice(
    _: &mut Bencher,
    #[sweep(implied, plain = 0, fast = 1)] _a: u32,
    #[sweep(implied, slow = 0, fast = 1)] _b: u32,
) {
}

#[test]
fn two_points_that_implied_values_leave_with_one_name_are_refused() {
    let both = params(&["TWICE-1.a=all", "TWICE-1.b=all"]);
    let twice = Request { scenarios: vec!["TWICE-1".into()], ..request("ci_cpu") };
    assert_eq!(names(&planned(&twice)), ["TWICE-1"]);
    let why = refused(&Request { params: both, ..twice });
    assert!(why.contains("`TWICE-1/fast`"), "{why}");
}

#[test]
fn points_that_were_asked_for_are_not_said_to_be_left_out() {
    let asked =
        Request { params: params(&["HCV-1.n=7"]), scenarios: vec!["HCV-1".into()], ..request("ci_cpu") };
    assert_eq!(planned(&asked).left_out, []);
}

#[test]
fn an_adapter_that_is_not_installed_is_skipped_where_it_is_named_with_the_command_that_installs_it() {
    let plan = planned(&Request { adapters: vec!["google grain".into()], ..request("ci_cpu") });
    let skip = &plan.skips[0];
    assert_eq!(skip.id.adapter.as_deref(), Some("Google Grain"));
    assert!(
        matches!(
            &skip.why,
            SkipReason::NotInstalled { reason, install }
                if reason == "no module grain" && install == "cargo catalogue peers install grain"
        ),
        "{}",
        skip.why
    );
}

#[test]
fn an_adapter_that_is_not_installed_is_told_once_and_is_skipped_where_it_is_named() {
    let asked = Request { set: Some("training".into()), ..request("ci_cpu") };
    let plan = planned(&asked);
    assert_eq!((plan.measured(), plan.skips.len(), plan.absent.len()), (2, 0, 1));
    assert_eq!((plan.absent[0].adapter, &*plan.absent[0].reason), ("Away", "no module grain"));
    let named = planned(&Request { adapters: vec!["Away".into()], ..asked });
    assert_eq!((named.measured(), named.skips.len(), named.absent.len()), (0, 2, 0));
}

#[test]
fn params_replace_an_axis_and_all_means_every_value() {
    let all = Request {
        params: params(&["PC-1.variant=all", "workers=0,2"]),
        scenarios: vec!["PC-1".into()],
        ..request("ci_cpu")
    };
    assert_eq!(planned(&all).measured(), 3 * 2 * 2);
    let own =
        Request { params: params(&["batch=8,0008,9"]), scenarios: vec!["CV-1".into()], ..request("ci_cpu") };
    let names = names(&planned(&own));
    assert_eq!(names.len(), 2 * 2, "0008 is 8: {names:?}");
}

#[test]
fn a_filter_skips_with_its_reason_or_drops_and_is_counted() {
    let request_ =
        Request { params: params(&["workers=2,9"]), scenarios: vec!["PC-1".into()], ..request("ci_cpu") };
    let plan = planned(&request_);
    assert!(plan.skips.iter().any(|skip| skip.why == "9 workers need more cores".into()), "{:?}", plan.skips);
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
    let whys: Vec<String> = plan.skips.iter().map(|skip| skip.why.to_string()).collect();
    let has = |said: &str| whys.iter().any(|why| why == said);
    assert!(has("its batch size 257 is above the limit 256 of profile `ci_cpu`"), "{whys:?}");
    assert!(has("it needs about 64 MiB of memory, and profile `ci_cpu` allows 60 MiB here"), "{whys:?}");
    let mut small = Request { available_memory: 1 << 40, ..large };
    small.profile.largest = Some(MemoryLimit::Bytes(50 << 20));
    let whys: Vec<String> = planned(&small).skips.iter().map(|skip| skip.why.to_string()).collect();
    let expected = "it needs about 64 MiB of memory, and profile `ci_cpu` allows 50 MiB here";
    assert!(whys.iter().any(|why| why == expected), "{whys:?}");
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
    assert!(part.cases.iter().all(|case| case.id.scenario == "CV-1"), "part of a name stays inside the set");
}

#[test]
fn a_set_that_nobody_is_in_runs_all_from_a_profile_and_is_an_error_when_named() {
    let plan = planned(&request("tpu_v5e"));
    assert_eq!(plan.notes, ["no scenario here is in the set `tpu` of profile `tpu_v5e`: all run"]);
    let ids: std::collections::BTreeSet<&str> =
        plan.cases.iter().map(|case| case.id.scenario.as_str()).collect();
    // Other tests of this binary register scenarios too.
    assert!(["CV-1", "HCV-1", "PC-1"].iter().all(|id| ids.contains(id)), "{ids:?}");
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
        plan.skips.iter().any(|skip| skip.id.scenario == "PC-1" && skip.id.to_string().contains("medium"))
    );
}

/// The plan of a suite file with what is typed beside it.
fn of_suite(text: &str, typed: &Request) -> Result<Plan, PlanError> {
    let root = suite::nodes("a.toml", text).expect("it is TOML");
    let file = suite::SuiteFile::read(&root).expect("it is a suite");
    let registry = Registry::collect().unwrap();
    let requests = file.requests("a.toml", &registry, typed)?;
    let mut plan = build_all(&registry, typed, &requests)?;
    plan.notes.insert(0, file.expansion(requests.len(), &plan));
    Ok(plan)
}

const SUITE: &str = "name = 'mine'
[[benchmarks]]
scenario = 'PC-1'
adapters = ['Reference']
options = { variant = ['depth_1', 'depth_5'], workers = [0, 2, 8] }
[[benchmarks]]
scenario = 'HCV-1'
[[benchmarks]]
scenario = 'pc-1'
options = { variant = 'depth_1', workers = 0 }
";

#[test]
fn a_suite_runs_the_product_of_its_lists_and_counts_what_is_skipped_and_dropped() {
    let plan = of_suite(SUITE, &request("ci_cpu")).unwrap();
    let expected = [
        "PC-1/depth_1/workers=0/Reference",
        "PC-1/depth_1/workers=2/Reference",
        "PC-1/depth_5/workers=0/Reference",
        "PC-1/depth_5/workers=2/Reference",
        "HCV-1/n=1",
        "HCV-1/n=3",
        // The first of these stands in the first benchmark too, and runs once.
        "PC-1/depth_1/workers=0/Reference (fused)",
    ];
    assert_eq!(names(&plan), expected);
    let skips: Vec<String> = plan.skips.iter().map(|skip| format!("{}: {}", skip.id, skip.why)).collect();
    let why = "8 workers need more cores";
    assert_eq!(skips, [1, 5].map(|depth| format!("PC-1/depth_{depth}/workers=8: {why}")));
    let note = "suite `mine`: 3 of 3 benchmarks; 7 cases planned, 2 skipped, 2 points dropped";
    assert_eq!(plan.notes, [note]);
}

#[test]
fn what_is_typed_goes_over_a_suite() {
    let typed = Request { params: params(&["workers=4"]), ..request("ci_cpu") };
    let plan = of_suite(SUITE, &Request { adapters: vec!["Reference".into()], ..typed.clone() }).unwrap();
    let of_pc1 = ["PC-1/depth_1/workers=4/Reference", "PC-1/depth_5/workers=4/Reference"];
    assert_eq!(names(&plan), [&of_pc1[..], &["HCV-1/n=1", "HCV-1/n=3"]].concat());
    let one = of_suite(SUITE, &Request { filters: vec!["HCV-1".into()], ..request("ci_cpu") }).unwrap();
    assert_eq!(names(&one), ["HCV-1/n=1", "HCV-1/n=3"]);
    assert!(one.notes[0].starts_with("suite `mine`: 1 of 3 benchmarks"), "{:?}", one.notes);
    let untaken = Request { params: params(&["threads=4"]), ..request("ci_cpu") };
    let why = of_suite(SUITE, &untaken).unwrap_err().to_string();
    assert!(why.starts_with("no axis is called `threads`"), "{why}");
}

#[test]
fn a_name_or_value_of_a_suite_that_is_not_there_is_told_with_its_place() {
    for (benchmark, told) in [
        ("scenario = 'PC1'", "a.toml: line 3, column 12: no scenario is called `PC1`; did you mean `PC-1`?"),
        (
            "scenario = 'PC-1'\nadapters = ['Refrence']",
            "a.toml: line 4, column 13: no adapter is called `Refrence`; did you mean `Reference`?",
        ),
        (
            "scenario = 'PC-1'\noptions.worker = 2",
            "a.toml: line 4, column 9: no axis is called `worker`; did you mean `workers`?",
        ),
        (
            "scenario = 'PC-1'\noptions.workers = [2, 'many']",
            "a.toml: line 4, column 23: axis `workers` does not take `many`: ",
        ),
    ] {
        let text = format!("name = 'x'\n[[benchmarks]]\n{benchmark}\n");
        let why = of_suite(&text, &request("ci_cpu")).unwrap_err().to_string();
        assert!(why.starts_with(told), "{why}");
    }
    // An adapter of another contract is none of this scenario.
    let text = "name = 'x'\n[[benchmarks]]\nscenario = 'PC-1'\nadapters = 'Here'\n";
    let why = of_suite(text, &request("ci_cpu")).unwrap_err().to_string();
    assert!(why.contains("no adapter is called `Here`"), "{why}");
}
