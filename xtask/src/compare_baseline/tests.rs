//! Each end once, and each form of the answer.

use std::fs;

use weighbridge::data::{CaseStatus, FailureReason, RunRecord, RunStatus};

use super::*;
use crate::fixtures::{Home, around, case, home, plain, run as record};
use crate::place::BenchSuite;

fn args(name: &str) -> CompareBaseline {
    CompareBaseline {
        name: Some(name.to_owned()),
        rebuild: None,
        program: None,
        bench_args: Vec::new(),
        build: BuildArgs::default(),
        layouts: 1,
        run: None,
        threshold: None,
        inconclusive: None,
        removed: None,
        markdown: None,
        format: ComparisonFormat::Table,
        suite: None,
        rules: None,
        allow_different_machine: false,
    }
}

/// A home with a baseline `main` and a later run.
fn with(candidate: &RunRecord) -> Home {
    let home = home();
    let baseline = plain(1_000, 8.0e6, 12.0e6);
    home.store(&baseline);
    home.promote("main", &baseline);
    home.store(candidate);
    home
}

fn said(home: &Home, args: &CompareBaseline) -> CommandOutput {
    said_in(home, args, &Actions::default())
}

/// The answer with its text as it is printed.
fn said_in(home: &Home, args: &CompareBaseline, actions: &Actions) -> CommandOutput {
    let said = run_in(args, &home.place, actions).expect("judged");
    CommandOutput { text: said.printed(), exact: String::new(), ..said }
}

/// The exit code of judging a later run.
fn end(candidate: &RunRecord, args: &CompareBaseline) -> u8 {
    said(&with(candidate), args).exit.code()
}

#[test]
fn the_same_again_is_0() {
    let said = said(&with(&plain(2_000, 8.01e6, 11.99e6)), &args("main"));
    assert_eq!(said.exit, Exit::Fine, "{}", said.text);
    let line = said.text.lines().next_back();
    assert_eq!(
        line,
        Some(
            "weighbridge: compared=2 improved=0 unchanged=2 regressed=0 inconclusive=0 added=0 removed=0 \
             incomparable=0 exit=0"
        )
    );
}

#[test]
fn half_the_speed_is_3_and_the_table_says_of_what() {
    let said = said(&with(&plain(2_000, 4.0e6, 12.0e6)), &args("main"));
    assert_eq!(said.exit, Exit::Regressed, "{}", said.text);
    let expected = "\
toy/suite: run 19700101-003320-000007 against the stored baseline `main` (run 19700101-001640-000007)

case                          metric           baseline            now   change  ";
    assert!(said.text.starts_with(expected), "{}", said.text);
    let row = |case: &str| said.text.lines().find(|line| line.starts_with(case)).expect("a row").to_owned();
    let row_words = |case| row(case).split_whitespace().collect::<Vec<_>>().join(" ");
    let slow = row_words("CV-1/small/Reference  ");
    assert!(
        slow.starts_with("CV-1/small/Reference throughput 8.00 M elem/s 4.00 M elem/s -50.0 % +100 %"),
        "{slow}"
    );
    assert!(slow.contains("Regressed"), "{slow}");
    assert!(row_words("CV-1/small/Reference (fused)").contains("Unchanged"));
    assert!(said.text.contains("CV-1/small/Reference regressed:\nmetric"), "{}", said.text);
    let memory = row_words("peak_memory");
    assert_eq!(memory, "peak_memory 32.0 MiB 32.0 MiB 0 % 1.000 lower same");
    assert!(said.text.ends_with("regressed=1 inconclusive=0 added=0 removed=0 incomparable=0 exit=3\n"));
}

#[test]
fn a_wider_threshold_lets_it_pass() {
    let wide = CompareBaseline { threshold: Some(1.5), ..args("main") };
    assert_eq!(end(&plain(2_000, 4.0e6, 12.0e6), &wide), 0);
}

#[test]
fn an_unknown_name_is_4_with_the_nearest_and_how_to_make_one() {
    let said = said(&with(&plain(2_000, 8.0e6, 12.0e6)), &args("mian"));
    assert_eq!(said.exit, Exit::NothingToJudge);
    let remark = said.remarks.join("\n");
    assert!(remark.contains("did you mean `main`?"), "{remark}");
    assert!(remark.contains("cargo bench -- --save-baseline mian"), "{remark}");
    assert!(said.text.starts_with("weighbridge: compared=0 ") && said.text.ends_with(" exit=4\n"));
}

