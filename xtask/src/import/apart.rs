//! What an imported run is judged by, and what it is never mixed with.

use weighbridge::data::Exit;

use super::tests::{hyperfine, imported, newest};
use super::*;
use crate::fixtures::{Home, home, plain};

/// What `compare-baseline` says of the newest run, held against a baseline of this name.
fn compared(home: &Home, name: &str) -> Said {
    let run = newest(home).manifest.id.to_string();
    let args = crate::cli::CompareBaseline {
        name: Some(name.to_owned()),
        rebuild: None,
        program: None,
        bench_args: Vec::new(),
        run: Some(run),
        threshold: None,
        inconclusive: None,
        markdown: None,
        format: crate::cli::ComparisonFormat::Table,
        suite: None,
        allow_different_machine: false,
    };
    crate::compare_baseline::run(&args, &home.place).expect("compared")
}

#[test]
fn six_processes_a_side_are_judged_and_fewer_show_their_difference_without_a_verdict() {
    let (few, many) = (home(), home());
    let times = [0.100, 0.101, 0.099, 0.1005, 0.0995, 0.1002];
    let slower = times.map(|time| time * 1.5);
    imported(&many, "hyperfine", &[hyperfine(&times)]).expect("imported");
    many.promote("before", &newest(&many));
    imported(&many, "hyperfine", &[hyperfine(&slower)]).expect("imported");
    let said = compared(&many, "before");
    assert_eq!(said.exit, Exit::Regressed, "{}", said.text);

    imported(&few, "hyperfine", &[hyperfine(&times[..5])]).expect("imported");
    few.promote("before", &newest(&few));
    imported(&few, "hyperfine", &[hyperfine(&slower)]).expect("imported");
    let said = compared(&few, "before");
    assert_eq!(said.exit, Exit::Inconclusive, "{}", said.text);
    let row = said.text.lines().find(|line| line.starts_with("COMMAND/ls -a ")).expect("a row");
    assert!(row.contains("+50.") && row.contains("Incomparable"), "{}", said.text);
    assert!(said.text.contains("5 against 6 imported processes"), "{}", said.text);
    assert!(!said.text.contains("--rebuild"), "it cannot be measured in turns: {}", said.text);
}

#[test]
fn nobody_is_accused_by_evidence_that_no_other_tool_takes() {
    let home = home();
    imported(&home, "hyperfine", &[hyperfine(&[0.1; 6])]).expect("imported");
    let id = newest(&home).manifest.id.to_string();
    let error = crate::judge::run(&id, true, &home.place).expect_err("there is none");
    assert!(error.to_string().ends_with("it was measured by hyperfine"), "{error}");
    assert!(newest(&home).cases.iter().all(|case| !case.has_failed()));
}

#[test]
fn imported_and_measured_runs_are_never_held_against_each_other_nor_mixed() {
    let home = home();
    let measured = plain(1_000, 8.0e6, 12.0e6);
    home.store(&measured);
    imported(&home, "hyperfine", &[hyperfine(&[0.1; 3])]).expect("imported");
    let mut mixed = newest(&home);
    // Someone gives it the suite and the machine of what was measured.
    mixed.manifest.suite.clone_from(&measured.manifest.suite);
    mixed.manifest.environment = measured.manifest.environment.clone();
    mixed.manifest.profile.clone_from(&measured.manifest.profile);
    mixed.manifest.id = weighbridge::data::RunId::new(2_000, 1);
    mixed.manifest.planned.cases = measured.manifest.planned.cases.clone();
    mixed.cases = measured.cases.clone();
    home.store(&mixed);
    let policy = weighbridge::data::Policy::default();
    let history = weighbridge::data::History::default();
    for (baseline, run, whose) in
        [(&measured, &mixed, "the run is imported"), (&mixed, &measured, "the baseline is imported")]
    {
        let baseline = weighbridge::data::Baseline::promote("main", baseline);
        let comparison = weighbridge::data::judge(&baseline, run, &history, &policy);
        let refused = comparison.refused.expect("refused").to_string();
        assert!(refused.starts_with(whose) && refused.contains("hyperfine"), "{refused}");
        assert!(comparison.rows.is_empty());
    }
    // It is the newest of its suite, and yet nothing that picks by itself takes it.
    let latest = home.place.runs().latest("toy/suite").expect("readable").expect("one was measured");
    assert_eq!(latest.id, measured.manifest.id);
    let picked = crate::pick::runs(&home.place, None, None).expect("picked");
    assert!(picked.runs.iter().all(|run| run.imported.is_none()) && picked.runs.len() == 1, "{picked:?}");
    let named = crate::pick::runs(&home.place, None, Some("imported/hyperfine")).expect("picked");
    assert_eq!(named.runs.len(), 1, "where its suite is named it is meant");
    let baseline = weighbridge::data::Baseline::promote("main", &measured);
    let later = weighbridge::data::RunId::new(9_000, 1);
    let past = home.place.runs().history(&baseline, &later, 9).expect("readable");
    let mut expected = weighbridge::data::History::default();
    expected.add_promoted(&baseline);
    assert_eq!(past, expected, "it says nothing of how far figures wander");
    let trend =
        crate::history::Trend { case: "CV-1/small/Reference".into(), metric: None, suite: None, ascii: true };
    let said = crate::history::run(&trend, &home.place).expect("followed").text;
    assert!(said.contains("1 commits"), "{said}");
}
