//! A kit for a machine with a device: packed of programs that are no more than scripts, its own script run to
//! the end without cargo, home or network, and what came back stored or refused.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use weighbridge::data::{Layout, Runs};

const PROGRAMS: [&str; 7] =
    ["suite", "checkpoints", "training", "inference", "device_conformance", "gpu-suite", "gpu_table"];

fn catalogue(data: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_cargo-catalogue"));
    program.arg("--data").arg(data).arg("device").args(arguments).output().expect("it starts")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A folder with a kit, whose programs are scripts of this text.
fn kit(place: &Path, text: &str) -> PathBuf {
    for name in PROGRAMS {
        script(&place.join("programs").join(name), text);
    }
    let kit = place.join("kit");
    let (to, from) = (kit.display().to_string(), place.join("programs").display().to_string());
    let packed = catalogue(&place.join("data"), &["pack", &to, "--programs", &from]);
    assert_eq!(packed.status.code(), Some(0), "{}", said(&packed));
    assert!(said(&packed).contains("MiB in "), "{}", said(&packed));
    kit
}

/// Runs the script of a kit as a bare machine does: a path of the system's, and nothing else.
fn ran(kit: &Path, out: &Path, steps: &[&str], seconds: &str) -> Output {
    Command::new("sh")
        .arg(kit.join("run.sh"))
        .arg(out)
        .args(steps)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("TMPDIR", kit.parent().unwrap())
        .env("WEIGHBRIDGE_KIT_SECONDS", seconds)
        .output()
        .unwrap()
}

/// Puts these in the place of the steps of a kit: a name, a limit and what is done.
fn replace_steps(kit: &Path, steps: &[(&str, &str, &str)]) {
    fs::remove_dir_all(kit.join("steps")).unwrap();
    for (name, limit, text) in steps {
        fs::create_dir_all(kit.join("steps")).unwrap();
        fs::write(
            kit.join("steps").join(format!("{name}.sh")),
            format!("# A stub.\n# limit: {limit} s\n{text}\n"),
        )
        .unwrap();
    }
}

#[test]
fn a_kit_goes_through_all_its_steps_though_some_fail_and_nothing_of_it_is_left_elsewhere() {
    let place = tempfile::tempdir().unwrap();
    let kit = kit(place.path(), "echo \"$0 $*\"");
    assert!(kit.join("python/weighbridge_worker/__main__.py").is_file());
    assert!(kit.join("bin/suite.gz").is_file() && !kit.join("bin/suite").exists());
    let steps = [
        ("1-program", "60", "\"$BIN/suite\" of \"$HOME\""),
        ("2-fails", "60", "echo before; exit 7"),
        ("3-asks", "60", "[ -n \"$OUT\" ] && [ -n \"$PYTHON\" ] && [ -d \"$WORK\" ] && ! command -v cargo"),
        ("4-hangs", "5", "echo hangs; sleep 600"),
        ("5-last", "60", "echo last"),
    ];
    replace_steps(&kit, &steps);
    let out = place.path().join("out");
    let ended = ran(&kit, &out, &[], "400");
    let text = said(&ended);
    assert_eq!(ended.status.code(), Some(0), "{text}");
    for line in ["== 2-fails: failed: exit 7", "before", "== 4-hangs: over its limit", "== 5-last: ok"] {
        assert!(text.contains(line), "{line} is missing in:\n{text}");
    }
    let told = fs::read_to_string(out.join("1-program.txt")).unwrap();
    assert!(told.contains("weighbridge-kit.") && told.contains("/home"), "a home of its own: {told}");
    let left: Vec<_> = fs::read_dir(place.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with("weighbridge-kit.")), "{left:?}");

    let unpacked = catalogue(&place.path().join("data"), &["unpack", &out.display().to_string()]);
    let text = said(&unpacked);
    assert_eq!(unpacked.status.code(), Some(6), "{text}");
    let again = text.lines().find(|line| line.contains("did not end well")).unwrap_or_default();
    assert!(again.contains("2-fails") && again.contains("4-hangs") && !again.contains("5-last"), "{text}");
}