#[test]
fn the_baseline_itself_as_candidate_is_4() {
    let home = home();
    let baseline = plain(1_000, 8.0e6, 12.0e6);
    home.store(&baseline);
    home.promote("main", &baseline);
    let said = said(&home, &args("main"));
    assert_eq!(said.exit, Exit::NothingToJudge);
    assert!(said.text.contains("nothing judged: the run is the baseline itself"), "{}", said.text);
}

#[test]
fn another_machine_is_4_with_what_differs_unless_it_is_allowed() {
    let mut elsewhere = plain(2_000, 8.0e6, 12.0e6);
    elsewhere.manifest.environment.machine.insert("cpu".into(), "Slide Rule 3".into());
    let home = with(&elsewhere);
    let refused = said(&home, &args("main"));
    assert_eq!(refused.exit, Exit::NothingToJudge);
    assert!(refused.text.contains("another machine"), "{}", refused.text);
    assert!(refused.text.contains("cpu: Abacus 9 -> Slide Rule 3"), "{}", refused.text);
    let allowed = CompareBaseline { allow_different_machine: true, ..args("main") };
    assert_eq!(said(&home, &allowed).exit, Exit::Fine);
}

#[test]
fn a_missing_scenario_of_the_committed_list_is_4() {
    let home = with(&plain(2_000, 8.0e6, 12.0e6));
    let lock = home.place.root.join("benches").join("scenarios.lock");
    fs::write(&lock, "[toy/suite]\ncv_1::small::reference\nnlp_1::small::reference\n").expect("writable");
    let said = said(&home, &args("main"));
    assert_eq!(said.exit, Exit::NothingToJudge);
    assert!(said.text.contains("missing: scenario nlp_1 is in benches/scenarios.lock"), "{}", said.text);
}

#[test]
fn a_missing_scenario_is_called_as_people_know_it_where_the_baseline_does() {
    let home = home();
    let mut baseline = plain(1_000, 8.0e6, 12.0e6);
    baseline.cases.push(case("NLP-1", "Reference", &around(1.0e6)));
    baseline.manifest.planned.cases.push(baseline.cases[2].id.clone());
    home.store(&baseline);
    home.promote("main", &baseline);
    home.store(&plain(2_000, 8.0e6, 12.0e6));
    let lock = home.place.root.join("benches").join("scenarios.lock");
    fs::write(&lock, "[toy/suite]\ncv_1::small::reference\nnlp_1::small::reference\n").expect("writable");
    let said = said(&home, &args("main"));
    assert_eq!(said.exit, Exit::NothingToJudge);
    assert!(said.text.contains("missing: scenario NLP-1 is in benches/scenarios.lock"), "{}", said.text);
}

#[test]
fn every_row_says_what_it_finds_and_an_inconclusive_one_what_would_decide_it() {
    let few = record(
        2_000,
        vec![
            case("CV-1", "Reference", &around(8.0e6)[..3]),
            case("CV-1", "Reference (fused)", &around(12.0e6)),
        ],
    );
    let home = with(&few);
    for format in [ComparisonFormat::Table, ComparisonFormat::Markdown] {
        let said = said(&home, &CompareBaseline { format, ..args("main") });
        assert_eq!(said.exit, Exit::Inconclusive);
        let why = "CV-1/small/Reference: 7 against 3 processes: at least 6 are needed on each side; \
                   to decide it: measure both sides with `--repeats 6` or more, \
                   or in turns with the revision: `cargo xtask compare-baseline --rebuild REVISION`";
        assert!(said.text.contains(why), "{}", said.text);
        let fused = said.text.lines().find(|line| line.contains("(fused)")).expect("a row");
        assert!(fused.contains("+10.2 %") && said.text.contains("detects"), "{}", said.text);
        assert!(said.text.contains("stored"), "the method is named: {}", said.text);
    }
}

