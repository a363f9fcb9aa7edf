//! How large the crates are, as the page of the architecture says it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::external::root;
use crate::page::page;

const PAGE: &str = "docs/architecture.md";
const HEAD: &str =
    "| crate | files | lines of code | median file | largest file |\n|---|---:|---:|---:|---|\n";

/// The crates, with the folder of the code of each.
const CRATES: [(&str, &str); 6] = [
    ("weighbridge-macros", "macros/src"),
    ("weighbridge", "runtime/src"),
    ("weighbridge-yardsticks", "runtime/yardsticks/src"),
    ("weighbridge-scenarios", "scenarios/src"),
    ("weighbridge-xtask", "xtask/src"),
    ("benches", "benches"),
];

/// Numbers on the page may be off by so much: it is no news when a file gains a line.
const WITHIN: f64 = 0.05;

/// Lines that are neither blank nor of tests, which stand at the end of a file or in files of their own.
fn lines(text: &str) -> usize {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code = code.split("#[cfg(test)]\npub(super) mod tests {").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim().is_empty()).count()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let is_tests = path.file_stem().is_some_and(|stem| stem == "tests");
        match path.is_dir() {
            _ if is_tests => {}
            true => sources(&path, found),
            false if path.extension().is_some_and(|extension| extension == "rs") => found.push(path),
            false => {}
        }
    }
}

/// Files, lines of all of them, of the median one and of the largest one, and which that is.
fn sizes(folder: &str) -> ([usize; 4], String) {
    let mut files = Vec::new();
    sources(&root().join(folder), &mut files);
    let mut sizes: Vec<(usize, String)> = files
        .iter()
        .map(|file| {
            let name = file.strip_prefix(root().join(folder)).unwrap().display().to_string();
            (lines(&fs::read_to_string(file).unwrap()), name)
        })
        .collect();
    sizes.sort();
    let all = sizes.iter().map(|(lines, _)| lines).sum();
    let (largest, name) = sizes.last().unwrap().clone();
    ([sizes.len(), all, sizes[sizes.len() / 2].0, largest], name)
}

/// The numbers of each row of the table on the page, in order.
fn on_the_page(text: &str) -> Vec<Vec<f64>> {
    let table = text.split(HEAD).nth(1).unwrap_or_default();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let number = |word: &str| word.parse::<f64>().ok();
    rows.map(|row| row.split([' ', '|', '(', ')']).filter_map(number).collect()).collect()
}

#[test]
fn the_table_of_sizes_is_about_right() {
    let found = CRATES.map(|(_, folder)| sizes(folder));
    if std::env::var_os("WEIGHBRIDGE_BLESS").is_some() {
        let mut table = HEAD.to_owned();
        for ((name, _), ([files, all, median, largest], which)) in CRATES.iter().zip(&found) {
            writeln!(table, "| `{name}` | {files} | {all} | {median} | `{which}` ({largest}) |").unwrap();
        }
        let text = page(PAGE).text;
        let (before, rest) = text.split_once(HEAD).expect("a table");
        let after: String =
            rest.lines().skip_while(|line| line.starts_with('|')).map(|line| format!("{line}\n")).collect();
        fs::write(root().join(PAGE), format!("{before}{table}{after}")).unwrap();
    }
    let told = on_the_page(&page(PAGE).text);
    assert_eq!(told.len(), CRATES.len(), "a row for each crate");
    for ((crate_name, _), ((found, _), told)) in CRATES.iter().zip(found.iter().zip(&told)) {
        let near = |(found, told): (&usize, &f64)| (*found as f64 - told).abs() <= (WITHIN * told).max(2.0);
        assert!(
            found.len() == told.len() && found.iter().zip(told).all(near),
            "{crate_name}: the page says {told:?}, and it is {found:?}: \
             `WEIGHBRIDGE_BLESS=1 cargo test --test docs the_table_of_sizes` writes the table anew"
        );
    }
}
