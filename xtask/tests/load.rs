//! `cargo weighbridge load` against a mock server whose times and lies are known.
//!
//! No bound of time is tested: a machine may be as busy as it likes.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use weighbridge::data::{CaseRecord, CaseStatus, Layout, RunRecord, Runs};
use weighbridge_load::mock::{Behaviour, MockFault, MockServer};

/// Bounds that a busy machine stays within, and as few requests as say something.
const SHORT: [&str; 8] = ["--tokens", "3", "--words", "5", "--warm-up", "0ms", "--max-delay", "1h"];

fn weighbridge(data: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-weighbridge"));
    command.args(args).arg("--data").arg(data).current_dir(data).stdin(Stdio::null());
    command.output().expect("the program is there")
}

/// Loads a server, with flags of the bench target after those of the line.
fn load(data: &Path, url: &str, args: &[&str], flags: &[&str]) -> Output {
    let data = data.display().to_string();
    let mut line = vec!["load", url, "--data", &data];
    line.extend(SHORT);
    if !args.contains(&"--length") {
        line.extend(["--length", "200ms"]);
    }
    line.extend(args);
    line.extend(["--", "--no-lock"]);
    line.extend(flags);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-weighbridge"));
    command.args(line).current_dir(&data).stdin(Stdio::null()).output().expect("the program is there")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The newest run of a data directory.
fn newest(data: &Path) -> RunRecord {
    let runs = Runs::new(Layout::new(data));
    let newest = runs.newest_first().unwrap().next().expect("there is a run");
    runs.load(&newest.id).unwrap()
}

fn honest() -> MockServer {
    let between = Duration::from_millis(1);
    MockServer::start(Behaviour { first: Duration::from_millis(5), between, ..Behaviour::default() }).unwrap()
}

fn median(case: &CaseRecord, metric: &str) -> f64 {
    let found = case.metric(metric).and_then(|metric| metric.estimate);
    found.unwrap_or_else(|| panic!("{metric} of {}", case.id)).median
}

#[test]
fn a_level_is_a_case_and_a_window_a_repeat_and_every_other_command_reads_them() {
    let (server, data) = (honest(), tempfile::tempdir().unwrap());
    let ran =
        load(data.path(), &server.url(), &["--users", "1,2", "--windows", "2"], &["--save-baseline", "main"]);
    assert_eq!(ran.status.code(), Some(0), "{}", said(&ran));
    let run = newest(data.path());
    let cases: Vec<String> = run.cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(cases, ["LOAD/1 user/server", "LOAD/2 users/server"]);
    for case in &run.cases {
        assert_eq!((&case.status, &*case.primary_metric), (&CaseStatus::Measured, "answer_p50"));
        assert_eq!(case.metric("ttft_p50").unwrap().values.len(), 2, "one value for each window");
        assert!(median(case, "ttft_p50") >= 0.005 && median(case, "answer_p50") >= 0.007);
        assert!(median(case, "answer_rate") > 0.0 && median(case, "failed_share").abs() < 1e-9);
    }
    let shown = |args: &[&str]| said(&weighbridge(data.path(), args));
    assert!(shown(&["runs", "list"]).contains("inference/load"));
    let summary = shown(&["summary"]);
    assert!(summary.contains("LOAD/2 users") && summary.contains("answer_p50"), "{summary}");
    assert!(shown(&["export", "csv"]).contains("answer_p50,s,lower"));
    let again =
        load(data.path(), &server.url(), &["--users", "1,2", "--windows", "1"], &["--baseline", "main"]);
    assert!(said(&again).contains("against the stored baseline `main`"), "{}", said(&again));
    let judged = shown(&["compare-baseline", "main"]);
    assert!(judged.contains("LOAD/2 users/server  answer_p50"), "{judged}");
}

#[test]
fn a_row_that_does_not_stand_is_a_failed_case_with_its_reasons() {
    let data = tempfile::tempdir().unwrap();
    let fault = Some((MockFault::NoDone, 2));
    let server = MockServer::start(Behaviour { fault, ..Behaviour::default() }).unwrap();
    let ran = load(data.path(), &server.url(), &["--windows", "1", "--requests", "40"], &[]);
    assert_eq!(ran.status.code(), Some(6), "{}", said(&ran));
    assert!(said(&ran).contains("INVALID: ") && said(&ran).contains("x no [DONE]"), "{}", said(&ran));
    let CaseStatus::Failed(why) = &newest(data.path()).cases[0].status else { panic!("it failed") };
    assert!(why.to_string().contains("were cut, empty or shorter than asked"), "{why}");
}

#[test]
fn a_server_that_nobody_runs_is_a_failed_case_and_no_panic() {
    let data = tempfile::tempdir().unwrap();
    let gone = honest().url();
    let ran = load(data.path(), &gone, &["--windows", "1"], &[]);
    assert_eq!(ran.status.code(), Some(6), "{}", said(&ran));
    assert!(said(&ran).contains("connection refused"), "{}", said(&ran));
}

#[test]
fn runs_with_other_lengths_are_not_compared() {
    let (server, data) = (honest(), tempfile::tempdir().unwrap());
    let windows = ["--windows", "1", "--requests", "20"];
    let ran = load(data.path(), &server.url(), &windows, &["--save-baseline", "main"]);
    assert_eq!(ran.status.code(), Some(0), "{}", said(&ran));
    let ran = load(
        data.path(),
        &server.url(),
        &[&windows[..], &["--think", "1ms"]].concat(),
        &["--baseline", "main"],
    );
    assert_eq!(ran.status.code(), Some(4), "{}", said(&ran));
    let judged = said(&weighbridge(data.path(), &["compare-baseline", "main"]));
    assert!(judged.contains("Incomparable") && judged.contains("1ms of thought"), "{judged}");
}

#[test]
fn a_server_that_gets_slower_from_the_first_window_to_the_last_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let slower = Duration::from_micros(500);
    let server = MockServer::start(Behaviour { slower, ..Behaviour::default() }).unwrap();
    let ran =
        load(data.path(), &server.url(), &["--windows", "2", "--requests", "30", "--length", "1m"], &[]);
    assert_eq!(ran.status.code(), Some(6), "{}", said(&ran));
    assert!(said(&ran).contains("order matters"), "{}", said(&ran));
}