#[test]
fn steps_are_chosen_by_name_and_what_has_no_time_left_is_said() {
    let place = tempfile::tempdir().unwrap();
    let kit = kit(place.path(), "true");
    replace_steps(&kit, &[("1-one", "60", "echo one"), ("2-two", "60", "echo two")]);
    let of = |out: &Path| fs::read_to_string(out.join("steps.tsv")).unwrap();
    let out = place.path().join("chosen");
    ran(&kit, &out, &["two"], "400");
    assert!(of(&out).contains("2-two\tok") && !of(&out).contains("1-one"), "{}", of(&out));
    let out = place.path().join("late");
    ran(&kit, &out, &[], "0");
    assert_eq!(of(&out).matches("no time left").count(), 2, "{}", of(&out));
}

#[test]
fn a_kit_is_refused_where_something_is_missing_or_the_folder_is_taken() {
    let place = tempfile::tempdir().unwrap();
    let kit = kit(place.path(), "true");
    let (to, from) = (kit.display().to_string(), place.path().join("programs").display().to_string());
    let taken = catalogue(place.path(), &["pack", &to, "--programs", &from]);
    assert!(taken.status.code() == Some(2) && said(&taken).contains("is not empty"), "{}", said(&taken));
    fs::remove_file(place.path().join("programs/training")).unwrap();
    let other = place.path().join("other");
    let missing = catalogue(place.path(), &["pack", &other.display().to_string(), "--programs", &from]);
    let text = said(&missing);
    assert!(missing.status.code() == Some(2) && text.contains("`training` is missing"), "{text}");
    assert!(!other.exists(), "half a kit is none");
}

/// A folder of results that says that one step ended well.
fn results(place: &Path, name: &str) -> PathBuf {
    let folder = place.join(name);
    fs::create_dir_all(folder.join("data/runs")).unwrap();
    fs::write(folder.join("steps.tsv"), "step\tstate\tseconds\tlimit\n1-one\tok\t3\t60\n").unwrap();
    folder
}

#[test]
fn results_with_links_huge_files_or_what_is_no_run_are_refused_and_nothing_is_stored() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    let unpack = |folder: &Path| catalogue(&data, &["unpack", &folder.display().to_string()]);
    let refused = |folder: &Path, why: &str, code: i32| {
        let ended = unpack(folder);
        let text = said(&ended);
        assert!(ended.status.code() == Some(code) && text.contains(why), "{text}");
        assert!(Runs::new(Layout::new(&data)).newest_first().is_ok_and(|mut runs| runs.next().is_none()));
        let stored = fs::read_dir(data.join("runs")).map_or(0, Iterator::count);
        assert_eq!(stored, 0, "{text}");
    };
    refused(&place.path().join("nothing"), "failed to read", 1);
    fs::create_dir_all(place.path().join("empty")).unwrap();
    refused(&place.path().join("empty"), "is no folder of results", 2);

    let links = results(place.path(), "links");
    symlink("/etc", links.join("data/runs/20261129-000000-000000")).unwrap();
    refused(&links, "neither a file nor a folder", 2);

    let whole = results(place.path(), "whole");
    symlink(&whole, place.path().join("linked")).unwrap();
    refused(&place.path().join("linked"), "neither a file nor a folder", 2);

    let huge = results(place.path(), "huge");
    File::create(huge.join("data/huge")).unwrap().set_len(1 << 40).unwrap();
    refused(&huge, "bytes, which no step writes", 2);

    let foreign = results(place.path(), "foreign");
    fs::create_dir_all(foreign.join("data/runs/not an id\u{1b}[2J")).unwrap();
    refused(&foreign, "this is no id of a run", 6);

    let other = results(place.path(), "other");
    let run = other.join("data/runs/20261129-000000-00000a");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("run.json"), r#"{"schema":1,"record":{"id":"../../elsewhere"}}"#).unwrap();
    refused(&other, "20261129-000000-00000a was not stored", 6);

    let torn = results(place.path(), "torn");
    fs::write(torn.join("steps.tsv"), "step\tstate\nhalf").unwrap();
    refused(&torn, "a line of it is no step", 2);
}
