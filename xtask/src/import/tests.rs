//! What is read of each tool, what is refused, and what comes of it.

use std::fs;

use weighbridge::data::{CaseRecord, Direction, Exit, Reading, RunRecord, Unit};

use super::*;
use crate::fixtures::{Home, home};

const DIVAN: &str = "\
Timer precision: 20 ns
sorts            fastest       │ slowest       │ median        │ mean          │ samples │ iters
├─ by_hand       45.74 ns      │ 103.3 ns      │ 46.45 ns      │ 49.38 ns      │ 100     │ 6400
│                1.2 Gitem/s   │ 2.1 Gitem/s   │ 2.2 Gitem/s   │ 2 Gitem/s     │         │
╰─ library                     │               │               │               │         │
   ├─ broken     (ignored)     │               │               │               │         │
   ├─ 10         1.5 µs        │ 2 ms          │ 1.75 µs       │ 1.8 µs        │ 100     │ 100
   ╰─ 1000       1 s           │ 1.5 s         │ 1.25 s        │ 1.3 s         │ 20      │ 20

";

const NVBENCH: &str = r#"{"meta": {"version": {"nvbench": {"string": "0.2.0"}}},
  "devices": [{"id": 0, "name": "Some GPU"}],
  "benchmarks": [{"name": "copy", "index": 0, "states": [
    {"name": "Device=0 Bytes=2^20", "device": 0, "is_skipped": false,
     "axis_values": [{"name": "Bytes", "type": "int64", "value": "1048576"}],
     "summaries": [
      {"tag": "nv/cold/sample_size", "hint": "sample_size", "data": [{"name": "value", "type": "int64", "value": "112"}]},
      {"tag": "nv/cold/time/gpu/mean", "hint": "duration", "data": [{"name": "value", "type": "float64", "value": "2.5e-06"}]},
      {"tag": "nv/cold/time/gpu/stdev/relative", "hint": "percentage", "data": [{"name": "value", "type": "float64", "value": "inf"}]},
      {"tag": "nv/cold/bw/global/bytes_per_second", "hint": "byte_rate", "data": [{"name": "value", "type": "float64", "value": "8e11"}]},
      {"tag": "nv/json/bin:nv/cold/sample_times", "hint": "file/sample_times", "data": [{"name": "filename", "type": "string", "value": "x.bin"}]}]},
    {"name": "Device=0 Bytes=2^60", "device": 0, "is_skipped": true, "skip_reason": "no such memory",
     "axis_values": [{"name": "Bytes", "type": "int64", "value": "1152921504606846976"}], "summaries": null}]}]}"#;

/// As nvbench's own printer writes the benchmarks of a host without a GPU: lists that are empty are null, numbers are texts, a
/// benchmark's own summaries have no hint, and the id of the device that is not there is any number.
const NVBENCH_ON_THE_HOST: &str = r#"{
  "meta": {"argv": ["./host", "--json", "host.json"], "version": {
    "json": {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"},
    "nvbench": {"major": 0, "minor": 1, "patch": 0, "string": "0.1.0", "git_branch": "main", "git_is_dirty": false}}},
  "devices": null,
  "benchmarks": [
    {"name": "copy", "index": 0, "min_samples": 10, "cold_warmup_runs": 1, "skip_time": -1.0, "timeout": 15.0,
     "devices": null, "axes": [{"name": "Kind", "type": "string", "flags": "", "values": [
        {"input_string": "a b", "description": "", "value": "a b"}]}],
     "states": [
      {"name": "Kind=a b", "min_samples": 10, "timeout": 15.0, "device": 1866393056, "type_config_index": 0,
       "axis_values": [{"name": "Kind", "type": "string", "value": "a b"}],
       "summaries": [
        {"tag": "nv/cpu_only/sample_size", "name": "Samples", "hint": "sample_size", "description": "Number of runs",
         "data": [{"name": "value", "type": "int64", "value": "40"}]},
        {"tag": "nv/cpu_only/time/cpu/mean", "name": "CPU Time", "hint": "duration", "description": "Mean time",
         "data": [{"name": "value", "type": "float64", "value": "3.25e-05"}]},
        {"tag": "nv/cpu_only/time/cpu/stdev/absolute", "name": "Noise", "hint": "percentage", "description": "Spread",
         "hide": "Hidden by default.", "data": [{"name": "value", "type": "float64", "value": "1.3e-06"}]},
        {"tag": "nv/cpu_only/time/cpu/stdev/relative", "name": "Noise", "hint": "percentage", "description": "Spread",
         "data": [{"name": "value", "type": "float64", "value": "0.04"}]},
        {"tag": "nv/python/Balance", "name": "Balance", "description": "User tag: Balance",
         "data": [{"name": "value", "type": "int64", "value": "-3"}]},
        {"tag": "nv/python/Words", "name": "Words", "description": "User tag: Words",
         "data": [{"name": "value", "type": "string", "value": "a\"b"}]},
        {"tag": "nv/python/Empty", "name": "Empty"}],
       "is_skipped": false},
      {"name": "Kind=a b", "device": 0, "axis_values": null, "summaries": null, "is_skipped": true,
       "skip_reason": "no such memory"}]},
    {"name": "filtered", "index": 1, "devices": null, "axes": null, "states": null}]}"#;

