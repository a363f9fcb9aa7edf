use std::fs;
use std::path::Path;

use super::{CalibrationEvidence, KeptCase, KeptRow};
use weighbridge::data::{JudgedRounds, clopper_pearson, decide};

fn case(name: &str, verdict: &str, shifts: Vec<f64>) -> KeptCase {
    KeptCase {
        case: name.into(),
        verdict: verdict.into(),
        shifts,
        confirmation: Vec::new(),
        layouts: Vec::new(),
        by_cpu: 0,
        seconds: 2.0,
    }
}

fn rounds(case: &KeptCase) -> JudgedRounds {
    JudgedRounds {
        shifts: case.shifts.clone(),
        confirmation: case.confirmation.clone(),
        layouts: case.layouts.clone(),
        ..JudgedRounds::default()
    }
}

#[test]
fn the_report_counts_what_was_said_of_identical_code_and_of_planted_slowdowns() {
    let flat = vec![0.0001, -0.0001, 0.0002, -0.0002, 0.0001, 0.0, -0.0001, 0.0002];
    let kept = |planted, verdict: &str| KeptRow {
        neighbours: false,
        planted,
        cases: vec![case("DEMO-1", verdict, flat.clone())],
    };
    let evidence = CalibrationEvidence {
        comparisons: vec![
            kept(0.0, "Unchanged"),
            kept(0.0, "Regressed"),
            kept(0.02, "Regressed"),
            kept(0.05, "Improved"),
        ],
        ..CalibrationEvidence::default()
    };
    let report = evidence.report();
    assert!(report.contains("identical code called Regressed: 1 of 2, at most 97.5 % (95 %)"), "{report}");
    assert!(report.contains("verdicts of the wrong sign: 1"), "{report}");
    assert!(report.contains("+2 % found: 1 of 1") && report.contains("+5 % found: 0 of 1"), "{report}");
}

#[test]
fn rounds_that_were_kept_decide_again_as_they_did() {
    let flat = case("A", "", vec![0.0001; 8]);
    let slow = case("B", "", vec![0.05; 8]);
    let confirmed = KeptCase { confirmation: vec![0.05; 24], ..slow.clone() };
    let rounds = [rounds(&flat), rounds(&slow), rounds(&confirmed)];
    assert_eq!(decide(&rounds, 0.01, 0.05), ["Unchanged", "Inconclusive", "Regressed"]);
}

/// The published evidence, recomputed from its rounds: the verdicts, the table on the page, and the claims.
#[test]
fn the_published_table_follows_from_the_published_rounds_and_bears_its_claims_out() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = fs::read(docs.join("development/evidence/duel.json")).expect("the evidence is published");
    let evidence: CalibrationEvidence = serde_json::from_slice(&text).expect("it is ours");
    for kept in &evidence.comparisons {
        let all: Vec<JudgedRounds> = kept.cases.iter().map(rounds).collect();
        let said: Vec<&str> = kept.cases.iter().map(|case| case.verdict.as_str()).collect();
        assert_eq!(decide(&all, evidence.margin, evidence.alpha), said);
    }
    let page =
        fs::read_to_string(docs.join("development/log/2026-11-duels.md")).expect("there is such a page");
    for line in evidence.report().lines() {
        assert!(page.contains(line), "docs/development/log/2026-11-duels.md lacks: {line}");
    }
    let all = |planted: f64| {
        let comparisons =
            evidence.comparisons.iter().filter(move |kept| (kept.planted - planted).abs() < 1e-9);
        comparisons.flat_map(|kept| &kept.cases)
    };
    let count = |planted: f64, verdict: &str| all(planted).filter(|case| case.verdict == verdict).count();
    let (same, two, five) = (all(0.0).count(), all(0.02).count(), all(0.05).count());
    assert!(same >= 300 && two >= 60 && five >= 60, "{same}, {two}, {five}");
    assert!(count(0.0, "Regressed") * 100 <= same, "at most 1 % false alarms");
    // The upper end of an interval at 90 % is a bound at 95 % on one side: what is published of the rate.
    let (_, bound) =
        clopper_pearson(count(0.0, "Regressed") as u64, same as u64, 0.9).expect("there were tries");
    assert!(bound <= 0.01, "false alarms may be as frequent as {bound}");
    assert_eq!(count(0.02, "Improved") + count(0.05, "Improved"), 0, "no verdict of the wrong sign");
    assert!(count(0.02, "Regressed") * 10 >= two * 9 && count(0.05, "Regressed") * 100 >= five * 99);
}
