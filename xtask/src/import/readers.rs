//! The tools themselves: what they write today is what is read.

use std::process::Command;

use needs::Need;
use weighbridge::data::CaseRecord;

use super::*;
use crate::fixtures::home;

/// Imports the file that a command writes.
fn imported(tool: &str, file: &Path, command: &mut Command) -> Vec<CaseRecord> {
    let ran = command.output().expect("it is there");
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
    let home = home();
    let args = Import { tool: tool.to_owned(), files: vec![file.to_owned()], saved: "new".to_owned() };
    run(&args, &home.place).expect("imported");
    let runs = home.place.runs();
    let id = runs.list().expect("readable").runs[0].id.clone();
    runs.load_whole(&id).expect("it holds together").cases
}

#[test]
fn what_hyperfine_exports_is_read() {
    if !needs::command(Need::Hyperfine) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("times.json");
    let mut command = Command::new("hyperfine");
    command.args(["-N", "--runs", "7", "--export-json"]).arg(&file).args(["true", "echo hello"]);
    let cases = imported("hyperfine", &file, &mut command);
    let names: Vec<String> = cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(names, ["COMMAND/true", "COMMAND/echo hello"]);
    assert!(cases.iter().all(|case| case.metric("wall_time").is_some_and(|metric| metric.values.len() == 7)));
}

#[test]
fn what_pytest_benchmark_writes_is_read() {
    let Some(python) = needs::python_with(Need::PytestBenchmark) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let test = "import pytest\n\n@pytest.mark.parametrize('n', [10, 20])\n\
                def test_sum(benchmark, n):\n    benchmark(lambda: sum(range(n)))\n";
    std::fs::write(folder.path().join("test_x.py"), test).expect("writable");
    let file = folder.path().join("times.json");
    let mut command = Command::new(python);
    command.args(["-m", "pytest", "-q", "--benchmark-max-time=0.01", "test_x.py"]).current_dir(folder.path());
    command.arg(format!("--benchmark-json={}", file.display()));
    let cases = imported("pytest-benchmark", &file, &mut command);
    let names: Vec<String> = cases.iter().map(|case| case.id.to_string()).collect();
    assert_eq!(names, ["test_x.py::test_sum/n=10", "test_x.py::test_sum/n=20"]);
    assert!(cases.iter().all(|case| case.primary_metric == "wall_time" && !case.repeats.is_empty()));
}
