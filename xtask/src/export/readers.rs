//! What is exported, read by those that it is made for.

use std::fs;
use std::process::Command;

use needs::Need;
use weighbridge::data::RunId;

use super::tests::{args, sample};
use super::*;
use crate::fixtures::{Home, home};

/// A home with a run in it, and what a format made of it below the folder `out`.
fn exported(format: &str, out: &str, name: &str, python: Option<&str>) -> (Home, PathBuf) {
    let home = home();
    home.store(&sample());
    let out = home.directory.path().join(out);
    let mut args = Export { name: name.to_owned(), ..args(format, Some(&out)) };
    if let Some(python) = python {
        args.python = python.into();
    }
    let said = run(&args, &home.place).expect("exported");
    assert!(!said.text.starts_with("skipped"), "{}", said.text);
    (home, out)
}

/// Returns the standard output of a command, which must end well.
fn answer(command: &mut Command) -> String {
    let ran = command.output().expect("it is there");
    let [stdout, stderr] = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(ran.status.success(), "{command:?}: {stdout}\n{stderr}");
    stdout
}

#[test]
fn critcmp_reads_two_runs_beside_each_other() {
    if !needs::command(Need::Critcmp) {
        return;
    }
    let (home, out) = exported("criterion", "target/criterion", "before", None);
    let mut later = sample();
    later.manifest.id = RunId::new(2_000, 7);
    home.store(&later);
    run(&Export { name: "now".into(), ..args("criterion", Some(&out)) }, &home.place).expect("exported");
    let target = out.parent().expect("a folder above");
    let text = answer(Command::new("critcmp").arg("--target-dir").arg(target).args(["before", "now"]));
    assert!(text.contains("CV-1/Reference/small") && text.contains("SORT-1/stable/small"), "{text}");
    let row = text.lines().find(|line| line.contains("CV-1/Reference")).expect("a row");
    assert!(row.contains("1.00") && row.contains("8.0±") && row.contains("µs"), "{row}");
}

#[test]
fn the_schema_of_jenkins_takes_a_report_with_every_kind_of_ending() {
    let Some(schema) = needs::junit_xsd() else { return };
    let (home, out) = exported("junit", "report.xml", "new", None);
    // Half the speed beside it, so that a failure is in it too.
    let mut slower = crate::fixtures::plain(2_000, 8.0e6, 12.0e6);
    home.store(&slower);
    slower = crate::fixtures::plain(3_000, 4.0e6, 12.0e6);
    home.store(&slower);
    let regressed = home.directory.path().join("regressed.xml");
    run(&args("junit", Some(&regressed)), &home.place).expect("exported");
    let texts = [&out, &regressed].map(|file| fs::read_to_string(file).expect("written"));
    assert!(texts[0].contains("<error ") && texts[0].contains("<skipped ") && texts[1].contains("<failure "));
    for file in [out, regressed] {
        answer(Command::new("xmllint").args(["--noout", "--schema", &schema]).arg(file));
    }
}

/// Opens the store as calibrax does, and says what it finds.
const CALIBRAX: &str = r#"
import json, sys
from calibrax.storage import Store
store = Store(sys.argv[1])
run = store.latest()
trend = store.extract_trend("throughput", "CV-1/small/Reference", {"framework": "Reference"})
reference = next(point for point in run.points if point.name == "CV-1/small/Reference")
print(json.dumps({
    "runs": [each.id for each in store.list_runs()],
    "points": {
        point.name: point.metrics["throughput"].value
        for point in run.points if "throughput" in point.metrics
    },
    "samples": len(reference.metrics["throughput"].samples),
    "direction": store.metric_defs["throughput"].direction.value,
    "trend": [point.value for point in trend.points],
    "year": run.timestamp.year,
}))
"#;

#[test]
fn calibrax_opens_the_store_and_follows_a_case_over_two_runs() {
    let Some(python) = needs::python_with(Need::Calibrax) else { return };
    let (home, out) = exported("calibrax", "store", "new", None);
    let mut later = sample();
    later.manifest.id = RunId::new(2_000, 7);
    later.manifest.started = 2_000;
    home.store(&later);
    run(&args("calibrax", Some(&out)), &home.place).expect("exported");
    let text = answer(Command::new(python).args(["-c", CALIBRAX]).arg(&out));
    let told: serde_json::Value =
        serde_json::from_str(text.lines().last().expect("an answer")).expect("JSON");
    assert_eq!(told["runs"].as_array().map(Vec::len), Some(2), "{told}");
    assert_eq!((&told["direction"], &told["samples"]), (&"higher".into(), &7.into()), "{told}");
    let near = |value: &serde_json::Value| (value.as_f64().expect("a number") / 8.0e6 - 1.0).abs() < 1e-3;
    assert!(near(&told["points"]["CV-1/small/Reference"]), "{told}");
    let trend = told["trend"].as_array().expect("points");
    assert!(trend.len() == 2 && trend.iter().all(near), "{told}");
    assert_eq!(told["year"], 1970);
}

