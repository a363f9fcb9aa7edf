//! `runs`: list, show, judge, prune, and digests worked out anew.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use serde_json::json;
use weighbridge::data::{
    CaseRecord, Difference, DisturbedSamples, Exit, Outcome, PrunePolicy, Purpose, RunManifest, RunRecord,
    RunStatus, SCHEMA, case_traces, fake_device, quantity, traces, visible_in_line, visible_json,
};

use crate::command_output::CommandOutput;
use crate::place::Place;
use crate::table::Table;
use crate::{digest, judge, pick, prune, show, stop, summary};

/// Arguments of `runs`.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    pub(crate) action: RunsAction,
}

/// Actions on runs.
#[derive(Debug, Subcommand)]
pub(crate) enum RunsAction {
    /// List the newest 100 runs, newest first.
    List {
        /// List all runs.
        #[arg(long)]
        all: bool,
    },
    /// Show a run.
    Show {
        /// The run: an id, its start, or `latest`.
        run: String,
        /// Print the run with all repeats and samples as one JSON document.
        #[arg(long)]
        json: bool,
        /// Show the repeats of this case, the median repeat marked.
        #[arg(long, value_name = "ID", conflicts_with = "json")]
        case: Option<String>,
    },
    /// Judge a run again by today's rules, from the evidence that it has stored: nothing is measured.
    Judge {
        /// The run: an id, its start, or `latest`.
        run: String,
        /// Put what is found into the records of the run.
        #[arg(long)]
        write: bool,
    },
    /// Work out the digest of stored files anew that were edited on purpose.
    Digest(digest::Digest),
    /// Remove old runs, duels and launches, revisions that were rebuilt to compare with, and what killed ones
    /// left.
    Prune {
        /// Keep the newest so many runs and duels of each suite.
        #[arg(long, value_name = "N", required_unless_present = "days")]
        keep: Option<usize>,
        /// Keep those of the last so many days.
        #[arg(long, value_name = "DAYS")]
        days: Option<u64>,
        /// Prune launches below this shared folder as well.
        #[arg(long, value_name = "DIR")]
        shared: Option<PathBuf>,
    },
}

/// So many runs are listed where all are not asked for.
const NEWEST: usize = 100;

/// So many runs that cannot be read are named.
const MOST_BROKEN: usize = 20;

const FITS: &str = "a String takes all that is written";

pub(crate) fn run(args: &RunsArgs, place: &Place) -> Result<CommandOutput> {
    match &args.action {
        RunsAction::List { all } => list(place, *all),
        RunsAction::Digest(args) => digest::run(args),
        RunsAction::Show { run, json, case } => {
            let picked = pick::runs(place, Some(run), None)?;
            if picked.runs.is_empty() {
                let why = format!(
                    "there is no complete run to show: `{} runs list` shows all",
                    weighbridge::tool()
                );
                return Err(stop::usage(why));
            }
            let mut text = String::new();
            for manifest in &picked.runs {
                text.push_str(&match (json, case) {
                    (true, _) => document(&place.runs().load_whole(&manifest.id)?)?,
                    (false, Some(case)) => {
                        // The one case alone: a run may hold thousands.
                        let run = place.runs().load(&manifest.id)?;
                        let mut case = pick::case(&run, case)?.clone();
                        case.repeats = place.runs().repeats(&manifest.id, &case.id)?;
                        let fake = fake_device(&manifest.environment).map(|fake| format!("{fake}\n"));
                        let traced = case_traces(&case, &place.layout.run(&manifest.id), true);
                        fake.unwrap_or_default() + &repeats(&case) + &traced
                    }
                    (false, None) => {
                        let run = place.runs().load(&manifest.id)?;
                        whole(&run) + &traces(&run, &place.layout.run(&manifest.id), false)
                    }
                });
            }
            Ok(CommandOutput { remarks: picked.remarks, ..CommandOutput::fine(text) })
        }
        RunsAction::Judge { run, write } => judge::run(run, *write, place),
        RunsAction::Prune { keep, days, shared } => {
            let within = days.map(|days| Duration::from_secs(days.saturating_mul(86_400)));
            let keep = PrunePolicy { newest: *keep, within };
            prune::run(keep, shared.as_deref(), place, SystemTime::now())
        }
    }
}

