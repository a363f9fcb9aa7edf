//! Every format beside a file that was approved.
//!
//! After a change that is meant, `UPDATE_EXPECT=1 cargo test -p weighbridge-xtask export` writes the files
//! anew: read the difference before it is committed.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use weighbridge::data::{
    CaseRecord, CaseStatus, Direction, Estimate, Failure, FailureReason, How, MetricRecord, Phase, Reading,
    RunRecord, Unit,
};

use super::*;
use crate::fixtures::{Home, around, case, home, run as run_of};

/// Two systems, one scenario without a time, one case that failed and one that was skipped.
pub(super) fn sample() -> RunRecord {
    let mut fused = timed("CV-1", "Reference (fused)", 5.0e-6);
    let (detail, stderr) = ("no data".to_owned(), String::new());
    let panic = Failure { how: How::Panic, phase: Phase::Timed, detail, stderr };
    fused.status = CaseStatus::Failed(FailureReason::repeat(2, &panic));
    let mut skipped = case("CV-1", "Google Grain", &around(1.0));
    skipped.metrics.clear();
    skipped.repeats.clear();
    skipped.status = CaseStatus::Skipped("not installed: cargo catalogue peers install grain".into());
    run_of(1_000, vec![timed("CV-1", "Reference", 8.0e-6), fused, skipped, timed("SORT-1", "stable", 2.0e-3)])
}

/// A case whose repeats took about so many seconds an item.
fn timed(scenario: &str, adapter: &str, seconds: f64) -> CaseRecord {
    let mut case = case(scenario, adapter, &around(64.0 / seconds));
    let values = around(seconds);
    case.metrics.insert(
        0,
        MetricRecord {
            name: "wall_time".into(),
            unit: Unit::SECONDS,
            direction: Direction::Lower,
            estimate: Estimate::of(&values),
            values: values.into_iter().map(Reading::Value).collect(),
            looped: None,
        },
    );
    case.primary_metric = "wall_time".into();
    case
}

pub(crate) fn args(format: &str, out: Option<&Path>) -> Export {
    Export {
        formats: Formats(vec![format.into()]),
        run: None,
        suite: None,
        out: out.map(Path::to_owned),
        into: None,
        name: "new".into(),
        project: "weighbridge".into(),
        entity: None,
        python: "/nowhere/python3".into(),
    }
}

/// Everything that a format writes of a run: the one text, or all files with their names, bytes that are no
/// text in hexadecimal.
pub(crate) fn exported(home: &Home, format: &str) -> String {
    let folder = home.directory.path().join(format!("out-{format}"));
    let out = is_several(format).then_some(folder.as_path());
    let said = run(&args(format, out), &home.place).expect("exported");
    let mut text = said.printed().replace(&home.directory.path().display().to_string(), "DIR");
    for file in files(&folder) {
        let bytes = fs::read(&file).expect("just written");
        let name = file.strip_prefix(&folder).expect("below").display().to_string();
        let shown = String::from_utf8(bytes).unwrap_or_else(|error| {
            error
                .as_bytes()
                .chunks(32)
                .map(|line| line.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n")
                .collect()
        });
        text.push_str(&format!("--- {name}\n{shown}\n"));
    }
    text
}

fn is_several(format: &str) -> bool {
    ["criterion", "tensorboard", "wandb", "mlflow", "mlperf", "calibrax"].contains(&format)
}

pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => found.extend(files(&path)),
            path => found.push(path),
        }
    }
    found.sort();
    found
}

#[test]
fn every_format_writes_what_was_approved() {
    let home = home();
    home.store(&sample());
    for format in FORMATS.map(|format| format.name) {
        let said = exported(&home, format).replace('\r', "\\r"); // or the two ends of a line are one
        expect_file![format!("golden/{format}.txt")].assert_eq(&said);
    }
}

#[test]
fn without_its_sdk_a_tracker_is_skipped_with_the_line_that_installs_it() {
    let home = home();
    home.store(&sample());
    for (format, install) in
        [("wandb", "pip install 'wandb>=0.31,<0.32'"), ("mlflow", "pip install mlflow-skinny")]
    {
        let said =
            run(&args(format, Some(&home.directory.path().join("out"))), &home.place).expect("no failure");
        assert!(said.text.starts_with("skipped: ") && said.text.contains(install), "{}", said.text);
        assert_eq!(said.exit, weighbridge::data::Exit::Fine);
    }
}

/// A double of the SDK of W&B, which writes down what it is handed: a line for each call.
const WANDB: &str = r#"
import json, os

class Error(Exception): pass

def note(what, **said):
    with open(os.environ["NOTED"], "a") as file:
        print(json.dumps([what, said], sort_keys=True), file=file)

def Settings(**said): return sorted(said)
def Table(columns, data): return {"columns": columns, "data": data}
def Image(path): raise Error("no Pillow here")

class Artifact:
    def __init__(self, name, type): self.said = {"name": name, "type": type, "folders": []}
    def add_dir(self, path, name=None): self.said["folders"].append([name, sorted(os.listdir(path))])

