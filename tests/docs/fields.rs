//! The pages on records against records that were really written: every field, and no other.
//!
//! A table on the page stands below a heading with a path in backticks (`case.metrics[].estimate`): the kind
//! of file, then the fields that lead to the table's. Its first column names the fields there. A row that
//! says `missing where` is of fields that not every file has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::external::{Bench, xtask};
use crate::page::page;

/// The fields of a table.
#[derive(Default)]
struct Table {
    always: BTreeSet<String>,
    sometimes: BTreeSet<String>,
}

/// The tables of the pages by the path above them.
fn documented(text: &str) -> BTreeMap<String, Table> {
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    let mut path = None;
    for line in text.lines() {
        if line.starts_with('#') {
            path = line.split('`').nth(1).map(str::to_owned);
        } else if let (Some(path), Some(row)) = (&path, line.strip_prefix("| `")) {
            let names = row.split(" | ").next().unwrap().split('`').step_by(2);
            let table = tables.entry(path.clone()).or_default();
            let fields = if row.contains("missing where") { &mut table.sometimes } else { &mut table.always };
            fields.extend(names.filter(|name| *name != ", ").map(str::to_owned));
        }
    }
    tables
}

/// What lies at a path. An empty list or an absent value leads nowhere.
fn at<'a>(record: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(record, |value, step| match step.strip_suffix("[]") {
        Some(list) => value.get(list)?.get(0),
        None => value.get(step),
    })
}

/// Every record in the files of one kind.
fn records(folder: &Path, kind: &str, found: &mut Vec<Value>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            records(&path, kind, found);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let file: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            let keys: Vec<&String> = file.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["digest", "kind", "record", "schema"], "the envelope of {}", path.display());
            assert_eq!(file["schema"], 1);
            if file["kind"] == kind {
                found.push(file["record"].clone());
            }
        }
    }
}

#[test]
fn every_field_of_a_written_file_is_on_the_page_and_no_other() {
    let sorting = Bench::new("sorting");
    let ran = sorting.run(&["--profile=quick", "--measurement-time", "0.002", "--save-baseline", "main"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let faults = Bench::new("faults");
    let failing =
        ["BLOCKS-1", "FAULT-1", "--param", "FAULT-1.fault=panic", "--profile=quick", "--repeats", "1"];
    let ran = faults.run(&failing);
    assert_eq!(ran.code, Some(6), "{}", ran.all());

    let pages = ["docs/record-format.md", "docs/record-case.md", "docs/record-repeat.md"];
    let text: String = pages.map(|path| page(path).text).concat();
    for entry in fs::read_dir(sorting.only_run()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        assert!(text.contains(&format!("\nruns/<run>/{name}")), "the page has no {name}");
    }

    let mut kinds: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for kind in ["run", "repeat", "case", "baseline"] {
        for bench in [&sorting, &faults] {
            records(bench.data(), kind, kinds.entry(kind).or_default());
        }
    }
    let shown = xtask(&sorting, &["runs", "show", "latest", "--json"]);
    kinds.insert("document", vec![serde_json::from_str(&shown.stdout).unwrap()]);

    let documented = documented(&text);
    for kind in kinds.keys() {
        assert!(documented.contains_key(*kind), "the page has no table of `{kind}`");
    }
    for (path, table) in &documented {
        let (kind, rest) = path.split_once('.').map_or((path.as_str(), ""), |(kind, rest)| (kind, rest));
        let records = kinds.get(kind).unwrap_or_else(|| panic!("no file holds a `{kind}`"));
        let objects =
            records.iter().filter_map(|record| if rest.is_empty() { Some(record) } else { at(record, rest) });
        let mut written: BTreeSet<String> =
            objects.filter_map(Value::as_object).flat_map(|object| object.keys().cloned()).collect();
        written.retain(|name| !table.sometimes.contains(name));
        assert_eq!(written, table.always, "`{path}`: written on the left, on the page on the right");
    }
}
