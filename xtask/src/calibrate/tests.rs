use super::evidence::{Evidence, Kept, KeptCase};
use weighbridge::data::decide;

fn case(name: &str, verdict: &str, shifts: Vec<f64>) -> KeptCase {
    KeptCase {
        case: name.into(),
        verdict: verdict.into(),
        shifts,
        confirmation: Vec::new(),
        by_cpu: 0,
        seconds: 2.0,
    }
}

#[test]
fn the_report_counts_what_was_said_of_identical_code_and_of_planted_slowdowns() {
    let flat = vec![0.0001, -0.0001, 0.0002, -0.0002, 0.0001, 0.0, -0.0001, 0.0002];
    let kept = |planted, verdict: &str| Kept {
        neighbours: false,
        planted,
        cases: vec![case("DEMO-1", verdict, flat.clone())],
    };
    let evidence = Evidence {
        comparisons: vec![
            kept(0.0, "Unchanged"),
            kept(0.0, "Regressed"),
            kept(0.02, "Regressed"),
            kept(0.05, "Improved"),
        ],
        ..Evidence::default()
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
    let rounds = [flat.rounds(), slow.rounds(), confirmed.rounds()];
    assert_eq!(decide(&rounds, 0.01, 0.05), ["Unchanged", "Inconclusive", "Regressed"]);
}
