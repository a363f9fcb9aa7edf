//! Bench files of other harnesses, as they are, under the crates that stand in the place of those.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::external::{Bench, ProcessEnd, clean, root, target};

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
    let picked = bench.run(&["^sort/stable/100$", "--dry-run"]);
    assert!(
        picked.stdout.contains("sort/stable/100  ") && !picked.stdout.contains("stable/1000"),
        "{}",
        picked.all()
    );
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

/// The names of all cases that a listing has.
fn listed(ran: &ProcessEnd) -> Vec<String> {
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    ran.stdout.lines().filter_map(|line| line.strip_suffix(": benchmark")).map(str::to_owned).collect()
}

/// The names for people of what a run measures, and its failures.
fn planned(bench: &Bench, args: &[&str]) -> Vec<String> {
    let ran = bench.run(&[args, &["--quick", "--dry-run"]].concat());
    let lines = ran.stdout.lines().filter_map(|line| line.strip_prefix("  "));
    lines.map(|line| line.split("  ").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_benchmark_that_is_called_like_a_group_and_one_that_a_closure_makes_possible_are_found() {
    let bench = Bench::new("criterion_cases");
    let all = planned(&bench, &[]);
    for case in ["parse", "parse/short", "maker", "user", "pooled", "before the panic", "twice", "twice (2)"]
    {
        assert_eq!(all.iter().filter(|planned| *planned == case).count(), 1, "{case}: {all:?}");
    }
    let mut other_way_round = bench.command(&["^parse", "--quick", "--dry-run"]);
    let ran = ProcessEnd::of(other_way_round.env("GROUP_FIRST", "1"));
    assert!(ran.stdout.contains("  parse\n") && ran.stdout.contains("  parse/short\n"), "{}", ran.all());
    let twice =
        "two benchmarks are called `twice`, in `doubled` and in `doubled`: the latter is `twice (2)` here";
    let ran = bench.run(&["^(parse|maker|user|pooled|twice)", "--quick"]);
    assert!(ran.code == Some(0) && ran.stderr.contains(twice), "{}", ran.all());
    assert!(ran.stdout.contains("measured=7"), "{}", ran.all());
}

#[test]
fn a_panic_outside_closures_is_one_failed_case_with_its_functions_name() {
    let bench = Bench::new("criterion_cases");
    let ran = bench.run(&["before the panic", "^panics$", "--quick"]);
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    assert!(ran.all().contains("`panics` panicked outside its closures: no such file"), "{}", ran.all());
    assert!(ran.stdout.contains("cases=2 measured=1"), "{}", ran.all());
}

#[test]
fn a_benchmark_beside_threads_that_end_behind_it_is_measured() {
    let bench = Bench::new("criterion_cases");
    let ran = bench.run(&["^beside", "--quick"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(ran.stdout.contains("cases=2 measured=2"), "{}", ran.all());
}

#[test]
fn names_that_differ_in_signs_case_and_scripts_are_kept_and_have_two_forms() {
    let bench = Bench::new("criterion_cases");
    let names = listed(&bench.run(&["^names", "--list", "--format", "terse"]));
    assert_eq!(names.len(), 10, "{names:?}");
    let hashed = names.iter().find(|name| name.starts_with("names::vec-")).expect("a hash tells it apart");
    let ran = bench.run(&["^names/", "--quick"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("cases=10 measured=10"), "{}", ran.all());
    for name in ["a + b", "a - b", "-0", "vec", "漢字", "hören"] {
        assert!(ran.stdout.contains(name), "{name}: {}", ran.all());
    }
    assert_eq!(planned(&bench, &[hashed]).len(), 1);
    assert_eq!(planned(&bench, &["names::vec"]).len(), 2, "the form without the hash");
    assert_eq!(planned(&bench, &["names/a - b"]), ["names/a - b"]);
}

#[test]
fn a_baseline_is_called_as_a_branch_is_and_a_filter_that_takes_nothing_is_told() {
    let bench = Bench::new("criterion_cases");
    let saved = bench.run(&["^pooled$", "--quick", "--save-baseline", "feature/x"]);
    assert!(saved.code == Some(0) && saved.stderr.contains("baseline `feature/x`"), "{}", saved.all());
    let nothing = bench.run(&["^pool$"]);
    assert!(
        nothing.code == Some(4) && nothing.stderr.contains("no case matches `^pool$`"),
        "{}",
        nothing.all()
    );
}

#[test]
fn what_criterion_takes_runs_here_and_what_means_nothing_is_noted() {
    let bench = Bench::new("criterion_surface");
    let ran = bench.run(&["--quick"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(ran.stdout.contains("cases=13 measured=13"), "{}", ran.all());
    for noted in ["output_directory", "plotting_backend", "save_baseline", "retain_baseline", "with_profiler"]
    {
        assert_eq!(ran.stderr.matches(&format!("note: `{noted}`")).count(), 1, "{noted}: {}", ran.all());
    }
    for row in
        ["by reference", "modelled", "free", "future of inputs", "taken", "own", "by hand", "of before", "70"]
    {
        assert!(ran.stdout.contains(row), "{row}: {}", ran.all());
    }
    assert!(!ran.stdout.contains("not taken"), "the file's own filter: {}", ran.all());
    assert_eq!(planned(&bench, &["not taken"]), ["not taken"], "a filter of the command line goes before it");
    let case = std::fs::read_to_string(bench.only_run().join("cases/own.json")).expect("it was measured");
    assert!(case.contains("own_measurement") && case.contains("\"steps\""), "{case}");
}

#[test]
fn a_file_with_a_main_of_its_own_is_found_and_measured() {
    let bench = Bench::new("criterion_own_main");
    assert_eq!(planned(&bench, &[]), ["first", "grouped/one", "last"]);
    let ran = bench.run(&["--quick"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("cases=3 measured=3"), "{}", ran.all());
}

#[test]
fn arguments_that_differ_in_signs_or_not_at_all_are_cases_of_divan() {
    let bench = Bench::new("divan-signs");
    let expected = [
        "inner::doubled/1",
        "inner::doubled/1 (2)",
        "inner::signs/==",
        "inner::signs/!=",
        "inner::signs/<=",
        "other",
    ];
    assert_eq!(planned(&bench, &[]), expected);
    assert_eq!(planned(&bench, &["^inner::signs::==$"]), ["inner::signs/=="]);
    let ran = bench.run(&["--quick"]);
    assert!(ran.code == Some(0) && ran.stdout.contains("cases=6 measured=6"), "{}", ran.all());
}

#[test]
fn a_function_that_panicked_for_want_of_a_file_is_measured_once_the_file_is_there() {
    let package = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = package.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let drop_in = root().join("runtime/criterion").display().to_string();
    write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"needs-a-file\"\nedition = \"2024\"\n\n[lib]\nbench = false\n\n\
             [dev-dependencies.criterion]\npackage = \"weighbridge-criterion\"\npath = \"{drop_in}\"\n\n\
             [[bench]]\nname = \"needs\"\nharness = false\n\n[profile.bench.package.weighbridge]\n\
             opt-level = 0\n\n[workspace]\n"
        ),
    );
    write("src/lib.rs", "");
    write(
        "benches/needs.rs",
        "use criterion::{Criterion, criterion_group, criterion_main};\n\n\
         fn needs(c: &mut Criterion) {\n    \
         let text = std::fs::read_to_string(\"needed.txt\").unwrap();\n    \
         c.bench_function(\"length\", |b| b.iter(|| std::hint::black_box(&text).len()));\n}\n\n\
         criterion_group!(benches, needs);\ncriterion_main!(benches);\n",
    );
    fs::copy(root().join("Cargo.lock"), package.path().join("Cargo.lock")).unwrap();
    let bench = || {
        let mut command = Command::new(env!("CARGO"));
        command.args(["bench", "--", "--quick", "--no-lock", "--measurement-time", "0.002"]);
        command.current_dir(package.path()).env("CARGO_TARGET_DIR", target().join("packages"));
        clean(command.env_remove("CARGO_MAKEFLAGS").stdin(Stdio::null()));
        ProcessEnd::of(&mut command)
    };
    let without = bench();
    assert_eq!(without.code, Some(6), "{}", without.all());
    write("needed.txt", "words");
    let with = bench();
    assert!(with.code == Some(0) && with.stdout.contains("cases=1 measured=1"), "{}", with.all());
}
