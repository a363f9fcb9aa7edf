//! Every fault in every phase: recorded as what it is, the run goes on, nothing is left behind.

use std::fs::File;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::external::{Bench, ProcessEnd, xtask};

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
    check("spin", "deadline", &["--timeout", "1"]);
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
    let ran = bench.run(&["CLOCK-1", "--profile=quick", "--repeats", "1"]);
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    assert!(ran.stdout.contains("no-time: its own loop says that it took"), "{}", ran.all());
}

#[test]
fn a_metric_with_a_built_in_name_fails_its_own_case_and_no_other() {
    let bench = Bench::new("faults");
    let ran = bench.run(&["NAME-1", "GOOD-1", "--profile=quick", "--repeats", "1"]);
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    assert!(ran.stdout.contains("`wall_time`, which is the name of a built-in metric"), "{}", ran.all());
    let good = std::fs::read_to_string(bench.only_run().join("cases/good_1.json")).unwrap();
    assert!(good.contains("\"status\":\"measured\""), "{good}");
}

#[test]
fn what_a_body_leaves_in_its_process_no_other_repeat_and_no_other_case_finds() {
    let times = |isolation: &str| {
        let bench = Bench::new("faults");
        let ran = bench.run(&["STATE-1", "--profile=quick", "--repeats", "3", "--isolation", isolation]);
        assert_eq!(ran.code, Some(0), "{}", ran.all());
        let mut times: Vec<f64> = Vec::new();
        for entry in std::fs::read_dir(bench.only_run().join("repeats")).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let repeat: Value = serde_json::from_str(&text).unwrap();
            let custom = &repeat["record"]["repeat"]["outcome"]["measured"]["observation"]["custom"][0];
            assert_eq!(custom["name"], "times_here", "{custom:#}");
            times.push(custom["value"].as_f64().unwrap());
        }
        times.sort_by(f64::total_cmp);
        times
    };
    assert_eq!(times("repeat"), [1.0; 6]);
    assert_eq!(times("case"), [1.0, 1.0, 2.0, 2.0, 3.0, 3.0], "cases never share");
    assert_eq!(times("run"), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "asked to share, all do");
}

/// What is run where the system denies something, with one good case in it.
fn denied(bench: &Bench, limit: &str) -> ProcessEnd {
    let command =
        bench.command(&["GOOD-1", "THREADS-1", "--profile=quick", "--repeats", "1", "--timeout", "20"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limit} exec \"$0\" \"$@\"")]).arg(command.get_program());
    shell.args(command.get_args()).current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
    crate::external::clean(&mut shell);
    let ran = ProcessEnd::of(&mut shell);
    assert!(ran.code.is_some_and(|code| code != 0 && code != 101), "{limit}: {:?} {}", ran.code, ran.all());
    assert!(!ran.all().contains("RUST_BACKTRACE"), "{limit}: {}", ran.all());
    ran
}

#[test]
fn threads_that_cannot_be_had_are_a_named_failure() {
    // Stacks that no machine has room for: no thread can be started.
    let ran = denied(&Bench::new("faults"), "RUST_MIN_STACK=70368744177664");
    assert!(ran.all().contains("failed to"), "{}", ran.all());
}

#[test]
fn a_limit_on_the_size_of_files_is_a_named_failure() {
    let ran = denied(&Bench::new("faults"), "ulimit -f 1;");
    assert_eq!(ran.code, Some(1), "{}", ran.all());
    assert!(ran.stderr.contains("failed to write") && ran.stderr.contains("File too large"), "{}", ran.all());
}

