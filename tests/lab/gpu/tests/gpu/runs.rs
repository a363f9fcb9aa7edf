//! Whole runs on the fake: platform and backend, modes, failures, and that none of it can be judged by.

use std::path::Path;
use std::process::{Command, Output};

use needs::Need;
use serde_json::Value;
use weighbridge::data::{Baseline, History, Layout, Policy, Runs, judge};

/// Runs the suite of `suite.rs` on the fake.
fn run(data: &Path, flags: &[&str]) -> Output {
    let flags = [&["--repeats", "2", "--measurement-time", "0.02"], flags].concat();
    run_on(data, "l2=1048576", &flags)
}

/// The same, on a fake with these keys.
fn run_on(data: &Path, keys: &str, flags: &[&str]) -> Output {
    let links = data.join("links");
    std::fs::create_dir_all(&links).unwrap();
    fake_gpu::links(&links).unwrap();
    Command::new(env!("CARGO_BIN_EXE_gpu-suite"))
        .args(["--bench", "--allow-debug", "--no-lock", "--set", "all", "--data"])
        .arg(data.join("data"))
        .args(flags)
        .env("LD_LIBRARY_PATH", &links)
        .env("WEIGHBRIDGE_FAKE_GPU", keys)
        .output()
        .unwrap()
}

/// Gives such runs a compiler of kernels. `false` where there is no C++ compiler: the test is then said to be
/// skipped.
#[track_caller]
fn with_compiler(data: &Path) -> bool {
    let there = needs::command(Need::Cxx);
    if there {
        std::fs::create_dir_all(data.join("links")).unwrap();
        fake_gpu::make_compiler(&data.join("links/libnvrtc.so")).unwrap();
    }
    there
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// The record in the only file of this kind below the data.
fn record(data: &Path, kind: &str, of: &str) -> Value {
    let mut found = Vec::new();
    let mut folders = vec![data.join("data")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(file) = serde_json::from_slice::<Value>(&std::fs::read(&path).unwrap())
                && file["kind"] == kind
                && path.to_string_lossy().contains(of)
            {
                found.push(file["record"].clone());
            }
        }
    }
    assert_eq!(found.len(), 1, "{kind} {of}");
    found.remove(0)
}

#[test]
fn a_run_on_the_device_records_platform_backend_mode_clock_and_calibration() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["SPIN-1", "--platform", "gpu"]);
    let said = text(&ran);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(said.contains("FAKE DEVICE"), "{said}");
    let manifest = record(folder.path(), "run", "run.json");
    assert_eq!(
        (&manifest["requested_platform"], &manifest["active_backend"]),
        (&"gpu".into(), &"gpu".into())
    );
    assert_eq!(manifest["environment"]["machine"]["gpu"], "Test GPU (fake)");
    assert_eq!(manifest["environment"]["software"]["gpu cudnn"], "9.10.2");
    let case = record(folder.path(), "case", "");
    assert_eq!(case["primary"], "device_time");
    let time =
        case["metrics"].as_array().unwrap().iter().find(|metric| metric["name"] == "device_time").unwrap();
    let median = time["estimate"]["median"].as_f64().unwrap();
    assert!((0.002..0.00201).contains(&median), "{median}");
    let repeat = record(folder.path(), "repeat", ".1.json");
    let seen = &repeat["repeat"]["outcome"]["measured"]["observation"]["device"];
    assert_eq!((&seen["mode"], &seen["clock"]), (&"event".into(), &"CUDA events".into()));
    assert!(seen["calibration"]["round_trip"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_mode_of_the_command_line_goes_over_the_scenarios() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["SPIN-1", "--platform", "gpu", "--mode", "hot", "--repeats", "1"]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran));
    let repeat = record(folder.path(), "repeat", ".1.json");
    assert_eq!(repeat["repeat"]["outcome"]["measured"]["observation"]["device"]["mode"], "hot");
    let wrong = run(folder.path(), &["SPIN-1", "--platform", "gpu", "--mode", "warm"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", text(&wrong));
    assert!(text(&wrong).contains("sync, event, cold, hot"), "{}", text(&wrong));
}

#[test]
fn a_case_that_loses_the_device_ends_its_process_and_not_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let ids = ["SPIN-1", "FORGETS-1", "LOSES-1"];
    let flags = ["--platform", "gpu", "--isolation", "run", "--order", "declared"];
    let ran = run(folder.path(), &[&ids[..], &flags[..]].concat());
    let said = text(&ran);
    assert_eq!(ran.status.code(), Some(6), "{said}");
    assert!(said.contains("cases=3 measured=2 failed=1 unequal=1"), "{said}");
    assert!(said.contains("lost the device") && said.contains("(code 700)"), "{said}");
    assert!(said.contains("forgot to synchronise"), "{said}");
}

#[test]
fn a_scenario_of_the_catalogue_runs_on_the_device_and_its_loaders_deliver_where_it_asks() {
    let folder = tempfile::tempdir().unwrap();
    if !with_compiler(folder.path()) {
        return;
    }
    let cache = folder.path().join("cache").display().to_string();
    let tiny = ["TAB-1", "--platform", "gpu", "--param", "variant=tiny", "--param", "workers=0"];
    let run = |more: &[&str]| run(folder.path(), &[&tiny[..], &["--data-cache", &cache], more].concat());
    let places = ["--param", "delivery=host,device"];
    let ran = run(&[&places[..], &["--adapter", "Reference", "--adapter", "Reference (CUDA)"]].concat());
    let said = text(&ran);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    assert!(said.contains("cases=4 measured=4 failed=0 unequal=0 unverified=0"), "{said}");
    assert!(said.contains("device=fake"), "{said}");

    let planned = text(&run(&["--profile", "gpu_h100_h200", "--dry-run"]));
    assert!(planned.contains("TAB-1/tiny/workers=0/delivery=device/Reference (CUDA)"), "{planned}");
    assert!(!planned.contains("TAB-1/tiny/workers=0/Reference (CUDA)"), "{planned}");
}

