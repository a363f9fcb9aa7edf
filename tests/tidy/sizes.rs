//! How large the packages are, as the page of the architecture says it.

use std::collections::BTreeMap;
use std::fs;

use super::root;
use super::source::{Crate, crate_roots};

const PAGE: &str = "docs/architecture.md";
const HEAD: &str =
    "| package | files | lines of code | median file | largest file |\n|---|---:|---:|---:|---|\n";

/// Numbers on the page may be off by so much: it is no news when a file gains a line.
const WITHIN: f64 = 0.05;

/// The lines of each file of each package, bench targets beside one another, largest last. Blank lines and
/// tests do not count, nor do files and packages of tests alone.
fn sizes() -> BTreeMap<String, Vec<(usize, String)>> {
    let mut packages: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for root_file in crate_roots() {
        let place = root_file.strip_prefix(root()).unwrap();
        let folder = place.ancestors().skip(1).find(|folder| !folder.ends_with("src")).unwrap();
        if folder.starts_with("tests") {
            continue;
        }
        let package =
            if folder.starts_with("benches") { "benches".into() } else { folder.display().to_string() };
        let sizes = packages.entry(package).or_default();
        let of = Crate::read(&root_file);
        for (path, source) in &of.files {
            // Bench targets share files: one name for each.
            let path = path.canonicalize().unwrap();
            let name = path.strip_prefix(root().canonicalize().unwrap()).unwrap();
            let lines = source.lines().filter(|(_, line)| !line.trim().is_empty()).count();
            sizes.insert(name.display().to_string(), lines);
        }
    }
    let ordered = |files: BTreeMap<String, usize>| {
        let mut sizes: Vec<(usize, String)> = files.into_iter().map(|(name, lines)| (lines, name)).collect();
        sizes.sort();
        sizes
    };
    packages.into_iter().map(|(package, files)| (package, ordered(files))).collect()
}

fn row(package: &str, sizes: &[(usize, String)]) -> String {
    let all: usize = sizes.iter().map(|(lines, _)| lines).sum();
    let (largest, name) = sizes.last().expect("a crate has a root file");
    let median = sizes[sizes.len() / 2].0;
    format!("| `{package}` | {} | {all} | {median} | `{name}` ({largest}) |", sizes.len())
}

/// The words of a row that are numbers, and those that are not.
fn parts(row: &str) -> (Vec<f64>, Vec<&str>) {
    let words: Vec<&str> = row.split([' ', '|', '(', ')']).filter(|word| !word.is_empty()).collect();
    let numbers = words.iter().filter_map(|word| word.parse().ok()).collect();
    (numbers, words.into_iter().filter(|word| word.parse::<f64>().is_err()).collect())
}

/// The page's text before its rows, the rows, and what follows.
fn split(text: &str) -> (&str, Vec<&str>, &str) {
    let at = text.find(HEAD).expect("a table") + HEAD.len();
    let rows: Vec<&str> = text[at..].split_inclusive('\n').take_while(|line| line.starts_with('|')).collect();
    let end = at + rows.iter().map(|row| row.len()).sum::<usize>();
    (&text[..at], rows, &text[end..])
}

#[test]
fn the_table_of_sizes_is_about_right() {
    let found: Vec<String> = sizes().iter().map(|(package, sizes)| row(package, sizes)).collect();
    let mut text = fs::read_to_string(root().join(PAGE)).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let (before, _, after) = split(&text);
        text = format!("{before}{}\n{after}", found.join("\n"));
        fs::write(root().join(PAGE), &text).unwrap();
    }
    let (_, told, _) = split(&text);
    let near = |(found, told): (&f64, &f64)| (found - told).abs() <= (WITHIN * told).max(2.0);
    let is_right = |(found, told): (&String, &&str)| {
        let ((found, words), (told, told_words)) = (parts(found), parts(told));
        words[0] == told_words[0] && found.len() == told.len() && found.iter().zip(&told).all(near)
    };
    assert!(
        found.len() == told.len() && found.iter().zip(&told).all(is_right),
        "the page says\n{}\nand it is\n{}\n\
         `UPDATE_EXPECT=1 cargo test --test tidy table_of_sizes` writes it anew",
        told.concat(),
        found.join("\n")
    );
}