/// Parses logs as the checker of `MLPerf` does, and says what it could not.
const MLPERF: &str = r#"
import sys
from mlperf_logging.compliance_checker.mlp_parser import parse_file
for name in sys.argv[1:]:
    lines, failed = parse_file(name, '6.0.0')
    print(len(lines), len(failed), lines[-1].key, lines[-1].value["metadata"]["status"])
"#;

#[test]
fn the_parser_of_mlperf_takes_every_line_of_a_log() {
    let Some(python) = needs::python_with(Need::MlperfLogging) else { return };
    let home = home();
    let cases = vec![crate::fixtures::training("Swift", 1, 5_000.0, Some((64.0, 0.8)))];
    home.store(&crate::fixtures::run(1_000, cases));
    let out = home.directory.path().join("logs");
    run(&args("mlperf", Some(&out)), &home.place).expect("exported");
    let logs = super::tests::files(&out);
    let text = answer(Command::new(python).args(["-c", MLPERF]).args(&logs));
    assert_eq!(text.lines().collect::<Vec<_>>(), vec!["12 0 run_stop success"; logs.len()], "{text}");
}

/// A bench target that hands in what we have exported, as if it had been measured by criterion just now.
const HANDS_IN: &str = r#"
fn main() {
    let target = std::env::var("CARGO_TARGET_DIR").expect("set by who starts it");
    let mut copy = std::process::Command::new("cp");
    let exported = std::env::var("EXPORTED").expect("set by the test");
    copy.arg("-r").arg(exported).arg(format!("{target}/criterion"));
    assert!(copy.status().expect("cp is there").success());
}
"#;

#[test]
fn cargo_bench_history_collects_every_case_that_has_a_time() {
    if !needs::command(Need::CargoBenchHistory) {
        return;
    }
    let home = home();
    let mut run = sample();
    // A name alone, as a scenario without an adapter or an axis has it.
    let alone = run.cases.last_mut().expect("the sample has cases");
    (alone.id.adapter, alone.id.point) = (None, weighbridge::data::Point::default());
    run.manifest.planned.cases = run.cases.iter().map(|case| case.id.clone()).collect();
    home.store(&run);
    let out = home.directory.path().join("exported");
    super::run(&args("criterion", Some(&out)), &home.place).expect("exported");

    let package = home.directory.path().join("toy");
    fs::create_dir_all(package.join("benches")).expect("writable");
    fs::create_dir_all(package.join("src")).expect("writable");
    let manifest = "[package]\nname = \"toy\"\nedition = \"2021\"\n[lib]\nbench = false\n\
                    [[bench]]\nname = \"hands_in\"\nharness = false\n[workspace]\n";
    for (file, text) in [("Cargo.toml", manifest), ("src/lib.rs", ""), ("benches/hands_in.rs", HANDS_IN)] {
        fs::write(package.join(file), text).expect("writable");
    }
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=toy", "-c", "user.email=toy@example.org"]).args(words);
        answer(git.current_dir(&package));
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message", "first"]);
    let store = home.directory.path().join("store");
    let mut collect = Command::new("cargo-bench-history");
    collect.arg("collect").arg(format!("--local={}", store.display())).env("EXPORTED", &out);
    collect.env("CARGO_TARGET_DIR", package.join("target")).current_dir(&package);
    let ran = collect.output().expect("it is there");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("covering 2 benchmark cases"), "{said}");
    for (case, nanoseconds) in [("CV-1/Reference/small", "8000"), ("SORT-1", "")] {
        let mut examine = Command::new("cargo-bench-history");
        examine.args(["examine", "--benchmark", case, "--metric", "wall_time"]);
        let told = answer(examine.arg(format!("--local={}", store.display())).current_dir(&package));
        assert!(told.contains(&format!("Data points for {case} metric wall_time (ns)")), "{told}");
        assert!(told.contains(nanoseconds) && told.contains("  first"), "{told}");
    }
}

#[test]
fn promtool_finds_nothing_wrong_with_the_metrics() {
    if !needs::command(Need::Promtool) {
        return;
    }
    let (_home, out) = exported("openmetrics", "metrics.txt", "new", None);
    let file = fs::File::open(&out).expect("written");
    answer(Command::new("promtool").args(["check", "metrics"]).stdin(file));
}

/// Starts the server of `TensorBoard`, and asks it what a dashboard asks.
const DASHBOARD: &str = r#"
import json, sys, time, urllib.request
from tensorboard import program
server = program.TensorBoard()
server.configure(argv=[None, "--logdir", sys.argv[1], "--port", "0"])
address = server.launch()
def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"} if body is not None else {}
    request = urllib.request.Request(address.rstrip("/") + path, data, headers)
    return json.load(urllib.request.urlopen(request))
for _ in range(300):
    scalars = ask("/data/plugin/scalars/tags")
    texts = ask("/data/plugin/text/tags")
    if len(scalars) >= 3 and texts:
        break
    time.sleep(0.1)