fn list(place: &Place, all: bool) -> Result<CommandOutput> {
    let (most, most_broken) = if all { (usize::MAX, usize::MAX) } else { (NEWEST, MOST_BROKEN) };
    let (listing, count) = place.runs().newest(most)?;
    let mut table = Table::new(["run", "suite", "status", "profile", "cases>", "machine", "commit"]);
    for run in &listing.runs {
        let status = if run.resumed {
            Cow::Owned(format!("{}, resumed", show::status(run.status)))
        } else {
            Cow::Borrowed(show::status(run.status))
        };
        let commit = run.environment.software.get("commit").map_or("-", |id| id.get(..12).unwrap_or(id));
        let (cases, machine) = (run.planned.recorded().len().to_string(), machine(run));
        table.row([run.id.as_str(), &run.suite, &status, &run.profile, &cases, &machine, commit]);
    }
    let text = if table.is_empty() {
        format!("no runs in {}: make one with `cargo bench`\n", place.layout.runs().display())
    } else {
        table.text()
    };
    let broken = listing.broken.iter().map(|broken| format!("warning: `{}`: {}", broken.name, broken.why));
    let mut remarks: Vec<String> = broken.take(most_broken).collect();
    if remarks.len() < listing.broken.len() {
        remarks.push(format!("warning: {} runs more cannot be read", listing.broken.len() - remarks.len()));
    }
    if count > most {
        let older = count - most;
        remarks.push(format!(
            "note: {older} older runs: `{} runs list --all` lists them too",
            weighbridge::tool()
        ));
    }
    let mut damaged = listing.runs.iter().filter(|run| run.status == RunStatus::Damaged).peekable();
    let exit = if damaged.peek().is_some() { Exit::Unexpected } else { Exit::Fine };
    for run in damaged.take(most_broken) {
        remarks.extend(place.runs().load(&run.id).err().map(|damage| format!("error: {damage}")));
    }
    Ok(CommandOutput { remarks, exit, ..CommandOutput::fine(text) })
}

/// The machine that measured a run, marked where the device was a fake.
fn machine(run: &RunManifest) -> String {
    let machine = run.environment.machine_id();
    if run.environment.fake_device().is_some() {
        format!("{machine}, FAKE DEVICE")
    } else {
        machine.to_string()
    }
}

/// A run as one document, repeats and samples and all.
fn document(run: &RunRecord) -> Result<String> {
    let document =
        json!({ "schema": SCHEMA, "kind": "document", "manifest": run.manifest, "cases": run.cases });
    let text = serde_json::to_string_pretty(&document).context("failed to put the run into one document")?;
    Ok(visible_json(&format!("{text}\n")))
}

/// A run's summary, and how it came about.
fn whole(run: &RunRecord) -> String {
    let manifest = &run.manifest;
    let mut text = summary::of(run);
    let planned = &manifest.planned;
    text.push('\n');
    let mut say = |what: &str, value: &str| {
        writeln!(text, "{:12}{}", visible_in_line(what), visible_in_line(value)).expect(FITS);
    };
    say("command", &manifest.command.join(" "));
    say("seed", &manifest.seed.to_string());
    say(
        "repeats",
        &format!(
            "{} of each case, {} order, a process per {}",
            planned.repeats, planned.order, planned.isolation
        ),
    );
    say("platform", &format!("asked for {}, used {}", manifest.requested_platform, manifest.active_backend));
    if manifest.resumed {
        say("resumed", "it was broken off and taken up again");
    }
    for (other, number) in manifest.other_surroundings.iter().zip(1..) {
        say(&format!("others {number}"), &listed(other));
    }
    let environment = &manifest.environment;
    for (name, value) in environment
        .machine
        .iter()
        .chain(&environment.software)
        .chain(&environment.process)
        .chain(&environment.variables)
    {
        say(name, value);
    }
    text
}

