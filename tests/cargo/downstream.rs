//! The downstream crate is built, benched and judged.

use crate::external::{Bench, ProcessEnd, cargo, xtask};

#[test]
fn cargo_bench_measures_saves_and_judges_a_crate_outside_the_workspace() {
    let bench = Bench::new("sorting");
    let data = bench.data().to_str().unwrap().to_owned();
    let quick = ["bench", "--bench", "sorting", "--", "--profile=quick", "--no-lock", "--data", &data];
    let first = ProcessEnd::of(&mut cargo(&[&quick[..], &["--save-baseline", "main"]].concat()));
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

    let second = ProcessEnd::of(&mut cargo(&quick));
    assert_eq!(second.code, Some(0), "{}", second.all());
    let judged = xtask(&bench, &["compare-baseline", "main", "--threshold", "300%", "--inconclusive=pass"]);
    assert_eq!(judged.code, Some(0), "{}", judged.all());
    assert!(judged.stdout.lines().last().unwrap().starts_with("weighbridge: "), "{}", judged.all());
}

#[test]
fn without_bench_each_case_runs_once_and_nothing_is_stored() {
    let bench = Bench::new("sorting");
    let ran = ProcessEnd::of(&mut bench.bare(&[]));
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
fn a_filter_that_takes_nothing_is_told_in_one_line_and_is_nothing_to_judge() {
    let bench = Bench::new("sorting");
    let nothing = bench.run(&["SORTS-1"]);
    assert_eq!(nothing.code, Some(4), "{}", nothing.all());
    let said = "nothing to measure in the bench target `sorting`: no case matches `SORTS-1` (the nearest \
                scenario is `SORT-1`)";
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
fn a_suite_file_says_what_cargo_bench_runs_and_flags_go_over_it() {
    let bench = Bench::new("sorting");
    let data = bench.data().to_str().unwrap().to_owned();
    let quick = ["bench", "--bench", "sorting", "--", "--profile=quick", "--no-lock", "--data", &data];
    let suite = ["--suite", "suites/sorting.toml"];
    let ran = ProcessEnd::of(&mut cargo(&[&quick[..], &suite, &["--measurement-time", "0.002"]].concat()));
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let note = "suite `sorting`: 2 of 2 benchmarks; 6 cases planned, 0 skipped, 0 points dropped";
    assert!(ran.stderr.contains(note), "{}", ran.all());
    assert!(ran.stdout.contains(" cases=6 measured=6 ") && ran.stdout.contains("SUM-1"), "{}", ran.all());
    let run = std::fs::read_to_string(bench.only_run().join("run.json")).unwrap();
    let repeats = run.contains("\"repeats\":2") || run.contains("\"repeats\": 2");
    assert!(repeats, "the file says how often: {run}");

    let typed = ["--param", "len=9", "--adapter", "stable", "SORT-1", "--dry-run"];
    let ran = bench.run(&[&suite[..], &typed].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(ran.stdout.contains("  SORT-1/len=9/stable\n"), "{}", ran.all());
    assert!(!ran.stdout.contains("unstable") && !ran.stdout.contains("SUM-1"), "{}", ran.all());
}

#[test]
fn what_is_wrong_in_a_suite_file_is_told_with_its_line_and_exit_2() {
    let bench = Bench::new("sorting");
    let file = bench.data().join("mine.toml");
    let name = file.to_str().unwrap();
    for (text, told) in [
        (
            "name = 'x'\nbenchmark = []\n",
            "line 2, column 1: unknown key `benchmark` in a suite; did you mean `benchmarks`?",
        ),
        (
            "name = 'x'\n[[benchmarks]]\nscenario = 'SORT-1'\noptions.lem = 3\n",
            "line 4, column 9: no axis is called `lem`; did you mean `len`?",
        ),
        ("name = 'x\n", "line 1, column "),
    ] {
        std::fs::write(&file, text).unwrap();
        let ran = bench.run(&["--suite", name]);
        assert_eq!(ran.code, Some(2), "{}", ran.all());
        assert!(ran.stderr.contains(&format!("{name}: {told}")), "{}", ran.all());
    }
    let absent = bench.run(&["--suite", "absent.toml"]);
    assert!(
        absent.code == Some(2) && absent.stderr.contains("failed to read absent.toml"),
        "{}",
        absent.all()
    );
    std::fs::rename(&file, bench.data().join("mine.yaml")).unwrap();
    let yaml = bench.run(&["--suite", bench.data().join("mine.yaml").to_str().unwrap()]);
    assert!(yaml.code == Some(2) && yaml.stderr.contains("reads YAML and hands it on"), "{}", yaml.all());
    assert!(bench.runs().is_empty());
}

#[test]
fn every_way_of_sharing_a_process_gives_a_whole_run() {
    for isolation in ["repeat", "case", "run", "none"] {
        let bench = Bench::new("sorting");
        let ran = bench.run(&["--profile=quick", "--measurement-time", "0.002", "--isolation", isolation]);
        assert_eq!(ran.code, Some(0), "{isolation}: {}", ran.all());
    }
}

#[test]
fn cargo_hands_the_exit_code_on_unless_it_is_told_not_to_fail_fast() {
    let wrong = ["--bench", "sorting", "--", "--param", "len=many"];
    let plain = ProcessEnd::of(&mut cargo(&[&["bench"], &wrong[..]].concat()));
    assert_eq!(plain.code, Some(2), "{}", plain.all());
    let all = ProcessEnd::of(&mut cargo(&[&["bench", "--no-fail-fast"], &wrong[..]].concat()));
    assert_eq!(all.code, Some(101), "{}", all.all());
}
