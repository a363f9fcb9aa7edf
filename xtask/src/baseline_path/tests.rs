//! What holds wherever baselines are kept, tried on directories; `bucket/tests.rs` tries it on object stores.

use std::fs;
use std::io;

use clap::Parser;
use weighbridge::data::{Exit, RunRecord, StoreError};

use super::*;
use crate::cli::Cli;
use crate::command_output::CommandOutput;
use crate::fixtures::{Home, home, plain};
use crate::{answer, stop};

/// A checkout that looks baselines up there.
pub(super) fn checkout(kept: KeptBaselines) -> Home {
    let mut home = home();
    home.place.kept = Some(kept);
    home
}

/// Answers a command line in a checkout.
pub(super) fn says(home: &Home, line: &[&str]) -> Result<CommandOutput> {
    let cli = Cli::try_parse_from([&["xtask"], line].concat()).unwrap_or_else(|error| panic!("{error}"));
    answer(&cli.command, &home.place)
}

pub(super) fn text(home: &Home, line: &[&str]) -> String {
    says(home, line).unwrap_or_else(|error| panic!("{line:?}: {}", stop::told(&error))).text
}

/// The error of a command, in words. Such a failure is none of a figure, and not the want of a baseline.
pub(super) fn failure(home: &Home, line: &[&str]) -> String {
    let error = says(home, line).expect_err("it fails");
    assert_eq!(stop::exit(&error), Exit::Unexpected, "{line:?}: {}", stop::told(&error));
    stop::told(&error)
}

/// A baseline that is set in one checkout is found by another one with other data, and keyed as ever.
pub(super) fn is_found_by_another_checkout(open: impl Fn() -> KeptBaselines) {
    let [one, other] = [checkout(open()), checkout(open())];
    let nothing = says(&other, &["compare-baseline", "main"]).expect("an empty place is a place");
    assert_eq!(nothing.exit, Exit::NothingToJudge);
    let how = format!("baseline set main --baseline-path {}`", open().typed());
    assert!(nothing.remarks[0].contains(&how), "{:?}", nothing.remarks);
    assert!(text(&one, &["baseline", "list"]).contains(&how));

    one.store(&plain(1_000, 8.0e6, 12.0e6));
    let set = text(&one, &["baseline", "set", "main"]);
    let start = "baseline `main` of toy/suite is run 19700101-001640-000007 (2 cases): ";
    assert!(set.starts_with(start) && !set.contains("in the place of"), "{set}");
    assert!(!one.place.layout.baselines().exists(), "nothing lies in the data directory");

    let later = plain(2_000, 4.0e6, 12.0e6);
    other.store(&later);
    let judged = says(&other, &["compare-baseline", "main"]).expect("judged");
    assert_eq!(judged.exit, Exit::Regressed, "{}", judged.text);
    let listed = text(&other, &["baseline", "list"]);
    assert!(listed.contains("19700101-001640-000007") && listed.contains(open().typed()), "{listed}");
    assert!(text(&other, &["baseline", "show", "main"]).contains("8.00 M elem/s"));
    assert!(text(&other, &["explain", "CV-1/small/Reference"]).contains("`main`"));

    // Others of the suite, the machine, the name.
    let mut elsewhere = plain(3_000, 2.0e6, 12.0e6);
    elsewhere.manifest.environment.machine.insert("cpu".into(), "Slide Rule 3".into());
    one.store(&elsewhere);
    text(&one, &["baseline", "set", "main"]);
    let mut of_commit = plain(4_000, 3.0e6, 12.0e6);
    of_commit.manifest.environment.software.insert("commit".into(), "0a1b".into());
    one.store(&of_commit);
    assert!(text(&one, &["baseline", "set", "@commit"]).starts_with("baseline `0a1b` of toy/suite"));
    assert_eq!(
        text(&other, &["baseline", "list"]).lines().filter(|line| line.contains("toy/suite")).count(),
        3
    );
    assert_eq!(says(&other, &["compare-baseline", "main"]).expect("judged").exit, Exit::Regressed);
    let mut again = plain(5_000, 3.0e6, 12.0e6);
    again.manifest.environment.software.insert("commit".into(), "0a1b".into());
    other.store(&again);
    assert_eq!(says(&other, &["compare-baseline", "@commit"]).expect("judged").exit, Exit::Fine);

    let set = text(&other, &["baseline", "set", "main", "--run", later.manifest.id.as_str()]);
    assert!(set.ends_with(", in the place of run 19700101-001640-000007\n"), "{set}");
    assert!(text(&one, &["baseline", "remove", "main"]).starts_with("removed "));
    let nothing = says(&other, &["compare-baseline", "mian"]).expect("an end like others");
    assert_eq!(nothing.exit, Exit::NothingToJudge);
    assert!(text(&other, &["baseline", "list"]).contains("0a1b"), "no other one is removed");
}

