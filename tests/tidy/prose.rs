//! Docstrings begin with what the item is or does, and no line is wider than the code may be.

use std::fs;

use super::source::sources;
use super::{files, root};

/// The words that a question begins with.
const QUESTIONS: [&str; 7] = ["How", "What", "When", "Where", "Whether", "Which", "Why"];

/// The most characters of a line.
const WIDTH: usize = 110;

/// The first lines of the docstrings in these lines of a file.
fn first_lines<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let mut before = None;
    for (number, line) in lines {
        let Some(text) = line.trim_start().strip_prefix("///") else { continue };
        if before != Some(number - 1) {
            found.push((number, text.trim_start()));
        }
        before = Some(number);
    }
    found
}

fn asks(first_line: &str) -> bool {
    QUESTIONS.iter().any(|question| {
        let rest = first_line.strip_prefix(question);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
    })
}

#[test]
fn a_docstring_begins_with_what_the_item_is_or_does() {
    let (mut found, mut all) = (Vec::new(), 0);
    for folder in ["benches", "macros", "runtime", "scenarios", "xtask"] {
        for (file, source) in sources(folder) {
            for (line, text) in first_lines(source.lines()) {
                all += 1;
                found.extend(asks(text).then(|| format!("{file}:{line}: {text}")));
            }
        }
    }
    assert!(all > 5_000, "only {all} docstrings were found");
    assert!(found.is_empty(), "docstrings that begin with a question: {found:#?}");
}

#[test]
fn no_line_is_wider_than_code_may_be() {
    let mut found = Vec::new();
    for folder in ["benches", "macros", "runtime", "scenarios", "tests", "xtask"] {
        for file in files(&root().join(folder), "rs") {
            let text = fs::read_to_string(&file).unwrap();
            let wide = (1..).zip(text.lines()).filter(|(_, line)| line.chars().count() > WIDTH);
            found.extend(wide.map(|(line, _)| format!("{}:{line}", file.display())));
        }
    }
    assert!(found.is_empty(), "lines that are too wide: {found:#?}");
}

#[test]
fn a_question_is_seen_at_the_start_of_a_docstring_alone() {
    let text = "/// What it is.\n/// What more.\nfn a() {}\n    /// Whatever. What then.\nfn b() {}";
    let lines = (1..).zip(text.lines());
    let found: Vec<_> = first_lines(lines).into_iter().map(|(line, text)| (line, asks(text))).collect();
    assert_eq!(found, [(1, true), (4, false)]);
}
