//! Workers in a run: an honest one beside the reference, every way to misbehave, every way to cheat.
//!
//! The workers are in Python. Where there is none, these tests are skipped.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::external::{Bench, ProcessEnd, catalogue, two_at_a_time, xtask};

/// Where faults are planted: slices of two fields, or one field that is inverted.
const FEED: &str = "FEED-1";
const INVERTED: &str = "FEED-2";

/// Runs the adapter `Far` with these faults, one case each, in this order.
fn run(bench: &Bench, faults: &[&str], more: &[&str]) -> ProcessEnd {
    run_of(bench, FEED, faults, more)
}

fn run_of(bench: &Bench, scenario: &str, faults: &[&str], more: &[&str]) -> ProcessEnd {
    let param = format!("fault={}", faults.join(","));
    let args = [
        scenario,
        "--param",
        &param,
        "--adapter",
        "Far",
        "--repeats",
        "1",
        "--profile=quick",
        "--order",
        "declared",
    ];
    bench.run(&[&args[..], more].concat())
}

/// The name of a case's files.
fn file_name(scenario: &str, fault: &str) -> String {
    format!("{scenario}@fault={fault}@far").to_lowercase().replace('-', "_")
}

/// The record of a case.
fn record(bench: &Bench, fault: &str) -> Value {
    record_of(bench, FEED, fault)
}

fn record_of(bench: &Bench, scenario: &str, fault: &str) -> Value {
    let file = bench.only_run().join(format!("cases/{}.json", file_name(scenario, fault)));
    let text = fs::read_to_string(&file).unwrap_or_else(|error| {
        let there: Vec<_> = fs::read_dir(bench.only_run().join("cases")).unwrap().flatten().collect();
        panic!("{}: {error}; there are {there:?}", file.display())
    });
    serde_json::from_str::<Value>(&text).unwrap()["record"].clone()
}

/// The failure of a case: how, in which phase, and its words.
fn failure(bench: &Bench, scenario: &str, fault: &str) -> (String, String, String) {
    let repeat = |number: u32| {
        let name = format!("repeats/{}.{number}.json", file_name(scenario, fault));
        let text = fs::read_to_string(bench.only_run().join(name)).ok()?;
        let repeat: Value = serde_json::from_str(&text).unwrap();
        Some(repeat["record"]["repeat"]["outcome"]["failed"].clone())
    };
    let failure = (0..2).filter_map(repeat).find(Value::is_object);
    let failure =
        failure.unwrap_or_else(|| panic!("{fault} did not fail: {:#}", record_of(bench, scenario, fault)));
    let text = |key: &str| failure[key].as_str().map_or(failure[key].to_string(), str::to_owned);
    (text("how"), text("phase"), text("detail"))
}

/// What a fault is called in a run, and words of what is said of it.
type Fault<'a> = (&'a str, &'a str, &'a [&'a str]);

/// Each case fails so, and the honest one after it is measured and agrees.
#[track_caller]
fn check(faults: &[Fault<'_>], more: &[&str]) {
    if !needs::python3() {
        return;
    }
    two_at_a_time(faults, |fault| check_of(FEED, *fault, "honest", more));
}

fn check_of(scenario: &str, (fault, how, words): Fault<'_>, twin: &str, more: &[&str]) {
    let bench = Bench::new("workers");
    let ran = run_of(&bench, scenario, &[fault, twin], more);
    assert_eq!(ran.code, Some(6), "{fault}: {}", ran.all());
    let (found, _, detail) = failure(&bench, scenario, fault);
    assert_eq!(found, how, "{fault}: {detail}");
    for word in words {
        assert!(detail.contains(word), "{fault}: {detail}");
    }
    let honest = record_of(&bench, scenario, twin);
    assert_eq!(honest["status"], "measured", "{fault}: {honest:#}");
    assert_eq!(honest["agreement"], "agrees", "{fault}: {honest:#}");
    assert_nothing_is_left(&bench);
}

/// No process and no folder of the run.
#[track_caller]
fn assert_nothing_is_left(bench: &Bench) {
    let left = carriers(bench);
    assert!(left.is_empty(), "{left:?}");
    let scratch = bench.only_run().join("scratch");
    let there: Vec<_> = fs::read_dir(scratch).into_iter().flatten().flatten().collect();
    assert!(there.is_empty(), "{there:?}");
}

/// Processes whose environment names the data directory of this bench: all that it has started.
fn carriers(bench: &Bench) -> Vec<String> {
    let kept = format!("WEIGHBRIDGE_KEPT={}", bench.data().display());
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let found = processes.filter(|process| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&kept)
    });
    found.map(|process| fs::read_to_string(process.path().join("cmdline")).unwrap_or_default()).collect()
}