#[test]
fn what_cannot_be_decided_is_5_or_passes_when_told() {
    let values = |wild: &[f64]| {
        record(
            2_000,
            vec![case("CV-1", "Reference", wild), case("CV-1", "Reference (fused)", &around(12.0e6))],
        )
    };
    let wild = values(&[4.0e6, 12.0e6, 5.0e6, 11.0e6, 7.9e6, 6.0e6, 10.0e6]);
    assert_eq!(end(&wild, &args("main")), 5);
    let pass = CompareBaseline { inconclusive: Some(Open::Pass), ..args("main") };
    assert_eq!(end(&wild, &pass), 0);
}

#[test]
fn a_failed_case_is_6_and_hides_a_regression() {
    let mut failed = plain(2_000, 4.0e6, 12.0e6);
    failed.cases[1].status =
        CaseStatus::Failed(FailureReason::Unwritable("panicked in the timed region: out of cheese".into()));
    let said = said(&with(&failed), &args("main"));
    assert_eq!(said.exit, Exit::Failed);
    assert!(said.text.contains("failed: CV-1/small/Reference (fused): panicked"), "{}", said.text);
}

#[test]
fn a_damaged_store_is_1() {
    let home = with(&plain(2_000, 8.0e6, 12.0e6));
    let stored = home.place.baselines().list().expect("readable").0.remove(0);
    fs::write(&stored.path, "{").expect("writable");
    let error = run_in(&args("main"), &home.place, &Actions::default()).expect_err("damaged");
    assert_eq!(stop::exit(&error), Exit::Unexpected);
    assert!(error.to_string().contains("truncated or was edited by hand"), "{error}");

    let home = with(&plain(2_000, 8.0e6, 12.0e6));
    let run = home.place.runs().latest("toy/suite").expect("readable").expect("stored");
    fs::write(home.place.layout.case(&run.id, &run.planned.cases[0]), "{").expect("writable");
    let error = run_in(&args("main"), &home.place, &Actions::default()).expect_err("damaged");
    assert_eq!(stop::exit(&error), Exit::Unexpected);
}

#[test]
fn a_mistake_in_a_name_is_2() {
    let home = with(&plain(2_000, 8.0e6, 12.0e6));
    let refusal = |args: &CompareBaseline| {
        let error = run_in(args, &home.place, &Actions::default()).expect_err("a mistake");
        assert_eq!(stop::exit(&error), Exit::Usage, "{error}");
        error.to_string()
    };
    assert!(refusal(&args("../main")).contains("no name for a baseline"));
    let said = refusal(&CompareBaseline { suite: Some("toy/siute".into()), ..args("main") });
    assert!(said.contains("did you mean `toy/suite`?"), "{said}");
    let said = refusal(&CompareBaseline { run: Some("19700101-003321".into()), ..args("main") });
    assert!(said.contains("did you mean `19700101-003320-000007`?"), "{said}");
}

#[test]
fn every_suite_with_the_baseline_is_judged_and_the_others_are_named() {
    let home = with(&plain(2_000, 8.0e6, 12.0e6));
    let mut other = plain(1_100, 8.0e6, 12.0e6);
    other.manifest.suite = "toy/other".into();
    home.store(&other);
    home.promote("main", &other);
    let mut later = plain(2_100, 4.0e6, 12.0e6);
    later.manifest.suite = "toy/other".into();
    home.store(&later);
    let mut third = plain(2_200, 1.0, 1.0);
    third.manifest.suite = "toy/third".into();
    home.store(&third);
    let both = said(&home, &args("main"));
    assert!(both.text.contains("compared=4 improved=0 unchanged=3 regressed=1"), "{}", both.text);
    assert_eq!(both.exit, Exit::NothingToJudge, "one of them was not judged");
    assert!(
        both.remarks[0].starts_with("error: toy/third has no baseline `main` and is not judged: make one"),
        "{:?}",
        both.remarks
    );
    let one = CompareBaseline { suite: Some("toy/suite".into()), ..args("main") };
    assert_eq!(said(&home, &one).exit, Exit::Fine);
}

