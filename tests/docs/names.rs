//! Names on pages: links, and the tests that the list of requirements names.

use std::fs;

use crate::external::root;
use crate::page::{page, pages};

#[test]
fn every_link_on_a_page_leads_to_a_file() {
    for page in pages() {
        let folder = root().join(&page.path).parent().unwrap().to_owned();
        let prose = page.prose();
        for link in prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            let inside = !link.contains("://") && !file.is_empty();
            assert!(!inside || folder.join(file).exists(), "{}: no file at {link}", page.path.display());
        }
    }
}

/// What stands between backticks in the prose of a page.
fn quoted(prose: &str) -> impl Iterator<Item = &str> {
    prose.split('`').skip(1).step_by(2)
}

#[test]
fn every_test_that_a_page_names_exists() {
    let mut seen = 0;
    let mut missing = Vec::new();
    for page in pages() {
        let prose = page.prose();
        for (file, name) in quoted(&prose).filter_map(|name| name.split_once(".rs::")) {
            let text = fs::read_to_string(root().join(format!("{file}.rs"))).unwrap_or_default();
            if !text.contains(&format!("fn {name}(")) {
                missing.push(format!("{}: {file}.rs::{name}", page.path.display()));
            }
            seen += 1;
        }
    }
    assert!(missing.is_empty(), "no such tests:\n{}", missing.join("\n"));
    assert!(seen > 50, "only {seen} tests are named");
}

#[test]
fn every_requirement_has_one_row_in_order_and_says_what_shows_it() {
    let page = page("docs/requirements.md");
    let rows = page.text.lines().filter_map(|line| line.strip_prefix("| R"));
    let mut last = 0;
    for row in rows {
        let cells: Vec<&str> = row.split(" | ").collect();
        let number: u32 = cells[0].trim().parse().unwrap_or_else(|_| panic!("a row starts with R{row}"));
        assert!(number > last, "R{number} stands after R{last}");
        last = number;
        assert!(cells.len() == 3 && cells[2].len() > 5, "R{number} says nothing of what shows it");
    }
    assert!(last <= 182 && last > 170, "the last is R{last}");
}