#[test]
fn a_loader_that_loses_the_device_ends_its_process_and_not_the_run() {
    let folder = tempfile::tempdir().unwrap();
    if !with_compiler(folder.path()) {
        return;
    }
    // In the process that has lost it the second case would fail too.
    let flags = ["BREAKS-1", "SPIN-1", "--platform", "gpu", "--isolation", "run", "--order", "declared"];
    let ran = run(folder.path(), &flags);
    let said = text(&ran);
    assert_eq!(ran.status.code(), Some(6), "{said}");
    assert!(said.contains("cases=2 measured=1 failed=1"), "{said}");
    assert!(said.contains("failed: BREAKS-1") && said.contains("lost the device"), "{said}");
}

#[test]
fn the_platform_reaches_workers_and_one_without_a_device_path_is_a_skip_with_its_reason() {
    if !needs::python3() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["FAR-1", "--platform", "gpu"]);
    let said = text(&ran);
    assert!(said.contains("skipped=1") && said.contains("failed=0"), "{said}");
    let case = record(folder.path(), "case", "");
    let reason = &case["status"]["skipped"]["stated"];
    assert_eq!(reason, "platform gpu: it hands out what is there", "{case:#}");
    let folder = tempfile::tempdir().unwrap();
    let said = text(&run(folder.path(), &["NEAR-1", "--platform", "gpu"]));
    // Asked for the host it does not decline, but reads on.
    assert!(said.contains("KeyError('data')") && !said.contains("platform gpu: it hands out"), "{said}");
}

#[test]
fn a_slower_clock_of_the_device_is_not_reported_as_slower_code() {
    let run = |clock: u32| {
        let folder = tempfile::tempdir().unwrap();
        let keys = format!("l2=1048576,full_mhz={clock}");
        let flags = ["CYCLES-1", "--platform", "gpu", "--repeats", "6", "--measurement-time", "0.02"];
        let ran = run_on(folder.path(), &keys, &flags);
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran));
        let runs = Runs::new(Layout::new(folder.path().join("data")));
        let listed = runs.list().unwrap();
        runs.load_whole(&listed.runs[0].id).unwrap()
    };
    let policy = Policy { threshold: Some(0.05), allow_different_machine: true, ..Policy::default() };
    // No run of a fake becomes a baseline by the command line; the judge itself takes what it is given.
    let baseline = Baseline::promote("main", &run(1_980));
    let comparison = judge(&baseline, &run(1_320), &History::default(), &policy);
    let row = &comparison.rows[0];
    assert_eq!(row.verdict.why().unwrap(), "the device's clock changed: cycles are unchanged", "{row:?}");
    let effect = row.effect.unwrap();
    assert!((effect.estimate - 0.5).abs() < 0.02, "{effect:?}");
}

#[test]
fn a_duel_on_the_device_fails_with_a_missing_synchronisation_and_not_without() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("comparison.json");
    let name = file.to_string_lossy().into_owned();
    let flags = ["--platform", "gpu", "--versus", env!("CARGO_BIN_EXE_gpu-suite"), "--comparison", &name];
    let ran = run(folder.path(), &[&["SPIN-1", "FORGETS-1"][..], &flags[..]].concat());
    let said = text(&ran);
    assert!(said.contains("FAKE DEVICE"), "{said}");
    let comparison: Value = serde_json::from_slice(&std::fs::read(&file).expect(&said)).unwrap();
    let verdict = |scenario: &str| {
        let rows = comparison["rows"].as_array().unwrap().iter();
        let mut rows = rows.filter(|row| row["case"]["scenario"] == scenario);
        rows.next().unwrap()["verdict"].to_string()
    };
    assert!(verdict("SPIN-1").contains("nchanged"), "{comparison:#}");
    assert!(verdict("FORGETS-1").contains("forgot to synchronise"), "{comparison:#}");
    assert_ne!(ran.status.code(), Some(0), "{said}");
}

#[test]
fn a_run_on_the_fake_can_never_be_judged_by() {
    let folder = tempfile::tempdir().unwrap();
    let ran = run(folder.path(), &["SPIN-1", "--platform", "gpu", "--save-baseline", "main"]);
    let said = text(&ran);
    assert_ne!(ran.status.code(), Some(0), "{said}");
    assert!(said.contains("FAKE DEVICE"), "{said}");
    assert!(!folder.path().join("data/baselines").exists(), "{said}");
}

#[test]
fn without_a_device_the_platform_is_refused_with_the_reason_and_the_host_has_no_streams() {
    let folder = tempfile::tempdir().unwrap();
    let ran = |flags: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_gpu-suite"))
            .args(["--bench", "--allow-debug", "--no-lock", "SPIN-1", "--repeats", "1", "--data"])
            .arg(folder.path())
            .args(flags)
            .env("LD_LIBRARY_PATH", folder.path())
            .env("CUDA_VISIBLE_DEVICES", "") // where there is a driver, it shows nothing
            .output()
            .unwrap()
    };
    let absent = ran(&["--platform", "gpu"]);
    assert_eq!(absent.status.code(), Some(4), "{}", text(&absent));
    assert!(text(&absent).contains("platform gpu was asked for: no CUDA device ("), "{}", text(&absent));
    let host = ran(&[]);
    assert_eq!(host.status.code(), Some(0), "{}", text(&host));
    assert!(text(&host).contains("skipped=1") && text(&host).contains("--platform gpu"), "{}", text(&host));
}