/// Who comes second replaces nothing that it has not seen, whether it creates, replaces or removes.
pub(super) fn a_second_writer_is_told(open: impl Fn() -> KeptBaselines) {
    let [one, other] = [checkout(open()), checkout(open())];
    let runs = [1_000, 2_000, 3_000].map(|second| plain(second, 8.0e6, 12.0e6));
    let (main, suite) = ("main".parse().expect("a name"), "toy/suite");
    let machine = runs[0].manifest.environment.machine_id();
    let found = |home: &Home| home.place.baselines().find(&machine, suite, &main);
    let set = |home: &Home, run: &RunRecord| home.place.baselines().set(&main, run);
    let is_told = |error: StoreError| {
        let StoreError::Io { source, .. } = &error else { panic!("{error}") };
        assert_eq!(source.kind(), io::ErrorKind::AlreadyExists, "{error}");
        assert!(error.to_string().contains("another writer has changed it in the meantime"), "{error}");
        assert_eq!(stop::exit(&error.into()), Exit::Unexpected);
    };

    assert!(matches!(found(&one), Err(StoreError::NoBaseline { .. })));
    set(&other, &runs[0]).expect("it is the first");
    is_told(set(&one, &runs[1]).expect_err("another one is there"));
    assert_eq!(found(&one).expect("there").baseline.run, runs[0].manifest.id, "what was first stays");

    found(&other).expect("there");
    set(&one, &runs[1]).expect("it has seen what it replaces");
    is_told(set(&other, &runs[2]).expect_err("another one is there"));
    is_told({
        found(&other).expect("there");
        set(&one, &runs[0]).expect("its own");
        other.place.baselines().remove(&machine, suite, &main).expect_err("another one is there")
    });
    assert_eq!(found(&other).expect("there").baseline.run, runs[0].manifest.id);
    one.place.baselines().remove(&machine, suite, &main).expect("its own");
    is_told(set(&other, &runs[2]).expect_err("it was removed"));
    set(&other, &runs[2]).expect("whoever tries again looks first");
}

fn shared() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let typed = directory.path().join("shared").display().to_string();
    (directory, typed)
}

#[test]
fn a_baseline_in_a_directory_is_found_by_another_checkout() {
    let (_directory, typed) = shared();
    fs::create_dir(&typed).expect("writable");
    is_found_by_another_checkout(|| KeptBaselines::open(&typed).expect("a directory"));
    let (directory, _) = shared();
    let typed = format!("file://{}", directory.path().display());
    is_found_by_another_checkout(|| KeptBaselines::open(&typed).expect("a directory"));
}

#[test]
fn a_second_writer_into_a_directory_replaces_nothing_that_it_has_not_seen() {
    let (_directory, typed) = shared();
    fs::create_dir(&typed).expect("writable");
    a_second_writer_is_told(|| KeptBaselines::open(&typed).expect("a directory"));
    let left = fs::read_dir(&typed).expect("there").flatten().map(|entry| entry.file_name());
    assert_eq!(left.filter(|name| name != ".lock").count(), 1, "the machine's folder and nothing else");
}