class Run:
    def __init__(self, dir): self.dir = os.path.join(dir, "offline-run", "files")
    def log(self, said, step=None): note("log", said=said, step=step)
    def log_artifact(self, artifact): note("artifact", **artifact.said)
    def finish(self): note("finish")

def init(**said):
    note("init", wanted=os.environ["WANDB_MODE"], **{k: said[k] for k in ("project", "id", "mode", "config")})
    return Run(said["dir"])
"#;

#[test]
fn what_wandb_is_handed_is_the_run_offline_with_every_repeat_the_table_and_the_records() {
    if !needs::command(needs::Need::Python3) {
        return;
    }
    let home = home();
    home.store(&sample());
    let at = |name: &str| home.directory.path().join(name);
    fs::create_dir_all(at("sdk")).unwrap();
    fs::write(at("sdk/wandb.py"), WANDB).unwrap();
    let python = at("python");
    let text = format!(
        "#!/bin/sh\nNOTED='{}' PYTHONPATH='{}' exec python3 \"$@\"\n",
        at("noted").display(),
        at("sdk").display()
    );
    fs::write(&python, text).unwrap();
    fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let said = run(&Export { python, ..args("wandb", Some(&at("out"))) }, &home.place).expect("exported");
    assert!(said.text.contains("written offline") && said.text.contains("wandb sync"), "{}", said.text);
    let noted = fs::read_to_string(at("noted")).unwrap();
    let noted: Vec<serde_json::Value> =
        noted.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named = |what: &str| noted.iter().filter(|one| one[0] == what).map(|one| &one[1]).collect::<Vec<_>>();
    let init = named("init")[0];
    assert_eq!((&init["mode"], &init["wanted"]), (&"offline".into(), &"offline".into()));
    assert_eq!(init["project"], "weighbridge");
    assert_eq!(init["config"]["machine"]["cpu"], "Abacus 9");
    let logs = named("log");
    let times = &sample().cases[0].metrics[0].values;
    for (step, value) in times.iter().enumerate() {
        let at_step = logs.iter().find(|log| log["step"] == step).unwrap();
        assert_eq!(at_step["said"]["CV-1/small/wall_time/Reference"].as_f64(), value.value());
    }
    let table = logs.iter().find_map(|log| log["said"].get("comparison_table")).unwrap();
    let rows = table["data"].as_array().unwrap();
    assert_eq!(table["columns"].as_array().unwrap().len(), rows[0].as_array().unwrap().len());
    let failed = rows.iter().find(|row| row[2] == "Reference (fused)").unwrap();
    assert!(failed[8] == false && failed[9] != "", "{failed}");
    let artifact = named("artifact")[0];
    assert!(artifact["folders"][0][1].as_array().unwrap().contains(&"run.json".into()), "{artifact}");
    assert_eq!(named("finish").len(), 1);
}

#[test]
fn several_formats_at_once_have_their_usual_names_below_a_folder_and_need_one() {
    let home = home();
    home.store(&sample());
    let formats = || Formats::read("junit,criterion,csv").expect("formats");
    let typo = Formats::read("junit,junti").expect_err("a typo");
    assert!(typo.contains("`junti`") && typo.contains("`junit`"), "{typo}");
    let asked = Export { formats: formats(), ..args("csv", None) };
    let error = run(&asked, &home.place).expect_err("no folder").to_string();
    assert!(error.contains("--into"), "{error}");
    let into = home.directory.path().join("ci/pkg");
    run(&Export { into: Some(into.clone()), ..asked }, &home.place).expect("written");
    for file in ["junit.xml", "criterion", "metrics.csv"] {
        assert!(into.join(file).exists(), "{file}: {:?}", files(&into));
    }
}

#[test]
fn several_files_need_a_folder_and_several_suites_a_name() {
    let home = home();
    home.store(&sample());
    let error = run(&args("criterion", None), &home.place).expect_err("no folder");
    assert!(error.to_string().contains("name their folder with --out"), "{error}");
    let mut other = sample();
    other.manifest.id = weighbridge::data::RunId::new(2_000, 7);
    other.manifest.suite = "toy/other".into();
    home.store(&other);
    let error = run(&args("csv", None), &home.place).expect_err("two suites");
    assert!(error.to_string().contains("toy/other and toy/suite: name one with --suite"), "{error}");
    for bad in ["change", "report", "..", "a/b", ""] {
        assert!(plain_name(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_regression_is_a_failure_of_junit() {
    let home = home();
    home.store(&crate::fixtures::plain(1_000, 8.0e6, 12.0e6));
    home.store(&crate::fixtures::plain(2_000, 4.0e6, 12.0e6));
    let said = exported(&home, "junit");
    assert!(said.contains("<failure message=\"throughput has a slowdown of +100 % ["), "{said}");
    assert!(said.contains("failures=\"1\" errors=\"0\""), "{said}");
}
