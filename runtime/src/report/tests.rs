//! Text of others, through every output: nobody who names a case, a metric or a reason moves a cursor or
//! forges a line.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::cells::Changes;
use super::*;
use crate::compare::{Comparison, Policy, judge};
use crate::process::TraceKind;
use crate::record::{
    AllocationSite, Allocations, AttachedFile, Attachment, AttachmentStatus, Baseline, CaseRecord,
    CaseStatus, Environment, FailureReason, RunRecord,
};
use crate::store::fixtures;
use crate::verify::{Agreement, Finding, FindingDetail, Severity, UnverifiedReason};

/// Erases the line, goes back, turns the direction, and looks like a line of ours.
const HOSTILE: &str = "\u{1b}[2K\r\u{202e}x\nweighbridge: run=forged exit=0";

/// Every way to append the hostile text to one string of a value, as far as it then still is one of its type.
fn spoilt<T: Serialize + DeserializeOwned>(value: &T) -> Vec<T> {
    fn strings(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(at.to_owned()),
            Value::Array(values) => {
                values.iter().enumerate().for_each(|(n, value)| strings(value, &format!("{at}/{n}"), found));
            }
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| strings(value, &format!("{at}/{name}"), found));
            }
            _ => {}
        }
    }
    let whole = serde_json::to_value(value).unwrap();
    let mut places = Vec::new();
    strings(&whole, "", &mut places);
    let spoil = |place: &String| {
        let mut spoilt = whole.clone();
        let text = spoilt.pointer_mut(place)?;
        *text = Value::String(format!("{}{HOSTILE}", text.as_str()?));
        serde_json::from_value(spoilt).ok()
    };
    places.iter().filter_map(spoil).collect()
}

/// Asserts that nothing in it would be obeyed by a terminal, or be taken by a reader for a line of ours.
fn check(shown: &str) {
    let harmless = |c: char| c == '\n' || c == '\t' || !c.is_control() && c != '\u{202e}';
    assert!(shown.chars().all(harmless), "{shown:?}");
    let forged = shown.lines().find(|line| line.starts_with("weighbridge: run=forged"));
    assert_eq!(forged, None, "{shown}");
}

fn terminal() -> Terminal {
    Terminal::detect(Some(false), true)
}

fn finding(severity: Severity) -> Finding {
    Finding {
        rule: "outlier".into(),
        severity,
        repeats: vec![1],
        detail: FindingDetail::Evidence("far off".into()),
        remedy: "look".into(),
        figure: None,
    }
}

/// Cases that end in every way.
fn cases() -> Vec<CaseRecord> {
    let case = |number| fixtures::case(fixtures::case_id(number), &[1.0, 1.1, 1.2], 1);
    let mut cases: Vec<CaseRecord> = (0..7).map(case).collect();
    cases[0].findings = vec![finding(Severity::Caveat), finding(Severity::Caveat)];
    cases[1].status = CaseStatus::Failed(FailureReason::Unwritable("a metric is there twice".into()));
    cases[2].status = CaseStatus::Skipped("no data".into());
    cases[3].agreement = Agreement::Differs(vec!["elements".into()]);
    cases[4].agreement = Agreement::Unverified(UnverifiedReason::NoReference);
    cases[5].agreement = Agreement::Declared("another crop".into());
    cases[5].id.adapter = None;
    cases[6].status = CaseStatus::Incomplete;
    cases[6].attached = traced();
    cases
}

/// Traces that came to every end.
fn traced() -> Vec<Attachment> {
    let site =
        AllocationSite { place: "a.py:1".into(), source: "x = 1".into(), bytes: -2048, allocations: 3 };
    let allocations = Allocations { operation: "save".into(), peak: 1 << 20, sites: vec![site; 5] };
    let file = |path: &str| AttachedFile { path: path.into(), bytes: 512 };
    vec![
        Attachment {
            kind: TraceKind::Tracemalloc,
            status: AttachmentStatus::Attached,
            files: vec![
                file("attached/case/tracemalloc/save.json"),
                file("attached/case/tracemalloc/load.json"),
            ],
            allocations: vec![allocations],
        },
        Attachment::missing(TraceKind::Jax, AttachmentStatus::Absent("it does not use jax here".into())),
        Attachment::missing(TraceKind::Torch, AttachmentStatus::Failed("the trace `a.json` is empty".into())),
    ]
}

