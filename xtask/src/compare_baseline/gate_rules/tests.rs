use std::fs;

use weighbridge::data::{Exit, RunRecord};

use super::super::github::Actions;
use super::super::{CompareBaseline, ComparisonFormat, run_in};
use super::*;
use crate::build_options::BuildArgs;
use crate::command_output::CommandOutput;
use crate::fixtures::{Home, home, plain};
use crate::git::git;

const SETTINGS: &str = ".config/weighbridge.toml";
const LISTED: &str = "benches/scenarios.lock";
const ACCEPTED: &str = "benches/accepted.toml";

fn write(home: &Home, file: &str, text: &str) {
    let file = home.place.root.join(file);
    fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
    fs::write(file, text).expect("writable");
}

fn commit(home: &Home) -> String {
    let root = &home.place.root;
    let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    git(root, &["add", "--all"]).expect("added");
    git(root, &[&who[..], &["commit", "--quiet", "--message", "all"]].concat()).expect("committed");
    git(root, &["rev-parse", "HEAD"]).expect("a commit")
}

/// A workspace with these rules in its first commit, a baseline `main` of that, and a later run.
fn with(rules: &[(&str, &str)], later: &RunRecord) -> Home {
    let home = home();
    git(&home.place.root, &["init", "--quiet"]).expect("a repository");
    write(&home, "Cargo.toml", "[workspace]\n");
    for (file, text) in rules {
        write(&home, file, text);
    }
    let id = commit(&home);
    let mut baseline = plain(1_000, 8.0e6, 12.0e6);
    baseline.manifest.environment.software.insert("commit".into(), id);
    home.store(&baseline);
    home.promote("main", &baseline);
    home.store(later);
    home
}

fn args() -> CompareBaseline {
    CompareBaseline {
        name: Some("main".to_owned()),
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

fn judged(home: &Home, args: &CompareBaseline) -> CommandOutput {
    run_in(args, &home.place, &Actions::default()).expect("judged")
}

fn by(rules: &str) -> CompareBaseline {
    CompareBaseline { rules: Some(rules.to_owned()), ..args() }
}

#[test]
fn settings_that_a_change_brings_are_told_and_do_not_judge_it() {
    let home = with(&[(SETTINGS, "[gate]\nstored-margin = 0.06\n")], &plain(2_000, 4.0e6, 12.0e6));
    write(&home, SETTINGS, "[gate]\nstored-margin = 5.0\nfail = 0.1\n[gate.scenario.CV-1]\nwarn = 0.2\n");
    let said = judged(&home, &args());
    assert_eq!(said.exit, Exit::Regressed, "{}", said.text);
    for line in [
        "note: gate.stored-margin: 5.0 in the work tree, 0.06 in the baseline main (",
        "note: gate.fail: 0.1 in the work tree, not set in the baseline main (",
        "note: gate.scenario.CV-1.warn: 0.2 in the work tree, not set in ",
    ] {
        assert!(said.text.contains(line), "{line}: {}", said.text);
    }
    let markdown = judged(&home, &CompareBaseline { format: ComparisonFormat::Markdown, ..args() }).text;
    assert!(markdown.contains("- **note**: gate.stored-margin"), "{markdown}");
    let github = judged(&home, &CompareBaseline { format: ComparisonFormat::Github, ..args() }).exact;
    assert!(github.contains("::warning title=the gate of toy/suite::gate.fail"), "{github}");

    // Whoever calls may let the work tree judge itself, and that is told.
    let said = judged(&home, &by(TREE));
    assert_eq!(said.exit, Exit::Fine, "{}", said.text);
    assert!(said.text.contains("note: the rules of the gate are those of the work tree"), "{}", said.text);
    assert!(
        said.text.contains("gate.fail: 0.1 in the work tree")
            && said.text.contains("the work tree's is used")
    );
    // Or another revision.
    commit(&home);
    assert_eq!(judged(&home, &by("HEAD")).exit, Exit::Fine);
    assert_eq!(judged(&home, &by("HEAD~1")).exit, Exit::Regressed);
}

#[test]
fn a_scenario_that_a_change_takes_off_the_list_is_missing_all_the_same() {
    let locked = "[toy/suite]\ncv_1::small::reference\ncv_9::small\n";
    let home = with(&[(LISTED, locked)], &plain(2_000, 8.0e6, 12.0e6));
    write(&home, LISTED, "[toy/suite]\ncv_1::small::reference\n");
    let said = judged(&home, &args());
    assert_eq!(said.exit, Exit::NothingToJudge, "{}", said.text);
    assert!(said.text.contains("missing: scenario cv_9 "), "{}", said.text);
    let line = "benches/scenarios.lock: [toy/suite] cv_9::small is not in the work tree's list any more";
    assert!(said.text.contains(line), "{}", said.text);
    // Whoever calls lets it go.
    let removed = CompareBaseline { removed: Some(super::super::Open::Pass), ..args() };
    assert_eq!(judged(&home, &removed).exit, Exit::Fine);
    // What is still on the work tree's own list must be there.
    write(&home, LISTED, &format!("{locked}cv_8::small\n"));
    let said = judged(&home, &removed);
    assert_eq!(said.exit, Exit::NothingToJudge, "{}", said.text);
    assert!(said.text.contains("the work tree's list has 1 more cases"), "{}", said.text);
}

#[test]
fn a_change_that_accepts_its_own_slowdown_is_told_and_accepted_where_a_person_says_so() {
    let home = with(&[], &plain(2_000, 8.0e6 / 1.3, 12.0e6));
    let machine = plain(1, 1.0, 1.0).manifest.environment.machine_id();
    let entry = format!(
        "[[accepted]]\nsuite = \"toy/suite\"\ncase = \"CV-1/small/Reference\"\nmetric = \"throughput\"\n\
         machine = \"{machine}\"\nslowdown = 0.3\nrun = \"19700101-003320-000007\"\nbecause = \"fine\"\n"
    );
    write(&home, ACCEPTED, &entry);
    let said = judged(&home, &args());
    assert_eq!(said.exit, Exit::Regressed, "{}", said.text);
    let line = "CV-1/small/Reference throughput of toy/suite: +30.0 %: it is not applied";
    assert!(said.text.contains(line) && said.text.contains("`--rules tree` judges by"), "{}", said.text);
    let said = judged(&home, &by(TREE));
    assert_eq!(said.exit, Exit::Fine, "{}", said.text);
    assert!(said.text.contains("+30.0 %: it is applied"), "{}", said.text);
    // Once it is in a branch that was reviewed, that branch says so.
    commit(&home);
    assert_eq!(judged(&home, &by("HEAD")).exit, Exit::Fine);
}

#[test]
fn of_a_commit_that_is_not_here_the_work_trees_rules_are_used_and_that_is_told() {
    let home = with(&[(SETTINGS, "[gate]\nfail = 0.1\n")], &plain(2_000, 4.0e6, 12.0e6));
    fs::remove_dir_all(home.place.root.join(".git")).expect("there");
    git(&home.place.root, &["init", "--quiet"]).expect("a repository");
    let said = judged(&home, &args());
    assert_eq!(said.exit, Exit::Fine, "{}", said.text);
    let line =
        "note: the rules of the gate are those of the work tree: the commit that is compared with is not";
    assert!(said.text.contains(line), "{}", said.text);
    let wrong = run_in(&by("no-such"), &home.place, &Actions::default()).expect_err("no revision");
    assert_eq!(stop::exit(&wrong), Exit::Usage);
}
