//! `baseline`: set, list, show and remove.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use weighbridge::data::{
    BaselineName, Baselines, RunManifest, StoreError, StoredBaseline, quantity, visible_in_line, visible_json,
};

use crate::baseline_path::KeptBaselines;
use crate::command_output::CommandOutput;
use crate::place::Place;
use crate::table::Table;
use crate::{pick, show, stop};

/// Arguments of `baseline`.
#[derive(Debug, Args)]
pub(crate) struct BaselineArgs {
    #[command(subcommand)]
    pub(crate) action: BaselineAction,
}

/// Actions on baselines.
#[derive(Debug, Subcommand)]
pub(crate) enum BaselineAction {
    /// Promote the latest run of every suite, or a named one.
    Set {
        /// The baseline's name.
        name: String,
        /// The run to promote: an id, its start, or `latest`.
        #[arg(long)]
        run: Option<String>,
        /// This suite alone: `<package>/<bench target>`.
        #[arg(long, value_parser = crate::pick::suite_name)]
        suite: Option<String>,
        /// Write it to `benches/baselines`, where it can be committed.
        #[arg(long)]
        commit: bool,
    },
    /// List all baselines.
    List,
    /// Show what a baseline holds.
    Show {
        /// The baseline's name.
        name: String,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Remove a baseline from the data directory, or from where they are kept.
    Remove {
        /// The baseline's name.
        name: String,
        /// That of this suite alone: `<package>/<bench target>`.
        #[arg(long, value_parser = crate::pick::suite_name)]
        suite: Option<String>,
    },
}

const FITS: &str = "a String takes all that is written";

pub(crate) fn run(args: &BaselineArgs, place: &Place) -> Result<CommandOutput> {
    match &args.action {
        BaselineAction::Set { name, run, suite, commit } => {
            set(place, name, run.as_deref(), suite.as_deref(), *commit)
        }
        BaselineAction::List => list(place),
        BaselineAction::Show { name, json } => show(place, &name.parse()?, *json),
        BaselineAction::Remove { name, suite } => remove(place, &name.parse()?, suite.as_deref()),
    }
}

fn set(
    place: &Place,
    typed: &str,
    run: Option<&str>,
    suite: Option<&str>,
    commit: bool,
) -> Result<CommandOutput> {
    if commit && place.kept.is_some() {
        return Err(stop::usage(
            "--commit writes into the workspace, and --baseline-path elsewhere: take one of them",
        ));
    }
    if typed != BaselineName::OF_COMMIT {
        typed.parse::<BaselineName>()?;
    }
    let picked = pick::runs(place, run, suite)?;
    if picked.runs.is_empty() {
        return Err(stop::nothing("there is no complete run to promote: make one with `cargo bench`"));
    }
    if let Some(kept) = &place.kept {
        kept.make()?;
    }
    let mut text = String::new();
    for manifest in &picked.runs {
        let run = place.runs().load(&manifest.id)?;
        let name = &BaselineName::typed(typed, &manifest.environment)?;
        let baselines = place.baselines();
        // Others write there as well: what was seen may be replaced, and is named.
        let before = if place.kept.is_some() { before(&baselines, name, manifest)? } else { None };
        let stored = if commit { baselines.commit(name, &run)? } else { baselines.set(name, &run)? };
        let before = before.map(|before| format!(", in the place of {before}")).unwrap_or_default();
        writeln!(
            text,
            "baseline `{name}` of {} is run {} ({} cases): {}{before}",
            manifest.suite,
            manifest.id,
            stored.baseline.cases.len(),
            stored.path.display()
        )
        .expect(FITS);
    }
    Ok(CommandOutput { remarks: picked.remarks, ..CommandOutput::fine(text) })
}

/// Returns the run that the baseline's name stands for so far, in words; `None` where it is free.
fn before(baselines: &Baselines, name: &BaselineName, run: &RunManifest) -> Result<Option<String>> {
    match baselines.find(&run.environment.machine_id(), &run.suite, name) {
        Ok(stored) => Ok(Some(format!("run {}", stored.baseline.run))),
        Err(StoreError::NoBaseline { .. }) => Ok(None),
        Err(StoreError::Record { .. } | StoreError::Misplaced { .. }) => Ok(Some("a damaged one".to_owned())),
        Err(error) => Err(error.into()),
    }
}

fn list(place: &Place) -> Result<CommandOutput> {
    let (stored, broken) = place.baselines().list()?;
    let kept = place.kept.as_ref().map_or("here", KeptBaselines::typed);
    let mut table = Table::new(["name", "suite", "machine", "run", "profile", "cases>", "kept"]);
    for StoredBaseline { baseline, committed, .. } in &stored {
        table.row([
            baseline.name.clone(),
            baseline.suite.clone(),
            baseline.environment.machine_id().to_string(),
            baseline.run.to_string(),
            baseline.profile.clone(),
            baseline.cases.len().to_string(),
            if *committed { "committed" } else { kept }.to_owned(),
        ]);
    }
    let text = if table.is_empty() && !broken.is_empty() {
        "no baseline can be read\n".to_owned()
    } else if table.is_empty() {
        format!("no baselines: make one with {}\n", place.how_to_set("main"))
    } else {
        table.text()
    };
    let remarks = broken.iter().map(|broken| format!("warning: {}", broken.why)).collect();
    Ok(CommandOutput { remarks, ..CommandOutput::fine(text) })
}

fn show(place: &Place, name: &BaselineName, json: bool) -> Result<CommandOutput> {
    let mut text = String::new();
    for StoredBaseline { baseline, path, .. } in named(place, name)? {
        if json {
            let document = serde_json::to_string_pretty(&baseline);
            let document = document.context("failed to put the baseline into one document")?;
            writeln!(text, "{}", visible_json(&document)).expect(FITS);
            continue;
        }
        let title = format!(
            "baseline `{name}` of {}: run {}, profile {}, {}",
            baseline.suite,
            baseline.run,
            baseline.profile,
            baseline.environment.machine_id(),
        );
        writeln!(text, "{}\n{}\n", visible_in_line(&title), path.display()).expect(FITS);
        let mut table = Table::new(["scenario", "framework", "metric", "median>", "interval"]);
        for case in &baseline.cases {
            let (scenario, framework) = show::scenario_and_framework(&case.id);
            let metric = case.metrics.iter().find(|metric| metric.name == case.primary_metric);
            let interval = metric.and_then(|metric| {
                let (low, high) = metric.estimate?.interval?;
                Some(format!(
                    "[{} .. {}]",
                    quantity::show(low, &metric.unit),
                    quantity::show(high, &metric.unit)
                ))
            });
            table.row([
                scenario,
                framework,
                case.primary_metric.clone(),
                show::median(metric),
                interval.unwrap_or_default(),
            ]);
        }
        writeln!(text, "{}", table.text()).expect(FITS);
    }
    Ok(CommandOutput::fine(text))
}

fn remove(place: &Place, name: &BaselineName, suite: Option<&str>) -> Result<CommandOutput> {
    let mut text = String::new();
    for StoredBaseline { baseline, path, committed } in named(place, name)? {
        if suite.is_some_and(|suite| suite != baseline.suite) {
            continue;
        }
        if committed {
            writeln!(text, "kept {}: it is committed, remove it with git", path.display()).expect(FITS);
            continue;
        }
        place.baselines().remove(&baseline.environment.machine_id(), &baseline.suite, name)?;
        writeln!(text, "removed {}", path.display()).expect(FITS);
    }
    if text.is_empty() {
        return Err(stop::usage(format!(
            "there is no baseline `{name}` of suite `{}`",
            suite.unwrap_or_default()
        )));
    }
    Ok(CommandOutput::fine(text))
}

/// All baselines of that name that can be read; if there is none, a mistake with the nearest name.
pub(crate) fn named(place: &Place, name: &BaselineName) -> Result<Vec<StoredBaseline>> {
    let (stored, broken) = place.baselines().named(name)?;
    if let (true, Some(damaged)) = (stored.is_empty(), broken.first()) {
        bail!("{}", damaged.why);
    }
    if stored.is_empty() {
        let known = place.baselines().names()?;
        return Err(stop::unknown("baseline", &name.to_string(), known.iter().map(String::as_str)));
    }
    Ok(stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{Home, home, plain};
    use weighbridge::data::Exit;

    fn act(home: &Home, action: BaselineAction) -> Result<CommandOutput> {
        run(&BaselineArgs { action }, &home.place)
    }

    fn set_main(run: Option<&str>, commit: bool) -> BaselineAction {
        BaselineAction::Set { name: "main".into(), run: run.map(str::to_owned), suite: None, commit }
    }

    #[test]
    fn a_baseline_is_set_listed_shown_and_removed() {
        let home = home();
        assert!(act(&home, BaselineAction::List).expect("none is no error").text.starts_with("no baselines"));
        home.store(&plain(1_000, 8.0e6, 12.0e6));
        home.store(&plain(2_000, 4.0e6, 12.0e6));
        let said = act(&home, set_main(None, false)).expect("promoted").text;
        assert!(
            said.starts_with("baseline `main` of toy/suite is run 19700101-003320-000007 (2 cases)"),
            "{said}"
        );
        act(&home, set_main(Some("19700101-001640"), false)).expect("promoted");
        let listed = act(&home, BaselineAction::List).expect("listed").text;
        assert!(listed.contains("19700101-001640-000007  ci_cpu       2  here"), "{listed}");
        let show = |json| act(&home, BaselineAction::Show { name: "main".into(), json }).expect("shown").text;
        assert!(
            show(false).contains("CV-1/small  Reference          throughput  8.00 M elem/s"),
            "{}",
            show(false)
        );
        let document: serde_json::Value = serde_json::from_str(&show(true)).expect("one document");
        assert_eq!(document["run"], "19700101-001640-000007");

        let remove = |name: &str| act(&home, BaselineAction::Remove { name: name.into(), suite: None });
        let error = remove("mian").expect_err("misspelt");
        assert_eq!(stop::exit(&error), Exit::Usage);
        assert_eq!(error.to_string(), "there is no baseline `mian`: did you mean `main`?");
        assert!(remove("main").expect("removed").text.starts_with("removed "));
        assert!(remove("main").is_err());
    }

    #[test]
    fn a_pinned_baseline_does_not_move_with_later_runs() {
        let home = home();
        home.store(&plain(1_000, 8.0e6, 12.0e6));
        act(&home, set_main(None, false)).expect("promoted");
        home.store(&plain(2_000, 4.0e6, 12.0e6));
        let shown =
            act(&home, BaselineAction::Show { name: "main".into(), json: false }).expect("shown").text;
        assert!(shown.contains("run 19700101-001640-000007"), "{shown}");
    }

    #[test]
    fn a_committed_baseline_lies_in_the_workspace_and_is_left_to_git() {
        let home = home();
        home.store(&plain(1_000, 8.0e6, 12.0e6));
        let said = act(&home, set_main(None, true)).expect("promoted").text;
        let root = home.place.root.join("benches").join("baselines");
        assert!(said.contains(&root.display().to_string()), "{said}");
        let removed =
            act(&home, BaselineAction::Remove { name: "main".into(), suite: None }).expect("said").text;
        assert!(removed.starts_with("kept ") && removed.contains("with git"), "{removed}");
    }

    #[test]
    fn a_slowed_run_is_not_promoted() {
        let home = home();
        let mut slowed = plain(1_000, 4.0e6, 12.0e6);
        slowed.manifest.environment.variables.insert("WEIGHBRIDGE_SLOWDOWN".into(), "1.3".into());
        home.store(&slowed);
        let error = act(&home, set_main(None, false)).expect_err("slowed");
        assert_eq!(stop::exit(&error), Exit::Usage);
        assert!(error.to_string().contains("slowed down on purpose (WEIGHBRIDGE_SLOWDOWN=1.3)"), "{error}");
    }
}