#[test]
fn a_suite_with_a_baseline_and_no_run_is_4() {
    let home = with(&plain(2_000, 8.0e6, 12.0e6));
    let mut other = plain(1_100, 8.0e6, 12.0e6);
    other.manifest.suite = "toy/other".into();
    home.promote("main", &other);
    let judged = said(&home, &args("main"));
    assert_eq!(judged.exit, Exit::NothingToJudge);
    assert_eq!(
        judged.remarks,
        ["error: toy/other has a baseline `main` and no complete run: run `cargo bench`"]
    );
    // A bench target that is there no more is gone, as a case may be.
    let mut home = home;
    home.place.suites =
        vec![BenchSuite { package: "toy".into(), target: "suite".into(), features: Vec::new() }];
    let judged = said(&home, &args("main"));
    assert_eq!(judged.exit, Exit::NothingToJudge);
    assert!(judged.remarks[0].contains("is no bench target here any more"), "{:?}", judged.remarks);
    assert_eq!(said(&home, &CompareBaseline { removed: Some(Open::Pass), ..args("main") }).exit, Exit::Fine);
}

#[test]
fn a_case_that_is_gone_is_4_or_passes_when_told() {
    let mut fewer = plain(2_000, 8.0e6, 12.0e6);
    let gone = fewer.cases.remove(1);
    fewer.manifest.planned.cases.retain(|case| *case != gone.id);
    let home = with(&fewer);
    let judged = said(&home, &args("main"));
    assert_eq!(judged.exit, Exit::NothingToJudge, "{}", judged.text);
    assert!(judged.text.contains("Removed"), "{}", judged.text);
    assert_eq!(said(&home, &CompareBaseline { removed: Some(Open::Pass), ..args("main") }).exit, Exit::Fine);
    let settings = home.place.root.join(".config");
    fs::create_dir_all(&settings).expect("writable");
    fs::write(settings.join("weighbridge.toml"), "gate = { removed = \"pass\" }\n").expect("writable");
    assert_eq!(said(&home, &args("main")).exit, Exit::Fine);
}

#[test]
fn the_files_of_a_case_that_are_gone_are_1() {
    let home = with(&plain(2_000, 8.0e6, 12.0e6));
    let run = home.place.runs().latest("toy/suite").expect("readable").expect("stored");
    fs::remove_file(home.place.layout.case(&run.id, &run.planned.cases[0])).expect("it is there");
    let error = run_in(&args("main"), &home.place, &Actions::default()).expect_err("damaged");
    assert_eq!(stop::exit(&error), Exit::Unexpected);
    assert!(error.to_string().contains("is damaged: files of it are gone (the record of CV-1"), "{error}");
}

#[test]
fn a_comparator_that_compared_nothing_is_4() {
    let other = record(2_000, vec![case("NLP-1", "Reference", &around(1.0e6))]);
    let lenient =
        CompareBaseline { inconclusive: Some(Open::Pass), removed: Some(Open::Pass), ..args("main") };
    let judged = said(&with(&other), &lenient);
    assert_eq!(judged.exit, Exit::NothingToJudge);
    assert!(judged.text.contains("compared=0 ") && judged.text.contains("added=1 "), "{}", judged.text);
}

#[test]
fn a_metric_that_is_to_gate_and_is_nowhere_is_4() {
    let home = with(&plain(2_000, 8.0e6, 12.0e6));
    let settings = home.place.root.join(".config");
    fs::create_dir_all(&settings).expect("writable");
    let gate = |metrics: &str| {
        fs::write(settings.join("weighbridge.toml"), format!("gate = {{ metrics = [{metrics}] }}\n"))
            .expect("writable");
        said(&home, &CompareBaseline { inconclusive: Some(Open::Pass), ..args("main") })
    };
    assert_eq!(gate("\"peak_memory\"").exit, Exit::Fine);
    let judged = gate("\"peak_memory\", \"lss\"");
    assert_eq!(judged.exit, Exit::NothingToJudge);
    assert_eq!(judged.remarks, ["error: the metric `lss` is to gate, and no case that was compared has it"]);
}

#[test]
fn another_workspaces_baseline_is_4_and_its_runs_are_passed_over() {
    let of = |mut run: RunRecord, folder: &str| {
        run.manifest.environment.moment.insert("workspace".into(), folder.into());
        run
    };
    let home = home();
    let here = fs::canonicalize(&home.place.root).expect("it is there").display().to_string();
    home.promote("main", &of(plain(1_000, 8.0e6, 12.0e6), "/elsewhere"));
    home.store(&of(plain(2_000, 8.0e6, 12.0e6), &here));
    let judged = said(&home, &args("main"));
    assert_eq!(judged.exit, Exit::NothingToJudge);
    let told = format!("the baseline is of another workspace, /elsewhere, and this is {here}");
    assert!(judged.text.contains(&told), "{}", judged.text);

    home.store(&of(plain(3_000, 4.0e6, 12.0e6), "/elsewhere"));
    let judged = said(&home, &args("main"));
    assert_eq!(judged.exit, Exit::NothingToJudge, "it is not the newest run that is meant");
    assert_eq!(judged.remarks, ["note: passed over runs of toy/suite of the workspace /elsewhere"]);
}