#[test]
fn a_worker_written_from_the_page_alone_is_verified_and_measured_in_one_process_for_all_its_cases() {
    if !needs::python3() {
        return;
    }
    let bench = Bench::new("workers");
    let ran = run(&bench, &["honest", "again"], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let honest = record(&bench, "honest");
    assert_eq!(honest["agreement"], "agrees", "{honest:#}");
    let of = |record: &Value, name: &str| {
        let metrics = record["metrics"].as_array().unwrap().clone();
        metrics.into_iter().find(|metric| metric["name"] == name).unwrap_or_default()
    };
    for name in ["throughput", "import", "set_up", "restart", "first_item"] {
        assert!(of(&honest, name)["values"][0]["value"].is_number(), "{name}: {honest:#}");
    }
    assert!(of(&honest, "compile").is_null(), "what there is not has no value");
    // The start of a repeat tells whether the worker was there already: only the first case of a round starts
    // one.
    assert_eq!(record(&bench, "again")["agreement"], "agrees");
    assert_nothing_is_left(&bench);
}

#[test]
fn what_a_worker_prints_is_no_message_and_disturbs_nobody() {
    if !needs::python3() {
        return;
    }
    two_at_a_time(["prints", "floods-stderr", "beats-while-it-imports"], |fault| {
        let bench = Bench::new("workers");
        let ran = run(&bench, &[fault], &["--timeout", "2"]);
        assert_eq!(ran.code, Some(0), "{fault}: {}", ran.all());
        assert_eq!(record(&bench, fault)["agreement"], "agrees", "{fault}");
        if fault == "prints" {
            let logs = fs::read_dir(bench.only_run().join("logs")).unwrap().flatten();
            let kept = logs.map(|log| fs::read_to_string(log.path()).unwrap());
            assert!(kept.into_iter().any(|log| log.contains("a progress bar: 100 %")));
        }
    });
}

#[test]
fn a_worker_that_hangs_is_given_up_when_it_has_been_silent_for_too_long() {
    let faults: [Fault<'_>; 4] = [
        ("hangs-at-import", "timeout", &["said nothing for 3s while starting"]),
        ("hangs-in-set-up", "timeout", &["while opening a pipeline"]),
        (
            "hangs-in-a-batch",
            "timeout",
            &["while running the measured loop", "its last words:\nabout to hang"],
        ),
        ("stops-within-a-frame", "timeout", &["said nothing"]),
    ];
    check(&faults, &["--timeout", "3"]);
}

#[test]
fn a_worker_that_ends_is_told_with_its_last_words() {
    let faults: [Fault<'_>; 6] = [
        ("exits-at-start", "{\"exit\":3}", &["exited with code 3", "no licence was found"]),
        ("forks-and-dies", "{\"exit\":7}", &["while running the measured loop"]),
        ("is-killed", "{\"signal\":\"SIGKILL\"}", &["was ended by SIGKILL"]),
        ("misses-a-library", "error", &["could not start", "No module named 'no_such'"]),
        ("is-not-there", "protocol", &["failed to start the worker /no/such/program"]),
        ("fails", "error", &["out of cheese"]),
    ];
    check(&faults, &[]);
}

#[test]
fn a_worker_that_breaks_the_protocol_is_ended() {
    let elsewhere = "platform cpu was asked for, but the active backend of the worker is gpu";
    let faults: [Fault<'_>; 6] = [
        ("speaks-version-1", "protocol", &["speaks version 1 of the protocol, the harness 3"]),
        ("answers-another-thing", "protocol", &["said `timed` in the place of `batch` or `end`"]),
        // Whether it is the answer to the next question or to none depends on when the harness reads it.
        ("says-more", "protocol", &["said `begun`"]),
        ("says-garbage", "protocol", &["no message of the protocol", "a frame of 1819043176 bytes"]),
        ("runs-elsewhere", "protocol", &[elsewhere]),
        ("is-a-shell", "protocol", &["no message of the protocol", "what is this"]),
    ];
    check(&faults, &[]);
}

#[test]
fn what_a_worker_declines_is_a_skip_with_its_reason() {
    if !needs::python3() {
        return;
    }
    let bench = Bench::new("workers");
    let ran = run(&bench, &["declines", "honest"], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let why = &record(&bench, "declines")["status"]["skipped"];
    assert_eq!(why["stated"], "Blur: there is no operator for it");
    assert_eq!(record(&bench, "honest")["agreement"], "agrees");
}

#[test]
fn a_trace_is_attached_and_shown_and_an_empty_one_is_told_by_its_name_and_neither_counts() {
    if !needs::python3() {
        return;
    }
    let bench = Bench::new("workers");
    let (whole, empty) = ("writes-a-trace", "writes-an-empty-trace");
    let ran = run(&bench, &[whole, empty, "honest"], &["--trace", "torch"]);
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    let attached = |fault| record(&bench, fault)["attached"][0].clone();
    assert_eq!(attached(whole)["status"], "attached", "{:#}", attached(whole));
    let file = &attached(whole)["files"][0];
    assert_eq!(file["bytes"], 19, "{file:#}");
    assert!(bench.only_run().join(file["path"].as_str().unwrap()).is_file());
    assert_eq!(attached(empty)["status"], json!({ "failed": "the trace `run.json` is empty" }));
    // This one knows nothing of traces.
    assert_eq!(attached("honest")["status"], json!({ "failed": "no file of a trace was written" }));
    for fault in [whole, empty, "honest"] {
        let record = record(&bench, fault);
        assert_eq!((&record["status"], &record["agreement"]), (&json!("measured"), &json!("agrees")));
        let values =
            &record["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "throughput");
        assert_eq!(
            values.unwrap()["values"].as_array().unwrap().len(),
            1,
            "the repeat that was traced is not in it"
        );
    }
    let shown = [
        ran.all(),
        xtask(&bench, &["runs", "show", "latest"]).all(),
        catalogue(&bench, &["report", "comparison", "--subject", "Far"]).all(),
    ];
    for shown in shown {
        assert!(
            shown.contains("trace by torch of FEED-1/fault=writes-a-trace/Far: 1 file, 19.0 B, below "),
            "{shown}"
        );
        assert!(
            shown.contains("writes-an-empty-trace/Far: FAILED: the trace ") && shown.contains("run.json"),
            "{shown}"
        );
    }
    assert_nothing_is_left(&bench);
}

#[test]
fn what_a_worker_leaves_behind_is_gone_with_its_process() {
    if !needs::python3() {
        return;
    }
    for fault in ["leaves-children", "leaves-shared-memory"] {
        let bench = Bench::new("workers");
        let ran = run(&bench, &[fault, "honest"], &[]);
        assert_eq!(ran.code, Some(0), "{fault}: {}", ran.all());
        assert_nothing_is_left(&bench);
    }
    let shared: Vec<_> = fs::read_dir("/dev/shm").into_iter().flatten().flatten().collect();
    let ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("wb_test_");
    assert!(!shared.iter().any(ours), "{shared:?}");
}

#[test]
fn killing_the_parent_leaves_no_worker_and_none_of_its_children() {
    if !needs::python3() {
        return;
    }
    let bench = Bench::new("workers");
    let args =
        [FEED, "--param", "fault=leaves-children,hangs-in-a-batch", "--adapter", "Far", "--profile=quick"];
    let mut command = bench.command(&[&args[..], &["--order", "declared", "--timeout", "60"]].concat());
    let mut parent = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let deadline = Instant::now() + Duration::from_mins(2);
        while !done() {
            assert!(Instant::now() < deadline, "{what}: {:?}", carriers(&bench));
            std::thread::yield_now();
        }
    };
    wait("children were started", &|| carriers(&bench).iter().any(|line| line.contains("987.25")));
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait("they are gone", &|| carriers(&bench).is_empty());
}

/// A cheat is caught, and its words name what it does; the honest twin, which runs after it, passes.
#[test]
fn every_sin_is_caught_by_what_it_does() {
    if !needs::python3() {
        return;
    }
    let faults: [Fault<'_>; 2] = [
        ("float16", "protocol", &["it delivers `pair` as f16; types are u8"]),
        ("lazy-handle", "protocol", &["lie from byte 1099511627776 of the exchange file"]),
    ];
    check(&faults, &[]);
    // What the rules find in the evidence; the last two of the field that is inverted.
    let found: [(&str, &str, &str, &str, &[&str]); 5] = [
        (FEED, "claims-time", "honest", "claims", &["it claims", "of measured time, but"]),
        (FEED, "works-while-stopped", "honest", "unstopped", &["are made where no clock runs"]),
        (FEED, "same-batch-again", "honest", "spot-check", &["looked at"]),
        (INVERTED, "forgets-to-synchronise", "inverts", "pending", &["forgets to synchronise"]),
        (
            INVERTED,
            "prepares-in-set-up",
            "inverts",
            "outside",
            &["prepares its batches in set-up", "epoch has 40 MiB"],
        ),
    ];
    two_at_a_time(found, |(scenario, sin, twin, rule, words)| {
        let bench = Bench::new("workers");
        let ran = run_of(&bench, scenario, &[sin, twin], &[]);
        assert_eq!(ran.code, Some(6), "{sin}: {}", ran.all());
        let record = record_of(&bench, scenario, sin);
        let findings = record["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["rule"] == rule);
        let finding = finding.unwrap_or_else(|| panic!("{sin}: {record:#}"));
        assert_eq!(finding["severity"], "fail", "{sin}: {finding}");
        for word in words {
            assert!(finding["detail"]["evidence"].as_str().unwrap().contains(word), "{sin}: {finding}");
        }
        assert!(ran.all().contains(&format!("{rule}: ")), "{sin}: {}", ran.all());
        let honest = record_of(&bench, scenario, twin);
        // A caveat takes no rank away, and a busy machine makes some.
        let told = honest["findings"].as_array().unwrap().iter();
        let failed = told.filter(|finding| finding["severity"] == "fail").count();
        assert_eq!((&honest["agreement"], failed), (&json!("agrees"), 0), "{sin}: {honest:#}");
        // The stored run says the same, and nothing is measured for it.
        let judged = xtask(&bench, &["runs", "judge", "latest"]);
        assert_eq!(judged.code, Some(6), "{}", judged.all());
        assert!(judged.stdout.contains(rule) && judged.stderr.is_empty(), "{}", judged.all());
    });
    let other_work: [(&str, &str, &str, &[&str]); 5] = [
        (FEED, "drops-the-last", "honest", &["elements: 640, the reference has 650"]),
        (FEED, "pads-and-counts", "honest", &["elements: 656, the reference has 650"]),
        (FEED, "swaps-channels", "honest", &["digest of all elements:"]),
        (
            FEED,
            "one-field-of-two",
            "honest",
            &["fields: [pair: u8 [2]], the reference has [number: i64 [], pair: u8 [2]]"],
        ),
        (INVERTED, "skips-a-transform", "inverts", &["digest of all elements:"]),
    ];
    two_at_a_time(other_work, |(scenario, sin, twin, words)| {
        let bench = Bench::new("workers");
        let ran = run_of(&bench, scenario, &[sin, twin], &[]);
        assert_eq!(ran.code, Some(6), "{sin}: {}", ran.all());
        let record = record_of(&bench, scenario, sin);
        let told = record["agreement"]["differs"].to_string() + &record["status"].to_string();
        for word in words {
            assert!(told.contains(word), "{sin}: {told}");
        }
        assert_eq!(record_of(&bench, scenario, twin)["agreement"], "agrees", "{sin}");
    });
}
