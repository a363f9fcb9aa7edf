use weighbridge::data::{
    Basis, Cause, ComparedBaseline, Comparison, DisturbedSamples, Duels, Effect, Evidence, Exit,
    InconclusiveReason, JudgedRounds, Ledger, Method, Observation, Outcome, Row, RowMark, RunId, RunRecord,
    Stationarity, Tolerance, UnstoppedEpoch, Verdict, VerdictCounts,
};

use super::*;
use crate::fixtures::{Home, case_id, home, plain};

fn args(case: &str) -> Explain {
    Explain { case: case.to_owned(), run: None, suite: None, ascii: true }
}

/// A stored run whose reference's repeats have 200 samples, the first of each slow and tagged.
fn sampled(home: &Home, second: u64, middle: f64) -> RunRecord {
    let mut run = plain(second, middle, middle);
    for (number, repeat) in run.cases[0].repeats.iter_mut().enumerate().skip(1) {
        let mut samples: Vec<u64> = (0..200).map(|at| 10_000 + (at * 37 + number as u64) % 101).collect();
        samples[0] = 50_000;
        let seen = Observation {
            tags: vec![DisturbedSamples { cause: Cause::Preempted, samples: vec![0] }],
            stationarity: Some(Stationarity::Flat),
            wall: samples.iter().sum(),
            samples,
            iterations_per_sample: 10,
            ledger: Ledger { start: 2_000_000, measured: 3_000_000, ..Ledger::default() },
            ..Observation::default()
        };
        let epoch =
            UnstoppedEpoch { wall: 4_000_000, copied: 1_000, elements: 2_000, ..UnstoppedEpoch::default() };
        let evidence = Evidence { unstopped: (number == 1).then_some(epoch), ..Evidence::default() };
        repeat.outcome = Outcome::Measured { seen: Box::new(seen), work: None, evidence: Box::new(evidence) };
    }
    home.store(&run);
    run
}

/// A stored duel of the reference.
fn duel(home: &Home, number: u64, verdict: Verdict, by_cpu: usize, effect: (f64, f64, f64)) {
    let mut row = Row {
        case: case_id("CV-1", "Reference"),
        verdict,
        metric: "wall_time".into(),
        effect: Some(Effect { estimate: effect.0, low: effect.1, high: effect.2 }),
        tolerance: Some(Tolerance { share: 0.01, basis: Basis::Duel, runs: 0 }),
        detectable: Some(0.013),
        accepted: None,
        marks: Vec::new(),
        advice: None,
        processes: None,
        rounds: Some(JudgedRounds {
            shifts: vec![0.001, -0.002, 0.003, 0.0, 0.001, -0.001, 0.002, 0.004],
            by_cpu,
            clean_pairs: (600, 800),
            seconds: 2.1,
            ..JudgedRounds::default()
        }),
        metrics: Vec::new(),
    };
    if by_cpu > 4 {
        row.marks.push(RowMark::ByCpuClock);
    }
    let rows = vec![row];
    let comparison = Comparison {
        suite: "toy/suite".into(),
        method: Method::Duel,
        baseline: ComparedBaseline { name: "v1".into(), run: None },
        candidate: RunId::new(number, 7),
        environment: None,
        environment_changes: Vec::new(),
        notes: Vec::new(),
        refused: None,
        failures: Vec::new(),
        counts: VerdictCounts::of(&rows),
        rows,
    };
    Duels::new(home.place.layout.clone()).write(&comparison.candidate, &comparison).expect("writable");
}

fn told(home: &Home) -> String {
    run(&args("CV-1/small/Reference"), &home.place).expect("there is a run").text
}

#[test]
fn samples_distribution_processes_and_disturbances_are_told() {
    let home = home();
    sampled(&home, 1_000, 8.0e6);
    let text = told(&home);
    for line in [
        "CV-1/small/Reference: Images to normalised float batches.\n",
        "throughput 8.00 M elem/s",
        "samples in order, a line per process, a character for the median of 4 samples, \
         from 1.00 µs to 1.01 µs and above\n",
        "distribution of 1400 samples, by how far they lie from their median\n",
        "p5 1.00 µs, p50 1.01 µs, p95 1.01 µs\n",
        "preempted          7   0.5 %  5.00 µs\n",
        "undisturbed     1393  99.5 %  1.01 µs\n",
        "repeat    start  measured  unexplained      all\n     1  2.00 ms   3.00 ms          0 s  5.00 ms\n",
        "epochs without a stop: 4.00 ms for 2000 elements, 1.00 µs of it for copies\n",
        "no duel of it is stored",
        "no baseline of this suite and machine is stored",
    ] {
        assert!(text.contains(line), "{line} is missing in:\n{text}");
    }
    assert_eq!(text.lines().filter(|line| line.ends_with("  flat")).count(), 7, "{text}");
    assert_eq!(text.lines().filter(|line| *line == "      p").count(), 7, "{text}");
}