#[test]
fn another_toolchain_is_told_and_judged() {
    let mut newer = plain(2_000, 8.0e6, 12.0e6);
    newer.manifest.environment.software.insert("rustc".into(), "rustc 9.9.9".into());
    let judged = said(&with(&newer), &args("main"));
    assert_eq!(judged.exit, Exit::Fine);
    assert!(
        judged.text.contains("changed: rustc: ") && judged.text.contains("-> rustc 9.9.9"),
        "{}",
        judged.text
    );
}

#[test]
fn a_failed_run_is_no_baseline() {
    let mut failed = plain(1_000, 8.0e6, 12.0e6);
    failed.cases[1].status = CaseStatus::Failed(FailureReason::Unwritable("out of cheese".into()));
    let refused = home().place.baselines().set(&"main".parse().expect("a name"), &failed);
    let said = refused.expect_err("not promoted").to_string();
    assert!(
        said.ends_with("CV-1/small/Reference (fused) failed, and nothing could be judged by that"),
        "{said}"
    );
}

#[test]
fn an_interrupted_run_is_passed_over_and_said() {
    let mut broken_off = plain(3_000, 1.0e6, 1.0e6);
    broken_off.manifest.status = RunStatus::Interrupted;
    let home = with(&plain(2_000, 8.0e6, 12.0e6));
    home.store(&broken_off);
    let said = said(&home, &args("main"));
    assert_eq!(said.exit, Exit::Fine);
    assert!(
        said.remarks[0].contains("passed over the newer run 19700101-005000-000007"),
        "{:?}",
        said.remarks
    );
}

#[test]
fn a_newer_run_that_is_damaged_is_no_verdict_on_an_older_one_and_is_named_where_it_is_asked_for() {
    let home = with(&plain(2_000, 8.0e6, 12.0e6));
    let slower = plain(3_000, 4.0e6, 12.0e6);
    home.store(&slower);
    assert_eq!(said(&home, &args("main")).exit, Exit::Regressed);
    let id = slower.manifest.id.as_str();
    let file = home.place.layout.runs().join(id).join("run.json");
    std::fs::write(&file, "{").expect("writable");
    let asked = |run: Option<&str>| {
        let args = CompareBaseline { run: run.map(str::to_owned), ..args("main") };
        run_in(&args, &home.place, &Actions::default()).expect_err("it is damaged").to_string()
    };
    let newer = asked(None);
    assert!(newer.contains(&format!("run {id} is newer than")) && newer.contains("or remove "), "{newer}");
    assert!(asked(Some("latest")).contains("cannot be read"));
    assert!(asked(Some(id)).starts_with(&format!("run {id} cannot be read: ")));
    // An older one is named, and hinders nothing.
    std::fs::rename(
        file.parent().expect("it has one"),
        home.place.layout.runs().join("19700101-000001-0000aa"),
    )
    .expect("renamed");
    let said = said(&home, &args("main"));
    assert_eq!(said.exit, Exit::Fine);
    assert!(said.remarks[0].contains("passed over `19700101-000001-0000aa`"), "{:?}", said.remarks);
}

#[test]
fn json_is_one_document_and_the_line_goes_beside_it() {
    let json = CompareBaseline { format: ComparisonFormat::Json, ..args("main") };
    let said = said(&with(&plain(2_000, 4.0e6, 12.0e6)), &json);
    let document: serde_json::Value = serde_json::from_str(&said.text).expect("one document");
    assert_eq!((&document["exit"], &document["baseline"]), (&3.into(), &"main".into()));
    let row = &document["suites"][0]["comparison"]["rows"][0];
    assert_eq!(row["verdict"], "regressed");
    assert_eq!(row["metrics"][0]["ratio"], 0.5);
    assert!(said.remarks.last().expect("the line").starts_with("weighbridge: compared=2 "));
}

