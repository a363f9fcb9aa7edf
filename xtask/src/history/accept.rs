//! `history accept`: takes a change for good, with the reason, in `benches/accepted.toml`.

use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use weighbridge::data::{Acceptance, BaselineName, Comparison, Layout, MachineId, Row, Verdict, quantity};

use super::accepted_file;
use crate::command_output::CommandOutput;
use crate::compare_baseline::{GateRules, JudgedSuite};
use crate::place::Place;
use crate::{duels, explain, pick, stop};

/// Arguments of `history accept`.
#[derive(Debug, Args)]
pub(crate) struct Accept {
    /// The case, as a comparison names it.
    pub(crate) case: String,
    /// The reason why the change is fine.
    #[arg(long, value_name = "WHY", required_unless_present = "withdraw")]
    pub(crate) because: Option<String>,
    /// The change against this baseline [default: the newest of the suite and the machine].
    #[arg(long, value_name = "NAME", conflicts_with = "duel")]
    pub(crate) baseline: Option<String>,
    /// The change that the newest duel of the case found, instead of a baseline.
    #[arg(long, conflicts_with = "run")]
    pub(crate) duel: bool,
    /// The run that has the change: an id, its start, or `latest`.
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// A case of this suite: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// Accept it on every machine: where each job of CI has another one.
    #[arg(long)]
    pub(crate) any_machine: bool,
    /// Take back what was accepted of the case.
    #[arg(long, conflicts_with_all = ["because", "baseline", "duel", "run", "any_machine"])]
    pub(crate) withdraw: bool,
}

pub(crate) fn run(args: &Accept, place: &Place) -> Result<CommandOutput> {
    let file = Layout::accepted_file(&place.root);
    let mut all = accepted_file::read(&file)?;
    if args.withdraw {
        return withdraw(args, &file, all);
    }
    let mut remarks = Vec::new();
    let (comparison, machine) = compared(args, place, &mut remarks)?;
    if let Some(refusal) = &comparison.refused {
        return Err(stop::nothing(format!("the comparison was refused: {refusal}")));
    }
    let row = row(&comparison, &args.case)?;
    let because = args.because.clone().unwrap_or_default();
    if because.trim().is_empty() {
        return Err(stop::usage("--because says why the change is fine"));
    }
    let entry = Acceptance {
        suite: comparison.suite.clone(),
        case: row.case.to_string(),
        metric: row.metric.clone(),
        machine: if args.any_machine { "any".to_owned() } else { machine.to_string() },
        slowdown: change(row)?,
        run: comparison.candidate.to_string(),
        because,
    };
    all.push(entry.clone());
    all.sort_by(|one, other| one.key().cmp(&other.key()));
    accepted_file::write(&file, &all)?;
    let text = format!(
        "accepted: {} {}: {} a unit of work against {}, as run {} has it\n{} is written\n",
        entry.case,
        entry.metric,
        quantity::change(entry.slowdown),
        comparison.baseline.name,
        entry.run,
        file.display()
    );
    Ok(CommandOutput { remarks, ..CommandOutput::fine(text) })
}

fn withdraw(args: &Accept, file: &Path, mut all: Vec<Acceptance>) -> Result<CommandOutput> {
    let before = all.len();
    let known: Vec<String> = all.iter().map(|one| one.case.clone()).collect();
    let of_suite = |one: &Acceptance| args.suite.as_ref().is_none_or(|suite| *suite == one.suite);
    all.retain(|one| one.case != args.case || !of_suite(one));
    if all.len() == before {
        return Err(stop::unknown("accepted case", &args.case, known.iter().map(String::as_str)));
    }
    accepted_file::write(file, &all)?;
    Ok(CommandOutput::fine(format!("withdrawn: {} of {}\n", before - all.len(), args.case)))
}

/// The comparison that shows the change, and the machine it was measured on.
fn compared(args: &Accept, place: &Place, remarks: &mut Vec<String>) -> Result<(Comparison, MachineId)> {
    if args.duel {
        let has = |duel: &Comparison| {
            args.suite.as_ref().is_none_or(|suite| *suite == duel.suite)
                && duel.rows.iter().any(|row| row.case.to_string() == args.case)
        };
        let found = duels::newest_first(place, remarks)?.find(has);
        let none = || {
            stop::nothing(format!(
                "no duel of `{}` is stored: `{} compare-baseline --rebuild REV` measures one",
                args.case,
                weighbridge::tool()
            ))
        };
        let duel = found.ok_or_else(none)?;
        let machine = duel.environment.as_ref().context("the duel says nothing of its machine")?.machine_id();
        return Ok((duel, machine));
    }
    let picked = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?;
    remarks.extend(picked.remarks);
    let (manifest, _) = pick::case_of_any(place, &picked.runs, &args.case)?;
    let machine = manifest.environment.machine_id();
    let stored = match &args.baseline {
        Some(name) => {
            Some(place.baselines().find(&machine, &manifest.suite, &name.parse::<BaselineName>()?)?)
        }
        None => explain::last_baseline(place, manifest, remarks)?,
    };
    let stored = stored.ok_or_else(|| {
        stop::nothing(format!(
            "{} has no baseline on this machine to hold the run against: \
             `cargo bench -- --save-baseline main` makes one",
            manifest.suite
        ))
    })?;
    // Whoever accepts is whoever works in this tree.
    let rules = GateRules::of_tree(place, None, "a change is accepted there")?;
    let judged = JudgedSuite::of(place, &stored, manifest, &rules)?;
    Ok((judged.comparison, machine))
}

