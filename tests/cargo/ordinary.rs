//! What an ordinary bench may say: generic functions, groups, budgets, inputs that are counted; and how its
//! mistakes are told.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::external::{Bench, ProcessEnd, bare_xtask, clean, downstream, root, target};

#[test]
fn generic_functions_run_once_for_each_of_their_types_and_constants_as_often_as_they_say() {
    let bench = Bench::new("generic");
    let planned = bench.run(&["SUM-1", "WORDS-1", "--profile=quick", "--dry-run"]);
    for line in ["  SUM-1/Vec<u64>/N=10  (2 repeats)", "  SUM-1/deque/N=1000  (2 repeats)", "  WORDS-1\n"] {
        assert!(planned.stdout.contains(line), "{line}: {}", planned.all());
    }
    let typed = bench.run(&["SUM-1", "COPIED", "--profile=quick", "--dry-run", "--repeats", "5"]);
    assert!(
        !typed.stdout.contains("repeats)"),
        "what is typed stands above what the author says: {}",
        typed.all()
    );
    assert!(typed.stdout.contains("  COPIED  (30 samples)"), "{}", typed.all());

    let refused = bench.run(&["SUM-1", "--param", "T=HashSet", "--profile=quick"]);
    assert!(
        refused.code == Some(2) && refused.stderr.contains("one of `Vec<u64>`, `deque`"),
        "{}",
        refused.all()
    );
    let ran = bench.run(&["SUM-1", "WORDS-1", "--param", "T=deque", "--profile=quick"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    for row in ["deque/N=10 ", "deque/N=1000 ", "none of 2 repeats", "none of 3 repeats", "iB/s"] {
        assert!(ran.stdout.contains(row), "{row}: {}", ran.all());
    }
    let repeats: Vec<_> = fs::read_dir(bench.only_run().join("repeats")).unwrap().collect();
    assert_eq!(repeats.len(), 2 + 2 + 3, "two of each size of the deque, three of the words");
    for repeat in repeats {
        let record: Value = serde_json::from_slice(&fs::read(repeat.unwrap().path()).unwrap()).unwrap();
        let repeat = &record["record"]["repeat"];
        let ledger = &repeat["outcome"]["measured"]["observation"]["ledger"];
        let parts: u64 = ledger.as_object().unwrap().values().map(|part| part.as_u64().unwrap()).sum();
        assert!(ledger["tell"].as_u64().unwrap() > 0, "handing over takes time: {ledger}");
        assert!(parts <= repeat["slot"].as_u64().unwrap(), "no time is in two parts: {repeat}");
    }
}

#[test]
fn a_group_ranks_those_that_gave_the_same_answer_and_shows_ratios_of_those_that_gave_none() {
    let bench = Bench::new("generic");
    let ran = bench.run(&["HASHED", "SORTED", "OTHER", "COPIED", "REVERSED", "--profile=quick"]);
    assert_eq!(ran.code, Some(6), "one gives another answer: {}", ran.all());
    assert!(
        ran.stdout.contains("Lookup  side by side: those with a rank gave the same answer"),
        "{}",
        ran.all()
    );
    let row = |name: &str| {
        let found = ran.stdout.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("{name} has no row: {}", ran.all()))
    };
    assert!(row("OTHER").ends_with("not ranked"), "{}", ran.all());
    assert!(ran.stdout.contains("unequal work: OTHER: its answer to a drawn input is `"), "{}", ran.all());
    assert_eq!(ran.stdout.matches("  best").count(), 1, "the other group has no rank: {}", ran.all());
    assert!(ran.stdout.contains("Unproven  side by side, unverified"), "{}", ran.all());
    assert!(row("COPIED").ends_with("1.00x") && row("REVERSED").ends_with('x'), "{}", ran.all());
}

#[test]
fn a_body_that_asks_for_more_or_fewer_repeats_gets_them_and_a_failure_names_its_log() {
    let bench = Bench::new("generic");
    let ran = bench.run(&["BORROWED-1", "--profile=quick"]);
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    assert!(ran.stdout.contains("returned an error in the tear-down: as it was asked to"), "{}", ran.all());

    let panics = Bench::new("ordinary");
    let ran = panics.run(&["PANIC-1", "--profile=quick", "--show-output"]);
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    let line = ran.stdout.lines().find(|line| line.starts_with("failed: PANIC-1")).unwrap();
    assert!(line.contains("as it was asked to (benches/ordinary.rs:"), "{line}");
    let log = ran.stdout.lines().find_map(|line| line.trim().strip_prefix("log: ")).unwrap();
    let log = fs::read_to_string(log).unwrap();
    assert!(log.contains("as it was asked to"), "{log}");
    assert!(ran.stderr.contains("--- PANIC-1, repeat 1 printed:\n"), "{}", ran.all());
    assert!(ran.stderr.contains(log.lines().nth(1).unwrap()), "{}", ran.all());
}

#[test]
fn a_budget_bounds_the_waiting_for_another_run_and_says_who_holds_the_machine() {
    let bench = Bench::new("sorting");
    let alone = tempfile::tempdir().unwrap(); // the lock lies in the folder for temporary files
    let user = fs::metadata(alone.path()).unwrap().uid();
    let held = fs::File::create(alone.path().join(format!("weighbridge-{user}.lock"))).unwrap();
    held.lock().unwrap();
    let mut command = bench.bare(&["SUM-1", "--profile=quick", "--bench", "--budget", "0.3", "--data"]);
    let ran = ProcessEnd::of(command.arg(bench.data()).env("TMPDIR", alone.path()));
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    // The kernel says who it is, where it says anything.
    let own = format!("waiting for process {} (--no-lock does not wait)", std::process::id());
    let unnamed = "waiting for another measuring run, which does not say which";
    assert!([&*own, unnamed].iter().any(|words| ran.stderr.contains(words)), "{}", ran.all());
    assert!(ran.stderr.contains("held the machine for the 0.3 s of --budget"), "{}", ran.all());
}

#[test]
fn a_run_with_another_folder_for_temporary_files_waits_for_the_machine_as_well() {
    let bench = Bench::new("sorting");
    let alone = tempfile::tempdir().unwrap();
    let held = fs::OpenOptions::new().read(true).open("/tmp/weighbridge.lock");
    let held = held.or_else(|_| fs::File::create_new("/tmp/weighbridge.lock")).unwrap();
    held.lock().unwrap();
    let mut command = bench.bare(&["SUM-1", "--profile=quick", "--bench", "--budget", "0.3", "--data"]);
    let ran = ProcessEnd::of(command.arg(bench.data()).env("TMPDIR", alone.path()));
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    assert!(ran.stderr.contains("held the machine for the 0.3 s of --budget"), "{}", ran.all());
}

#[test]
fn whole_programs_are_measured_and_ones_that_fail_are_named() {
    let data = tempfile::tempdir().unwrap();
    let command = |args: &[&str]| {
        let mut command = bare_xtask(&["command"]);
        command
            .args(args)
            .args(["--", "--profile=quick", "--repeats", "1", "--no-lock"])
            .current_dir(data.path());
        command.env("WEIGHBRIDGE_DATA", data.path());
        ProcessEnd::of(&mut command)
    };
    let ran = command(&["--rank", "-n", "nothing", "true", "-n", "broken", "exit 3"]);
    assert_eq!(ran.code, Some(6), "{}", ran.all());
    assert!(
        ran.stderr.contains("1 scenario and 2 adapters found"),
        "the catalogue is none of it: {}",
        ran.all()
    );
    assert!(ran.stdout.contains("nothing  "), "{}", ran.all());
    let said = "failed: COMMAND/broken: repeat 1 returned an error in the tear-down: \
                `exit 3` ended with exit status: 3";
    assert!(ran.stdout.contains(said), "{}", ran.all());
    let ran = command(&["-N", "ls | wc"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("which a shell reads"), "{}", ran.all());
}

/// A crate of one bench file, in a folder of its own, with this in its manifest and above its scenario.
fn crate_with(manifest: &str, head: &str, name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |file: &str| folder.path().join(file);
    fs::create_dir_all(at("benches")).unwrap();
    fs::create_dir_all(at("src")).unwrap();
    fs::write(at("src/lib.rs"), "").unwrap();
    fs::copy(root().join("Cargo.lock"), at("Cargo.lock")).unwrap();
    let runtime = root().join("runtime");
    let manifest = manifest.replace("RUNTIME", &runtime.display().to_string());
    let package =
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[lib]\nbench = false\n";
    let profile = "[profile.bench]\nopt-level = 1\n[workspace]\n";
    fs::write(at("Cargo.toml"), format!("{package}{manifest}{profile}")).unwrap();
    let bench = format!(
        "{head}\nuse {name}::prelude::*;\n/// Add.\n#[scenario(id = \"ADD-1\")]\n\
         fn add(bencher: &mut Bencher, #[sweep(1, 2)] n: u64) {{\n    bencher.iter(|| n + 1);\n}}\n\
         {name}::main!();\n"
    );
    fs::write(at("benches/add.rs"), bench).unwrap();
    folder
}

/// Cargo in that crate, with what the downstream crate has built already.
fn cargo_in(folder: &Path, args: &[&str]) -> ProcessEnd {
    let _ = downstream();
    let mut command = Command::new(env!("CARGO"));
    command.args(args).current_dir(folder).env("CARGO_TARGET_DIR", target()).stdin(Stdio::null());
    clean(command.env_remove("CARGO_MAKEFLAGS"));
    ProcessEnd::of(&mut command)
}

/// The features that the downstream crate has built.
const FEATURES: &str = "features = [\"tokio\", \"worker\"]";

#[test]
fn a_dependency_may_be_renamed() {
    let manifest = format!(
        "[dev-dependencies]\nwb = {{ package = \"weighbridge\", path = \"RUNTIME\", {FEATURES} }}\n\
         [[bench]]\nname = \"add\"\nharness = false\n"
    );
    let folder = crate_with(&manifest, "#![deny(warnings)]", "wb");
    let smoke = cargo_in(folder.path(), &["bench", "--", "--test"]);
    assert!(smoke.code == Some(0) && smoke.stdout.contains("smoke cases=2 failed=0"), "{}", smoke.all());
}

#[test]
fn a_bench_target_with_libtests_harness_does_not_compile_and_says_what_to_write() {
    let manifest = format!("[dev-dependencies]\nweighbridge = {{ path = \"RUNTIME\", {FEATURES} }}\n");
    let folder = crate_with(&manifest, "", "weighbridge");
    let built = cargo_in(folder.path(), &["bench", "--no-run"]);
    assert_eq!(built.code, Some(101), "{}", built.all());
    assert!(built.stderr.contains("write `harness = false` below its `[[bench]]`"), "{}", built.all());
}

#[test]
fn a_flag_that_libtest_would_refuse_names_the_targets_that_have_it_and_what_to_write() {
    let manifest = format!(
        "[[bin]]\nname = \"tool\"\n[dev-dependencies]\nweighbridge = {{ path = \"RUNTIME\", {FEATURES} }}\n\
         [[bench]]\nname = \"add\"\nharness = false\n"
    );
    let folder = crate_with(&manifest, "", "weighbridge");
    fs::create_dir_all(folder.path().join("src/bin")).unwrap();
    fs::write(folder.path().join("src/bin/tool.rs"), "fn main() {}").unwrap();
    let plain = cargo_in(folder.path(), &["bench", "--", "--dry-run"]);
    assert!(plain.code != Some(0) && plain.stderr.contains("Unrecognized option"), "{}", plain.all());
    let note = "`cargo bench -- --dry-run` without `--bench add` ends in libtest, which the binary `tool` of \
                `small` starts too and which refuses the flag: write `name = \"tool\"` and `bench = false` \
                below `[[bin]]` in Cargo.toml";
    let alone = cargo_in(folder.path(), &["bench", "--bench", "add", "--", "--dry-run"]);
    assert!(alone.code == Some(0) && alone.stderr.contains(note), "{}", alone.all());
    let known = cargo_in(folder.path(), &["bench", "--", "--list"]);
    assert!(known.code == Some(0) && !known.stderr.contains("libtest"), "{}", known.all());

    let path = folder.path().join("Cargo.toml");
    let said = fs::read_to_string(&path).unwrap();
    fs::write(&path, said.replace("name = \"tool\"\n", "name = \"tool\"\nbench = false\n")).unwrap();
    let mended = cargo_in(folder.path(), &["bench", "--", "--dry-run"]);
    assert!(mended.code == Some(0) && !mended.stderr.contains("libtest"), "{}", mended.all());
}

#[test]
fn a_quick_run_ends_in_its_time_with_what_fits_and_says_what_it_left_out_and_what_would_be_enough() {
    let bench = Bench::new("ordinary");
    let quick = ["--quick", "--no-lock", "--measurement-time", "0.002"];
    let of = |flags: &[&str]| bench.run(&[&quick, flags].concat());
    let ran = of(&["SLEEP-1", "SLOW-1", "--param", "SLOW-1.seconds=30", "--budget", "20"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let said = "skipped: SLOW-1/seconds=30: no time was left for it in the 20 s of this run; `--budget ";
    assert!(ran.stdout.contains(said) && ran.stdout.contains("measured=1 failed=0"), "{}", ran.all());
    assert!(ran.stdout.contains("none of 3 repeats"), "the other has all of its own: {}", ran.all());

    // A figure that was asked for and is not there is no success.
    let alone = of(&["SLOW-1", "--param", "seconds=30", "--budget", "3"]);
    assert_eq!(alone.code, Some(5), "{}", alone.all());

    // There is time for one repeat of three, and that is said.
    let fewer = of(&["SLOW-1", "--param", "seconds=3", "--budget", "25", "--repeats", "9"]);
    assert!(
        fewer.stdout.contains("fewer repeats than planned, for want of time: SLOW-1/seconds=3 "),
        "{}",
        fewer.all()
    );
    assert!(fewer.code == Some(0) && fewer.stdout.contains("measured=1"), "{}", fewer.all());

    // Without `--quick` a run whose time is over is broken off, and can be taken up again.
    let broken =
        bench.run(&["SLOW-1", "--param", "seconds=3", "--budget", "1", "--no-lock", "--repeats", "9"]);
    assert!(broken.code == Some(5) && broken.stderr.contains("--resume"), "{}", broken.all());
}

#[test]
fn a_library_that_slows_the_clock_down_before_the_program_starts_takes_its_rank_away() {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("slow.c"), folder.path().join("slow.so"));
    let text = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <time.h>\n\
        typedef int (*get)(clockid_t, struct timespec *);\n\
        int clock_gettime(clockid_t id, struct timespec *at) {\n\
        get real = (get)dlsym(RTLD_NEXT, \"clock_gettime\");\n\
        int said = real(id, at);\n\
        if (id == CLOCK_MONOTONIC) {\n\
        long long all = (at->tv_sec * 1000000000LL + at->tv_nsec) / 17 * 10;\n\
        at->tv_sec = all / 1000000000LL; at->tv_nsec = all % 1000000000LL; }\n\
        return said; }\n";
    fs::write(&source, text).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
    assert!(cc.status().unwrap().success(), "a linker is there, or nothing was built");
    let bench = Bench::new("ordinary");
    let flags = ["SLEEP-5", "--no-lock", "--repeats", "4", "--measurement-time", "0.4"];
    let slowed = ProcessEnd::of(bench.command(&flags).env("LD_PRELOAD", &library));
    assert_eq!(slowed.code, Some(6), "{}", slowed.all());
    assert!(slowed.stdout.contains("clock: its clock says that "), "{}", slowed.all());
    let plain = bench.run(&flags);
    assert_eq!(plain.code, Some(0), "{}", plain.all());
}
