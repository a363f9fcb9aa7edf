//! `launch` on a real Slurm, and on this machine: the program as it is started, with what people do to it.

mod cluster;
mod kubernetes;
mod mpirun;
mod ray;
mod recipes;
mod sky;
mod slurm;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The longest that anything is waited for that must come.
const PATIENCE: Duration = Duration::from_mins(3);

/// Waits for something that must come.
pub(crate) fn until(what: &str, mut is_there: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_there() {
        assert!(Instant::now() < end, "it never came: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The program with the commands.
pub(crate) fn xtask() -> &'static str {
    env!("CARGO_BIN_EXE_xtask")
}

/// A program that is no bench program, for ranks that never come to their end.
pub(crate) fn script(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("script");
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// The variable that makes the program with the commands a bench program of this one command.
pub(crate) fn bench_of(command: &str) -> String {
    let shell = serde_json::json!({ "name": "it", "line": ["sh", "-c", command], "prepare": null });
    let file = serde_json::json!({ "all": [shell], "ignore_failure": false, "show_output": false });
    format!("WEIGHBRIDGE_COMMANDS={file}")
}

/// The end of a launch: its exit code, all that it said, and its summary where it wrote one.
#[derive(Debug)]
pub(crate) struct LaunchEnded {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
    pub(crate) summary: Value,
}

impl LaunchEnded {
    pub(crate) fn of(output: std::process::Output, shared: &Path) -> Self {
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let summary = launches(shared).pop().map(|folder| read(&folder.join("summary.json")));
        Self { code: output.status.code(), said: said.concat(), summary: summary.unwrap_or_default() }
    }

    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) {
        for word in words {
            assert!(self.said.contains(word), "`{word}` is not said: {}", self.said);
        }
    }
}

/// A document, or null where it is not there.
pub(crate) fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// The folders of launches, oldest first.
pub(crate) fn launches(shared: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(shared.join("weighbridge-launches")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// `launch` on this machine.
fn launch(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(xtask());
    command.current_dir(folder).args(["launch", "--heartbeat", "1"]);
    command.arg("--data").arg(folder.join("data")).arg("--shared").arg(folder.join("shared"));
    command.args(args).stdin(Stdio::null());
    command
}

fn ended(folder: &Path, args: &[&str]) -> LaunchEnded {
    LaunchEnded::of(launch(folder, args).output().unwrap(), &folder.join("shared"))
}

/// The arguments that make a run of one command short. Hosts of a cluster are one machine here, with one
/// lock.
pub(crate) const SHORT: [&str; 6] = ["--", "--quick", "--repeats", "2", "--allow-debug", "--no-lock"];

#[test]
fn ranks_of_this_machine_measure_and_the_run_of_rank_0_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let env = bench_of("true");
    let args = [&["-n", "2", "--program", xtask(), "--env", &env][..], &SHORT].concat();
    let ended = ended(folder.path(), &args);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    ended.says(&["full: ok, 2 ranks, run ", "rank 1 on "]);
    let stage = &ended.summary["stages"][0];
    assert_eq!((&ended.summary["ok"], &stage["samples_checked"]), (&true.into(), &2.into()));
    let run = stage["run"].as_str().unwrap();
    assert!(folder.path().join("data/runs").join(run).join("run.json").is_file());
    let launched = launches(&folder.path().join("shared")).pop().unwrap();
    assert!(!launched.join("bundle").exists(), "programs are large, and have done their part");
}

#[test]
fn a_dry_run_shows_all_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["-n", "3", "--program", xtask(), "--mode", "two-pass", "--dry-run", "--", "--quick"];
    let first = ended(folder.path(), &args);
    assert_eq!(first.code, Some(0), "{}", first.said);
    let words = ["WEIGHBRIDGE_LAUNCH_FOLDER", "stage gate: --quick --set gate", "stage full: --quick"];
    first.says(&words);
    first.says(&["3 ranks on 1 hosts", "checked by sh -n; nothing was submitted"]);
    assert_eq!(launches(&folder.path().join("shared")), Vec::<PathBuf>::new());
    let plan = |of: &LaunchEnded| of.said.split("plan ").nth(1).unwrap()[..16].to_owned();
    let again = ended(folder.path(), &args);
    assert_eq!(plan(&first), plan(&again), "the same plan has the same digest");
    let other = ended(folder.path(), &[&["-n", "4"][..], &args[2..]].concat());
    assert_ne!(plan(&first), plan(&other));
}

#[test]
fn a_gate_that_fails_keeps_the_rest_from_being_measured() {
    let folder = tempfile::tempdir().unwrap();
    let program = script(folder.path(), "case \"$*\" in *'--set gate'*) exit 6;; esac; exit 0");
    let program = program.to_str().unwrap();
    let ended = ended(folder.path(), &["-n", "2", "--mode", "two-pass", "--program", program]);
    assert_eq!(ended.code, Some(6), "{}", ended.said);
    ended.says(&["gate: rank 0 on ", "exit code 6", "full: rank 1 left no result"]);
    let launched = launches(&folder.path().join("shared")).pop().unwrap();
    assert!(launched.join("attempt-0/results/gate/rank-00001.json").is_file());
    assert!(!launched.join("attempt-0/logs/full").exists(), "nothing of the second stage was started");
}

#[test]
fn a_program_that_ends_well_and_leaves_no_run_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let program = script(folder.path(), "exit 0");
    let ended = ended(folder.path(), &["--program", program.to_str().unwrap()]);
    assert_eq!((ended.code, &ended.summary["ok"]), (Some(6), &false.into()), "{}", ended.said);
    ended.says(&["rank 0 left no run"]);
}

#[test]
fn a_wish_that_an_engine_has_no_word_for_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let program = script(folder.path(), "exit 0");
    for (args, told) in [
        (&["--account", "me"][..], "no word for --account"),
        (&["--extra", "#SBATCH -C x"], "no word for --extra"),
        (&["--engine", "kubernetes"], "needs --image"),
        (&["--engine", "sky", "--gpus", "1"], "by their kind"),
    ] {
        let ended = ended(folder.path(), &[&["--program", program.to_str().unwrap()][..], args].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.said);
        ended.says(&[told]);
        assert_eq!(launches(&folder.path().join("shared")), Vec::<PathBuf>::new());
    }
}
