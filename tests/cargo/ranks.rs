//! Runs of several ranks on one machine: started by the program itself, and as launchers start them.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::external::{Bench, ProcessEnd, xtask};
use crate::kill::interrupt;

/// Short repeats, in one line of arguments.
const SHORT: &[&str] = &["--profile=quick", "--measurement-time", "0.01", "--repeats", "2"];

fn record(file: &Path) -> Value {
    let text = fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_slice::<Value>(&text).unwrap()["record"].take()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What one rank keeps of a run.
fn of_rank(bench: &Bench, rank: usize) -> PathBuf {
    let runs = bench.data().join(format!("ranks/{rank:05}/runs"));
    let found = names(&runs);
    assert_eq!(found.len(), 1, "{found:?}");
    runs.join(&found[0])
}

fn aggregate<'a>(case: &'a Value, name: &str) -> &'a Value {
    let all = case["ranks"].as_array().unwrap_or_else(|| panic!("no ranks: {case}"));
    &all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}: {all:?}"))["over"]
}

/// Processes that have this in their environment.
fn carriers(entry: &str) -> Vec<(u32, BTreeMap<String, String>)> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(id) = process.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(environment) = fs::read(process.path().join("environ")) else { continue };
        let text = String::from_utf8_lossy(&environment).into_owned();
        if text.split('\0').any(|one| one == entry) {
            let pairs = text.split('\0').filter_map(|one| one.split_once('='));
            found.push((id, pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()));
        }
    }
    found
}

/// The processes of a test, by a mark of its own.
fn marked(bench: &Bench) -> String {
    format!("RANKS_TEST_MARK={}", bench.data().display())
}

fn with_mark(command: &mut Command, bench: &Bench) {
    command.env("RANKS_TEST_MARK", bench.data());
}

/// Waits for what comes sooner or later.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(5), "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn three_ranks_are_one_run_with_every_ranks_figures_and_each_keeps_its_own_repeats() {
    let bench = Bench::new("ranks");
    let mut command = bench.command(&[&["ADD-1", "TOGETHER-1", "STREAM-1", "--ranks", "3"], SHORT].concat());
    with_mark(&mut command, &bench);
    let ran = ProcessEnd::of(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(ran.stderr.contains("3 ranks on 1 machine, by weighbridge: "), "{}", ran.all());
    for rank in [1, 2] {
        let line = ran.stderr.lines().filter(|line| line.contains(&format!("rank {rank} of 3 ("))).count();
        assert_eq!(line, 1, "each of the others says one line: {}", ran.all());
    }
    assert_eq!(ran.stdout.matches("weighbridge: run=").count(), 1, "one reports: {}", ran.all());

    let run = bench.only_run();
    let manifest = record(&run.join("run.json"));
    assert_eq!(manifest["ranks"]["launcher"], "weighbridge");
    assert_eq!(manifest["ranks"]["each"].as_array().unwrap().len(), 3, "{manifest}");
    assert_eq!(manifest["ranks"]["each"][2]["local_rank"], 2);
    assert!(manifest["ranks"]["each"][0]["devices"].is_u64());
    let variables = manifest["environment"]["variables"].to_string();
    assert!(!variables.contains("WEIGHBRIDGE_RANK"), "a launch is no setting: {variables}");

    let case = record(&run.join("cases/add_1.json"));
    let own = aggregate(&case, "rank/own_rank");
    assert_eq!(
        (&own["min"], &own["mean"], &own["max"], &own["min_rank"], &own["max_rank"]),
        (&Value::from(0.0), &Value::from(1.0), &Value::from(2.0), &Value::from(0), &Value::from(2))
    );
    let wall = aggregate(&case, "rank/wall_time");
    assert!(wall["min"].as_f64() <= wall["p50"].as_f64() && wall["p99"].as_f64() <= wall["max"].as_f64());

    // Every repeat of every rank is kept where that rank keeps its own.
    let all = names(&run.join("repeats"));
    assert!(all.len() >= 6, "{all:?}");
    for rank in 0..3 {
        assert_eq!(names(&of_rank(&bench, rank).join("repeats")), all, "rank {rank}");
    }
    for name in all.iter().filter(|name| !name.starts_with("stream")) {
        let of = |folder: PathBuf| record(&folder.join("repeats").join(name))["repeat"].take();
        let ranks: Vec<Value> = (0..3).map(|rank| of(of_rank(&bench, rank))).collect();
        let whole = of(run.clone());
        let seen = |repeat: &Value| repeat["outcome"]["measured"]["observation"].clone();
        let skew = &seen(&whole)["skew"];
        assert!(skew["region"].as_u64().unwrap() > 0 && skew["spread"].is_u64(), "{name}: {skew}");
        assert!(ranks.iter().all(|rank| seen(rank)["met"]["left"].is_u64()), "{name}: all have met");
        let samples = |repeat: &Value| -> Vec<u64> {
            seen(repeat)["samples"].as_array().unwrap().iter().map(|one| one.as_u64().unwrap()).collect()
        };
        if name.starts_with("add") {
            assert!(ranks.iter().any(|rank| samples(rank) == samples(&whole)), "{name}: one of them stands");
        } else {
            let each: Vec<Vec<u64>> = ranks.iter().map(samples).collect();
            let longest: Vec<u64> =
                (0..each[0].len()).map(|at| each.iter().map(|of| of[at]).max().unwrap()).collect();
            assert_eq!(samples(&whole), longest, "{name}: as long as on the slowest rank");
            let elements = |repeat: &Value| seen(repeat)["elements"].as_u64().unwrap();
            assert_eq!(elements(&whole), ranks.iter().map(elements).sum::<u64>(), "{name}: the work of all");
        }
    }
    assert!(carriers(&marked(&bench)).is_empty(), "no process is left");
}

