//! The workflows that users copy are what GitHub and GitLab take: each is read by the linters of the field.

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