#[test]
fn markdown_goes_to_its_file_and_holds_every_metric() {
    let home = with(&plain(2_000, 4.0e6, 12.0e6));
    let file = home.directory.path().join("report.md");
    said(&home, &CompareBaseline { markdown: Some(file.clone()), ..args("main") });
    let text = fs::read_to_string(&file).expect("written");
    assert!(text.starts_with("## Weighbridge: regressed against `main`\n\n### toy/suite\n"), "{text}");
    assert!(
        text.contains("| case | metric | baseline | now | change | slowdown | detects | verdict |\n"),
        "{text}"
    );
    assert!(
        text.contains("| CV-1/small/Reference | throughput | 8.00 M elem/s | 4.00 M elem/s | -50.0 % |"),
        "{text}"
    );
    assert!(
        text.contains("| throughput | 8.00 M elem/s | 4.00 M elem/s | -50.0 % | 0.500 | higher | worse |"),
        "{text}"
    );
    let same = said(&home, &CompareBaseline { format: ComparisonFormat::Markdown, ..args("main") }).text;
    assert!(same.starts_with(&text) && same.ends_with("exit=3\n"));
    let nowhere = CompareBaseline { markdown: Some("/nowhere/at/all.md".into()), ..args("main") };
    let error = run_in(&nowhere, &home.place, &Actions::default()).expect_err("no such directory");
    assert!(error.to_string().contains("failed to write `/nowhere/at/all.md`"));
}

#[test]
fn every_form_of_a_comparison_with_a_fake_device_says_so() {
    let mut fake = plain(2_000, 8.0e6, 12.0e6);
    fake.manifest.environment.machine.insert("gpu fake".into(), "Some GPU (fake)".into());
    let home = with(&fake);
    let page = home.directory.path().join("page.md");
    let actions = Actions { running: true, summary: None };
    let allowed =
        CompareBaseline { markdown: Some(page.clone()), allow_different_machine: true, ..args("main") };
    let words = "FAKE DEVICE: Some GPU (fake) is a fake, and its figures are of no device";
    let said = said_in(&home, &allowed, &actions);
    assert!(said.text.contains(&format!("\n{words}\n")), "{}", said.text);
    assert!(said.text.contains(&format!("::warning title=toy/suite ran on no device::{words}")));
    assert!(said.text.contains(" incomparable=0 device=fake exit=0\n"), "{}", said.text);
    assert!(fs::read_to_string(&page).expect("written").contains(&format!("\n**{words}**\n")));
    let json = CompareBaseline { format: ComparisonFormat::Json, ..allowed };
    let said = said_in(&home, &json, &Actions::default());
    assert!(said.text.contains(&format!("\"fake\": \"{words}\"")), "{}", said.text);
}

#[test]
fn in_github_actions_a_regression_is_annotated_and_summed_up() {
    let home = with(&plain(2_000, 4.0e6, 12.0e6));
    let summary = home.directory.path().join("summary.md");
    fs::write(&summary, "# Job\n").expect("writable");
    let actions = Actions { running: true, summary: Some(summary.clone()) };
    let said = said_in(&home, &args("main"), &actions);
    let annotation = "::error title=CV-1/small/Reference regressed::throughput has a slowdown of +100 %25 [";
    assert!(said.text.contains(annotation), "{}", said.text);
    let page = fs::read_to_string(&summary).expect("written");
    assert!(page.starts_with("# Job\n## Weighbridge: regressed against `main`\n"), "{page}");

    let lost = Actions { running: true, summary: Some("/nowhere/summary.md".into()) };
    let said = said_in(&home, &args("main"), &lost);
    assert_eq!(said.exit, Exit::Regressed);
    assert!(said.remarks[0].contains("failed to add to the job's summary"), "{:?}", said.remarks);
}

#[test]
fn a_share_is_a_percentage_or_a_number() {
    let near = |text: &str, expected: f64| (share(text).expect(text) - expected).abs() < 1e-12;
    assert!(
        near("5%", 0.05) && near("5 %", 0.05) && near("0.05", 0.05) && near("100%", 1.0) && near("0", 0.0)
    );
    for bad in ["", "%", "five", "-5%", "NaN", "inf"] {
        assert!(share(bad).is_err(), "{bad}");
    }
}
