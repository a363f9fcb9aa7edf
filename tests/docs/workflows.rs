//! The workflows that users copy are what GitHub and GitLab take: each is read by the linters of the field.
//! They give code of a pull request no right that it could use.

use std::path::PathBuf;
use std::process::Command;

use needs::Need;

use crate::external::root;

/// The files of `docs/guide/ci` whose name starts so.
fn workflows(prefix: &str) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(root().join("docs/guide/ci")).expect("the folder of workflows");
    let mut found: Vec<PathBuf> = folder.map(|entry| entry.expect("listed").path()).collect();
    found.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix)));
    assert!(!found.is_empty(), "no workflow is called {prefix}*");
    found
}

/// Whether the linter finds nothing, and what it says.
fn linted(linter: &mut Command) -> (bool, String) {
    let ran = linter.output().expect("it is there");
    (
        ran.status.success(),
        [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat(),
    )
}

#[test]
fn actionlint_finds_nothing_in_the_workflows_for_github_and_finds_a_key_that_is_misspelt() {
    if !needs::command(Need::Actionlint) {
        return;
    }
    for file in workflows("github-") {
        let (clean, said) = linted(Command::new("actionlint").arg(&file));
        assert!(clean, "{}: {said}", file.display());
        let misspelt = std::fs::read_to_string(&file).expect("text").replacen("runs-on:", "run-on:", 1);
        let folder = tempfile::tempdir().expect("a folder");
        let copy = folder.path().join("misspelt.yml");
        std::fs::write(&copy, misspelt).expect("writable");
        let (clean, said) = linted(Command::new("actionlint").arg(&copy));
        assert!(!clean && said.contains("run-on"), "{said}");
    }
}

#[test]
fn the_workflows_are_valid_by_the_schemas_of_github_and_gitlab() {
    if !needs::command(Need::CheckJsonschema) {
        return;
    }
    for (prefix, schema) in [("github-", "vendor.github-workflows"), ("gitlab", "vendor.gitlab-ci")] {
        let mut linter = Command::new("check-jsonschema");
        let (valid, said) = linted(linter.args(["--builtin-schema", schema]).args(workflows(prefix)));
        assert!(valid, "{said}");
    }
}

/// The jobs of a workflow for GitHub: the text of each.
fn jobs(text: &str) -> Vec<String> {
    let (_, jobs) = text.split_once("\njobs:\n").expect("jobs");
    let mut found: Vec<String> = Vec::new();
    for line in jobs.lines() {
        let begins = line.strip_prefix("  ").is_some_and(|rest| rest.starts_with(char::is_alphabetic));
        if begins {
            found.push(String::new());
        }
        found.last_mut().expect("a job has a name").extend([line, "\n"]);
    }
    found
}

/// The text of a workflow, which lies in the folder of those.
fn workflow(name: &str) -> String {
    std::fs::read_to_string(root().join("docs/guide/ci").join(name)).expect("text")
}

#[test]
fn a_job_that_runs_code_may_write_nothing_and_keeps_no_token() {
    for file in workflows("github-") {
        let text = std::fs::read_to_string(&file).expect("text");
        let at = file.display();
        assert!(
            text.contains("\npermissions: {}\n") || text.contains("\npermissions:\n  contents: read\n"),
            "{at}"
        );
        for job in jobs(&text) {
            let runs_code = ["checkout", "cargo "].iter().any(|word| job.contains(word));
            assert!(!(runs_code && job.contains(": write")), "{at}: a job that runs code may write:\n{job}");
            assert!(
                !(runs_code && job.contains("token }}")),
                "{at}: a job that runs code has a token:\n{job}"
            );
            let kept =
                job.matches("actions/checkout").count() - job.matches("persist-credentials: false").count();
            assert_eq!(kept, 0, "{at}: a checkout leaves its token in .git/config");
        }
    }
}

#[test]
fn what_a_workflow_takes_from_elsewhere_is_named_by_commit_or_by_a_lock_file() {
    for file in workflows("") {
        let text = std::fs::read_to_string(&file).expect("text");
        for line in text.lines() {
            let at = format!("{}: {line}", file.display());
            if let Some((_, action)) = line.split_once("uses: ") {
                let (_, commit) = action.split_once('@').expect(&at);
                let (commit, version) = commit.split_once(" # v").expect(&at);
                assert!(commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{at}");
                assert!(version.starts_with(|digit: char| digit.is_ascii_digit()), "{at}");
            }
            assert!(!line.contains("cargo install") || line.contains("cargo install --locked "), "{at}");
        }
    }
}

#[test]
fn the_comment_that_is_replaced_is_found_by_its_author_and_by_the_mark_that_the_tool_writes() {
    let text = workflow("github-pull-request.yml");
    let comment = std::fs::read_to_string(root().join("xtask/src/report/comment.rs")).expect("text");
    let (_, mark) = comment.split_once("MARKER: &str = \"").expect("a mark");
    let mark = mark.split('"').next().expect("it ends");
    assert!(text.contains(&format!("startswith(\"{mark}\")")), "{mark}");
    assert!(text.contains("select(.user.login == \"github-actions[bot]\")"));
}
