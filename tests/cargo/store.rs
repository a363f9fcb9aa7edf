//! Disks that are full or cannot be written, files that were changed by hand: clear errors, never a panic.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::external::{Bench, ProcessEnd, clean, xtask};

const ARGS: &[&str] = &["SUM-1", "--profile=quick", "--measurement-time", "0.002"];

#[test]
fn a_data_directory_that_cannot_be_made_is_exit_1_and_names_the_way_out() {
    let bench = Bench::new("sorting");
    let file = bench.data().join("file");
    fs::write(&file, "in the way").unwrap();
    let ran =
        ProcessEnd::of(bench.bare(ARGS).args(["--no-lock", "--bench", "--data"]).arg(file.join("data")));
    assert_eq!(ran.code, Some(1), "{}", ran.all());
    assert!(ran.stderr.contains("failed to") && !ran.stderr.contains("panicked"), "{}", ran.all());
}

#[test]
fn a_full_disk_is_exit_1_and_loses_no_finished_repeat() {
    let bench = Bench::new("sorting");
    let disk = bench.data().join("disk");
    fs::create_dir(&disk).unwrap();
    // The disk is there for the shell alone: what is on it at the end is copied to where the test sees it.
    let script = r#"mount -t tmpfs -o size=256k tmpfs "$1" && {
        disk=$1; kept=$2; shift 2; "$@"; code=$?; cp -a "$disk" "$kept"; exit $code; }"#;
    let Some(mut shell) = needs::mounting(script) else { return };
    let kept = bench.data().join("kept");
    let full = [
        "--profile=quick",
        "--repeats",
        "200",
        "--measurement-time",
        "0.02",
        "--no-lock",
        "--bench",
        "--data",
    ];
    let full = bench.bare(&full);
    shell.arg("sh").args([&disk, &kept]).arg(full.get_program()).args(full.get_args()).arg(&disk);
    shell.current_dir(full.get_current_dir().expect("a bench has one")).stdin(Stdio::null());
    clean(&mut shell);
    let ran = ProcessEnd::of(&mut shell);
    let whole = fs::read_dir(kept.join("runs")).unwrap().flatten().next().unwrap().path().join("repeats");
    let torn = fs::read_dir(whole).unwrap().flatten().filter(|entry| {
        let json = entry.path().extension().is_some_and(|extension| extension == "json");
        json && serde_json::from_slice::<serde_json::Value>(&fs::read(entry.path()).unwrap()).is_err()
    });
    let torn = torn.count();
    assert_eq!(ran.code, Some(1), "{}", ran.all());
    assert!(ran.stderr.contains("free some space"), "{}", ran.all());
    assert_eq!(torn, 0);
}

#[test]
fn a_scratch_that_is_full_puts_the_case_off_and_it_is_measured_once_there_is_room() {
    let bench = Bench::new("faults");
    let disk = bench.data().join("disk");
    fs::create_dir(&disk).unwrap();
    let script = r#"mount -t tmpfs -o size=16m tmpfs "$1" && {
        disk=$1; program=$2; shift 2
        "$program" "$@" --data "$disk"; echo "first=$?"
        mount -o remount,size=512m "$disk"
        "$program" --resume "$(ls "$disk/runs")" --no-lock --bench --data "$disk"; echo "second=$?"; }"#;
    let Some(mut shell) = needs::mounting(script) else { return };
    let args = ["DISK-1", "GOOD-1", "--profile=quick", "--repeats", "2", "--no-lock", "--bench"];
    let own = bench.bare(&args);
    shell.arg("sh").arg(&disk).arg(own.get_program()).args(own.get_args());
    shell.current_dir(own.get_current_dir().expect("a bench has one")).stdin(Stdio::null());
    clean(&mut shell);
    let ran = ProcessEnd::of(&mut shell);
    assert!(ran.stderr.contains("DISK-1 is put off"), "{}", ran.all());
    assert!(ran.stderr.contains("free some space") && ran.stderr.contains("--resume"), "{}", ran.all());
    assert!(ran.stdout.contains("first=130") && ran.stdout.contains("second=0"), "{}", ran.all());
    assert!(ran.stdout.contains("measured=2 failed=0"), "{}", ran.all());
}

