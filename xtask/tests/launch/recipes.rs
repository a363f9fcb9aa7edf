//! The recipes for launchers of others, as those run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use needs::{Need, launcher};

use crate::{SHORT, bench_of, xtask};

fn recipe(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/clusters/recipes").join(name)
}

/// Runs a command of a launcher in a folder, with one command of the shell to measure; what it says.
#[track_caller]
fn said(command: &mut Command, folder: &Path) -> String {
    let variable = bench_of("true");
    let (name, value) = variable.split_once('=').unwrap();
    let output = command.current_dir(folder).env(name, value).env("HOME", folder).output().unwrap();
    let said =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{said}");
    said
}

#[test]
fn reframe_runs_the_check_and_has_the_median_of_each_case() {
    let Some(reframe) = launcher(Need::Reframe) else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(reframe);
    command
        .args(["--nocolor", "--prefix=rfm", "--run", "--performance-report", "-c"])
        .arg(recipe("reframe.py"));
    command.args(["-S", &format!("Weigh.program={} --bench", xtask())]);
    command.args(["-S", &format!("Weigh.line={}", SHORT[1..].join(" "))]);
    command.args(["-S", &format!("Weigh.workspace={}", folder.path().display())]);
    let said = said(&mut command, folder.path());
    assert!(said.contains("Ran 1/1 test case(s) from 1 check(s) (0 failure(s)"), "{said}");
    assert!(said.contains("P: command@it: "), "{said}");
}

#[test]
fn jube_sweeps_the_ranks_and_has_a_median_of_each() {
    let Some(jube) = launcher(Need::Jube) else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(recipe("jube.xml")).unwrap();
    let text = text.replace("cargo bench --<", &format!("{} --bench<", xtask()));
    let text = text.replace(">--quick<", &format!(">{}<", SHORT[1..].join(" ")));
    let text = text.replace("\"workspace\">.<", &format!("\"workspace\">{}<", folder.path().display()));
    fs::write(folder.path().join("jube.xml"), text).unwrap();
    said(Command::new(&jube).args(["run", "jube.xml"]), folder.path());
    let said = said(Command::new(&jube).args(["result", "weighed"]), folder.path());
    for ranks in ["1", "2"] {
        let line = said.lines().find_map(|line| line.strip_prefix(&format!("{ranks},")));
        assert!(line.is_some_and(|median| median.parse::<f64>().is_ok_and(|of| of > 0.0)), "{said}");
    }
}