#[test]
fn each_trace_says_where_it_lies_or_why_there_is_none() {
    let case = CaseRecord { attached: traced(), ..fixtures::case(fixtures::case_id(0), &[1.0], 1) };
    let run = RunRecord { cases: vec![case], ..fixtures::run(1, 0) };
    let few = traces(&run, Path::new("/runs/1"), false);
    let lines: Vec<&str> = few.lines().collect();
    assert!(lines[0].ends_with("2 files, 1.00 KiB, below /runs/1/attached/case/tracemalloc"), "{few}");
    assert_eq!(lines[1], "  save: Python allocated 1.00 MiB at most; what lives on:");
    assert_eq!(lines[2..5], ["    -2.00 KiB (+3) a.py:1  x = 1"; 3]);
    assert!(lines[5].contains("none: it does not use jax here"), "{few}");
    assert!(lines[6].contains("FAILED: the trace `a.json` is empty"), "{few}");
    assert_eq!(traces(&run, Path::new("/runs/1"), true).lines().count(), lines.len() + 2);
}

fn all_of(run: &RunRecord) {
    check(&table(run, &Changes::new(), &|_, _| None, terminal()));
    check(&metrics(run));
    check(&traces(run, Path::new("/runs/1"), true));
    let (lines, told) = bencher_lines(run);
    check(&lines);
    assert!(!lines.lines().any(|line| !line.starts_with("test ")), "{lines}");
    for line in told {
        check(&line);
        assert!(!line.contains('\n'), "{line:?}");
    }
    assert_eq!(summary(run, 0).lines().count(), 1);
    check(&summary(run, 0));
}

#[test]
fn no_text_in_the_record_of_a_case_reaches_a_terminal_as_it_is() {
    let mut seen = 0;
    for case in cases() {
        for spoilt in spoilt(&case.summary()) {
            seen += 1;
            let cases = vec![spoilt.clone(), fixtures::case(fixtures::case_id(9), &[1.0], 1), spoilt];
            all_of(&RunRecord { cases, ..fixtures::run(1, 0) });
        }
    }
    assert!(seen > 50, "only {seen} texts were tried");
}

#[test]
fn no_text_in_an_environment_reaches_a_terminal_as_it_is() {
    let facts = ["cpu model", "cores", "memory", "load average"];
    let facts = || facts.iter().map(|name| ((*name).into(), "x".into())).collect();
    let environment = Environment { machine: facts(), moment: facts(), ..Environment::default() };
    let spoilt = spoilt(&environment);
    assert!(spoilt.len() >= 8, "{}", spoilt.len());
    for environment in spoilt {
        check(&machine(&environment));
        assert!(!machine(&environment).contains('\n'));
    }
}

#[test]
fn no_text_in_a_comparison_reaches_a_terminal_as_it_is() {
    let (before, mut after) = (fixtures::run(1_000, 3), fixtures::run(2_000, 3));
    for case in &mut after.cases {
        case.status = CaseStatus::Measured;
    }
    let history = crate::compare::History::default();
    let comparison = judge(&Baseline::promote("main", &before), &after, &history, &Policy::default());
    let mut seen = 0;
    for spoilt in spoilt::<Comparison>(&comparison) {
        seen += 1;
        check(&verdicts(&spoilt, terminal()));
        assert_eq!(duel_summary(&spoilt, 0).lines().count(), 1);
        spoilt.rows.iter().for_each(|one| check(&row(one, terminal())));
        for words in changes(&spoilt).values() {
            check(words);
        }
    }
    assert!(seen > 10, "only {seen} texts were tried");
}