run = next(name for name in scalars if name.endswith("cv_1@small@reference"))
tag = "1_speed/throughput"
print(json.dumps({
    "scalars": scalars,
    "points": ask(f"/data/plugin/scalars/scalars?run={run}&tag={tag}"),
    "texts": texts,
    "histograms": ask("/data/plugin/histograms/tags"),
    "experiment": ask("/data/plugin/hparams/experiment", {"experimentName": ""}),
    "sessions": ask("/data/plugin/hparams/session_groups", {
        "experimentName": "",
        "allowedStatuses": ["STATUS_SUCCESS", "STATUS_FAILURE", "STATUS_UNKNOWN"],
        "colParams": [{"hparam": "1_scenario"}],
        "startIndex": 0,
        "sliceSize": 99,
    }),
}))
"#;

#[test]
fn tensorboard_serves_what_was_written() {
    let Some(python) = needs::python_with(Need::Tensorboard) else { return };
    let (_home, out) = exported("tensorboard", "logs", "new", None);
    let text =
        answer(Command::new(python).args(["-c", DASHBOARD]).arg(&out).env("TF_CPP_MIN_LOG_LEVEL", "3"));
    let told: serde_json::Value =
        serde_json::from_str(text.lines().last().expect("an answer")).expect("JSON");
    let names =
        |value: &serde_json::Value| value.as_object().expect("by run").keys().cloned().collect::<Vec<_>>();
    // A series for each metric and case, below machine and run.
    let runs = names(&told["scalars"]);
    assert!(
        runs.iter().all(|run| run.starts_with("m-") && run.contains("/19700101-001640-000007/")),
        "{runs:?}"
    );
    let points = told["points"].as_array().expect("points");
    assert_eq!(points.len(), 7, "{points:?}");
    assert_eq!(points[0][1], 1, "steps are repeats");
    assert!((points[2][2].as_f64().expect("a number") / 8.0e6 - 1.0).abs() < 1e-3, "{points:?}");
    // Tags are ordered by their groups.
    let tags = names(&told["scalars"][&runs[0]]);
    assert!(
        tags.contains(&"1_speed/wall_time".to_owned()) && tags.contains(&"3_memory/peak_memory".to_owned()),
        "{tags:?}"
    );
    let cards = told["texts"].as_object().expect("by run").values().next().expect("one run has cards");
    let cards: Vec<&str> = cards.as_array().expect("names").iter().filter_map(|name| name.as_str()).collect();
    for card in ["1_configuration", "2_metrics", "3_inventory", "4_environment"] {
        assert!(cards.iter().any(|name| name.starts_with(card)), "{card}: {cards:?}");
    }
    assert!(told["histograms"].to_string().contains("2_latency/samples"), "{}", told["histograms"]);
    let parameters = told["experiment"]["hparamInfos"].to_string();
    for parameter in ["1_scenario", "2_system", "3_variant"] {
        assert!(parameters.contains(parameter), "{parameters}");
    }
    let groups = told["sessions"]["sessionGroups"].as_array().expect("groups");
    assert_eq!(groups.len(), 4, "{groups:?}");
    assert!(told["sessions"].to_string().contains("STATUS_FAILURE"), "the case that failed did");
}

#[test]
fn weights_and_biases_takes_a_run_offline() {
    let Some(python) = needs::python_with(Need::Wandb) else { return };
    let (_home, out) = exported("wandb", "wandb-out", "new", Some(&python));
    let files: Vec<PathBuf> = super::tests::files(&out);
    let log = files
        .iter()
        .find(|file| file.extension().is_some_and(|end| end == "wandb"))
        .expect("the offline log");
    let bytes = fs::read(log).expect("readable");
    assert!(bytes.starts_with(b":W&B"), "it is a log of W&B");
    let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("19700101-001640-000007") && has("throughput/Reference"), "run and series are in it");
    assert!(has("charts/throughput_bars"), "charts are in it");
}

#[test]
fn mlflow_lists_the_runs_that_were_written() {
    let Some(python) = needs::python_with(Need::Mlflow) else { return };
    let (_home, out) = exported("mlflow", "mlruns", "new", Some(&python));
    let script = "import os, sys\nos.environ.setdefault('MLFLOW_ALLOW_FILE_STORE', 'true')\nimport mlflow\n\
                  mlflow.set_tracking_uri('file://' + sys.argv[1])\nclient = mlflow.MlflowClient()\n\
                  runs = client.search_runs([client.get_experiment_by_name('weighbridge').experiment_id])\n\
                  print(len(runs), sorted({key for run in runs for key in run.data.metrics}))";
    let text = answer(Command::new(python).args(["-c", script]).arg(&out));
    assert!(text.starts_with("5 ") && text.contains("throughput"), "{text}");
    let files = super::tests::files(&out);
    let is_chart = |file: &PathBuf| file.parent().is_some_and(|folder| folder.ends_with("artifacts/charts"));
    assert!(files.iter().filter(|file| is_chart(file)).count() > 1, "{files:?}");
}
