//! Every format beside a file that was approved, and none of them comes to harm by what an author wrote.
//!
//! After a change that is meant, `WEIGHBRIDGE_BLESS=1 cargo test -p weighbridge-xtask export` writes the files anew: read the
//! difference before it is committed.

use std::fs;
use std::path::{Path, PathBuf};

use weighbridge::data::{
    CaseRecord, CaseStatus, Direction, Estimate, MetricRecord, Reading, RunRecord, Unit,
};

use super::*;
use crate::fixtures::{Home, around, case, home, run as run_of};

/// Two systems, one scenario without a time, one case that failed and one that was skipped.
pub(super) fn sample() -> RunRecord {
    let mut fused = timed("CV-1", "Reference (fused)", 5.0e-6);
    fused.status = CaseStatus::Failed("repeat 2 panicked: no data".into());
    let mut skipped = case("CV-1", "Google Grain", &around(1.0));
    skipped.metrics.clear();
    skipped.repeats.clear();
    skipped.status = CaseStatus::Skipped("not installed: cargo xtask peers install grain".into());
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
        },
    );
    case.primary_metric = "wall_time".into();
    case
}

pub(crate) fn args(format: &str, out: Option<&Path>) -> Export {
    Export {
        format: format.into(),
        run: None,
        suite: None,
        out: out.map(Path::to_owned),
        name: "new".into(),
        project: "weighbridge".into(),
        python: "/nowhere/python3".into(),
    }
}

/// Everything that a format writes of a run: the one text, or all files with their names, bytes that are no text in hexadecimal.
fn exported(home: &Home, format: &str) -> String {
    let folder = home.directory.path().join(format!("out-{format}"));
    let out = is_several(format).then_some(folder.as_path());
    let said = run(&args(format, out), &home.place).expect("exported");
    let mut text = said.text.replace(&home.directory.path().display().to_string(), "DIR");
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
    ["criterion", "tensorboard", "wandb", "mlflow", "calibrax"].contains(&format)
}

pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
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
        let said = exported(&home, format);
        let golden =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("src/export/golden").join(format!("{format}.txt"));
        if std::env::var_os("WEIGHBRIDGE_BLESS").is_some() {
            fs::write(&golden, &said).expect("writable");
        }
        let approved = fs::read_to_string(&golden).unwrap_or_default();
        assert!(said == approved, "{format} is not as approved in {}:\n{said}", golden.display());
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

/// What an author could write to break out of any of them.
const HOSTILE: &str = "</script>::error::=1+1\r\n|\"'`\u{1b}[31m\u{202e}\u{0}../../x";

fn hostile() -> RunRecord {
    let mut record = sample();
    for (at, case) in record.cases.iter_mut().enumerate() {
        case.description = HOSTILE.into();
        case.id.scenario = format!("{HOSTILE}{at}");
        case.id.adapter = Some(HOSTILE.into());
        case.id.point.0[0].text = HOSTILE.into();
        case.id.point.0[0].axis = HOSTILE.into();
        for metric in case.metrics.iter_mut().skip(1) {
            metric.name = format!("{HOSTILE}{}", metric.name);
        }
    }
    record.cases[1].status = CaseStatus::Failed(HOSTILE.into());
    record.manifest.planned.cases = record.cases.iter().map(|case| case.id.clone()).collect();
    record.manifest.profile = HOSTILE.into();
    record
}

#[test]
fn what_an_author_wrote_breaks_no_format() {
    let home = home();
    home.store(&hostile());
    for format in FORMATS.map(|format| format.name) {
        let said = exported(&home, format);
        match format {
            "jsonl" | "jsonl-samples" => {
                for line in said.lines() {
                    serde_json::from_str::<serde_json::Value>(line).expect("a document a line");
                }
            }
            "csv" | "csv-samples" => {
                assert!(!said.contains("\n=") && !said.contains(",="), "no cell is a formula: {said}");
                assert!(rows(&said) > 1, "{said}");
            }
            "bmf" | "smaller-is-better" | "bigger-is-better" => {
                serde_json::from_str::<serde_json::Value>(&said).expect("one document");
            }
            "bencher" => {
                assert!(said.is_ascii() && said.lines().all(|line| line.starts_with("test ")), "{said}");
            }
            "junit" => {
                quick_junit::Report::deserialize_from_str(&said).expect("it can be read back");
                assert!(!said.contains("</script>") && !said.contains('\u{0}'), "{said}");
            }
            "openmetrics" => {
                for line in said.lines().filter(|line| !line.starts_with('#')) {
                    let name = line.split('{').next().unwrap_or_default();
                    assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{line}");
                    assert!(
                        line.rsplit("} ").next().is_some_and(|value| value.parse::<f64>().is_ok()),
                        "{line}"
                    );
                }
                assert!(said.ends_with("# EOF\n"), "{said}");
            }
            // Nothing lies outside of the folder, and no text of an author is a path.
            _ => {
                let folder = home.directory.path().join(format!("out-{format}"));
                for file in files(&folder) {
                    assert!(
                        !file.display().to_string().contains(['\n', '\u{1b}', '"']),
                        "{}",
                        file.display()
                    );
                }
            }
        }
    }
    let outside: Vec<_> =
        fs::read_dir(home.directory.path()).expect("there").flatten().map(|e| e.file_name()).collect();
    let expected = |name: &str| name.starts_with("out-") || ["workspace", "data"].contains(&name);
    assert!(outside.iter().all(|name| expected(&name.to_string_lossy())), "{outside:?}");
}

/// Records of CSV: line ends outside of quotes.
fn rows(text: &str) -> usize {
    let mut quoted = false;
    let mut rows = 0;
    for letter in text.chars() {
        match letter {
            '"' => quoted = !quoted,
            '\n' if !quoted => rows += 1,
            _ => {}
        }
    }
    rows
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