/// The differences of other surroundings from the first ones, in a line.
fn listed(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The repeats of a case, the one that represents it marked.
fn repeats(case: &CaseRecord) -> String {
    let mut text = format!("{}\n", visible_in_line(&format!("{}: {}", case.id, case.description)));
    let Some(primary_metric) = case.primary_metric() else {
        let trouble = show::trouble(case).unwrap_or_else(|| "it has no primary metric".to_owned());
        writeln!(text, "{}", visible_in_line(&trouble)).expect(FITS);
        return text;
    };
    writeln!(
        text,
        "median of {}: {}\n",
        visible_in_line(&primary_metric.name),
        show::median(Some(primary_metric))
    )
    .expect(FITS);
    let mut table = Table::new([
        "",
        "repeat>",
        &format!("{}>", primary_metric.name),
        "samples>",
        "slot>",
        "ended",
        "disturbed",
    ]);
    let mut values = primary_metric.values.iter();
    for repeat in &case.repeats {
        let (value, samples, disturbed, ended) = match &repeat.outcome {
            Outcome::Measured { seen, .. } => {
                // Values are those of the measured repeats, in order.
                let value = if repeat.purpose == Purpose::Measure { values.next() } else { None };
                let value = value.and_then(weighbridge::data::Reading::value);
                let ended = if repeat.purpose == Purpose::Measure { "measured" } else { "verified" };
                (value, seen.samples.len().to_string(), disturbed(&seen.tags), ended.to_owned())
            }
            Outcome::Failed(failure) => (None, "-".to_owned(), String::new(), failure.to_string()),
            Outcome::Skipped { why } => (None, "-".to_owned(), String::new(), format!("skipped: {why}")),
        };
        let mark = if case.median_repeat == Some(repeat.number) { "*" } else { "" };
        let value = value.map_or_else(|| "-".to_owned(), |value| quantity::show(value, &primary_metric.unit));
        let slot = quantity::show(repeat.slot as f64 * 1e-9, &weighbridge::data::Unit::SECONDS);
        table.row([mark.to_owned(), repeat.number.to_string(), value, samples, slot, ended, disturbed]);
    }
    text.push_str(&table.text());
    text.push_str("\n* the median repeat\n");
    text
}

/// The number of samples that each cause disturbed: `12 preempted, 1 stolen`.
fn disturbed(tags: &[DisturbedSamples]) -> String {
    let texts: Vec<String> =
        tags.iter().map(|tag| format!("{} {}", tag.samples.len(), tag.cause.name())).collect();
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{home, plain};
    use weighbridge::data::Exit;

    const LIST: RunsAction = RunsAction::List { all: false };

    fn with(action: RunsAction) -> RunsArgs {
        RunsArgs { action }
    }

    fn show(run: &str, json: bool, case: Option<&str>) -> RunsArgs {
        with(RunsAction::Show { run: run.to_owned(), json, case: case.map(str::to_owned) })
    }

    #[test]
    fn runs_are_listed_newest_first_and_broken_ones_apart() {
        let home = home();
        let empty = run(&with(LIST), &home.place).expect("none is no error");
        assert!(empty.text.starts_with("no runs in "));
        home.store(&plain(1_000, 1.0, 1.0));
        home.store(&plain(2_000, 1.0, 1.0));
        let broken = home.store(&plain(3_000, 1.0, 1.0));
        std::fs::write(home.place.layout.manifest(&broken), "{").expect("writable");
        let said = run(&with(LIST), &home.place).expect("listed");
        let first: Vec<&str> = said.text.lines().map(|line| &line[..22]).collect();
        assert_eq!(first, ["run                   ", "19700101-003320-000007", "19700101-001640-000007"]);
        assert!(said.text.contains("toy/suite  complete  ci_cpu"), "{}", said.text);
        assert!(
            said.remarks[0].starts_with("warning: `19700101-005000-000007`: failed to read"),
            "{:?}",
            said.remarks
        );
    }

    #[test]
    fn the_newest_hundred_are_listed_and_it_is_said_how_many_there_are_besides() {
        let home = home();
        for second in 0..103 {
            let run = plain(1_000 + second, 1.0, 1.0).manifest;
            let unfinished = RunManifest { status: RunStatus::Running, ..run };
            home.place.runs().create(&unfinished).expect("writable");
        }
        let said = run(&with(LIST), &home.place).expect("listed");
        assert_eq!(said.text.lines().count(), 101);
        assert!(said.remarks[0].starts_with("note: 3 older runs: `cargo "), "{:?}", said.remarks);
        let said = run(&with(RunsAction::List { all: true }), &home.place).expect("listed");
        assert_eq!((said.text.lines().count(), said.remarks.len()), (104, 0));
        assert!(said.text.lines().next_back().is_some_and(|line| line.starts_with("19700101-001640-")));
    }

    #[test]
    fn twenty_runs_that_cannot_be_read_are_named_and_the_others_counted() {
        let home = home();
        for second in 0..25 {
            let broken = home.store(&plain(1_000 + second, 1.0, 1.0));
            std::fs::write(home.place.layout.manifest(&broken), "{").expect("writable");
        }
        let said = run(&with(LIST), &home.place).expect("listed");
        assert_eq!((said.remarks.len(), &*said.remarks[20]), (21, "warning: 5 runs more cannot be read"));
        let said = run(&with(RunsAction::List { all: true }), &home.place).expect("listed");
        assert_eq!(said.remarks.len(), 25);
    }

    #[test]
    fn every_page_on_a_run_of_a_fake_device_says_so() {
        let home = home();
        let mut fake = plain(1_000, 8.0e6, 12.0e6);
        fake.manifest.environment.machine.insert("gpu fake".into(), "Some GPU (fake)".into());
        home.store(&fake);
        let case = "CV-1/small/Reference";
        for args in [with(LIST), show("latest", false, None), show("latest", false, Some(case))] {
            let said = run(&args, &home.place).expect("shown");
            assert_eq!(said.text.matches("FAKE DEVICE").count(), 1, "{}", said.text);
        }
        let trend = crate::history::Trend { case: case.into(), metric: None, suite: None, ascii: true };
        let said = crate::history::follow(&trend, &home.place).expect("followed");
        assert_eq!(said.text.matches("FAKE DEVICE").count(), 1, "{}", said.text);
        let explained = crate::explain::Explain { case: case.into(), run: None, suite: None, ascii: true };
        let said = crate::explain::run(&explained, &home.place).expect("explained");
        assert!(said.text.contains("\nFAKE DEVICE: Some GPU (fake) is a fake"), "{}", said.text);
    }

    #[test]
    fn a_case_shows_its_repeats_with_the_median_one_marked() {
        let home = home();
        home.store(&plain(1_000, 8.0e6, 12.0e6));
        let said = run(&show("latest", false, Some("CV-1/small/Reference")), &home.place).expect("shown");
        let marked: Vec<&str> = said.text.lines().filter(|line| line.starts_with("*  ")).collect();
        assert_eq!(marked, ["*       3  8.00 M elem/s       20  2.50 ms  measured"], "{}", said.text);
        assert!(said.text.contains("median of throughput: 8.00 M elem/s"));
        assert!(said.text.contains("        0              -        0  2.50 ms  verified"), "{}", said.text);
        assert_eq!(said.text.lines().filter(|line| line.ends_with("measured")).count(), 7);
        for name in ["cv_1::small::reference", "cv_1@small@reference"] {
            assert_eq!(run(&show("latest", false, Some(name)), &home.place).expect("shown").text, said.text);
        }
        let error =
            run(&show("latest", false, Some("CV-1/small/Referense")), &home.place).expect_err("misspelt");
        assert_eq!(stop::exit(&error), Exit::Usage);
        assert!(error.to_string().contains("did you mean `CV-1/small/Reference`?"), "{error}");
    }

    #[test]
    fn a_run_is_one_document_with_every_sample() {
        let home = home();
        let record = plain(1_000, 8.0e6, 12.0e6);
        home.store(&record);
        let said = run(&show("19700101-001640-000007", true, None), &home.place).expect("shown");
        let document: serde_json::Value = serde_json::from_str(&said.text).expect("one document");
        assert_eq!(document["manifest"]["requested_platform"], "cpu");
        let repeats = document["cases"][0]["repeats"].as_array().expect("repeats");
        assert_eq!(repeats.len(), 8);
        assert_eq!(
            repeats[1]["outcome"]["measured"]["observation"]["samples"].as_array().map(Vec::len),
            Some(20)
        );
        let cases: Vec<CaseRecord> = serde_json::from_value(document["cases"].clone()).expect("records");
        assert_eq!(cases, record.cases);
    }

    #[test]
    fn a_run_shows_how_it_came_about() {
        let home = home();
        home.store(&plain(1_000, 8.0e6, 12.0e6));
        let said = run(&show("latest", false, None), &home.place).expect("shown");
        for line in [
            "command     suite --bench",
            "seed        42",
            "platform    asked for cpu, used cpu",
            "cpu         Abacus 9",
        ] {
            assert!(said.text.contains(line), "{line} is missing in:\n{}", said.text);
        }
    }
}
