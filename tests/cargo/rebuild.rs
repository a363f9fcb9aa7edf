//! `compare-baseline --rebuild`: a repository of its own, whose work tree is measured in turns with its first
//! commit.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tempfile::TempDir;

use crate::external::{Ran, bare_xtask, root, target};

/// A downstream crate whose work an environment variable makes longer, once its author has built that in.
///
/// The repositories of all tests are one package to cargo, and share what was built and measured: there is
/// one at a time.
struct Repository(
    TempDir,
    #[expect(dead_code, reason = "held until the test is over")] MutexGuard<'static, ()>,
);

static ONE: Mutex<()> = Mutex::new(());

/// Short processes: what is planted here is a tenth and more, which they find as surely.
const SHORT: &[&str] = &["--no-lock", "--measurement-time", "0.02"];

const MANIFEST: &str = r#"
[package]
name = "worker"
version = "0.1.0"
edition = "2024"

[lib]
bench = false

[dev-dependencies]
weighbridge = { path = "RUNTIME" }

[[bench]]
name = "work"
harness = false

# What is measured is the body, which is in the bench target: the rest need not be fast, but quick to build.
[profile.bench.package."*"]
opt-level = 0

[workspace]
"#;

const BENCH: &str = r#"
use weighbridge::prelude::*;

/// Turns for about a hundred microseconds.
#[scenario(id = "WORK-1", category = "Work")]
fn turns(bencher: &mut Bencher) {
    let turns = worker::turns(80_000);
    bencher.iter(|| {
        let mut state = std::hint::black_box(1u64);
        for _ in 0..turns {
            state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
        }
        state
    });
}

weighbridge::main!();
"#;

const PLAIN: &str = "/// As many turns as were asked for.\npub fn turns(asked: u64) -> u64 {\n    asked\n}\n";

/// Reads by how much the work is to be longer, at run time.
const PLANTED: &str = "/// As many turns as were asked for, and more if the environment says so.
pub fn turns(asked: u64) -> u64 {
    let factor = std::env::var(\"WORKER_FACTOR\").map_or(1.0, |text| text.parse().unwrap());
    (asked as f64 * factor) as u64
}
";

impl Repository {
    /// One commit, of the plain work: the same one whenever it is made.
    fn new() -> Self {
        let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let repository = Self(TempDir::new().unwrap(), alone);
        let runtime = root().join("runtime");
        repository.write("Cargo.toml", &MANIFEST.replace("RUNTIME", &runtime.display().to_string()));
        repository.write("src/lib.rs", PLAIN);
        repository.write("benches/work.rs", BENCH);
        repository.write(".gitignore", "target/\n");
        fs::copy(root().join("Cargo.lock"), repository.path().join("Cargo.lock")).unwrap();
        repository.git(&["init", "--quiet"]);
        repository.commit("base");
        repository
    }

    /// Commits all that there is.
    fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    /// Whoever commits, and whenever, the same content gets the same name: a revision is built once, and not
    /// once for each run of the tests.
    fn git(&self, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(args).current_dir(self.path());
        git.env("GIT_AUTHOR_DATE", "@0 +0000").env("GIT_COMMITTER_DATE", "@0 +0000");
        assert!(git.status().unwrap().success());
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// `cargo xtask compare-baseline --rebuild REV --format json`, in the repository.
    fn compare(&self, revision: &str, variables: &[(&str, &str)]) -> (Ran, Value) {
        let line = ["compare-baseline", "--rebuild", revision, "--format", "json", "--"];
        let ran = self.xtask(&[&line[..], SHORT].concat(), variables);
        let document = serde_json::from_str(&ran.stdout).unwrap_or(Value::Null);
        (ran, document)
    }

    /// `cargo xtask`, in the repository.
    fn xtask(&self, line: &[&str], variables: &[(&str, &str)]) -> Ran {
        // Cargo goes by the times of files: these are newer than what the test before has built.
        for file in ["src/lib.rs", "benches/work.rs"] {
            let text = fs::read_to_string(self.path().join(file)).unwrap();
            self.write(file, &text);
        }
        let mut command = bare_xtask(line);
        command.current_dir(self.path());
        // Kept from one run of the tests to the next: a build of the harness takes half a minute.
        let kept = target().join("worker");
        command.env("WEIGHBRIDGE_DATA", kept.join("data")).env("CARGO_TARGET_DIR", kept);
        command.envs(variables.iter().copied());
        Ran::of(&mut command)
    }
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
    let (ran, document) = repository.compare("HEAD", &[]);
    let verdict = &verdicts(&document)[0].1;
    assert!(verdict == "unchanged" || verdict == "inconclusive", "{}", ran.all());
    assert_eq!(ran.code, Some(if verdict == "unchanged" { 0 } else { 5 }), "{}", ran.all());

    // A tenth more work, by a variable that only the work tree reads.
    repository.write("src/lib.rs", PLANTED);
    let (ran, document) = repository.compare("HEAD", &[("WORKER_FACTOR", "1.1")]);
    assert_eq!(
        (ran.code, verdicts(&document)),
        (Some(3), vec![pair("WORK-1", "regressed")]),
        "{}",
        ran.all()
    );
    assert!(ran.stderr.contains("changes that are not committed"), "{}", ran.stderr);
    let row = &document["suites"][0]["comparison"]["rows"][0];
    let effect = row["effect"]["estimate"].as_f64().unwrap();
    assert!((0.05..0.15).contains(&effect), "{effect}");
    assert!(row["rounds"]["confirmation"].as_array().is_some_and(|rounds| rounds.len() == 24), "{row}");

    // A tenth less.
    let (ran, document) = repository.compare("HEAD", &[("WORKER_FACTOR", "0.9")]);
    assert_eq!((ran.code, verdicts(&document)), (Some(0), vec![pair("WORK-1", "improved")]), "{}", ran.all());

    // Another id: one is gone, the other new, and nothing is left to compare.
    repository.write("benches/work.rs", &BENCH.replace("WORK-1", "WORK-9"));
    let (ran, document) = repository.compare("HEAD", &[]);
    assert_eq!(ran.code, Some(4), "{}", ran.all());
    assert_eq!(verdicts(&document), [pair("WORK-9", "added"), pair("WORK-1", "removed")], "{}", ran.all());
}

#[test]
fn a_revision_that_is_not_there_is_2_and_one_that_does_not_build_is_1() {
    let repository = Repository::new();
    let (ran, _) = repository.compare("no-such-branch", &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.stderr.contains("there is no revision `no-such-branch`"), "{}", ran.stderr);

    repository.write("src/lib.rs", "this is no Rust\n");
    repository.commit("broken");
    repository.write("src/lib.rs", PLAIN);
    let (ran, _) = repository.compare("HEAD", &[]);
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

    let (ran, document) = repository.compare("HEAD~3", &[]);
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
    let (ran, document) = repository.compare("HEAD~3", &[]);
    let row = &document["suites"][0]["comparison"]["rows"][0];
    assert_ne!(ran.code, Some(3), "{}", ran.all());
    assert!(row["accepted"].as_f64().is_some_and(|share| (0.1..0.2).contains(&share)), "{row}");

    // A further tenth is one too many.
    repository.write("benches/work.rs", &BENCH.replace("turns(80_000)", "turns(101_200)"));
    let (ran, document) = repository.compare("HEAD~3", &[]);
    assert_eq!(
        (ran.code, verdicts(&document)),
        (Some(3), vec![pair("WORK-1", "regressed")]),
        "{}",
        ran.all()
    );
}
