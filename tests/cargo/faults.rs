//! Every fault in every phase: recorded as what it is, the run goes on, nothing is left behind.

use serde_json::Value;

use crate::external::Bench;

/// Runs the planted fault in all four phases beside a case that behaves.
fn check(fault: &str, how: &str, more: &[&str]) {
    check_under("quick", fault, how, more);
}

fn check_under(profile: &str, fault: &str, how: &str, more: &[&str]) {
    let bench = Bench::new("faults");
    let param = format!("FAULT-1.fault={fault}");
    let mut args = vec![
        "FAULT-1",
        "GOOD-1",
        "--param",
        &param,
        "--param",
        "FAULT-1.place=all",
        "--profile",
        profile,
        "--repeats",
        "1",
        "--timeout",
        "20",
    ];
    args.extend(more);
    let ran = bench.run(&args);
    assert_eq!(ran.code, Some(6), "{fault}: {}", ran.all());
    for (place, phase) in
        [("set_up", "set-up"), ("warm_up", "warm-up"), ("timed", "timed region"), ("tear_down", "tear-down")]
    {
        let file = bench.only_run().join(format!("repeats/fault_1@{fault}@{place}@steady.1.json"));
        let text = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}\n{}", file.display(), ran.all()));
        let repeat: Value = serde_json::from_str(&text).unwrap();
        let failure = &repeat["record"]["repeat"]["outcome"]["failed"];
        assert!(failure["how"].to_string().contains(how), "{fault} in the {phase}: {failure:#}");
        assert_eq!(
            failure["phase"].as_str(),
            Some(phase.replace("timed region", "timed").as_str()),
            "{fault}: {failure:#}"
        );
        let stderr = failure["stderr"].as_str().unwrap();
        assert!(stderr.contains("about to"), "{fault} in the {phase}: the end of stderr is kept: {stderr}");
        let line = format!("FAULT-1/{fault}/{place}/steady");
        assert!(ran.stdout.contains(&line), "{fault}: the report names {line}\n{}", ran.all());
    }
    let good = bench.only_run().join("cases/good_1.json");
    let good: Value = serde_json::from_str(&std::fs::read_to_string(good).unwrap()).unwrap();
    assert_eq!(good["record"]["status"], "measured", "{fault}: the other case is complete");
}

#[test]
fn a_panic_is_recorded_in_every_phase() {
    check("panic", "panic", &[]);
}

#[test]
fn an_abort_is_recorded_in_every_phase() {
    check("abort", "SIGABRT", &[]);
}

#[test]
fn a_call_of_exit_is_recorded_in_every_phase_though_the_status_is_0() {
    check("exit", "{\"exit\":0}", &[]);
}

#[test]
fn an_endless_loop_is_ended_at_its_deadline_in_every_phase() {
    check("spin", "timeout", &["--timeout", "1"]);
}

#[test]
fn allocating_without_end_is_stopped_at_the_limit_in_every_phase() {
    check_under("small", "allocate", "memory", &[]);
}

#[test]
fn megabytes_on_stdout_block_nobody_and_are_cut_in_the_log() {
    check("flood", "panic", &[]);
}

#[test]
fn a_child_killed_from_outside_is_recorded_in_every_phase() {
    check("kill", "SIGKILL", &[]);
}

#[test]
fn a_grandchild_is_gone_with_the_repeat_that_left_it() {
    check("fork", "panic", &[]);
    assert!(!runs_with_argument("777.25"));
}

#[test]
fn a_child_that_claims_more_time_than_passed_is_not_believed() {
    let bench = Bench::new("faults");
    let ran = bench.run(&["CLOCK-1", "--quick", "--repeats", "1"]);
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    assert!(ran.stdout.contains("no-time: its own loop says that it took"), "{}", ran.all());
}

/// Whether a process runs whose command line has this argument.
fn runs_with_argument(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.into_iter().any(|line| line.split(|byte| *byte == 0).any(|part| part == argument.as_bytes()))
}
