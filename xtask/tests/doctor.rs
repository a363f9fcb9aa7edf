//! `doctor` on scripts that are good and bad, with a package of the shape of `PyTorch`: on every machine with
//! Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The folder of the scripts, and of the package that stands for `PyTorch`.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doctor")
}

/// A working folder with scripts in it.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a folder"));
        for script in fs::read_dir(folder().join("scripts")).expect("the scripts").flatten() {
            fs::copy(script.path(), home.path().join(script.file_name())).expect("a copy");
        }
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("a file");
    }

    /// The doctor with these words, on a script that finds the package.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.arg("doctor").args(words).current_dir(self.path()).stdin(Stdio::null());
        command.env("PYTHONPATH", folder().join("fake")).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn doctor(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("the doctor runs")
    }

    /// The answer as JSON, of a doctor that is asked for it.
    fn json(&self) -> Value {
        let text = fs::read_to_string(self.path().join("answer.json")).expect("the answer");
        serde_json::from_str(&text).expect("JSON")
    }

    /// All files with what they hold, but those that the doctor was asked for.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(self.path()).expect("the folder").flatten();
        let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut files: Vec<_> = entries
            .filter(|entry| !name(entry).starts_with("answer."))
            .map(|entry| (name(&entry), fs::read(entry.path()).unwrap_or_default()))
            .collect();
        files.sort();
        files
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Whether runs that are ended early can be made here: with Python, and a layer over files.
#[track_caller]
fn can_try() -> bool {
    needs::python3() && needs::mounting("true").is_some()
}

/// The processes whose command lines have this word.
fn running(word: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let line = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("cmdline")).ok();
    entries.filter_map(line).filter(|line| line.contains(word)).collect()
}