fn pytest(times: &[f64], cpu: &str) -> String {
    let data: Vec<String> = times.iter().map(f64::to_string).collect();
    format!(
        r#"{{"machine_info": {{"cpu": {{"brand_raw": "{cpu}", "count": 2}}, "machine": "x86_64", "system": "Linux",
            "python_implementation": "CPython", "python_version": "3.13.1"}},
            "commit_info": {{"id": "0123abcd", "dirty": true}}, "version": "5.2.0", "benchmarks": [
            {{"fullname": "test_x.py::test_sum[10]", "param": "10", "params": {{"n": 10}}, "stats":
            {{"min": 1e-6, "max": 3e-6, "mean": 2e-6, "median": 2e-6, "iterations": 5, "data": [{}]}}}}]}}"#,
        data.join(", ")
    )
}

pub(super) fn hyperfine(times: &[f64]) -> String {
    let times: Vec<String> = times.iter().map(f64::to_string).collect();
    format!(
        r#"{{"results": [{{"command": "ls -a", "times": [{}], "exit_codes": [0, 1]}}]}}"#,
        times.join(", ")
    )
}

/// Writes a benchmark as criterion does, with samples of 1, 2 and 3 times 1000 iterations.
fn criterion(folder: &Path, id: &str, nanoseconds: f64) {
    let folder = folder.join(id.replace('/', "_")).join("new");
    fs::create_dir_all(&folder).expect("writable");
    let named = format!(
        r#"{{"group_id": "{id}", "function_id": "stable", "value_str": "100", "throughput": {{"Elements": 100}}}}"#
    );
    fs::write(folder.join("benchmark.json"), named).expect("writable");
    let times: Vec<String> = [1_000.0, 2_000.0, 3_000.0].map(|of| (of * nanoseconds).to_string()).into();
    let samples = format!(
        r#"{{"sampling_mode": "Linear", "iters": [1000.0, 2000.0, 3000.0], "times": [{}]}}"#,
        times.join(", ")
    );
    fs::write(folder.join("sample.json"), samples).expect("writable");
    let estimates =
        r#"{"mean": {"point_estimate": 12.0}, "median": {"point_estimate": 11.0}, "slope": null}"#;
    fs::write(folder.join("estimates.json"), estimates).expect("writable");
}

fn args(tool: &str, files: &[&Path]) -> Import {
    let files = files.iter().map(|file| file.to_path_buf()).collect();
    Import { tool: tool.to_owned(), files, saved: "new".to_owned() }
}

/// Imports texts, each as a file.
pub(super) fn imported(home: &Home, tool: &str, texts: &[String]) -> Result<Said> {
    let mut files = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        files.push(home.directory.path().join(format!("file-{at}")));
        fs::write(&files[at], text).expect("writable");
    }
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    run(&args(tool, &files), &home.place)
}

/// The run that was stored last.
pub(super) fn newest(home: &Home) -> RunRecord {
    let runs = home.place.runs();
    let listed = runs.list().expect("readable").runs;
    runs.load_whole(&listed[0].id).expect("it holds together")
}

