//! `--versus`, `--versus-adapter` and `--versus-param`: two sides in turns.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Stdio;

use serde_json::Value;

use crate::external::{Bench, ProcessEnd};
use crate::kill::interrupt;

/// One case of the downstream crate's suite, measured as shortly as a duel can be.
const CASE: [&str; 3] = ["SORT-1", "--param", "len=20000"];

#[test]
fn two_adapters_of_one_scenario_are_measured_in_turns() {
    let bench = Bench::new("sorting");
    let file = bench.data().join("comparison.json");
    let name = file.display().to_string();
    let ran = bench.run(&[&CASE[..], &["--versus-adapter", "stable", "--comparison", &name]].concat());
    assert!(matches!(ran.code, Some(0 | 3 | 5)), "{}", ran.all());
    assert!(ran.stdout.contains("in a duel with `stable`"), "{}", ran.all());
    let comparison: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(comparison["method"], "duel");
    let rows = comparison["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{comparison}");
    assert_eq!(rows[0]["case"]["adapter"], "unstable");
    let rounds = rows[0]["rounds"]["shifts"].as_array().unwrap().len();
    assert!([8, 12, 16, 24].contains(&rounds), "{rounds}");
    assert!(comparison["environment"]["software"]["commit"].is_string(), "{comparison}");
    let left: Vec<_> = fs::read_dir(bench.data().join("duels")).unwrap().collect();
    assert_eq!(left.len(), 1, "the duel is kept, its scratch is gone: {left:?}");
}

#[test]
fn two_values_of_an_axis_are_measured_in_turns_with_all_else_alike() {
    let bench = Bench::new("sorting");
    let file = bench.data().join("comparison.json");
    let name = file.display().to_string();
    let flags = ["SUM-1", "--param", "len=1000,2000", "--versus-param", "len=1000", "--comparison", &name];
    let ran = bench.run(&flags);
    assert!(matches!(ran.code, Some(0 | 3 | 5)), "{}", ran.all());
    assert!(ran.stdout.contains("in a duel with `len=1000`"), "{}", ran.all());
    let comparison: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let rows = comparison["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "the other value with this one: {comparison}");
    assert!(rows[0]["rounds"]["shifts"].as_array().is_some_and(|shifts| shifts.len() >= 8), "{comparison}");
}

#[test]
fn two_values_of_an_axis_with_which_other_work_is_done_are_not_judged() {
    let bench = Bench::new("sorting");
    let file = bench.data().join("comparison.json");
    let name = file.display().to_string();
    let flags = ["SORT-1", "--param", "len=1000,20000", "--versus-param", "len=1000", "--comparison", &name];
    let ran = bench.run(&flags);
    // Twenty times the numbers are other work.
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    assert!(ran.stderr.contains("the two do other work"), "{}", ran.all());
    assert!(ran.stdout.contains("in a duel with `len=1000`"), "{}", ran.all());
    let comparison: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let rows = comparison["rows"].as_array().unwrap();
    let adapters: Vec<_> = rows.iter().map(|row| row["case"]["adapter"].as_str().unwrap()).collect();
    assert_eq!(adapters.len(), 2, "each adapter with itself: {comparison}");
    assert!(adapters.contains(&"stable") && adapters.contains(&"unstable"), "{adapters:?}");
}

/// A duel of the two adapters on two cases, interrupted as soon as it has said a line that is waited for; and
/// what it stored.
fn interrupted(flags: &[&str], at: impl Fn(&str) -> bool) -> (ProcessEnd, Value) {
    let bench = Bench::new("sorting");
    let mut command = bench.command(&["SORT-1", "--versus-adapter", "stable"]);
    let mut child = command.args(flags).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let mut stderr = String::new();
    for line in said.by_ref() {
        stderr.push_str(&line);
        stderr.push('\n');
        if at(&line) {
            interrupt(&child);
            break;
        }
    }
    stderr.extend(said.map(|line| line + "\n"));
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let ran = ProcessEnd { code: output.status.code(), stdout, stderr };
    let files = fs::read_dir(bench.data().join("duels")).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|file| file.is_file()).collect();
    assert_eq!(files.len(), 1, "{files:?} {}", ran.all());
    assert!(ran.stderr.contains("-- --resume "), "{}", ran.all());
    let stored: Value = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
    (ran, stored["record"].clone())
}