#[test]
fn two_runs_at_once_on_one_data_directory_do_not_harm_each_other() {
    let bench = Bench::new("sorting");
    let mut both: Vec<_> = (0..2).map(|_| bench.command(ARGS).spawn().unwrap()).collect();
    for child in &mut both {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(bench.runs().len(), 2);
    let listed = xtask(&bench, &["runs", "list"]);
    assert_eq!(listed.code, Some(0), "{}", listed.all());
    for run in bench.runs() {
        assert!(listed.stdout.contains(&run), "{}", listed.all());
    }
}

#[test]
fn a_record_changed_by_hand_is_a_warning_and_never_a_wrong_verdict() {
    let bench = Bench::new("sorting");
    for change in ["{", "{\"schema\": 999}", "not json at all"] {
        assert_eq!(bench.run(&[ARGS, &["--save-baseline", "main"]].concat()).code, Some(0));
        let latest = bench.data().join("runs").join(bench.runs().pop().unwrap());
        fs::write(latest.join("run.json"), change).unwrap();
        let listed = xtask(&bench, &["runs", "list"]);
        assert_eq!(listed.code, Some(0), "{}", listed.all());
        // The next run has no last run to show changes against, or an older one, and is fine.
        let next = bench.run(ARGS);
        assert_eq!(next.code, Some(0), "{}", next.all());
    }
}

#[test]
fn a_baseline_changed_by_hand_is_exit_1_and_an_unknown_one_exit_4() {
    let bench = Bench::new("sorting");
    assert_eq!(bench.run(&[ARGS, &["--save-baseline", "main"]].concat()).code, Some(0));
    let unknown = bench.run(&[ARGS, &["--baseline", "mian"]].concat());
    assert_eq!(unknown.code, Some(4), "{}", unknown.all());
    assert!(unknown.stderr.contains("did you mean `main`?"), "{}", unknown.all());
    let lenient = bench.run(&[ARGS, &["--baseline-lenient", "mian"]].concat());
    assert_eq!(lenient.code, Some(0), "{}", lenient.all());
    let machine = fs::read_dir(bench.data().join("baselines")).unwrap().flatten().next().unwrap().path();
    let suite = fs::read_dir(machine).unwrap().flatten().next().unwrap().path();
    fs::write(suite.join("main.json"), "{\"schema\": 999, \"kind\": \"baseline\"}").unwrap();
    let newer = bench.run(&[ARGS, &["--baseline", "main"]].concat());
    assert_eq!(newer.code, Some(1), "{}", newer.all());
    assert!(newer.stderr.contains("999"), "{}", newer.all());
}

#[test]
fn a_comparison_is_written_where_a_baseline_is_compared_with_and_refused_where_nothing_is() {
    let bench = Bench::new("sorting");
    let file = bench.data().join("comparison.json");
    let name = file.to_string_lossy().into_owned();
    let refused = bench.run(&[ARGS, &["--comparison", &name]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.all());
    assert!(refused.stderr.contains("add --baseline, --versus or --versus-adapter"), "{}", refused.all());
    assert!(bench.runs().is_empty(), "it costs no run");
    assert_eq!(bench.run(&[ARGS, &["--save-baseline", "main"]].concat()).code, Some(0));
    let ran = bench.run(&[ARGS, &["--baseline", "main", "--comparison", &name]].concat());
    let comparison: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).unwrap_or_else(|_| panic!("{}", ran.all()))).unwrap();
    assert_eq!(comparison["baseline"]["name"], "main", "{comparison:#}");
}

#[test]
fn a_run_id_with_dots_and_slashes_is_exit_2() {
    let bench = Bench::new("sorting");
    let ran = bench.run(&["--resume", "../../../etc"]);
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.stderr.contains("no run id"), "{}", ran.all());
    let shown = xtask(&bench, &["runs", "show", "../../../etc"]);
    assert_eq!(shown.code, Some(2), "{}", shown.all());
}