#[test]
fn a_file_that_a_body_leaves_in_shared_memory_is_named_in_the_log() {
    let bench = Bench::new("faults");
    let ran = bench.run(&["SHARED-1", "--profile=quick", "--repeats", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let log = std::fs::read_to_string(bench.only_run().join("logs/shared_1.1.stderr")).unwrap();
    let left =
        log.lines().find_map(|line| line.strip_prefix("weighbridge: left in shared memory meanwhile: "));
    assert!(left.is_some_and(|left| left.starts_with("/dev/shm/weighbridge-test-")), "{log}");
    for entry in std::fs::read_dir("/dev/shm").unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("weighbridge-test-") {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[test]
fn without_isolation_a_process_that_a_body_leaves_is_ended_and_named() {
    let bench = Bench::new("faults");
    let ran = bench.run(&["LEFT-1", "--profile=quick", "--repeats", "1", "--isolation", "none"]);
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    assert!(ran.stdout.contains("it left 1 processes running, which were ended"), "{}", ran.all());
    assert!(!runs_with_argument("778.25"));
}

#[test]
fn a_panic_of_another_thread_and_a_copy_of_the_process_are_told() {
    let bench = Bench::new("faults");
    let ran = bench.run(&["THREAD-1", "COPY-1", "--profile=quick", "--repeats", "1", "--verbose"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let panicked =
        "a thread that the body had started panicked, and the body went on without it: nobody looks";
    assert!(ran.stdout.contains(panicked), "{}", ran.all());
    assert!(
        ran.stdout.contains("the body forked, and was still there 1 times beside itself"),
        "{}",
        ran.all()
    );
}

#[test]
fn no_text_of_a_body_moves_a_cursor_or_gives_an_order_whatever_is_asked() {
    let bench = Bench::new("faults");
    let all = ["HOSTILE-1", "--param", "HOSTILE-1.how=all"];
    let argument = "--no-such\u{1b}[2K\u{202e}\n::error::##[error]x";
    let benchmark = "[[benchmarks]]\nscenario = 'FAULT-1'\n";
    let suites = [
        ("name.toml", format!("name = \"\\u001b[2K\\u202e\\n::error::##[error]x\"\n{benchmark}")),
        ("adapters.toml", format!("{benchmark}adapters = [\"\\u001b[2K\\n::error::##[error]\"]\n")),
    ];
    let [name, adapters] = suites.map(|(file, text)| {
        let file = bench.data().join(file);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    });
    for more in [
        &["--profile=quick", "--repeats", "1"][..],
        &["--suite", &name, "--dry-run"],
        &["--suite", &adapters, "--dry-run"],
        &["--dry-run"],
        &["--test"],
        &["--list"],
        &["--list", "--format", "json"],
        &[argument],
    ] {
        let ran = bench.run(&[&all, more].concat());
        let bad = |letter: &char| *letter != '\n' && (letter.is_control() || *letter == '\u{202e}');
        assert_eq!(ran.all().chars().find(bad), None, "{more:?}: {}", ran.all());
        for line in ran.all().lines() {
            assert!(!line.trim_start().starts_with("::") && !line.contains("##["), "{more:?}: {line}");
            assert!(!line.starts_with("weighbridge: run=forged"), "{more:?}: {line}");
        }
    }
}

#[test]
fn a_table_that_cannot_be_written_is_said_and_one_that_nobody_reads_is_not() {
    let bench = Bench::new("faults");
    let arguments = ["GOOD-1", "--profile=quick", "--repeats", "1"];
    for arguments in [&arguments[..], &["--list"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ran = ProcessEnd::of(bench.command(arguments).stdout(full));
        assert_eq!(ran.code, Some(1), "{}", ran.all());
        let said = "error: failed to write to the standard output: No space left on device";
        assert_eq!(ran.stderr.matches(said).count(), 1, "{}", ran.all());
        let (from, to) = std::io::pipe().unwrap();
        drop(from);
        let ran = ProcessEnd::of(bench.command(arguments).stdout(to));
        assert_eq!(ran.code, Some(0), "{}", ran.all());
        assert!(!ran.stderr.contains("failed to write"), "{}", ran.all());
    }
}

#[test]
fn a_case_that_its_scenarios_filter_skips_is_in_every_report() {
    let bench = Bench::new("faults");
    let ran =
        bench.run(&["FILTERED-1", "--param", "FILTERED-1.number=all", "--profile=quick", "--repeats=1"]);
    assert!(
        ran.stdout.contains(" cases=2 measured=1 ") && ran.stdout.contains(" skipped=1 "),
        "{}",
        ran.all()
    );
    let shown = xtask(&bench, &["runs", "show", "latest", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["cases"].as_array().unwrap().len(), 2, "{shown:#}");
    for report in [&["summary"][..], &["export", "csv"], &["export", "junit"]] {
        let said = xtask(&bench, report);
        assert!(said.stdout.contains("2 is even"), "{report:?}: {}", said.all());
    }
    let page = bench.data().join("page.html");
    let said = xtask(&bench, &["report", "html", "--out", page.to_str().unwrap()]);
    assert!(std::fs::read_to_string(page).unwrap().contains("2 is even"), "{}", said.all());
}

/// Whether a process runs whose command line has this argument.
fn runs_with_argument(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.into_iter().any(|line| line.split(|byte| *byte == 0).any(|part| part == argument.as_bytes()))
}
