//! Bench files in the style of other harnesses, as they are.

use serde_json::Value;

use crate::external::Bench;

#[test]
fn a_file_in_criterions_style_has_the_names_filters_and_units_that_it_had() {
    let bench = Bench::new("criterion_style");
    let listed = bench.run(&["--list", "--format", "terse"]);
    let names: Vec<&str> =
        listed.stdout.lines().filter_map(|line| line.strip_suffix(": benchmark")).collect();
    let expected = [
        "copy::100",
        "copy::10000",
        "fibonacci",
        "fibonacci_of::8",
        "other::custom",
        "other::setup",
        "sort::stable_100",
        "sort::unstable_100",
        "sort::stable_1000",
        "sort::unstable_1000",
    ];
    assert_eq!(names, expected, "{}", listed.all());
    let planned = bench.run(&["sort/unstable", "--quick", "--dry-run"]);
    let cases: Vec<&str> =
        planned.stdout.lines().filter(|line| line.starts_with("  sort/")).map(str::trim).collect();
    let budget = "(at most 2s)"; // twenty samples are the profile's own
    assert_eq!(cases, [format!("sort/unstable/100  {budget}"), format!("sort/unstable/1000  {budget}")]);

    let ran = bench.run(&["sort/stable/100", "copy/100", "other", "--quick"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let row = |name: &str| {
        let found = ran.stdout.lines().find(|line| line.contains(name));
        found.unwrap_or_else(|| panic!("{name} has no row: {}", ran.all()))
    };
    assert!(row("stable/100 ").contains("elem/s"), "{}", ran.all());
    assert!(row("─ 100 ").contains("B/s"), "{}", ran.all());
    assert!(row("custom").contains("ns"), "{}", ran.all());
    let smoke = bench.run(&["--test"]);
    assert!(smoke.code == Some(0) && smoke.stdout.contains("smoke cases=10 failed=0"), "{}", smoke.all());
    let wrong = bench.run(&["--scenario", "sorts"]);
    assert!(wrong.code == Some(2) && wrong.stderr.contains("did you mean `sort`?"), "{}", wrong.all());
}

#[test]
fn a_file_in_divans_style_has_the_paths_filters_and_units_that_it_had() {
    let bench = Bench::new("divan_style");
    let planned = |args: &[&str]| {
        let ran = bench.run(&[args, &["--quick", "--dry-run"]].concat());
        let lines = ran.stdout.lines().filter(|line| line.starts_with("  ")).map(str::trim);
        lines.map(str::to_owned).collect::<Vec<String>>()
    };
    let all = planned(&[]);
    let expected = [
        "both/u8/2",
        "both/u64/3",
        "collect/HashSet<i32>/64",
        "from_text/&str",
        "init/100  (30 samples)",
        "letters/Lower",
        "plain",
        "renamed/5",
        "shared::count/t=2  (at most 2s)",
        "sort::stable  (at least 50ms, at most 2s)",
        "text/two",
        "zeros/4",
    ];
    for case in expected {
        assert!(all.iter().any(|planned| planned == case), "{case} is not in {all:#?}");
    }
    assert_eq!(all.len(), 34, "of three sizes there are three, though more are written: {all:#?}");
    assert_eq!(planned(&["shared::count::t=2"]), ["shared::count/t=2  (at most 2s)"]);
    assert_eq!(planned(&["collect::Vec<i32>::4", "--exact"]), ["collect/Vec<i32>/4"]);

    let ran = bench.run(&["init", "shared", "sort", "letters/Upper", "text/one", "ignored", "--quick"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let row = |name: &str| {
        let found = ran.stdout.lines().find(|line| line.contains(name));
        found.unwrap_or_else(|| panic!("{name} has no row: {}", ran.all()))
    };
    assert!(row("─ 100 ").contains("ns"), "{}", ran.all());
    assert!(row("t=2 ").contains("elem/"), "{}", ran.all());
    assert!(row("shared::push").contains("B/s"), "{}", ran.all());
    for elements in ["sort::counted", "sort::stable", "letters/Upper"] {
        assert!(row(elements).contains("elem/s"), "{elements}: {}", ran.all());
    }
    assert!(row("text/one").contains("B/s"), "{}", ran.all());
    for skipped in ["shared::local/t=2: it runs on one thread", "sort::by_attribute: it says `ignore`"] {
        assert!(ran.all().contains(&format!("skipped: {skipped}")), "{skipped}: {}", ran.all());
    }
    let stored = |file: &str| -> Value {
        let path = bench.only_run().join(file);
        serde_json::from_str(&std::fs::read_to_string(&path).expect(file)).expect(file)
    };
    for (case, own_or_of_its_group) in [("sort_stable", 8), ("sort_unstable", 4), ("shared_push", 16)] {
        let seen = &stored(&format!("repeats/{case}.1.json"))["record"];
        let found = format!("\"iterations_per_sample\":{own_or_of_its_group},");
        assert!(seen.to_string().contains(&found), "{case} has another `sample_size`: {seen}");
    }
    let init = stored("cases/init@100.json");
    let metrics = init["record"]["metrics"].as_array().expect("a case has metrics");
    let allocations = metrics.iter().find(|metric| metric["name"] == "allocations").expect("it is counted");
    assert_eq!(allocations["estimate"]["median"], 1.0, "one vector: {allocations}");
    let smoke = bench.run(&["--test"]);
    assert!(smoke.code == Some(0) && smoke.stdout.contains("smoke cases=34 failed=0"), "{}", smoke.all());
    let wrong = bench.run(&["--scenario", "sort::stabel"]);
    assert!(
        wrong.code == Some(2) && wrong.stderr.contains("did you mean `sort::stable`?"),
        "{}",
        wrong.all()
    );
}
