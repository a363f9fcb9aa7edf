//! `kill -9` of the parent at any moment, then `--resume`: nothing finished is lost, nothing is measured
//! twice.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::external::{Bench, ProcessEnd, xtask};

/// Three cases with two repeats each, and their verifying ones.
const ARGS: &[&str] = &[
    "SORT-1",
    "SUM-1",
    "--param",
    "SORT-1.len=1000",
    "--profile=quick",
    "--measurement-time",
    "0.002",
    "--repeats",
    "2",
];

/// How many moments are tried.
const MOMENTS: u64 = 40;

/// Names and contents of the journal.
fn journal(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(run.join("repeats")).into_iter().flatten().flatten();
    let whole = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "json"));
    whole.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

/// Processes that were started from this program for this data directory, and still run.
fn left_behind(data: &Path) -> Vec<String> {
    let data = data.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| fs::read(entry.path().join("environ")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).filter(|line| line.contains(data)).collect()
}

#[test]
fn killing_the_parent_at_forty_moments_loses_nothing_and_measures_nothing_twice() {
    // How long an unbroken run takes says where the moments lie.
    let whole = Bench::new("sorting");
    let mut command = whole.command(ARGS); // builds the program, where nobody has yet
    let started = Instant::now();
    let ran = ProcessEnd::of(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let length = started.elapsed();
    let expected: Vec<String> = journal(&whole.only_run()).into_keys().collect();
    assert!(!expected.is_empty());

    let mut cut_in_two = 0;
    let mut state = 0x5eed_u64;
    for moment in 0..MOMENTS {
        // A fixed sequence of moments over the length of a run (a Weyl sequence: evenly spread, in no order).
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let after = length.mul_f64((state >> 11) as f64 / (1u64 << 53) as f64);
        let bench = Bench::new("sorting");
        let mut command = bench.command(ARGS);
        command.env("KILL_TEST_MARK", bench.data()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut parent = command.spawn().unwrap();
        wait(after);
        parent.kill().unwrap(); // SIGKILL
        parent.wait().unwrap();
        let deadline = Instant::now() + Duration::from_mins(2);
        while !left_behind(bench.data()).is_empty() {
            assert!(Instant::now() < deadline, "moment {moment}: a child outlives its parent");
        }
        let Some(run) = bench.runs().pop() else { continue }; // killed before the run had a name
        let directory = bench.data().join("runs").join(&run);
        let before = journal(&directory);
        cut_in_two += usize::from(!before.is_empty() && before.len() < expected.len());

        let resumed = ProcessEnd::of(
            bench.bare(&["--resume", &run, "--no-lock", "--bench", "--data"]).arg(bench.data()),
        );
        if resumed.code == Some(2) {
            assert!(resumed.stderr.contains("it is complete"), "moment {moment}: {}", resumed.all());
        } else {
            assert_eq!(resumed.code, Some(0), "moment {moment}: {}", resumed.all());
        }
        let after = journal(&directory);
        assert_eq!(after.keys().collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>(), "moment {moment}");
        for (name, bytes) in &before {
            assert_eq!(after.get(name), Some(bytes), "moment {moment}: {name} was measured twice");
        }
        if resumed.code == Some(0) {
            let manifest = fs::read_to_string(directory.join("run.json")).unwrap();
            assert!(
                manifest.contains("\"resumed\": true") || manifest.contains("\"resumed\":true"),
                "{manifest}"
            );
        }
    }
    assert!(cut_in_two > 3, "only {cut_in_two} of {MOMENTS} kills fell into the middle of a run");
}

/// Lets time pass, and leaves the processor to what is to be killed.
fn wait(time: Duration) {
    let until = Instant::now() + time;
    while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
        std::thread::park_timeout(left);
    }
}

/// As `docker run` leaves it: whoever inherits the children of a parent that was killed is of their own
/// session, and the kernel does not let them go on then.
#[cfg(target_os = "linux")]
#[test]
fn a_child_that_was_stopped_when_its_parent_was_killed_is_ended_even_where_its_heir_is_of_its_session() {
    nix::sys::prctl::set_child_subreaper(true).unwrap();
    let bench = Bench::new("faults");
    let mut command = bench.command(&["FAULT-1", "--param", "FAULT-1.fault=spin", "--profile=quick"]);
    command.env("KILL_TEST_MARK", bench.data()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut parent = command.spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", parent.id());
    let child = loop {
        let listed = fs::read_to_string(&children).unwrap();
        // It is being measured once its program is in its place and there is a run.
        let measured = listed.split_whitespace().next().filter(|_| left_behind(bench.data()).len() >= 2);
        // It is guarded once it has a handler for SIGIO: by then it has asked to be woken.
        let is_guarded = |child: &&str| {
            let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
            caught.is_some_and(|mask| mask >> (nix::sys::signal::Signal::SIGIO as u64 - 1) & 1 == 1)
        };
        if let Some(child) = measured.filter(|_| !bench.runs().is_empty()).filter(is_guarded) {
            break child.to_owned();
        }
    };
    let threads = fs::read_dir(format!("/proc/{child}/task")).unwrap().count();
    assert_eq!(threads, 1, "a thread of the harness would change what the allocator does for the body");
    assert!(Command::new("kill").args(["-STOP", &child]).status().unwrap().success());
    parent.kill().unwrap();
    parent.wait().unwrap();
    let deadline = Instant::now() + Duration::from_mins(2);
    while !left_behind(bench.data()).is_empty() {
        assert!(Instant::now() < deadline, "a child outlives its parent");
    }
}

/// Linux sends it no signal about the socket then, since it is just reading from it.
#[cfg(target_os = "linux")]
#[test]
fn a_child_that_has_answered_when_its_parent_is_killed_leaves_no_process_either() {
    let bench = Bench::new("faults");
    let folder = tempfile::TempDir::new().unwrap();
    let mut command = bench.command(&["WAITED-1", "--profile=quick"]);
    command.env("KILL_TEST_MARK", bench.data()).env("LEFT_FOLDER", folder.path());
    let mut parent = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_mins(2);
    let in_time = || assert!(Instant::now() < deadline);
    while !folder.path().join("left").exists() {
        in_time();
    }
    let children = format!("/proc/{0}/task/{0}/children", parent.id());
    let child = fs::read_to_string(children).unwrap().split_whitespace().next().unwrap().to_owned();
    assert!(Command::new("kill").args(["-STOP", &parent.id().to_string()]).status().unwrap().success());
    fs::write(folder.path().join("go"), "").unwrap();
    // A sleep that lasts is that of a reader.
    let mut asleep = 0;
    while asleep < 100 {
        in_time();
        let state = fs::read_to_string(format!("/proc/{child}/stat")).unwrap();
        asleep = if state.contains(") S ") { asleep + 1 } else { 0 };
    }
    parent.kill().unwrap();
    parent.wait().unwrap();
    while !left_behind(bench.data()).is_empty() {
        in_time();
    }
}

#[test]
fn a_resumed_run_says_so_and_cannot_become_a_baseline() {
    let bench = Bench::new("sorting");
    // A budget that is spent at once leaves a run without its later repeats.
    let ran = bench.run(&[ARGS, &["--budget", "0.05"]].concat());
    assert!(ran.stderr.contains("the budget is spent"), "{}", ran.all());
    let run = bench.runs().pop().unwrap();
    let changed = bench.run(&["--resume", &run, "--repeats", "9"]);
    assert_eq!(changed.code, Some(2), "another plan is refused: {}", changed.all());
    let resumed = bench.run(&["--resume", &run]);
    assert!(resumed.stdout.contains("resumed"), "{}", resumed.all());
    let promoted = xtask(&bench, &["baseline", "set", "main", "--run", &run]);
    assert_ne!(promoted.code, Some(0), "{}", promoted.all());
    assert!(promoted.stderr.contains("taken up again"), "{}", promoted.all());
}

#[test]
fn a_run_is_taken_up_in_other_surroundings_only_anyway_and_then_says_which_repeats() {
    let bench = Bench::new("sorting");
    let ran = bench.run(&[ARGS, &["--budget", "0.05"]].concat());
    assert!(ran.stderr.contains("the budget is spent"), "{}", ran.all());
    let run = bench.runs().pop().unwrap();
    let before = journal(&bench.only_run());
    let resume = |anyway: &[&str]| {
        let mut command = Command::new("nice");
        let own = bench.command(&[&["--resume", &run], anyway].concat());
        command.args(["-n", "19"]).arg(own.get_program()).args(own.get_args());
        command.current_dir(own.get_current_dir().unwrap()).stdin(Stdio::null());
        crate::external::clean(&mut command);
        ProcessEnd::of(command.env("WEIGHBRIDGE_SLOWDOWN", "3"))
    };
    let refused = resume(&[]);
    assert_eq!(refused.code, Some(2), "{}", refused.all());
    for told in ["priority: nice 0 -> nice 19", "WEIGHBRIDGE_SLOWDOWN: not set -> 3", "--anyway"] {
        assert!(refused.stderr.contains(told), "{}", refused.all());
    }
    assert_eq!(journal(&bench.only_run()), before);

    let went_on = resume(&["--anyway"]);
    assert_eq!(went_on.code, Some(0), "{}", went_on.all());
    assert!(went_on.stdout.contains("other surroundings"), "{}", went_on.all());
    for (name, bytes) in journal(&bench.only_run()) {
        let entry: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let number = entry["record"]["repeat"].get("surroundings").map(|number| number == 1);
        assert_eq!(number, (!before.contains_key(&name)).then_some(true), "{name}");
    }
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(bench.only_run().join("run.json")).unwrap()).unwrap();
    assert_eq!(manifest["record"]["other_surroundings"].as_array().unwrap().len(), 1, "{manifest}");
    let shown = xtask(&bench, &["runs", "show", &run]);
    assert!(shown.stdout.contains("priority: nice 0 -> nice 19"), "{}", shown.all());
    assert_eq!(bench.run(&["--anyway"]).code, Some(2));
}

#[test]
fn a_repeat_in_which_its_run_was_stopped_is_measured_again_and_said_so() {
    let bench = Bench::new("sorting");
    let mut command =
        bench.command(&["SUM-1", "--profile=quick", "--measurement-time", "1", "--repeats", "2"]);
    command.env("KILL_TEST_MARK", bench.data()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let parent = command.spawn().unwrap();
    // Once there is a run, no other program of the harness is left: the second process is the child.
    while bench.runs().is_empty() || left_behind(bench.data()).len() < 2 {
        std::thread::yield_now();
    }
    let send = |signal: &str| {
        assert!(Command::new("kill").args([signal, &parent.id().to_string()]).status().unwrap().success());
    };
    send("-STOP");
    wait(Duration::from_secs(5));
    send("-CONT");
    let ended = parent.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("this process was stopped for") && said.contains("it is run again"), "{said}");
    assert_eq!(journal(&bench.only_run()).len(), 2);
}

#[test]
fn ctrl_c_keeps_what_is_finished_ends_the_children_and_exits_with_130() {
    let bench = Bench::new("faults");
    let mut command = bench.command(&[
        "FAULT-1",
        "GOOD-1",
        "--param",
        "FAULT-1.fault=spin",
        "--profile=quick",
        "--order",
        "declared",
    ]);
    command.env("KILL_TEST_MARK", bench.data()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // The spinning case comes first: as soon as there is a run, it is being measured.
    while left_behind(bench.data()).len() < 2 {
        std::thread::yield_now();
    }
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert!(left_behind(bench.data()).is_empty());
    let manifest = fs::read_to_string(bench.only_run().join("run.json")).unwrap();
    assert!(manifest.contains("interrupted"), "{manifest}");
}

/// Ctrl-C.
pub(crate) fn interrupt(child: &Child) {
    let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// The bench program by a path of its own, where another one can be put.
fn copied(bench: &Bench) -> PathBuf {
    let copy = bench.data().join("program");
    fs::copy(bench.bare(&[]).get_program(), &copy).unwrap();
    copy
}

/// The same command by another program.
fn by(program: &Path, command: &Command) -> Command {
    let mut other = Command::new(program);
    other.args(command.get_args()).current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
    crate::external::clean(&mut other);
    other
}

#[test]
fn a_program_that_is_built_anew_in_mid_run_is_not_the_one_that_is_measured() {
    let bench = Bench::new("sorting");
    let copy = copied(&bench);
    let mut parent =
        by(&copy, &bench.command(ARGS)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    while bench.runs().pop().is_none_or(|run| journal(&bench.data().join("runs").join(run)).is_empty()) {
        assert!(parent.try_wait().unwrap().is_none(), "it ended before its first repeat");
    }
    // As a linker does: another file in its place.
    let other = bench.data().join("other");
    fs::write(&other, "#!/bin/sh\nexit 7\n").unwrap();
    fs::set_permissions(&other, fs::metadata(&copy).unwrap().permissions()).unwrap();
    fs::rename(&other, &copy).unwrap();
    let ended = parent.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn a_run_is_not_resumed_by_another_program() {
    let bench = Bench::new("sorting");
    let ran = bench.run(&[ARGS, &["--budget", "0.05"]].concat());
    assert!(ran.stderr.contains("the budget is spent"), "{}", ran.all());
    let run = bench.runs().pop().unwrap();
    let before = journal(&bench.only_run());
    let copy = copied(&bench);
    let resume = bench.command(&["--resume", &run]);
    // A byte after the end of the program changes its hash and nothing that it does.
    let mut bytes = fs::read(&copy).unwrap();
    bytes.push(0);
    fs::write(&copy, bytes).unwrap();
    let refused = ProcessEnd::of(&mut by(&copy, &resume));
    assert_eq!(refused.code, Some(2), "{}", refused.all());
    assert!(refused.stderr.contains("another program, commit or machine (program: "), "{}", refused.all());
    assert_eq!(journal(&bench.only_run()), before);
    // Another bench target has no such cases at all.
    let other = Bench::new("ordinary");
    let mut of_other = other.command(&["--resume", &run]);
    of_other.arg("--data").arg(bench.data());
    let refused = ProcessEnd::of(&mut of_other);
    assert_eq!(refused.code, Some(2), "{}", refused.all());
    assert!(refused.stderr.contains("it is of the suite "), "{}", refused.all());
    assert_eq!(bench.run(&["--resume", &run]).code, Some(0));
}