#[test]
fn ctrl_c_in_a_duel_keeps_what_is_decided_and_exits_with_130() {
    let (ran, comparison) = interrupted(&["--param", "len=1000,20000"], |line| {
        line.starts_with("[1/2]") && !line.contains("not decided yet")
    });
    assert_eq!(ran.code, Some(130), "{}", ran.all());
    let rows = comparison["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{comparison}");
    assert!(rows[0]["rounds"]["shifts"].as_array().is_some_and(|rounds| rounds.len() >= 8), "{comparison}");
    assert_eq!(rows[1]["verdict"]["inconclusive"]["broken-off"], "interrupt", "{comparison}");
    assert!(ran.stdout.contains("exit=130"), "{}", ran.all());
}

#[test]
fn ctrl_c_while_a_regression_is_confirmed_leaves_it_unconfirmed_and_exits_with_130() {
    let (ran, comparison) =
        interrupted(&["--param", "len=20000", "--inject", "1.5"], |line| line.starts_with("confirming"));
    assert_eq!(ran.code, Some(130), "{}", ran.all());
    let why = &comparison["rows"][0]["verdict"]["inconclusive"];
    assert_eq!(why["broken-off-unconfirmed"], "interrupt", "{comparison}");
}

/// The journalled rounds of the only duel that has not ended, by the file's name, each with what tells it
/// from a file that was written in its place.
fn rounds(bench: &Bench) -> BTreeMap<String, (u64, i64)> {
    let folders = fs::read_dir(bench.data().join("duels")).into_iter().flatten().flatten();
    let rounds = folders.filter_map(|folder| fs::read_dir(folder.path().join("rounds")).ok());
    let files = rounds.flatten().flatten().filter_map(|file| {
        let found = file.metadata().ok()?;
        let name = file.file_name().to_string_lossy().into_owned();
        (!name.starts_with('.')).then(|| (name, (found.ino(), found.mtime_nsec())))
    });
    files.collect()
}

#[test]
fn a_duel_that_was_killed_goes_on_and_repeats_no_finished_round() {
    let bench = Bench::new("sorting");
    let mut command = bench.command(&["SORT-1", "--versus-adapter", "stable", "--param", "len=1000,20000"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while rounds(&bench).len() < 4 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let finished = rounds(&bench);
    assert!(finished.len() >= 4, "{finished:?}");
    let folders = fs::read_dir(bench.data().join("duels")).unwrap();
    let id = folders.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).next().unwrap();

    let mut command = bench.command(&["--resume", &id]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut more = false;
    while child.try_wait().unwrap().is_none() {
        let now = rounds(&bench);
        more |= now.len() > finished.len();
        for (name, file) in &finished {
            assert!(now.get(name).is_none_or(|now| now == file), "{name} was measured twice");
        }
        std::thread::yield_now();
    }
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 3 | 5)), "{said}");
    assert!(more, "the rounds that were missing were measured: {said}");
    let file = bench.data().join("duels").join(format!("{id}.json"));
    let stored: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let comparison = &stored["record"];
    let rows = comparison["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{comparison}");
    assert!(
        rows.iter().all(|row| row["rounds"]["shifts"].as_array().is_some_and(|rounds| rounds.len() >= 8))
    );
    assert!(!bench.data().join("duels").join(&id).exists(), "the journal goes with the end of the duel");
    // What has ended is not gone on with.
    let again = bench.run(&["--resume", &id]);
    assert_eq!(again.code, Some(2), "{}", again.all());
}

