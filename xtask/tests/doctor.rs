//! `doctor` on scripts that are good and bad, with a package of the shape of PyTorch: on every machine with
//! Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use needs::Need;
use serde_json::Value;

/// The folder of the scripts, and of the package that stands for PyTorch.
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

/// Tells whether this system lets a layer be laid, by the doctor's own word; a test says aloud where not.
fn layers(home: &Home) -> bool {
    let output = home.doctor(&["--steps", "1", "--", "true"]);
    !said(&output).contains("lets nobody lay a layer")
}

/// Experiments need Python, and a system that lays layers.
fn can_try(home: &Home) -> bool {
    Need::Python3.is_there() && {
        let may = layers(home);
        if !may {
            eprintln!("skipped: this system lets nobody lay a layer over files");
        }
        may
    }
}
