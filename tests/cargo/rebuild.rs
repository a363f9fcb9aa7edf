//! `compare-baseline --rebuild`: a repository of its own, whose work tree is measured in turns with its first
//! commit.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::external::ProcessEnd;
use crate::repository::{BENCH, PLAIN, PLANTED, Repository, SHORT};

/// `cargo xtask compare-baseline --rebuild REV --format json`, in the repository.
fn compare(repository: &Repository, revision: &str, variables: &[(&str, &str)]) -> (ProcessEnd, Value) {
    compare_by(repository, revision, variables, &[])
}

/// The same, with more flags.
fn compare_by(
    repository: &Repository,
    revision: &str,
    variables: &[(&str, &str)],
    flags: &[&str],
) -> (ProcessEnd, Value) {
    let line = ["compare-baseline", "--rebuild", revision, "--format", "json"];
    let ran = repository.xtask(&[&line[..], flags, &["--"], SHORT].concat(), variables);
    let document = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
    (ran, document)
}

/// Verdicts by scenario.
fn verdicts(document: &Value) -> Vec<(String, String)> {
    let rows = document["suites"][0]["comparison"]["rows"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    };
    rows.iter().map(|row| (text(&row["case"]["scenario"]), text(&row["verdict"]))).collect()
}

fn pair(scenario: &str, verdict: &str) -> (String, String) {
    (scenario.to_owned(), verdict.to_owned())
}

