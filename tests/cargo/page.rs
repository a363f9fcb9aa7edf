//! `--html`: the bench binary has the caller's command write the page of its run.

use std::fs;
use std::path::Path;

use crate::external::{Bench, ProcessEnd, cargo_of_ours, cargo_that, xtask_program};

/// A short run of `sorting` with this cargo.
fn run(bench: &Bench, cargo: &Path, flags: &[&str], variables: &[(&str, &str)]) -> ProcessEnd {
    let short = ["SORT-1", "--profile=quick", "--measurement-time", "0.002"];
    let mut command = bench.command(&[&short, flags].concat());
    ProcessEnd::of(command.env("CARGO", cargo).envs(variables.iter().copied()))
}

#[test]
fn a_run_is_followed_by_its_page_and_the_variable_for_it_begins_no_new_series() {
    let bench = Bench::new("sorting");
    let folder = tempfile::tempdir().unwrap();
    let ours = cargo_of_ours(folder.path());
    let ran = run(&bench, &ours, &["--html"], &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let page = bench.data().join("report.html");
    assert!(ran.stderr.contains(&format!("page: {} is written", page.display())), "{}", ran.all());
    let text = fs::read_to_string(&page).unwrap();
    let id = bench.runs().remove(0);
    assert!(text.contains(&id), "it is the page of the run that was just made");

    fs::remove_file(&page).unwrap();
    let ran = run(&bench, &ours, &[], &[("WEIGHBRIDGE_HTML", "1"), ("WEIGHBRIDGE_VERBOSE", "1")]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let id = bench.runs().remove(1);
    assert!(fs::read_to_string(&page).unwrap().contains(&id));
    let manifest = fs::read_to_string(bench.data().join("runs").join(&id).join("run.json")).unwrap();
    assert!(
        !manifest.contains("WEIGHBRIDGE_HTML") && !manifest.contains("WEIGHBRIDGE_VERBOSE"),
        "{manifest}"
    );
    assert!(manifest.contains("WEIGHBRIDGE_PEERS"), "what may change figures is kept: {manifest}");
}

#[test]
fn where_the_command_is_missing_or_fails_the_run_ends_as_it_would_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let none = "echo 'error: no such command: `weighbridge`' >&2; exit 101";
    let broken = "echo 'error: disk full' >&2; exit 1";
    for (script, said) in
        [(none, "weighbridge-xtask --bin cargo-weighbridge"), (broken, "failed: error: disk full")]
    {
        let bench = Bench::new("sorting");
        let ran = run(&bench, &cargo_that(folder.path(), script), &["--html"], &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.all());
        let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.starts_with("no page: ")).collect();
        assert!(lines.len() == 1 && lines[0].ends_with(said), "{}", ran.all());
        assert_eq!(bench.runs().len(), 1);
    }
    let bench = Bench::new("sorting");
    let ran = run(&bench, Path::new("/nowhere/cargo"), &["--html"], &[]);
    assert!(ran.code == Some(0) && ran.stderr.contains("no page: failed to start cargo"), "{}", ran.all());
}

#[test]
fn what_the_line_or_the_settings_ask_for_is_written_when_the_run_has_ended_and_what_cannot_be_is_no_success()
{
    let bench = Bench::new("sorting");
    let folder = tempfile::tempdir().unwrap();
    let ours = cargo_of_ours(folder.path());
    let out = folder.path().join("out");
    let flags = ["--export", "junit,csv", "--charts", "--outputs", out.to_str().unwrap()];
    let ran = run(&bench, &ours, &[&flags[..], &["--tracker", "wandb", "--entity", "team"]].concat(), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    let below = out.join("external/sorting");
    for file in ["junit.xml", "metrics.csv", "charts"] {
        assert!(below.join(file).exists(), "{file}: {}", ran.all());
    }
    assert!(ran.stderr.contains("export: skipped: ") && ran.stderr.contains("pip install"), "{}", ran.all());
    assert!(!ran.stderr.contains("page: "), "nobody asked for one: {}", ran.all());

    // A format that the list does not have costs no run, and each that it has is one that the command writes.
    let typo = run(&bench, &ours, &["--export", "junti"], &[]);
    assert!(typo.code == Some(2) && bench.runs().len() == 1, "{}", typo.all());
    let said = typo.stderr.split("export is ").nth(1).and_then(|said| said.split(" or none").next()).unwrap();
    let help = ProcessEnd::of(std::process::Command::new(xtask_program()).args(["export", "--help"])).stdout;
    let formats: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Formats:")
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| !["wandb", "mlflow"].contains(name))
        .collect();
    assert_eq!(said.split(", ").collect::<Vec<_>>(), formats);

    let broken = cargo_that(folder.path(), "echo 'error: disk full' >&2; exit 1");
    let ran = run(&bench, &broken, &["--export", "junit"], &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.all());
    assert!(ran.stderr.contains("no export: ") && ran.stderr.contains("disk full"), "{}", ran.all());
    assert!(ran.stdout.trim_end().ends_with("exit=1"), "{}", ran.all());
}