#[test]
fn a_slower_server_is_found_in_turns_and_its_copy_is_not_accused() {
    let (server, copy, data) = (honest(), honest(), tempfile::tempdir().unwrap());
    let slow = Behaviour { first: Duration::from_millis(40), ..Behaviour::default() };
    let slow = MockServer::start(slow).unwrap();
    let duel = |url: &str, other: &str| {
        load(data.path(), url, &["--versus", other, "--length", "1m", "--requests", "20"], &[])
    };
    let found = duel(&slow.url(), &server.url());
    assert_eq!(found.status.code(), Some(3), "{}", said(&found));
    // A busy machine may make it inconclusive.
    let copied = duel(&copy.url(), &server.url());
    assert!(matches!(copied.status.code(), Some(0 | 5)), "{}", said(&copied));
}

#[test]
fn two_settings_of_one_server_are_held_against_each_other_by_name() {
    let (server, data) = (honest(), tempfile::tempdir().unwrap());
    let line = ["--versus-body", "top_p=0.5", "--versus-name", "top", "--requests", "5", "--margin", "100%"];
    let ran = load(data.path(), &server.url(), &line, &[]);
    assert_eq!(ran.status.code(), Some(0), "{}", said(&ran));
    assert!(said(&ran).contains("in a duel with `top`"), "{}", said(&ran));
    for (line, words) in [
        (vec!["--versus-body", "stream=false"], "--no-stream"),
        (vec!["--versus-model", "a", "--versus-name", "Server"], "--versus-name"),
    ] {
        let ran = load(data.path(), &server.url(), &line, &[]);
        assert!(ran.status.code() == Some(2) && said(&ran).contains(words), "{}", said(&ran));
    }
}