fn value(case: &CaseRecord, metric: &str) -> Vec<f64> {
    let metric = case.metric(metric).unwrap_or_else(|| panic!("no {metric}: {:?}", case.metrics));
    metric.values.iter().filter_map(Reading::value).collect()
}

fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }
}

#[test]
fn criterions_folder_is_read_with_names_points_throughput_and_samples_of_any_length() {
    let home = home();
    let folder = home.directory.path().join("criterion");
    criterion(&folder, "sort/numbers", 12.5);
    criterion(&folder, "sort/words", 0.4);
    // What criterion keeps besides is no benchmark.
    fs::create_dir_all(folder.join("report/new")).expect("writable");
    run(&args("criterion", &[&folder]), &home.place).expect("imported");
    let stored = newest(&home);
    assert_eq!(stored.manifest.suite, "imported/criterion");
    let names: Vec<String> = stored.cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(names, ["sort/numbers/stable/value=100", "sort/words/stable/value=100"]);
    near(&value(&stored.cases[0], "wall_time"), &[12.5e-9]);
    near(&value(&stored.cases[1], "wall_time"), &[0.4e-9]);
    near(&value(&stored.cases[0], "throughput"), &[100.0 / 12.5e-9]);

    let one = folder.join("sort_numbers/new/estimates.json");
    run(&args("criterion", &[&one]), &home.place).expect("imported");
    let case = &newest(&home).cases[0];
    assert_eq!(case.primary_metric, "median");
    near(&value(case, "median"), &[11e-9]);
    let other = run(&Import { saved: "main".into(), ..args("criterion", &[&folder]) }, &home.place);
    assert!(other.expect_err("nothing is saved so").to_string().contains("saved as `main`"));
}

#[test]
fn divans_tree_is_read_with_units_groups_and_what_was_left_out() {
    let home = home();
    let said = imported(&home, "divan", &[DIVAN.to_owned()]).expect("imported");
    assert_eq!(said.remarks, ["note: divan left out `sorts/library/broken`"]);
    let cases = newest(&home).cases;
    let names: Vec<String> = cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(names, ["sorts/by_hand", "sorts/library/10", "sorts/library/1000"]);
    near(&value(&cases[0], "fastest"), &[45.74e-9]);
    near(&value(&cases[1], "slowest"), &[2e-3]);
    near(&value(&cases[1], "median"), &[1.75e-6]);
    near(&value(&cases[2], "mean"), &[1.3]);
    near(&value(&cases[2], "samples"), &[20.0]);
}

#[test]
fn every_process_of_hyperfine_is_one_and_failed_ones_are_told() {
    let home = home();
    let said = imported(&home, "hyperfine", &[hyperfine(&[0.01, 0.02])]).expect("imported");
    assert!(said.remarks[0].contains("`ls -a`: 1 of 2 processes ended with another exit code"), "{said:?}");
    let cases = newest(&home).cases;
    assert_eq!(cases[0].id.to_string(), "COMMAND/ls -a");
    near(&value(&cases[0], "wall_time"), &[0.01, 0.02]);
}

#[test]
fn pytests_rounds_parameters_machine_and_commit_are_read() {
    let home = home();
    imported(&home, "pytest-benchmark", &[pytest(&[2e-6, 4e-6, 3e-6], "Abacus 9")]).expect("imported");
    let stored = newest(&home);
    assert_eq!(stored.cases[0].id.to_string(), "test_x.py::test_sum/n=10");
    near(&value(&stored.cases[0], "wall_time"), &[3e-6]);
    let environment = &stored.manifest.environment;
    assert_eq!(environment.machine["cpu model"], "Abacus 9");
    assert_eq!(
        (&*environment.software["commit"], &*environment.software["working tree"]),
        ("0123abcd", "dirty")
    );
    assert_eq!(stored.manifest.imported.expect("it is").version.as_deref(), Some("5.2.0"));
    // Saved without its rounds, it has the figures of them.
    imported(&home, "pytest-benchmark", &[pytest(&[], "Abacus 9")]).expect("imported");
    assert_eq!(newest(&home).cases[0].primary_metric, "median");
}