#[test]
fn a_manifest_that_does_not_name_its_platforms_is_not_taken() {
    let bench = Bench::new("sorting");
    assert_eq!(bench.run(ARGS).code, Some(0));
    let file = bench.only_run().join("run.json");
    let whole: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    for field in ["requested_platform", "active_backend"] {
        let mut manifest = whole.clone();
        manifest["record"].as_object_mut().unwrap().remove(field).unwrap();
        fs::write(&file, manifest.to_string()).unwrap();
        let listed = xtask(&bench, &["runs", "list"]);
        assert!(listed.stderr.contains("it was changed since it was written"), "{}", listed.all());
        // Not even where that is said to be on purpose.
        let digested = xtask(&bench, &["runs", "digest", file.to_str().unwrap()]);
        assert!(digested.stderr.contains(&format!("missing field `{field}`")), "{}", digested.all());
        let shown = xtask(&bench, &["runs", "show", &bench.runs()[0]]);
        assert_ne!(shown.code, Some(0), "{}", shown.all());
    }
}

/// The only file in a folder of a run whose name begins so.
fn one(run: &Path, folder: &str, begins: &str) -> PathBuf {
    let entries = fs::read_dir(run.join(folder)).unwrap().flatten();
    let mut named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(begins));
    named.next().unwrap_or_else(|| panic!("no `{begins}` in {folder}")).path()
}

#[test]
fn a_complete_run_that_lost_a_file_is_damaged_and_whole_again_once_it_is_resumed() {
    let bench = Bench::new("sorting");
    assert_eq!(bench.run(ARGS).code, Some(0));
    let id = bench.runs().pop().unwrap();
    let run = bench.only_run();
    for (lost, derived) in [(one(&run, "cases", "sum_1"), true), (one(&run, "repeats", "sum_1"), false)] {
        let was = fs::read(&lost).unwrap();
        fs::remove_file(&lost).unwrap();
        let listed = xtask(&bench, &["runs", "list"]);
        assert!(listed.code == Some(1) && listed.stdout.contains("damaged"), "{}", listed.all());
        for shown in [&["runs", "show", &id][..], &["runs", "show", "latest"], &["summary"]] {
            let shown = xtask(&bench, shown);
            assert_eq!(shown.code, Some(1), "{}", shown.all());
            assert!(
                shown.stderr.contains("is damaged") && shown.stderr.contains("--resume"),
                "{}",
                shown.all()
            );
        }
        let resumed = bench.run(&["--resume", &id]);
        assert_eq!(resumed.code, Some(0), "{}", resumed.all());
        assert_eq!(resumed.stderr.contains("derived again"), derived, "{}", resumed.all());
        assert_eq!(resumed.stdout.contains("resumed=yes"), !derived, "{}", resumed.all());
        assert_eq!(fs::read(&lost).unwrap() == was, derived);
        assert_eq!(xtask(&bench, &["runs", "list"]).code, Some(0));
    }
    assert_eq!(bench.run(&["--resume", &id]).code, Some(2), "it is complete");
}

#[test]
fn the_latest_run_is_the_one_that_was_written_last_whatever_the_clock_says() {
    let bench = Bench::new("sorting");
    assert_eq!(bench.run(ARGS).code, Some(0));
    let id = bench.runs().pop().unwrap();
    // As a clock that was ahead leaves it.
    let ahead = "22000101-000000-000001";
    let [from, to] = [&id, ahead].map(|id| bench.data().join("runs").join(id));
    fs::rename(from, &to).unwrap();
    let manifest = fs::read_to_string(to.join("run.json")).unwrap().replace(&id, ahead);
    fs::write(to.join("run.json"), &manifest).unwrap();
    assert_eq!(xtask(&bench, &["runs", "digest", to.join("run.json").to_str().unwrap()]).code, Some(0));
    let order = bench.data().join("runs.order");
    fs::write(&order, fs::read_to_string(&order).unwrap().replace(&id, ahead)).unwrap();

    let next = bench.run(&[ARGS, &["--save-baseline", "main"]].concat());
    assert_eq!(next.code, Some(0), "{}", next.all());
    assert!(next.stderr.contains("began later than now"), "{}", next.all());
    let last = bench.runs().into_iter().find(|run| run != ahead).unwrap();
    let shown = xtask(&bench, &["runs", "show", "latest"]);
    assert!(shown.code == Some(0) && shown.stdout.contains(&last), "{}", shown.all());
    let pruned = xtask(&bench, &["runs", "prune", "--keep", "1"]);
    assert_eq!(pruned.code, Some(0), "{}", pruned.all());
    assert_eq!(bench.runs(), [last]);
}