fn row<'a>(comparison: &'a Comparison, case: &str) -> Result<&'a Row> {
    let names: Vec<String> = comparison.rows.iter().map(|row| row.case.to_string()).collect();
    let found = names.iter().position(|name| name == case);
    let at = found.ok_or_else(|| stop::unknown("case", case, names.iter().map(String::as_str)))?;
    Ok(&comparison.rows[at])
}

/// By how much the case is worse, on top of what was accepted before, with four digits.
fn change(row: &Row) -> Result<f64> {
    match (&row.verdict, row.effect) {
        (Verdict::Regressed | Verdict::Improved, Some(effect)) => Ok((effect.estimate * 1e4).round() / 1e4),
        (verdict, _) => {
            Err(stop::nothing(format!("there is no change to accept: {} is {verdict}", row.case)))
        }
    }
}

#[cfg(test)]
mod tests {
    use weighbridge::data::Exit;

    use super::*;
    use crate::fixtures::{Home, around, case, home, run as run_of};

    /// A baseline `main` and a later run that takes so many times as long.
    fn stored(times: f64) -> Home {
        let home = home();
        let store = |second: u64, rate: f64| {
            let run = run_of(second, vec![case("CV-1", "Reference", &around(rate))]);
            home.store(&run);
            run
        };
        let before = store(1_000, 8.0e6);
        let named: BaselineName = "main".parse().expect("a name");
        home.place.baselines().set(&named, &before).expect("promoted");
        store(2_000, 8.0e6 / times);
        home
    }

    const CASE: &str = "CV-1/small/Reference";

    fn args(because: &str) -> Accept {
        Accept {
            case: CASE.into(),
            because: Some(because.into()),
            baseline: None,
            duel: false,
            run: None,
            suite: None,
            any_machine: false,
            withdraw: false,
        }
    }

    fn judged(home: &Home) -> Row {
        let mut remarks = Vec::new();
        compared(&args("x"), &home.place, &mut remarks).expect("compared").0.rows.remove(0)
    }

    #[test]
    fn an_accepted_change_is_unchanged_and_a_further_one_is_accepted_on_top_of_it() {
        let home = stored(1.30);
        assert_eq!(judged(&home).verdict, Verdict::Regressed);
        let said = run(&args("the new check is worth it"), &home.place).expect("accepted");
        assert!(said.text.starts_with(&format!("accepted: {CASE} throughput: +30.")), "{}", said.text);
        let row = judged(&home);
        assert_eq!(row.verdict, Verdict::Unchanged, "{row:?}");
        // Twice as slow as that again.
        home.store(&run_of(3_000, vec![case("CV-1", "Reference", &around(8.0e6 / 2.60))]));
        assert_eq!(judged(&home).verdict, Verdict::Regressed);
        run(&args("twice as much data"), &home.place).expect("accepted");
        let all = accepted_file::read(&Layout::accepted_file(&home.place.root)).expect("written");
        let shares: Vec<f64> = all.iter().map(|one| one.slowdown).collect();
        assert!(
            shares.len() == 2 && (shares[0] - 0.3).abs() < 0.01 && (shares[1] - 1.0).abs() < 0.02,
            "{all:?}"
        );
        assert_eq!(judged(&home).verdict, Verdict::Unchanged);
    }

    #[test]
    fn what_did_not_change_cannot_be_accepted_and_what_was_can_be_withdrawn() {
        let home = stored(1.0);
        let error = run(&args("nothing"), &home.place).expect_err("unchanged");
        assert_eq!(stop::exit(&error), Exit::NothingToJudge);
        assert!(error.to_string().starts_with("there is no change to accept"), "{error}");
        let home = stored(1.30);
        run(&args("fine"), &home.place).expect("accepted");
        let back = Accept { withdraw: true, because: None, ..args("") };
        assert!(run(&back, &home.place).expect("withdrawn").text.starts_with("withdrawn: 1 of"));
        assert_eq!(judged(&home).verdict, Verdict::Regressed);
        let error = run(&back, &home.place).expect_err("nothing is left");
        assert_eq!(stop::exit(&error), Exit::Usage);
    }

    #[test]
    fn without_a_reason_a_baseline_or_a_duel_nothing_is_accepted() {
        let home = stored(1.30);
        let error = run(&args("  "), &home.place).expect_err("no reason");
        assert_eq!(stop::exit(&error), Exit::Usage);
        let error = run(&Accept { duel: true, ..args("fine") }, &home.place).expect_err("no duel");
        assert!(error.to_string().starts_with("no duel of `CV-1/small/Reference` is stored"), "{error}");
        let error = run(&Accept { case: "CV-1/small/Referense".into(), ..args("fine") }, &home.place);
        assert!(error.expect_err("misspelt").to_string().contains("did you mean"));
    }
}
