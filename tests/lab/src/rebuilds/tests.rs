use std::collections::BTreeSet;

use super::kept::{KeptRebuild, RebuildEvidence};
use super::layout::Layout;
use crate::evidence::KeptCase;

#[test]
fn each_kind_of_layout_comes_in_three_rounds_and_the_same_seed_draws_the_same() {
    let kind = |round| {
        let layout = Layout::drawn(7, round, "itoa-1.0.18");
        assert_eq!(layout, Layout::drawn(7, round, "itoa-1.0.18"));
        layout.to_string().split(' ').next().map(str::to_owned)
    };
    assert_eq!((3..6).map(kind).collect::<BTreeSet<_>>().len(), 3);
    let drawn: BTreeSet<String> = (0..30).map(|round| Layout::drawn(7, round, "a").to_string()).collect();
    assert!(drawn.len() > 25, "{drawn:?}");
}

#[test]
fn a_function_that_nobody_calls_is_put_behind_what_stands_in_a_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("lib.rs");
    std::fs::write(&source, "pub fn used() {}\n").expect("writable");
    Layout::Function(3).put_into(&source).expect("written");
    let text = std::fs::read_to_string(&source).expect("readable");
    assert!(text.starts_with("pub fn used() {}\n") && text.contains("#[used]"), "{text}");
    assert_eq!(text.matches("rotate_left").count(), 3);
    Layout::Order(3).put_into(&source).expect("nothing is to do");
    assert_eq!(std::fs::read_to_string(&source).expect("readable"), text);
}

#[test]
fn verdicts_are_counted_by_body_and_by_layout() {
    let case = |verdict: &str| KeptCase {
        case: "A".into(),
        verdict: verdict.into(),
        shifts: Vec::new(),
        confirmation: Vec::new(),
        layouts: Vec::new(),
        by_cpu: 0,
        seconds: 1.0,
    };
    let kept = |round, layout: &str, verdict| KeptRebuild {
        round,
        subject: "itoa".into(),
        layout: layout.into(),
        cases: vec![case(verdict)],
    };
    let evidence = RebuildEvidence {
        comparisons: vec![
            kept(0, "folder a", "Unchanged"),
            kept(1, "order 3", "Regressed"),
            kept(2, "order 9", "Inconclusive"),
        ],
        ..RebuildEvidence::default()
    };
    let report = evidence.report();
    assert!(report.contains("rebuilt code called Regressed: 1 of 3"), "{report}");
    assert!(report.contains("rebuilt code called Improved: 0 of 3"), "{report}");
    let row = |name: &str| {
        let line = report.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().rev().take(5).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("order"), ["1", "0", "0", "1", "2"]);
    assert_eq!(row("folder"), ["0", "1", "0", "0", "1"]);
    assert_eq!(evidence.rounds(), 3);
}
