//! The job file of `launch --engine kubernetes`, as the published schemas read it.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{LaunchEnded, launch, script};

#[test]
fn the_job_is_one_that_the_schema_of_kubernetes_takes() {
    if !needs::command(needs::Need::KubernetesValidate) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = script(folder.path(), "exit 0");
    let dry = |args: &[&str]| {
        let own =
            ["--engine", "kubernetes", "-N", "4", "--image", "x/y:1", "--claim", "scratch", "--dry-run"];
        let mut command = launch(folder.path(), &[&own[..], args].concat());
        LaunchEnded::of(command.arg("--program").arg(&program).output().unwrap(), Path::new("/nonexistent"))
    };
    for args in [&[][..], &["-n", "8", "--gpus", "2", "--exclude", "a", "--time", "30", "--partition", "q"]] {
        let read = dry(args);
        assert_eq!(read.code, Some(0), "{}", read.said);
        read.says(&["checked by kubernetes-validate: ", "\"completionMode\": \"Indexed\""]);
        // The checker is one that refuses.
        let end = read.said.find("\n}\n").unwrap() + 2;
        let wrong = folder.path().join("wrong.yaml");
        fs::write(&wrong, read.said[..end].replacen("\"backoffLimit\"", "\"backofLimit\"", 1)).unwrap();
        let said = Command::new("kubernetes-validate").arg("--strict").arg(&wrong).output().unwrap();
        assert!(!said.status.success(), "{said:?}");
    }
}