#[test]
fn nvbenchs_states_are_read_as_it_states_them_and_skipped_ones_are_told() {
    let home = home();
    let said = imported(&home, "nvbench", &[NVBENCH.to_owned()]).expect("imported");
    assert_eq!(said.remarks, ["note: left out `copy` at Device=0 Bytes=2^60: no such memory"]);
    let stored = newest(&home);
    assert_eq!(stored.manifest.active_backend, "gpu");
    assert_eq!(stored.manifest.environment.machine["gpu 0"], "Some GPU");
    let case = &stored.cases[0];
    assert_eq!((&*case.id.to_string(), &*case.primary_metric), ("copy/Bytes=1048576", "cold/time/gpu/mean"));
    near(&value(case, "cold/time/gpu/mean"), &[2.5e-6]);
    near(&value(case, "cold/bw/global/bytes_per_second"), &[8e11]);
    assert!(case.metric("cold/time/gpu/stdev/relative").is_none(), "it is no number");
}

#[test]
fn nvbenchs_benchmarks_of_a_host_without_a_gpu_are_read_and_its_absolute_deviation_is_a_time() {
    let home = home();
    imported(&home, "nvbench", &[NVBENCH_ON_THE_HOST.to_owned()]).expect("imported");
    let stored = newest(&home);
    assert_eq!(stored.manifest.active_backend, "cpu");
    let [case] = &stored.cases[..] else { panic!("{:?}", stored.cases) };
    assert_eq!((&*case.id.to_string(), &*case.primary_metric), ("copy/Kind=a b", "cpu_only/time/cpu/mean"));
    near(&value(case, "cpu_only/time/cpu/mean"), &[3.25e-5]);
    near(&value(case, "python/Balance"), &[-3.0]);
    let unit = |name: &str| case.metric(name).map(|metric| (metric.unit.clone(), metric.direction));
    let information = |unit| Some((unit, Direction::Information));
    assert_eq!(unit("cpu_only/time/cpu/stdev/absolute"), information(Unit::SECONDS));
    assert_eq!(unit("cpu_only/time/cpu/stdev/relative"), information(Unit::RATIO));
    assert!(unit("python/Words").is_none() && unit("python/Empty").is_none());
    // A listing has no states, and so no benchmark was measured.
    let listing = r#"{"devices": null, "benchmarks": [{"name": "copy", "index": 0, "axes": []}]}"#;
    let error = imported(&home, "nvbench", &[listing.to_owned()]).expect_err("nothing was measured");
    assert!(error.to_string().contains("holds no benchmark of nvbench"), "{error}");
}

#[test]
fn what_is_broken_cut_or_of_another_tool_is_refused_by_name_and_nothing_is_stored() {
    let home = home();
    let good = [
        ("hyperfine", hyperfine(&[0.01, 0.02])),
        ("pytest-benchmark", pytest(&[2e-6], "x")),
        ("nvbench", NVBENCH.to_owned()),
        ("divan", DIVAN.to_owned()),
    ];
    let mut refused = 0;
    for (tool, text) in &good {
        let mut bad: Vec<String> =
            good.iter().filter(|(other, _)| other != tool).map(|(_, text)| text.clone()).collect();
        bad.extend(["", "{}", "[]", "null", "no such thing"].map(str::to_owned));
        // Cut wherever a line or a field ends. The last line of divan's table is blank.
        let ends = text.char_indices().filter(|(_, letter)| "\n,}│".contains(*letter)).map(|(at, _)| at);
        let last = text.trim_end().len() - 1;
        bad.extend(
            ends.filter(|at| *at < last && (*tool != "divan" || *at > 120)).map(|at| text[..at].to_owned()),
        );
        for text in bad {
            let error =
                imported(&home, tool, std::slice::from_ref(&text)).expect_err(&format!("{tool}: {text}"));
            assert_eq!(stop::exit(&error), Exit::Usage, "{tool}: {text}: {error:#}");
            assert!(error.to_string().contains("file-0`"), "{error:#}");
            refused += 1;
        }
    }
    assert!(refused > 60, "{refused}");
    let numbers = [hyperfine(&[-0.01, 0.02]), hyperfine(&[1e300]), hyperfine(&[])];
    for text in numbers {
        imported(&home, "hyperfine", &[text]).expect_err("no times");
    }
    let missing = home.directory.path().join("nowhere");
    for tool in TOOLS {
        run(&args(tool.name, &[&missing]), &home.place).expect_err("there is no such file");
        run(&args(tool.name, &[home.directory.path()]), &home.place).expect_err("a folder of something else");
    }
    assert!(home.place.runs().list().expect("readable").runs.is_empty(), "nothing is stored");
}