/// A program that lists the cases of the downstream crate's suite, and whose children greet so and say no
/// more.
fn greeting(bench: &Bench, hello: &str) -> String {
    let listing = bench.data().join("listing.json");
    fs::write(&listing, bench.run(&["--list", "--format", "json"]).stdout).unwrap();
    let script = bench.data().join("other");
    let text = format!(
        "#!/bin/sh\nif [ \"$1\" = --list ]; then cat '{}'; else printf '\\{:03o}\\000\\000\\000%s' '{hello}' \
         >&0; sleep 5; fi\n",
        listing.display(),
        hello.len()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    script.display().to_string()
}

#[test]
fn a_program_of_another_protocol_is_incomparable_and_the_way_out_is_said() {
    let bench = Bench::new("sorting");
    let older = greeting(&bench, r#"{"Hello":{"version":1}}"#);
    let ran = bench.run(&[&CASE[..], &["--versus", &older]].concat());
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    assert!(ran.stderr.contains("the child speaks version 1"), "{}", ran.all());
    assert!(ran.stderr.contains("Compare with a stored baseline"), "{}", ran.all());
}

#[test]
fn a_program_with_debug_assertions_is_refused_before_anything_is_measured_unless_allowed() {
    let bench = Bench::new("sorting");
    let debug = greeting(&bench, r#"{"Hello":{"version":9,"debug":true}}"#);
    let args = [&CASE[..], &["--versus", &debug, "--timeout", "1"]].concat();
    let ran = bench.run(&args);
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.stderr.contains("built with debug assertions"), "{}", ran.all());
    assert!(fs::read_dir(bench.data().join("duels")).unwrap().next().is_none(), "nothing is kept");
    // With the flag it goes on, and this one has nothing more to say.
    let ran = bench.run(&[&args[..], &["--allow-debug"]].concat());
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    assert!(ran.stderr.contains("no answer after"), "{}", ran.all());
}

#[test]
fn a_bench_program_that_judges_itself_says_so_and_is_asked_for_its_plan_by_whoever_else_judges() {
    let bench = Bench::new("sorting");
    let earlier = bench.data().join("earlier");
    fs::copy(bench.command(&[]).get_program(), &earlier).unwrap();
    let versus = ["--versus", &earlier.display().to_string()];
    let short = ["--measurement-time", "0.002", "--threshold", "50%", "--inconclusive", "pass"];
    let ran = bench.run(&[&CASE[..], &versus, &short].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(ran.stdout.contains("note: the candidate itself has measured and judged"), "{}", ran.all());
    let mut command = bench.bare(&["--weighbridge-duel", "--bench"]);
    let ran = ProcessEnd::of(command.args(CASE));
    let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(plan["cases"].as_array().map(Vec::len), Some(2), "{}", ran.all());
}

#[test]
fn a_dry_run_of_a_duel_measures_nothing() {
    let bench = Bench::new("sorting");
    let ran = bench.run(&[&CASE[..], &["--versus-adapter", "stable", "--dry-run"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(ran.stdout.contains("SORT-1"), "{}", ran.all());
    assert!(!bench.data().join("duels").exists());
}

#[test]
fn what_cannot_be_measured_with_is_a_mistake_that_says_so() {
    let bench = Bench::new("sorting");
    for (flags, expected) in [
        (&["--versus", "/no/such/program"][..], "--versus /no/such/program"),
        (&["--versus", "/bin/true"], "/bin/true is no bench program"),
        (&["--versus", "x", "--versus-adapter", "y"], "choose one"),
        (&["--versus-param", "len=5", "--versus-adapter", "y"], "choose one"),
        (&["--versus-param", "len"], "an axis and its value are due"),
        (&["--inject", "0.02"], "add --versus"),
        (&["--inject", "-1", "--versus", "/bin/true"], "a share such as 0.02"),
    ] {
        let ran = bench.run(&[&CASE[..], flags].concat());
        assert_eq!(ran.code, Some(2), "{flags:?}: {}", ran.all());
        assert!(ran.stderr.contains(expected), "{flags:?}: {}", ran.all());
    }
    let ran = bench.run(&[&CASE[..], &["--versus-param", "len=20000"]].concat());
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    assert!(ran.stderr.contains("name both by `--param len=20000,OTHER`"), "{}", ran.all());
    let ran = bench.run(&[&CASE[..], &["--versus-adapter", "stabel"]].concat());
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.stderr.contains("did you mean `stable`?"), "{}", ran.all());
}