#[test]
fn ascii_is_ascii_and_blocks_are_the_default() {
    let home = home();
    sampled(&home, 1_000, 8.0e6);
    let text = told(&home).replace('µ', "u");
    assert!(text.is_ascii(), "{text}");
    let blocks = run(&Explain { ascii: false, ..args("CV-1/small/Reference") }, &home.place);
    assert!(blocks.expect("there is a run").text.contains('█'));
}

#[test]
fn the_newest_duel_of_the_case_says_which_clock_decided_and_what_would_decide_it() {
    let home = home();
    sampled(&home, 1_000, 8.0e6);
    duel(&home, 2_000, Verdict::Unchanged, 0, (0.001, -0.003, 0.004));
    let text = told(&home);
    assert!(text.contains("the last duel, 19700101-003320-000007 with `v1`: Unchanged"), "{text}");
    assert!(text.contains("the wall clock decided, from clean pairs alone: 600 of 800 pairs"), "{text}");
    assert!(text.contains("a slowdown of 1.3 % would have been found"), "{text}");

    duel(&home, 3_000, Verdict::Inconclusive(InconclusiveReason::NoInterval), 6, (0.0, -0.015, 0.015));
    std::fs::write(home.place.layout.duels().join("19700102-000000-000007.json"), "{").expect("writable");
    let said = run(&args("CV-1/small/Reference"), &home.place).expect("there is a run");
    assert!(said.text.contains("the CPU clock decided in 6 of 8 rounds"), "{}", said.text);
    assert!(said.text.contains("about 19 rounds would decide it: run the duel again"), "{}", said.text);
    assert!(said.remarks[0].starts_with("warning: passed over"), "{:?}", said.remarks);

    duel(&home, 4_000, Verdict::Inconclusive(InconclusiveReason::NoInterval), 0, (0.009, -0.04, 0.06));
    assert!(told(&home).contains("a duel has at most 24"));
    duel(&home, 5_000, Verdict::Inconclusive(InconclusiveReason::NoInterval), 0, (0.01, -0.02, 0.04));
    assert!(told(&home).contains("its effect lies on the margin of 1.0 %"));
}

#[test]
fn the_last_baseline_judges_and_advises() {
    let home = home();
    home.promote("main", &sampled(&home, 1_000, 8.0e6));
    sampled(&home, 2_000, 8.0e6);
    let text = told(&home);
    assert!(text.contains("against the stored baseline `main`: Unchanged"), "{text}");
    assert!(text.contains("it is decided; a slowdown of"), "{text}");
}

#[test]
fn a_misspelt_case_gets_the_nearest_and_no_run_is_nothing_to_explain() {
    let home = home();
    let error = run(&args("CV-1/small/Reference"), &home.place).expect_err("there is no run");
    assert_eq!(stop::exit(&error), Exit::NothingToJudge);
    home.store(&plain(1_000, 8.0e6, 12.0e6));
    let error = run(&args("CV-1/small/Referense"), &home.place).expect_err("misspelt");
    assert_eq!(stop::exit(&error), Exit::Usage);
    assert!(error.to_string().contains("did you mean `CV-1/small/Reference`?"), "{error}");
    for name in ["cv_1::small::reference", "cv_1@small@reference"] {
        assert!(run(&args(name), &home.place).expect("named").text.starts_with("CV-1/small/Reference: "));
    }
}

#[test]
fn a_scenarios_name_lists_its_cases_and_explains_the_only_one() {
    let home = home();
    let mut stored = plain(1_000, 8.0e6, 12.0e6);
    home.store(&stored);
    let text = run(&args("cv-1"), &home.place).expect("there is a run").text;
    assert!(text.starts_with("`cv-1` is several cases of run"), "{text}");
    assert!(text.contains("CV-1/small/Reference          throughput  8.00 M elem/s\n"), "{text}");
    stored.cases.truncate(1);
    stored.manifest.planned.cases.truncate(1);
    let home = crate::fixtures::home();
    home.store(&stored);
    assert!(run(&args("CV-1"), &home.place).expect("one").text.starts_with("CV-1/small/Reference: "));
    assert!(run(&args("CV"), &home.place).is_err(), "a part of an id is no id");
}

#[test]
fn a_case_that_was_not_measured_says_why() {
    let home = home();
    let mut run_record = plain(1_000, 8.0e6, 12.0e6);
    run_record.cases[0].status = weighbridge::data::CaseStatus::Skipped("no such device".into());
    run_record.cases[0].repeats.clear();
    home.store(&run_record);
    let text = told(&home);
    assert!(text.contains("skipped: no such device") && text.contains("there is nothing to draw"), "{text}");
}