#[test]
fn files_of_several_processes_are_one_run_and_copies_and_other_machines_are_none() {
    let home = home();
    let texts: Vec<String> = (1..=6).map(|n| pytest(&[f64::from(n) * 1e-6, 2e-6], "Abacus 9")).collect();
    imported(&home, "pytest-benchmark", &texts).expect("imported");
    assert_eq!(value(&newest(&home).cases[0], "wall_time").len(), 6);
    let error =
        imported(&home, "pytest-benchmark", &[texts[0].clone(), texts[0].clone()]).expect_err("a copy");
    assert!(error.to_string().contains("hold the same measurement"), "{error}");
    let elsewhere = pytest(&[5e-6], "Abacus 10");
    let error = imported(&home, "pytest-benchmark", &[texts[0].clone(), elsewhere]).expect_err("elsewhere");
    assert!(
        error.to_string().contains("another machine") && error.to_string().contains("Abacus 10"),
        "{error}"
    );
}

#[test]
fn names_that_files_cannot_tell_apart_are_numbered() {
    let home = home();
    let result = |name: &str| format!(r#"{{"command": "{name}", "times": [0.5]}}"#);
    let text =
        format!(r#"{{"results": [{}, {}, {}]}}"#, result("ls a"), result("ls  a"), result("ls\\u001b[31m-a"));
    imported(&home, "hyperfine", &[text]).expect("imported");
    let names: Vec<String> = newest(&home).cases.iter().filter_map(|case| case.id.adapter.clone()).collect();
    assert_eq!(names, ["ls a", "ls  a (2)", r"ls\u{1b}[31m-a"], "and no name moves a terminal's cursor");
}

#[test]
fn an_imported_run_is_shown_charted_and_exported_like_any_other() {
    let home = home();
    let folder = home.directory.path().join("criterion");
    criterion(&folder, "sort/numbers", 12.5);
    run(&args("criterion", &[&folder]), &home.place).expect("imported");
    imported(&home, "divan", &[DIVAN.to_owned()]).expect("imported");
    for suite in ["imported/criterion", "imported/divan"] {
        let args = crate::cli::Summary { run: None, suite: Some(suite.to_owned()) };
        let said = crate::summary::run(&args, &home.place).expect("summed up").text;
        assert!(said.contains("12.5 ns") || said.contains("median 46.5 ns"), "{said}");
        let id = crate::pick::runs(&home.place, None, Some(suite)).expect("picked").runs[0].id.to_string();
        let explain = crate::cli::Explain {
            case: newest_case(&home, suite),
            run: Some(id.clone()),
            suite: None,
            ascii: true,
        };
        crate::explain::run(&explain, &home.place).expect("explained");
        // divan states no rate.
        let formats = crate::export::FORMATS;
        let has_rate = |name: &str| suite == "imported/criterion" || name != "bigger-is-better";
        for format in formats.into_iter().filter(|format| has_rate(format.name)) {
            let out = home.directory.path().join(suite).join(format.name);
            let export = crate::export::Export {
                run: Some(id.clone()),
                ..crate::export::tests::args(format.name, Some(&out))
            };
            crate::export::run(&export, &home.place).expect(format.name);
        }
        let out = home.directory.path().join("page.html");
        let page = crate::report::html::ReportHtml { runs: vec![id], suite: None, out: Some(out.clone()) };
        crate::report::html::run(&page, &home.place).expect("written");
        let page = fs::read_to_string(out).expect("written");
        assert!(page.contains(suite) && page.contains(&newest_case(&home, suite)), "it names what it shows");
    }
}

fn newest_case(home: &Home, suite: &str) -> String {
    let run = crate::pick::runs(&home.place, None, Some(suite)).expect("picked").runs.remove(0);
    run.planned.cases[0].to_string()
}
