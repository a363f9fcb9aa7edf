//! Bench files in the style of other harnesses, as they are.

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
