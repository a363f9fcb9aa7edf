//! `calibrate` and `compare-baseline --program`: a bench program in turns with itself.

use std::fs;

use crate::external::{Bench, ProcessEnd, bare_xtask, downstream, target};

/// `cargo xtask ARGS` in the downstream crate, over the bench's data directory.
fn xtask(bench: &Bench, args: &[&str]) -> ProcessEnd {
    let mut command = bare_xtask(args);
    command.current_dir(downstream());
    command.env("CARGO_TARGET_DIR", target()).env("WEIGHBRIDGE_DATA", bench.data());
    ProcessEnd::of(&mut command)
}

#[test]
fn a_calibration_tells_what_is_found_of_each_case_and_why_a_stream_has_no_planted_slowdown() {
    let bench = Bench::new("faults");
    // Within so wide a margin every duel ends early: what is held here is what is told, not what is found.
    let short = ["--no-lock", "--profile=quick", "--measurement-time", "0.002", "--threshold", "50%"];
    let args = ["calibrate", "--tries", "1", "--suite", "external/faults", "--", "GOOD-1", "STREAM-1"];
    let ran = xtask(&bench, &[&args[..], &short].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let line = |case: &str| ran.stdout.lines().find(|line| line.starts_with(case)).unwrap_or_default();
    assert!(line("GOOD-1 ").contains("/1"), "{}", ran.all());
    assert!(line("STREAM-1 ").matches(" - ").count() == 4, "{}", ran.all());
    let why = line("STREAM-1: no planted slowdown was measured");
    assert!(why.contains("a stream has none"), "{}", ran.all());
    assert!(ran.stdout.contains("false alarms on identical code: "), "{}", ran.all());
    let kept = fs::read_dir(bench.data().join("calibration")).unwrap().flatten();
    let kept: Vec<_> = kept.filter(|entry| entry.path().join("external@faults.json").exists()).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
}

#[test]
fn a_program_that_was_built_earlier_is_measured_in_turns_with_the_work_trees() {
    let bench = Bench::new("sorting");
    let program = bench.data().join("earlier");
    fs::copy(bench.command(&[]).get_program(), &program).unwrap();
    let args = ["compare-baseline", "--suite", "external/sorting", "--inconclusive", "pass", "--program"];
    let with = |program: &str, more: &[&str]| {
        let rest = ["--threshold", "50%", "--", "SORT-1", "--param", "len=1000", "--adapter", "stable"];
        let short = ["--no-lock", "--profile=quick", "--measurement-time", "0.002"];
        xtask(&bench, &[&args[..], &[program], &rest, &short, more].concat())
    };
    let ran = with(&program.display().to_string(), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let last = ran.stdout.lines().last().unwrap_or_default();
    assert!(last.starts_with("weighbridge: compared=1 ") && last.ends_with(" exit=0"), "{}", ran.all());
    assert!(ran.stdout.contains("error rate: not measured on this machine yet"), "{}", ran.all());
    // A slowdown far over the margin is one, and is found on the work tree's side.
    let ran = with(&program.display().to_string(), &["--inject", "2"]);
    assert_eq!(ran.code, Some(3), "{}", ran.all());
    let ran = with("/no/such/program", &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.stderr.contains("--program /no/such/program"), "{}", ran.all());
}
