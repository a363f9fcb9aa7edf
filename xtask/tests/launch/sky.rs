//! `launch --engine sky` beside a program that plays `sky`: what a cloud does wrong, on this machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{LaunchEnded, SHORT, bench_of, launch, launches, script, xtask};

/// Plays `sky` and `scp`: it writes down what it is asked, and does what the file `play` says.
const SKY: &str = r#"
me=$(dirname "$0")
play=$(cat "$me/play")
echo "$*" >> "$me/asked"
case $1 in
launch)
    task=$(eval echo "\${$#}")
    case $play in
    refused) echo "sky.exceptions.ResourcesUnavailableError: no A100 left" >&2; exit 1 ;;
    never) exec sleep 86399 ;;
    spot) case $task in */spot-task.yaml) ;; *) exec sleep 86399 ;; esac ;;
    silent) touch "$me/running"; echo "setting up"; exec sleep 86399 ;;
    esac
    touch "$me/running"
    SKYPILOT_NODE_RANK=0 SKYPILOT_NUM_NODES=1 python3 - "$task" <<'PY'
import json, os, subprocess, sys
task = json.load(open(sys.argv[1]))
sys.exit(subprocess.run(["sh", "-c", task["run"]], env=dict(os.environ, **task["envs"])).returncode)
PY
    ;;
queue) if [ -e "$me/running" ]; then echo "1 RUNNING"; fi ;;
status) echo "UP" ;;
logs) echo "the newest lines" ;;
down) if [ "$play" = stuck ]; then echo "the cloud does not answer" >&2; exit 1; fi; rm -f "$me/running" ;;
esac
"#;

/// A launch beside that program, with what it was asked.
fn played(play: &str, args: &[&str]) -> (LaunchEnded, String) {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::rename(script(folder.path(), SKY), bin.join("sky")).unwrap();
    // Here the host and this machine are one, and files are where they belong.
    fs::rename(script(folder.path(), "exit 0"), bin.join("scp")).unwrap();
    fs::write(bin.join("play"), play).unwrap();
    let path = std::env::join_paths(
        std::iter::once(bin.clone()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut command = launch(folder.path(), &["--engine", "sky", "-N", "1"]);
    command.env("PATH", path.unwrap()).args(args);
    let ended = LaunchEnded::of(command.output().unwrap(), &folder.path().join("shared"));
    let asked = fs::read_to_string(bin.join("asked")).unwrap_or_default();
    let is_kept = play == "stuck" || args.contains(&"--keep");
    assert!(is_kept || !bin.join("running").exists(), "hosts are not given back: {}", ended.said);
    (ended, asked)
}

/// A launch of one real command.
fn measured(play: &str, args: &[&str]) -> (LaunchEnded, String) {
    let env = bench_of("true");
    played(play, &[args, &["-n", "2", "--program", xtask(), "--env", &env][..], &SHORT].concat())
}

/// The commands of `sky` that were asked for, without those that only look.
fn acts(asked: &str) -> Vec<&str> {
    let looks = ["queue", "status", "logs"];
    let words = asked.lines().filter_map(|line| line.split(' ').next());
    words.filter(|word| !looks.contains(word)).collect()
}

#[test]
fn a_cluster_is_made_measured_on_and_given_back() {
    if !needs::python3() {
        return;
    }
    let (ended, asked) = measured("well", &["--gpus", "A100:1", "--infra", "vast", "--preflight", "off"]);
    // The device that was asked for is not there, which the rank says and not the cloud.
    assert_eq!(ended.code, Some(6), "{}", ended.said);
    ended.says(&["1 devices A100 were asked for, and it has "]);
    assert_eq!(acts(&asked), ["launch", "down"], "{asked}");
    let (ended, asked) = measured("well", &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert_eq!(acts(&asked), ["launch", "down"], "{asked}");
    let (ended, asked) = measured("well", &["--keep"]);
    assert_eq!((ended.code, acts(&asked)), (Some(0), vec!["launch"]), "{asked}");
}

#[test]
fn a_launch_that_takes_too_long_is_tried_again_there_and_then_on_spot_hosts() {
    if !needs::python3() {
        return;
    }
    let (ended, asked) = measured("spot", &["--launch-timeout", "2"]);
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert_eq!(ended.summary["used_spot_fallback"], true);
    assert_eq!(acts(&asked), ["launch", "launch", "down", "launch", "down"], "{asked}");
    let of = |at: usize| asked.lines().filter(|line| line.starts_with("launch ")).nth(at).unwrap();
    assert!(of(1).ends_with("engine/task.yaml") && of(2).ends_with("engine/spot-task.yaml"), "{asked}");

    let (ended, asked) = played_script("never", &["--launch-timeout", "2", "--no-spot-fallback"]);
    assert_eq!((ended.code, &ended.summary["end"]), (Some(6), &"launch_timed_out".into()), "{}", ended.said);
    assert_eq!(ended.summary["used_spot_fallback"], false);
    assert_eq!(acts(&asked), ["launch", "launch", "cancel", "down"], "{asked}");
}

fn played_script(play: &str, args: &[&str]) -> (LaunchEnded, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = script(folder.path(), "exit 0");
    played(play, &[args, &["--program", program.to_str().unwrap()]].concat())
}

#[test]
fn a_cluster_that_falls_silent_is_diagnosed_ended_and_never_tried_on_other_hosts() {
    let (ended, asked) = played_script("silent", &["--stall-timeout", "3"]);
    assert_eq!((ended.code, &ended.summary["end"]), (Some(6), &"stalled".into()), "{}", ended.said);
    assert!(asked.lines().any(|line| line.starts_with("logs ")), "{asked}");
    assert_eq!(acts(&asked), ["launch", "cancel", "down"], "{asked}");
    ended.says(&["diagnosis: "]);
}

#[test]
fn what_the_cloud_refuses_is_told_in_its_words_and_what_it_does_not_take_back_too() {
    let (ended, asked) = played_script("refused", &[]);
    assert_eq!(ended.code, Some(6), "{}", ended.said);
    ended.says(&["no A100 left"]);
    assert_eq!(acts(&asked), ["launch", "down"], "{asked}");
    let (ended, _) = played_script("stuck", &[]);
    // The first failure is the one that is told as the end.
    assert_eq!(ended.summary["end"], "completed", "{}", ended.said);
    ended.says(&[
        "rank 0 left no run",
        "hosts were not given back: look for them yourself",
        "cloud does not answer",
    ]);
}

#[test]
fn the_task_is_one_that_skypilot_itself_reads() {
    let Some(python) = needs::sky() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = script(folder.path(), "exit 0");
    let dry = |extra: &[&str]| {
        let args =
            ["--engine", "sky", "--gpus", "A100:1", "--dry-run", "--program", program.to_str().unwrap()];
        let mut command: Command = launch(folder.path(), &[&args[..], extra].concat());
        command.env(needs::SKY, &python).env("HOME", folder.path());
        LaunchEnded::of(command.output().unwrap(), Path::new("/nonexistent"))
    };
    let read = dry(&["--env", "A=it's", "--extra", "setup: pip list"]);
    assert_eq!(read.code, Some(0), "{}", read.said);
    read.says(&["checked by sky.Task of SkyPilot ", "\"accelerators\": \"A100:1\""]);
    let refused = dry(&["--extra", "num_hosts: 2"]);
    assert_eq!(refused.code, Some(2), "{}", refused.said);
    refused.says(&["sky.Task refuses the job file", "num_hosts"]);
    assert!(launches(&folder.path().join("shared")).is_empty());
}