#[test]
fn a_slow_loader_is_named_with_its_line_and_more_workers_and_no_file_of_the_users_is_changed() {
    if !can_try() {
        return;
    }
    let home = Home::new();
    let before = home.files();
    let words = ["--seconds", "4", "--rounds", "8", "--json", "answer.json", "--html", "answer.html"];
    let output = home.doctor(&[&words[..], &["--", "python3", "train.py", "--unique-a7"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let answer = home.json();
    let verdict = &answer["verdict"];
    assert_eq!(verdict["outcome"], "limited", "{answer:#}");
    assert_eq!(verdict["limit"], "loader", "{answer:#}");
    let remedy = &verdict["remedy"];
    assert_eq!(remedy["line"]["file"], "train.py", "{answer:#}");
    assert_eq!(remedy["line"]["text"], "loader = DataLoader(Data(), batch_size=4)");
    assert_eq!(remedy["before"], "num_workers=0");
    assert!(remedy["after"].as_str().is_some_and(|after| after.starts_with("num_workers=")), "{answer:#}");
    assert_eq!(remedy["gain"]["source"], "measured");
    assert!(remedy["gain"]["factor"].as_f64().is_some_and(|factor| factor > 1.2), "{answer:#}");
    let page = String::from_utf8(output.stdout).expect("UTF-8");
    for part in ["train.py:", "num_workers=0  ->  num_workers=", "To do", "Evidence", "cached"] {
        assert!(page.contains(part), "{part} is missing in:\n{page}");
    }
    let html = fs::read_to_string(home.path().join("answer.html")).expect("a page");
    assert!(html.contains("num_workers=0  -&gt;  num_workers=") && !html.contains("<script"), "{html}");
    assert_eq!(home.files(), before, "the script saves its model to a scratch folder");
    assert_eq!(running("--unique-a7"), [""; 0]);
}

#[test]
fn a_look_runs_the_script_once_and_whole_with_its_files_its_output_and_its_own_sitecustomize() {
    if !needs::python3() {
        return;
    }
    let home = Home::new();
    home.write("sitecustomize.py", "print('the own one')\n");
    let mut command =
        home.command(&["--only-look", "--json", "answer.json", "--", "python3", "train.py", "x y"]);
    command.env("SAMPLES", "200").env("BATCH_MS", "1").env("STEP_MS", "8");
    let path = std::env::join_paths([folder().join("fake"), home.path().to_owned()]).expect("a path");
    let output = command.env("PYTHONPATH", path).output().expect("the doctor runs");
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in ["the own one", "epoch 1", "arguments ['x y']", "a wait in the step limits"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
    assert!(home.path().join("model.bin").exists(), "what it writes is its own");
    let answer = home.json();
    assert_eq!(answer["verdict"]["outcome"], "looked", "{answer:#}");
    assert_eq!(answer["runs"].as_array().map(Vec::len), Some(1), "{answer:#}");
}

/// The doctor's whole word on a script of this text, and its exit code.
fn on(text: &str, words: &[&str]) -> (Option<i32>, String) {
    let home = Home::new();
    home.write("bad.py", text);
    let before = home.files();
    let output = home.doctor(&[words, &["--", "python3", "bad.py"]].concat());
    assert_eq!(home.files(), before);
    (output.status.code(), said(&output))
}

#[test]
fn a_script_that_fails_keeps_its_exit_code_and_its_output() {
    if !can_try() {
        return;
    }
    let (code, text) = on("import sys\nprint('before')\nsys.exit(17)\n", &[]);
    assert_eq!(code, Some(17), "{text}");
    assert!(text.contains("before") && text.contains("the script failed with exit code 17"), "{text}");
    let (code, text) = on("raise ValueError('no such column')\n", &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("failed with exit code 1: ValueError: no such column"), "{text}");
    let (code, text) = on("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", &[]);
    assert_eq!(code, Some(139), "{text}");
    assert!(text.contains("the script failed with signal 11"), "{text}");
}

#[test]
fn a_program_that_is_not_there_is_named_and_one_that_is_no_python_is_looked_at_from_outside() {
    if !can_try() {
        return;
    }
    let home = Home::new();
    let output = home.doctor(&["--", "no-such-program-at-all"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("failed to start `no-such-program-at-all`"), "{}", said(&output));
    let output = home.doctor(&["--", "sh", "-c", "echo seen; exit 7"]);
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    assert!(said(&output).contains("no Python was seen"), "{}", said(&output));
    let output = home.doctor(&["--", "python3", "-I", "-c", "pass"]);
    assert_eq!(output.status.code(), Some(4), "{}", said(&output));
    assert!(said(&output).contains("-I, -E or -S"), "{}", said(&output));
    let output = home.doctor(&[]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}

#[test]
fn a_script_whose_loop_is_not_known_is_looked_at_from_outside_alone() {
    if !can_try() {
        return;
    }
    let (code, text) = on("for batch in range(10):\n    print(batch)\n", &[]);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("no batch of a loader that the doctor knows was seen"), "{text}");
    assert!(text.contains("processors in use"), "{text}");
}

#[test]
fn a_script_that_asks_for_input_is_told_that_there_is_no_terminal() {
    if !can_try() {
        return;
    }
    let (code, text) = on("input('name? ')\n", &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("the doctor has no terminal for it"), "{text}");
}

#[test]
fn a_script_that_is_slow_to_start_is_ended_after_the_patience_and_that_is_said() {
    if !can_try() {
        return;
    }
    let text = "import subprocess, time\nsubprocess.Popen(['sleep', '98765'])\ntime.sleep(98765)\n";
    let (code, text) = on(text, &["--patience", "2"]);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("came within 2 s: --patience waits longer"), "{text}");
    assert_eq!(running("98765"), [""; 0]);
}

#[test]
fn a_script_that_writes_more_than_it_may_is_ended_and_nothing_of_it_stays() {
    if !can_try() {
        return;
    }
    let text = "\
with open('huge.bin', 'wb') as file:
    while True:
        file.write(bytes(1 << 20))
        file.flush()
";
    let (code, text) = on(text, &["--most-written", "0.05"]);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("--most-written lets it write more"), "{text}");
}

#[test]
fn what_a_script_leaves_running_is_ended_and_counted() {
    if !can_try() {
        return;
    }
    let text =
        "import os, sys\nif os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '87654'])\n";
    let (code, text) = on(text, &[]);
    assert_eq!(code, Some(4), "{text}");
    assert!(text.contains("left 1 processes behind, which were ended"), "{text}");
    assert_eq!(running("87654"), [""; 0]);
}

/// Looks until it is so, for two minutes.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed().as_secs() < 120, "not after two minutes: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_doctor_that_is_killed_leaves_no_process_and_no_folder() {
    if !can_try() {
        return;
    }
    let home = Home::new();
    let text = "import os, time\nif os.fork() == 0:\n    os.setsid()\n\
                \x20   os.execvp('sleep', ['sleep', '87653'])\n\
                time.sleep(87653)\n";
    home.write("left.py", text);
    let mut doctor = home.command(&["--", "python3", "left.py"]);
    let mut doctor = doctor.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the doctor starts");
    wait_until("the script has started another process", || !running("87653").is_empty());
    let prefix = format!("wb-doctor-{}-", doctor.id());
    let folders = || {
        let entries =
            [PathBuf::from("/var/tmp"), std::env::temp_dir()].map(fs::read_dir).into_iter().flatten();
        let names = entries.flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with(&prefix)).count()
    };
    assert_eq!(folders(), 1);
    doctor.kill().expect("it runs");
    doctor.wait().expect("it has ended");
    wait_until("what the script has started is gone", || running("87653").is_empty());
    wait_until("the scratch folder is gone", || folders() == 0);
}

#[test]
fn a_script_that_executes_itself_anew_or_forks_is_seen_to_step() {
    if !can_try() {
        return;
    }
    let again = "\
import os, sys
if len(sys.argv) < 2:
    os.execv(sys.executable, [sys.executable, 'bad.py', 'again'])
exec(open('train.py').read())
";
    let (code, text) = on(again, &["--only-look", "--steps", "20"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("the loader limits a step"), "{text}");
    let forks = "\
import os
child = os.fork()
if child == 0:
    exec(open('train.py').read())
    os._exit(0)
os.waitpid(child, 0)
";
    let (code, text) = on(forks, &["--only-look", "--steps", "20"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("the loader limits a step"), "{text}");
}

#[test]
fn a_framework_in_a_zip_is_seen_and_one_that_is_not_as_it_is_known_is_left_as_it_is() {
    if !can_try() {
        return;
    }
    let home = Home::new();
    let zipping = "import shutil, sys\nshutil.make_archive('fake', 'zip', sys.argv[1])\n";
    let mut zips = Command::new("python3");
    zips.args(["-c", zipping]).arg(folder().join("fake")).current_dir(home.path());
    let zipped = zips.status().expect("python3");
    assert!(zipped.success());
    let mut command = home.command(&["--only-look", "--steps", "20", "--", "python3", "train.py"]);
    let output = command.env("PYTHONPATH", home.path().join("fake.zip")).output().expect("the doctor runs");
    assert!(said(&output).contains("the loader limits a step"), "{}", said(&output));
    fs::create_dir_all(home.path().join("torch/utils/data")).expect("a folder");
    for (file, text) in [
        ("torch/__init__.py", ""),
        ("torch/utils/__init__.py", ""),
        ("torch/utils/data/__init__.py", ""),
        ("torch/utils/data/dataloader.py", "OTHER = 1\n"),
    ] {
        home.write(file, text);
    }
    let script = "import torch.utils.data.dataloader as module; print('went on', module.OTHER)";
    let mut command = home.command(&["--", "python3", "-c", script]);
    let output = command.env("PYTHONPATH", home.path()).output().expect("the doctor runs");
    let text = said(&output);
    assert!(text.contains("went on 1"), "{text}");
    assert!(text.contains("the hook failed to patch torch.utils.data.dataloader"), "{text}");
}