#[test]
fn the_slowest_rank_stands_for_a_repeat_and_is_named() {
    let bench = Bench::new("ranks");
    let ran = bench.run(&[&["SLOW-1", "--ranks", "2"], SHORT].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let case = record(&bench.only_run().join("cases/slow_1.json"));
    let cpu = aggregate(&case, "rank/cpu_time");
    assert_eq!((&cpu["min_rank"], &cpu["max_rank"]), (&Value::from(0), &Value::from(1)), "{cpu}");
    assert!(cpu["max"].as_f64().unwrap() > 5.0 * cpu["min"].as_f64().unwrap(), "{cpu}");
}

#[test]
fn a_rank_that_panics_exits_hangs_or_skips_is_named_in_the_repeat_of_all_and_keeps_nobody_waiting() {
    let bench = Bench::new("ranks");
    let limits = ["--ranks", "3", "--timeout", "20", "--rank-patience", "5", "--order", "declared"];
    let ran = bench.run(&[&["BAD-1"], &limits[..], SHORT].concat());
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    for (fault, words) in [
        ("panics", "panicked in the set-up: rank 1 ("),
        ("exits", "exited with code 7 before it answered in the set-up: rank 1 ("),
        ("lasts", "ran past its deadline in the set-up: rank 1 ("),
    ] {
        let line = ran.stdout.lines().find(|line| line.starts_with(&format!("failed: BAD-1/fault={fault}:")));
        assert!(line.is_some_and(|line| line.contains(words)), "{fault}: {}", ran.all());
    }
    assert!(ran.stdout.contains("cases=5 measured=1 failed=3"), "{}", ran.all());
    let skipped = record(&bench.only_run().join("cases/bad_1@fault=skips.json"));
    let why = skipped["status"].to_string();
    assert!(why.contains("rank 1 (") && why.contains("this rank has no such thing"), "{why}");
    // Whoever waited for it says so in its own journal.
    let waited = of_rank(&bench, 2).join("repeats").join("bad_1@fault=panics.1.json");
    let waited = record(&waited)["repeat"]["outcome"]["failed"].take();
    assert_eq!(waited["how"], "ranks", "{waited}");
    assert!(waited["detail"].as_str().unwrap().contains("rank 1 has failed"), "{waited}");
}

/// A run in which rank 2 of 3 is killed as soon as something has been measured.
fn broken_off(bench: &Bench) -> ProcessEnd {
    let mut command = bench.command(&[&["LONG-1", "ADD-1", "--ranks", "3"], SHORT].concat());
    with_mark(&mut command, bench);
    let parent = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("nothing is measured", || {
        let runs = bench.runs();
        runs.first()
            .is_some_and(|run| !names(&bench.data().join("runs").join(run).join("repeats")).is_empty())
    });
    let is_second = |variables: &BTreeMap<String, String>| {
        variables.get("WEIGHBRIDGE_RANK").is_some_and(|rank| rank == "2")
            && !variables.contains_key("WEIGHBRIDGE_SILENCE")
    };
    let found: Vec<u32> =
        carriers(&marked(bench)).into_iter().filter(|(_, of)| is_second(of)).map(|(id, _)| id).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(Command::new("kill").args(["-KILL", &found[0].to_string()]).status().unwrap().success());
    ended(parent)
}

fn ended(child: Child) -> ProcessEnd {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    ProcessEnd { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn a_rank_that_is_killed_breaks_the_run_off_and_as_many_ranks_take_it_up_again() {
    let bench = Bench::new("ranks");
    let ran = broken_off(&bench);
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    assert!(ran.stderr.contains("rank 2 (") && ran.stderr.contains("has left"), "{}", ran.all());
    let run = bench.only_run();
    let manifest = record(&run.join("run.json"));
    assert_eq!(manifest["status"], "interrupted");
    assert!(manifest["ranks"]["lost"].as_str().unwrap().starts_with("rank 2 ("), "{manifest}");
    assert!(ran.stdout.contains("incomplete"), "never a mean over fewer: {}", ran.all());
    until("a process is left", || carriers(&marked(&bench)).is_empty());

    let id = run.file_name().unwrap().to_str().unwrap();
    let before: Vec<(String, Vec<u8>)> = names(&run.join("repeats"))
        .into_iter()
        .map(|name| (name.clone(), fs::read(run.join("repeats").join(&name)).unwrap()))
        .collect();
    let alone = bench.run(&["--resume", id]);
    assert_eq!(alone.code, Some(2), "{}", alone.all());
    assert!(
        alone.stderr.contains("it is a run of 3 ranks") && alone.stderr.contains("--ranks 3"),
        "{}",
        alone.all()
    );
    let fewer = bench.run(&["--resume", id, "--ranks", "2"]);
    assert_eq!(fewer.code, Some(2), "{}", fewer.all());
    assert!(fewer.stderr.contains("it is a run of 3 ranks, and this one is of 2"), "{}", fewer.all());

    let resumed = bench.run(&["--resume", id, "--ranks", "3"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.all());
    assert!(resumed.stdout.contains("measured=2 failed=0"), "{}", resumed.all());
    for (name, content) in before {
        assert_eq!(fs::read(run.join("repeats").join(&name)).unwrap(), content, "{name} was measured twice");
    }
    let manifest = record(&run.join("run.json"));
    assert_eq!((&manifest["status"], &manifest["resumed"]), (&"complete".into(), &true.into()));
    assert!(manifest["ranks"]["lost"].is_null(), "{manifest}");
}

#[test]
fn ctrl_c_ends_all_ranks_and_keeps_what_is_finished() {
    let bench = Bench::new("ranks");
    let mut command = bench.command(&["LONG-1", "--ranks", "2", "--profile=quick", "--repeats", "9"]);
    with_mark(&mut command, &bench);
    let parent = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("nothing is measured", || {
        let runs = bench.runs();
        runs.first()
            .is_some_and(|run| !names(&bench.data().join("runs").join(run).join("repeats")).is_empty())
    });
    interrupt(&parent);
    let ran = ended(parent);
    assert_eq!(ran.code, Some(130), "{}", ran.all());
    assert!(ran.stderr.contains("interrupted: what is finished is kept"), "{}", ran.all());
    until("a process is left", || carriers(&marked(&bench)).is_empty());
    assert_eq!(record(&bench.only_run().join("run.json"))["status"], "interrupted");
}

/// A rank as a launcher starts it, with a data directory of its own.
fn rank(bench: &Bench, variables: &[(&str, &str)], args: &[&str]) -> Command {
    let mut command = bench.command(&[args, SHORT].concat());
    command.envs(variables.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn ranks_of_torchrun_with_data_directories_of_their_own_meet_at_a_host_and_a_port() {
    let benches = [Bench::new("ranks"), Bench::new("ranks")];
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let place = format!("127.0.0.1:{port}");
    let start = |own: usize| {
        let (own_rank, local) = (own.to_string(), own.to_string());
        let variables = [
            ("RANK", &*own_rank),
            ("WORLD_SIZE", "2"),
            ("LOCAL_RANK", &*local),
            ("MASTER_ADDR", "127.0.0.1"),
            ("MASTER_PORT", "29500"),
            ("TORCHELASTIC_RUN_ID", "none"),
            ("WEIGHBRIDGE_RENDEZVOUS", &*place),
        ];
        rank(&benches[own], &variables, &["ADD-1"]).spawn().unwrap()
    };
    let (second, first) = (start(1), start(0));
    let (first, second) = (ended(first), ended(second));
    assert_eq!((first.code, second.code), (Some(0), Some(0)), "{}{}", first.all(), second.all());
    assert!(first.stderr.contains("2 ranks on 1 machine, by torchrun"), "{}", first.all());
    assert!(second.stdout.is_empty(), "one reports: {}", second.all());
    assert!(benches[1].runs().is_empty(), "the run is where rank 0 keeps its runs");
    let of_first = names(&benches[0].only_run().join("repeats"));
    assert_eq!(names(&of_rank(&benches[1], 1).join("repeats")), of_first);
    assert_eq!(names(&benches[0].data().join("ranks")), ["00000"], "nothing is left of the meeting");
}

#[test]
fn a_rank_that_never_comes_is_named_half_a_set_is_a_mistake_and_nothing_is_stored() {
    let bench = Bench::new("ranks");
    let own = |rank: &'static str| {
        [
            ("WEIGHBRIDGE_RANK", rank),
            ("WEIGHBRIDGE_RANKS", "3"),
            ("WEIGHBRIDGE_LOCAL_RANK", rank),
            ("WEIGHBRIDGE_LAUNCH", "never"),
        ]
    };
    let ran = ended(rank(&bench, &own("0"), &["ADD-1", "--rank-patience", "0.3"]).spawn().unwrap());
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    assert!(ran.stderr.contains("ranks that never came: [1, 2] of 3, within 0.3 s"), "{}", ran.all());
    let ran = ended(rank(&bench, &own("2"), &["ADD-1", "--rank-patience", "0.3"]).spawn().unwrap());
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    assert!(ran.stderr.contains("rank 2 of 3 did not find rank 0 within 0.3 s"), "{}", ran.all());
    for (variables, words) in [
        (&own("3")[..], "WEIGHBRIDGE_RANK is 3 of WEIGHBRIDGE_RANKS 3"),
        (&own("0")[..1], "WEIGHBRIDGE_RANKS"),
        (&own("0")[1..2], "WEIGHBRIDGE_RANKS is 3, and no launcher says which rank"),
        (&[("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "0")][..], "SLURM_STEP_NUM_TASKS"),
    ] {
        let ran = ended(rank(&bench, variables, &["ADD-1"]).spawn().unwrap());
        assert_eq!(ran.code, Some(2), "{words}: {}", ran.all());
        assert!(ran.stderr.contains(words), "{}", ran.all());
    }
    // In a batch script that no `srun` has started this process is alone.
    let batch = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4"), ("SLURM_LOCALID", "0"), ("SLURM_JOB_ID", "8")];
    let ran = ended(rank(&bench, &batch, &["ADD-1"]).spawn().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(record(&bench.only_run().join("run.json"))["ranks"].is_null());
}

#[test]
fn a_rank_with_another_plan_is_named_before_anything_is_measured() {
    let bench = Bench::new("ranks");
    let start = |own: &str, args: &[&str]| {
        let variables = [
            ("WEIGHBRIDGE_RANK", own),
            ("WEIGHBRIDGE_RANKS", "2"),
            ("WEIGHBRIDGE_LOCAL_RANK", own),
            ("WEIGHBRIDGE_LAUNCH", "another-plan"),
        ];
        rank(&bench, &variables, args).spawn().unwrap()
    };
    let (first, second) = (start("0", &["ADD-1"]), start("1", &["SLOW-1"]));
    let (first, second) = (ended(first), ended(second));
    assert_eq!(first.code, Some(2), "{}", first.all());
    assert!(first.stderr.contains("rank 1 (") && first.stderr.contains("): plan: "), "{}", first.all());
    assert_eq!(second.code, Some(6), "{}", second.all());
    assert!(
        second.stderr.contains("rank 0 has ended the run") && second.stderr.contains("plan: "),
        "{}",
        second.all()
    );
    assert!(bench.runs().is_empty(), "nothing is stored");
}

#[test]
fn a_baseline_of_two_ranks_judges_two_and_no_other_number() {
    let bench = Bench::new("ranks");
    let args = |more: &[&'static str]| [&["ADD-1"], more, SHORT].concat();
    let kept = bench.run(&args(&["--ranks", "2", "--save-baseline", "two"]));
    assert_eq!(kept.code, Some(0), "{}", kept.all());
    let judged = bench.run(&args(&["--ranks", "2", "--baseline", "two", "--threshold", "500%"]));
    assert!(judged.stdout.contains("two"), "{}", judged.all());
    assert!(judged.code.is_some_and(|code| [0, 3, 5].contains(&code)), "{}", judged.all());
    for other in [&[][..], &["--ranks", "3"]] {
        let refused = bench.run(&args(&[other, &["--baseline", "two"]].concat()));
        assert_eq!(refused.code, Some(4), "{}", refused.all());
    }
    let shown = xtask(&bench, &["runs", "list"]);
    assert_eq!(shown.code, Some(0), "{}", shown.all());
}

#[test]
fn what_ranks_cannot_do_is_refused_and_the_number_of_a_launcher_counts() {
    let bench = Bench::new("ranks");
    for (args, words) in [
        (&["--ranks", "2", "--isolation", "none"][..], "leave out --isolation none"),
        (&["--ranks", "0"][..], "--ranks takes a whole number of at least 1, not `0`"),
        (&["--ranks", "2", "--versus", "x"][..], "run --versus without ranks"),
        (&["--ranks", "2", "--trace", "perf"][..], "run them without ranks"),
        (&["--rank-patience", "-1"][..], "a number of seconds above 0"),
    ] {
        let ran = bench.run(&[&["ADD-1"], args, SHORT].concat());
        assert_eq!(ran.code, Some(2), "{words}: {}", ran.all());
        assert!(ran.stderr.contains(words), "{}", ran.all());
    }
    let variables = [("PMI_RANK", "0"), ("PMI_SIZE", "2")];
    let ran = ended(rank(&bench, &variables, &["ADD-1", "--ranks", "3"]).spawn().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.stderr.contains("MPICH has started 2 already"), "{}", ran.all());
}
