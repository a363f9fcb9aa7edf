//! A run of this program as a bench program, and the run that it has left.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::PROGRAM;

/// The arguments that make a run short. Hosts of a cluster are one machine here, with one lock.
const SHORT: [&str; 8] =
    ["--bench", "--quick", "--repeats", "1", "--allow-debug", "--no-lock", "--budget", "600"];

/// The end of a run, and its folder.
pub(crate) struct RunEnded {
    pub(crate) code: Option<i32>,
    pub(crate) said: String,
    run: PathBuf,
}

/// What is started: this program with these arguments.
pub(crate) fn line(args: &[&str]) -> Vec<String> {
    let program = env::current_exe().unwrap().to_string_lossy().into_owned();
    [&[&*program][..], args, &SHORT].concat().into_iter().map(str::to_owned).collect()
}

/// Runs a command that starts the program, with its data below a folder.
pub(crate) fn run(command: &mut Command, folder: &Path) -> RunEnded {
    let data = folder.join("data");
    let command = command.env(PROGRAM, "1").env("WEIGHBRIDGE_DATA", &data);
    let command =
        command.env("WEIGHBRIDGE_CACHE", folder.join("cache")).env("XDG_STATE_HOME", folder.join("state"));
    let Output { status, stdout, stderr } = command.output().unwrap();
    let said = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let runs = fs::read_dir(data.join("runs")).into_iter().flatten().flatten();
    let run = runs.map(|entry| entry.path()).max().unwrap_or_default();
    RunEnded { code: status.code(), said, run }
}

/// Runs the program on so many ranks of this machine.
pub(crate) fn on_ranks(ranks: &str, args: &[&str], folder: &Path) -> RunEnded {
    let line = line(&[args, &["--ranks", ranks]].concat());
    run(Command::new(&line[0]).args(&line[1..]).current_dir(folder), folder)
}

impl RunEnded {
    /// The record of the case whose file's name begins so.
    #[track_caller]
    pub(crate) fn case(&self, name: &str) -> Value {
        let cases = fs::read_dir(self.run.join("cases")).into_iter().flatten().flatten();
        let file = cases
            .map(|entry| entry.path())
            .find(|path| path.file_name().is_some_and(|found| found.to_string_lossy().starts_with(name)));
        let file = file.unwrap_or_else(|| panic!("no case {name}: {}", self.said));
        let record: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        record["record"].clone()
    }

    /// The values of a metric by rank, as many as there are.
    #[track_caller]
    pub(crate) fn ranks_of(case: &Value, metric: &str) -> u64 {
        let all = case["ranks"].as_array().unwrap_or_else(|| panic!("no ranks: {case}"));
        let found =
            all.iter().find(|one| one["name"] == metric).unwrap_or_else(|| panic!("no {metric}: {all:?}"));
        found["ranks"].as_u64().unwrap_or_default()
    }
}
