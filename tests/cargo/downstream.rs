//! The downstream crate is built, benched and judged.

use crate::external::{Bench, Ran, cargo, xtask};

#[test]
fn cargo_bench_measures_saves_and_judges_a_crate_outside_the_workspace() {
    let bench = Bench::new("sorting");
    let data = bench.data().to_str().unwrap().to_owned();
    let quick = ["bench", "--bench", "sorting", "--", "--quick", "--no-lock", "--data", &data];
    let first = Ran::of(&mut cargo(&[&quick[..], &["--save-baseline", "main"]].concat()));
    assert_eq!(first.code, Some(0), "{}", first.all());
    for expected in [
        "SORT-1/len=1000",
        "SORT-1/len=20000",
        "SUM-1/short",
        "stable",
        "unstable",
        "saved as baseline `main`",
    ] {
        assert!(first.all().contains(expected), "{expected} is missing: {}", first.all());
    }
    assert!(
        first.stderr.contains("left out: 1 point of SUM-1; --param SUM-1.len=all runs them too"),
        "{}",
        first.all()
    );

    let own = xtask(&bench, &["compare-baseline", "main"]);
    assert_eq!(own.code, Some(4), "a run is not judged by itself: {}", own.all());

    let second = Ran::of(&mut cargo(&quick));
    assert_eq!(second.code, Some(0), "{}", second.all());
    let judged = xtask(&bench, &["compare-baseline", "main", "--threshold", "300%", "--inconclusive=pass"]);
    assert_eq!(judged.code, Some(0), "{}", judged.all());
    assert!(judged.stdout.lines().last().unwrap().starts_with("weighbridge: "), "{}", judged.all());
}

#[test]
fn without_bench_each_case_runs_once_and_nothing_is_stored() {
    let bench = Bench::new("sorting");
    let ran = Ran::of(&mut bench.bare(&[]));
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(ran.stdout.contains("smoke cases=5 failed=0"), "{}", ran.all());
    assert!(bench.runs().is_empty());
}

#[test]
fn misspelt_names_get_the_nearest_one_and_exit_2() {
    let bench = Bench::new("sorting");
    for (args, expected) in [
        (vec!["--scenario", "SORT1"], "did you mean `SORT-1`?"),
        (vec!["--adapter", "unstabel"], "did you mean `unstable`?"),
        (vec!["--param", "lem=3"], "did you mean `len`?"),
        (vec!["--param", "len=many"], "axis `len` does not take `many`"),
        (vec!["--profile", "quik"], "did you mean `quick`?"),
        (vec!["--set", "gaet"], "no set is called `gaet`"),
        (vec!["--save-basline", "x"], "did you mean `--save-baseline`?"),
        (vec!["--profile", "gpu_a100"], "profile `gpu_a100` is for platform gpu"),
    ] {
        let ran = bench.run(&args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.all());
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.all());
    }
    let absent = bench.run(&["--platform", "gpu"]);
    assert_eq!(absent.code, Some(4), "{}", absent.all());
}

#[test]
fn a_filter_that_takes_nothing_of_one_bench_target_ends_no_cargo_command_and_in_a_gate_it_does() {
    let bench = Bench::new("sorting");
    let nothing = bench.run(&["SORTS-1"]);
    assert_eq!(nothing.code, Some(0), "{}", nothing.all());
    let said = "nothing to measure in the bench target `sorting`: no case matches `SORTS-1` (the nearest scenario is `SORT-1`)";
    assert!(nothing.stderr.contains(said), "{}", nothing.all());
    assert!(bench.runs().is_empty());
    let gate = bench.run(&["SORTS-1", "--baseline", "main"]);
    assert!(gate.code == Some(4) && gate.stderr.contains("nothing selected"), "{}", gate.all());
}

#[test]
fn a_dry_run_prints_the_product_of_the_axes_and_runs_nothing() {
    let bench = Bench::new("sorting");
    let ran = bench.run(&["SORT-1", "--param", "len=7,0007,8", "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    for case in
        ["SORT-1/len=7/stable", "SORT-1/len=7/unstable", "SORT-1/len=8/stable", "SORT-1/len=8/unstable"]
    {
        assert_eq!(ran.stdout.matches(&format!("  {case}\n")).count(), 1, "{}", ran.all());
    }
    assert!(bench.runs().is_empty());
}

#[test]
fn every_way_of_sharing_a_process_gives_a_whole_run() {
    for isolation in ["repeat", "case", "run", "none"] {
        let bench = Bench::new("sorting");
        let ran = bench.run(&["--quick", "--measurement-time", "0.002", "--isolation", isolation]);
        assert_eq!(ran.code, Some(0), "{isolation}: {}", ran.all());
    }
}

#[test]
fn cargo_hands_the_exit_code_on_unless_it_is_told_not_to_fail_fast() {
    let wrong = ["--bench", "sorting", "--", "--param", "len=many"];
    let plain = Ran::of(&mut cargo(&[&["bench"], &wrong[..]].concat()));
    assert_eq!(plain.code, Some(2), "{}", plain.all());
    let all = Ran::of(&mut cargo(&[&["bench", "--no-fail-fast"], &wrong[..]].concat()));
    assert_eq!(all.code, Some(101), "{}", all.all());
}