#[test]
fn a_slower_an_equal_a_faster_and_a_renamed_work_tree_are_each_called_what_they_are() {
    let repository = Repository::new();

    // The work tree is the commit: nothing regressed. On a noisy machine it may be inconclusive.
    let (ran, document) = compare(&repository, "HEAD", &[]);
    let verdict = &verdicts(&document)[0].1;
    assert!(verdict == "unchanged" || verdict == "inconclusive", "{}", ran.all());
    assert_eq!(ran.code, Some(if verdict == "unchanged" { 0 } else { 5 }), "{}", ran.all());

    // A tenth more work, by a variable that only the work tree reads; and configuration that it alone has.
    repository.write("src/lib.rs", PLANTED);
    repository.write(".cargo/config.toml", "[env]\nOF_THE_WORK_TREE = \"1\"\n");
    let (ran, document) = compare(&repository, "HEAD", &[("WORKER_FACTOR", "1.1")]);
    assert_eq!(
        (ran.code, verdicts(&document)),
        (Some(3), vec![pair("WORK-1", "regressed")]),
        "{}",
        ran.all()
    );
    assert!(ran.stderr.contains("changes that are not committed"), "{}", ran.stderr);
    let changed = document["suites"][0]["comparison"]["environment_changes"].to_string();
    assert!(changed.contains("env.OF_THE_WORK_TREE in .cargo/config.toml"), "{changed}");
    let row = &document["suites"][0]["comparison"]["rows"][0];
    let effect = row["effect"]["estimate"].as_f64().unwrap();
    assert!((0.05..0.15).contains(&effect), "{effect}");
    assert!(row["rounds"]["confirmation"].as_array().is_some_and(|rounds| rounds.len() == 24), "{row}");
    // On programs that were linked in other orders: two rounds of each, and nothing of them is left.
    assert!(ran.stderr.contains("both programs are linked anew in other orders"), "{}", ran.stderr);
    let layouts: Vec<u64> =
        row["rounds"]["layouts"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert_eq!((layouts.len(), layouts.iter().collect::<BTreeSet<_>>().len()), (24, 12), "{row}");
    assert!(!Repository::data().join("relinked").exists());

    // A tenth less.
    let (ran, document) = compare(&repository, "HEAD", &[("WORKER_FACTOR", "0.9")]);
    assert_eq!((ran.code, verdicts(&document)), (Some(0), vec![pair("WORK-1", "improved")]), "{}", ran.all());

    // Another id: one is gone, the other new, and nothing is left to compare.
    repository.write("benches/work.rs", &BENCH.replace("WORK-1", "WORK-9"));
    let (ran, document) = compare(&repository, "HEAD", &[]);
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    assert_eq!(verdicts(&document), [pair("WORK-9", "added"), pair("WORK-1", "removed")], "{}", ran.all());
}

/// A bench program that, called as a judge, hands over whatever lies in the file that a variable names.
const LIAR: &str = r#"
#[used]
#[unsafe(link_section = ".init_array")]
static LIES: extern "C" fn() = lie;

extern "C" fn lie() {
    let words: Vec<String> = std::env::args().collect();
    let file = words.iter().position(|word| word == "--comparison").map(|at| &words[at + 1]);
    if let (Some(file), Ok(lie)) = (file, std::env::var("LIE")) {
        std::fs::copy(lie, file).unwrap();
        std::process::exit(0);
    }
}
"#;

#[test]
fn a_candidate_that_would_write_its_own_verdict_and_bring_its_own_rules_is_judged_by_neither() {
    let repository = Repository::new();
    let (ran, document) = compare(&repository, "HEAD", &[]);
    let mut lie = document["suites"][0]["comparison"].clone();
    assert!(lie["rows"][0].is_object(), "{}", ran.all());
    lie["rows"][0]["verdict"] = "unchanged".into();
    lie["counts"] = serde_json::json!({ "improved": 0, "unchanged": 1, "regressed": 0, "inconclusive": 0,
        "added": 0, "removed": 0, "incomparable": 0 });
    lie["candidate"] = "20200101-000000-0000aa".into();
    let file = repository.path().join("target/lie.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, lie.to_string()).unwrap();

    let slower = BENCH.replace("turns(80_000)", "turns(96_000)");
    repository.write("benches/work.rs", &format!("{slower}{LIAR}"));
    repository.write(".config/weighbridge.toml", "[gate]\nduel-margin = 0.9\ninconclusive = \"pass\"\n");
    let (ran, document) = compare(&repository, "HEAD", &[("LIE", &file.display().to_string())]);
    assert_eq!(
        (ran.code, verdicts(&document)),
        (Some(3), vec![pair("WORK-1", "regressed")]),
        "{}",
        ran.all()
    );
    let comparison = &document["suites"][0]["comparison"];
    assert_ne!(comparison["candidate"], lie["candidate"], "the judge names what it stores");
    let notes = comparison["notes"].to_string();
    assert!(notes.contains("gate.duel-margin: 0.9 in the work tree, not set in HEAD ("), "{notes}");
}

#[test]
fn a_build_that_somebody_wrote_into_is_built_anew() {
    let repository = Repository::new();
    let state = |ran: &ProcessEnd| {
        ran.stderr.lines().find(|line| line.starts_with("baseline: HEAD at ")).unwrap_or_default().to_owned()
    };
    compare(&repository, "HEAD", &[]);
    let (ran, _) = compare(&repository, "HEAD", &[]);
    assert!(state(&ran).ends_with("its build is as it was left"), "{}", ran.all());
    // Any file of it: here a library that cargo takes for built.
    let all = std::fs::read_dir(Repository::data().join("rebuilds")).unwrap().flatten();
    let newest =
        all.max_by_key(|entry| entry.path().join("used").metadata().and_then(|of| of.modified()).ok());
    let libraries = newest.unwrap().path().join("target/release/deps");
    let library = std::fs::read_dir(libraries).unwrap().flatten().map(|entry| entry.path());
    let library = library.into_iter().find(|path| path.extension().is_some_and(|end| end == "rlib")).unwrap();
    let mut bytes = std::fs::read(&library).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    std::fs::write(&library, bytes).unwrap();
    let (ran, _) = compare(&repository, "HEAD", &[]);
    assert!(ran.stderr.contains("what was kept of its build is not as it was left here"), "{}", ran.all());
    assert!(state(&ran).ends_with("and it was built now"), "{}", ran.all());
}

/// The name of the toolchain of rustup that builds here; `None` where there is no rustup.
fn active_toolchain() -> Option<String> {
    let asked = std::process::Command::new("rustup").args(["show", "active-toolchain"]).output().ok()?;
    let told = String::from_utf8(asked.stdout).ok().filter(|_| asked.status.success())?;
    told.split_whitespace().next().map(str::to_owned)
}

#[test]
fn other_features_and_another_toolchain_of_one_side_are_judged_like_a_change_and_named() {
    let repository = Repository::new();
    let manifest = std::fs::read_to_string(repository.path().join("Cargo.toml")).unwrap();
    repository.write("Cargo.toml", &format!("{manifest}\n[features]\nslow = []\n"));
    let slow = PLAIN.replace("    asked\n", "    if cfg!(feature = \"slow\") { asked * 2 } else { asked }\n");
    repository.write("src/lib.rs", &slow);
    repository.commit("a feature that is slow");
    let active = active_toolchain();
    let toolchain = active.iter().flat_map(|name| ["--toolchain", name]);
    let flags: Vec<&str> = ["--features", "b=slow"].into_iter().chain(toolchain).collect();
    let (ran, document) = compare_by(&repository, "HEAD", &[], &flags);
    let expected = (Some(3), vec![pair("WORK-1", "regressed")]);
    assert_eq!((ran.code, verdicts(&document)), expected, "{}", ran.all());
    let changed = document["suites"][0]["comparison"]["environment_changes"].to_string();
    assert!(changed.contains("--features") && changed.contains("slow"), "{changed}");

    let Some(active) = active else {
        eprintln!("not run: there is no rustup, so no toolchain can be named");
        return;
    };
    let (ran, _) = compare_by(&repository, "HEAD", &[], &["--toolchain", "b=no-such-toolchain"]);
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    let told = "--toolchain no-such-toolchain: `rustup` says: ";
    assert!(ran.stderr.contains(told) && ran.stderr.contains("not installed"), "{}", ran.all());

    // Both sides would be built by it, whatever toolchain is named.
    let compiler = repository.path().join("target/another-rustc");
    std::fs::create_dir_all(compiler.parent().unwrap()).unwrap();
    std::fs::write(&compiler, "#!/bin/sh\necho rustc 0.0.0\n").unwrap();
    std::fs::set_permissions(&compiler, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let fixed = ("RUSTC", compiler.to_str().unwrap());
    let (ran, _) = compare_by(&repository, "HEAD", &[fixed], &["--toolchain", &format!("b={active}")]);
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.stderr.contains("has no effect: `rustc` here is `rustc 0.0.0`"), "{}", ran.all());
}

#[test]
fn a_revision_that_is_not_there_is_2_and_one_that_does_not_build_is_1() {
    let repository = Repository::new();
    let (ran, _) = compare(&repository, "no-such-branch", &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.stderr.contains("there is no revision `no-such-branch`"), "{}", ran.stderr);

    repository.write("src/lib.rs", "this is no Rust\n");
    repository.commit("broken");
    repository.write("src/lib.rs", PLAIN);
    let (ran, _) = compare(&repository, "HEAD", &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.all());
    assert!(ran.stderr.contains("the baseline HEAD"), "{}", ran.stderr);
}

#[test]
fn the_commit_that_made_a_case_slower_is_found_and_once_it_is_accepted_only_more_is_a_regression() {
    let repository = Repository::new();
    repository.write("notes.txt", "before\n");
    repository.commit("before");
    repository.write("benches/work.rs", &BENCH.replace("turns(80_000)", "turns(92_000)"));
    repository.commit("a check of the input");
    repository.write("notes.txt", "after\n");
    repository.commit("after");

    let bisect = ["history", "bisect", "HEAD~3", "HEAD", "WORK-1", "--"];
    let ran = repository.xtask(&[&bisect[..], SHORT].concat(), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let found = ran.stdout.lines().find(|line| line.starts_with("first slower: ")).unwrap_or_default();
    assert!(found.ends_with(" a check of the input"), "{}", ran.all());

    let (ran, document) = compare(&repository, "HEAD~3", &[]);
    assert_eq!(
        (ran.code, verdicts(&document)),
        (Some(3), vec![pair("WORK-1", "regressed")]),
        "{}",
        ran.all()
    );
    let ran = repository
        .xtask(&["history", "accept", "WORK-1", "--duel", "--because", "the input is checked"], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    assert!(ran.stdout.contains(" against HEAD~3 ("), "the stored duel has its name: {}", ran.all());
    // Not by whoever made it slower, unless a person says so.
    let (ran, document) = compare(&repository, "HEAD~3", &[]);
    assert_eq!(ran.code, Some(3), "{}", ran.all());
    let notes = document["suites"][0]["comparison"]["notes"].to_string();
    assert!(notes.contains("accepted by the work tree and not by HEAD~3"), "{notes}");
    let (ran, document) = compare_by(&repository, "HEAD~3", &[], &["--rules", "tree"]);
    let row = &document["suites"][0]["comparison"]["rows"][0];
    assert_ne!(ran.code, Some(3), "{}", ran.all());
    assert!(row["accepted"].as_f64().is_some_and(|share| (0.1..0.2).contains(&share)), "{row}");

    // A further tenth is one too many.
    repository.write("benches/work.rs", &BENCH.replace("turns(80_000)", "turns(101_200)"));
    let (ran, document) = compare_by(&repository, "HEAD~3", &[], &["--rules", "tree"]);
    assert_eq!(
        (ran.code, verdicts(&document)),
        (Some(3), vec![pair("WORK-1", "regressed")]),
        "{}",
        ran.all()
    );
}

#[test]
fn a_launch_measures_a_slower_work_tree_in_turns_with_its_commit_on_every_rank() {
    let repository = Repository::new();
    repository.write("src/lib.rs", PLANTED);
    let line = ["launch", "-n", "2", "--heartbeat", "1", "compare-baseline", "--rebuild", "HEAD", "--"];
    let ran = repository.xtask(&[&line[..], SHORT].concat(), &[("WORKER_FACTOR", "1.5")]);
    assert_eq!(ran.code, Some(3), "{}", ran.all());
    for rank in ["rank 0: WORK-1", "rank 1: WORK-1"] {
        let told = ran.stdout.lines().find(|line| line.contains(rank)).unwrap_or_default();
        assert!(told.ends_with(": Regressed"), "{}", ran.all());
    }
}
