//! Names on pages: links, and the tests that the list of requirements names.

use std::fs;

use crate::external::root;
use crate::page::{page, pages};

/// The addresses of links in the prose of a page that lead to this workspace.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links.filter(|link| !link.contains("://"))
}

/// The part of an address behind `#` that a heading gets: small letters and digits, a hyphen for each space.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_on_a_page_leads_to_a_file_and_to_a_heading_in_it() {
    let mut seen = 0;
    for page in pages() {
        let here = root().join(&page.path);
        for link in links(&page.prose()) {
            let at = format!("{}: {link}", page.path.display());
            let (file, place) =
                link.split_once('#').map_or((link, None), |(file, place)| (file, Some(place)));
            let target = if file.is_empty() { here.clone() } else { here.parent().unwrap().join(file) };
            assert!(target.exists(), "{at}: there is no such file");
            if let Some(place) = place {
                let text = fs::read_to_string(&target).unwrap();
                let mut headings = text
                    .lines()
                    .filter(|line| line.starts_with('#'))
                    .map(|line| line.trim_start_matches('#'));
                assert!(headings.any(|heading| anchor(heading) == place), "{at}: there is no such heading");
            }
            seen += 1;
        }
    }
    assert!(seen > 100, "only {seen} links were found");
}

#[test]
fn a_heading_has_the_address_that_its_readers_give_it() {
    assert_eq!(anchor(" The clock"), "the-clock");
    assert_eq!(anchor(" By operators of its own"), "by-operators-of-its-own");
    assert_eq!(anchor(" `case.metrics[]`"), "casemetrics");
}

#[test]
fn every_page_can_be_reached_from_the_readme() {
    let pages = pages();
    let mut reached = vec![root().join("README.md").canonicalize().unwrap()];
    let mut next = 0;
    while let Some(here) = reached.get(next).cloned() {
        next += 1;
        let Some(page) = pages.iter().find(|page| root().join(&page.path).canonicalize().unwrap() == here)
        else {
            continue;
        };
        for link in links(&page.prose()) {
            let target = here.parent().unwrap().join(link.split('#').next().unwrap()).canonicalize();
            reached.extend(target.ok().filter(|target| !reached.contains(target)));
        }
    }
    let lost: Vec<String> = pages
        .iter()
        .filter(|page| !reached.contains(&root().join(&page.path).canonicalize().unwrap()))
        .map(|page| page.path.display().to_string())
        .collect();
    assert!(lost.is_empty(), "no page that the README leads to has a link to {lost:?}");
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
    let page = page("docs/development/requirements.md");
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