/// Waits until a run has so many windows, and gives its name.
fn measured(data: &Path, windows: usize) -> String {
    let runs = Runs::new(Layout::new(data));
    loop {
        let newest = runs.newest_first().ok().and_then(|mut all| all.next());
        if let Some(manifest) = newest {
            let journalled = runs.finished(&manifest.id).unwrap_or_default();
            if journalled.len() >= windows && data.join(format!("load/{}.json", manifest.id)).exists() {
                return manifest.id.to_string();
            }
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_run_that_was_killed_is_gone_on_with_and_what_it_has_measured_stays() {
    let (server, data) = (honest(), tempfile::tempdir().unwrap());
    let folder = data.path().display().to_string();
    let mut line = vec!["load", "--data", &folder];
    let url = server.url();
    line.extend([url.as_str(), "--users", "2", "--windows", "4", "--length", "300ms"]);
    line.extend(SHORT);
    line.extend(["--", "--no-lock"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-weighbridge"));
    command
        .args(line)
        .current_dir(data.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut killed = command.spawn().expect("the program is there");
    let run = measured(data.path(), 1);
    let all_of_it = format!("kill -KILL -{}", killed.id());
    assert!(Command::new("sh").args(["-c", &all_of_it]).status().expect("there is a shell").success());
    killed.wait().expect("it was started");
    let go_on = |flags: &[&str]| {
        let mut line = vec!["load", "--data", &folder, "--resume", &run];
        line.extend(flags);
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-weighbridge"));
        command
            .args(line)
            .current_dir(data.path())
            .stdin(Stdio::null())
            .output()
            .expect("the program is there")
    };
    let typed = go_on(&["--users", "3"]);
    assert!(typed.status.code() == Some(2) && said(&typed).contains("typed again"), "{}", said(&typed));
    let ended = go_on(&["--", "--no-lock"]);
    assert_eq!(ended.status.code(), Some(0), "{}", said(&ended));
    let record = newest(data.path());
    assert_eq!(record.manifest.id.to_string(), run, "it is the same run");
    let [case] = &record.cases[..] else { panic!("one level is a case") };
    assert_eq!(case.metric("answer_p50").unwrap().values.len(), 4, "each window once");
    assert!(said(&ended).contains("2 users"), "{}", said(&ended));
    let again = go_on(&[]);
    assert!(
        again.status.code() == Some(2) && said(&again).contains("nothing to go on with"),
        "{}",
        said(&again)
    );
    let left = std::fs::read_dir(data.path().join("load")).unwrap().count();
    assert_eq!(left, 0, "what was kept of it is gone");
    let hostile = go_on_with(&folder, "../x");
    assert!(
        hostile.status.code() == Some(2) && said(&hostile).contains("no name of a run"),
        "{}",
        said(&hostile)
    );
}

fn go_on_with(data: &str, run: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-weighbridge"));
    command.args(["load", "--data", data, "--resume", run]).current_dir(data).stdin(Stdio::null());
    command.output().expect("the program is there")
}

#[test]
fn the_highest_rate_that_holds_the_targets_has_two_ends_and_one_that_is_not_found_is_said() {
    let (server, data) = (honest(), tempfile::tempdir().unwrap());
    let search = |target: &str, hold: &str| {
        let line = [
            "--find-rate",
            "20:40",
            "--length",
            "500ms",
            "--shape",
            "constant",
            "--hold",
            hold,
            "--target-latency",
            target,
        ];
        load(data.path(), &server.url(), &line, &[])
    };
    let fine = search("1h", "50%");
    assert_eq!(fine.status.code(), Some(0), "{}", said(&fine));
    assert!(said(&fine).contains("at least 40.0000 requests/s"), "{}", said(&fine));
    let run = newest(data.path());
    let [case] = &run.cases[..] else { panic!("a search is a case") };
    assert_eq!(case.id.to_string(), "LOAD/highest of 20 to 40 per s/server");
    assert_eq!((&case.status, &*case.primary_metric), (&CaseStatus::Measured, "highest_rate"));
    assert!((median(case, "highest_rate") - 40.0).abs() < 1e-9 && case.metric("failing_rate").is_none());
    assert!((median(case, "search_windows") - 10.0).abs() < 1e-9, "five at each end");
    let none = search("1us", "50%");
    assert_eq!(none.status.code(), Some(6), "{}", said(&none));
    assert!(said(&none).contains("below 20.0000 requests/s"), "{}", said(&none));
    let few = search("1h", "99%");
    assert!(few.status.code() == Some(2) && said(&few).contains("a longer --length"), "{}", said(&few));
    let without = load(data.path(), &server.url(), &["--find-rate", "10:20"], &[]);
    assert!(
        without.status.code() == Some(2) && said(&without).contains("--target-ttft"),
        "{}",
        said(&without)
    );
}