#[test]
fn a_directory_that_is_not_there_is_no_empty_one() {
    let (_directory, typed) = shared();
    let home = home();
    let run = plain(1_000, 8.0e6, 12.0e6);
    home.store(&run);
    home.promote("main", &run);
    for line in [
        &["compare-baseline", "main"][..],
        &["baseline", "list"],
        &["baseline", "show", "main"],
        &["explain", "CV-1/small/Reference"],
    ] {
        let told = failure(&home, &[line, &["--baseline-path", &typed]].concat());
        assert!(told.contains(&format!("there is no directory `{typed}`: make it, or mount")), "{told}");
    }
    let told = failure(&home, &["baseline", "set", "main", "--baseline-path", &format!("{typed}/deeper")]);
    assert!(told.contains("there is no directory"), "{told}");
    assert!(!fs::exists(&typed).expect("readable"), "a disk that is not mounted is not made up");
    // One folder is made where its place is there.
    let set = text(&home, &["baseline", "set", "main", "--baseline-path", &typed]);
    assert!(set.contains(&typed), "{set}");
    assert!(text(&home, &["baseline", "list"]).contains("here"), "the data directory has its own");
}

#[test]
fn a_damaged_baseline_is_named_and_can_be_replaced() {
    let (_directory, typed) = shared();
    let home = home();
    home.store(&plain(1_000, 8.0e6, 12.0e6));
    let there = &["--baseline-path", &*typed][..];
    let set = text(&home, &[&["baseline", "set", "main"], there].concat());
    let file = set.trim_end().rsplit_once(": ").expect("the file is named").1.to_owned();
    fs::write(&file, "{").expect("writable");
    for line in [&["compare-baseline", "main"][..], &["baseline", "show", "main"]] {
        let told = failure(&home, &[line, there].concat());
        assert!(told.contains(&file) && told.contains("truncated or was edited by hand"), "{told}");
    }
    let listed = says(&home, &[&["baseline", "list"], there].concat()).expect("the others would be listed");
    assert!(listed.text == "no baseline can be read\n" && listed.remarks[0].contains(&file), "{listed:?}");
    let set = text(&home, &[&["baseline", "set", "main"], there].concat());
    assert!(set.ends_with(", in the place of a damaged one\n"), "{set}");
    // A foreign file is nobody's baseline.
    fs::write(format!("{typed}/README"), "shared").expect("writable");
    assert!(text(&home, &[&["baseline", "list"], there].concat()).contains("main"));
}

#[test]
fn what_is_typed_is_a_directory_or_a_bucket_and_keys_are_not_repeated() {
    let home = home();
    let refusal = |typed: &str| {
        let error = says(&home, &["baseline", "list", "--baseline-path", typed]).expect_err("no place");
        assert_eq!(stop::exit(&error), Exit::Usage, "{error}");
        error.to_string()
    };
    for (typed, expected) in [
        ("", "names nothing"),
        ("s3://", "names nothing"),
        ("az://bucket", "no `az://`"),
        ("gs://me:SECRET@bucket/x", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("file://mnt/share", "`file:///mnt/share`"),
        ("file:///mnt/%2", "`%` without two digits"),
        ("s3://me:SECRET@bucket/x", "AWS_SECRET_ACCESS_KEY"),
        ("s3://bucket//x", "a bucket and a prefix"),
        ("s3://bucket/../x", "a bucket and a prefix"),
        ("s3:///x", "a bucket and a prefix"),
    ] {
        let told = refusal(typed);
        assert!(told.contains(expected) && !told.contains("SECRET@"), "{typed}: {told}");
    }
    assert_eq!(of_url("localhost/mnt/a%20b").expect("a path"), PathBuf::from("/mnt/a b"));
    assert_eq!(bucket_and_prefix("s3", "weighings/our/own/").expect("both"), ("weighings", "our/own"));

    let both = says(&home, &["baseline", "set", "main", "--commit", "--baseline-path", "/tmp"]);
    assert_eq!(stop::exit(&both.expect_err("one of them")), Exit::Usage);
    let both = ["xtask", "compare-baseline", "--rebuild", "HEAD", "--baseline-path", "/tmp"];
    assert!(Cli::try_parse_from(both).is_err(), "a duel looks no baseline up");
}

#[cfg(not(feature = "remote"))]
#[test]
fn a_build_without_the_feature_says_how_to_build_one_that_knows_object_stores() {
    let error = says(&home(), &["compare-baseline", "main", "--baseline-path", "s3://weighings/ours"]);
    let error = error.expect_err("it knows none");
    assert_eq!(stop::exit(&error), Exit::Usage);
    assert!(error.to_string().contains("weighbridge-xtask --bin cargo-weighbridge --features remote"));
}
