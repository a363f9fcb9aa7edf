//! `explain`: the story of one case. Its samples in order and by size, its processes side by side, what
//! disturbed them, what was decided about it and by which clock, and what would decide it.

mod decision;
mod ledger;
mod samples;

use anyhow::Result;
use clap::Args;
use weighbridge::data::{
    CaseId, CaseRecord, Comparison, RunManifest, StoredBaseline, fake_device, visible_in_line,
};

use crate::command_output::CommandOutput;
use crate::compare_baseline::JudgedSuite;
use crate::place::Place;
use crate::table::Table;
use crate::{compare_baseline, duels, pick, show, stop};

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The case, as a table or a listing names it.
    pub(crate) case: String,
    /// The run: an id, its start, or `latest` [default: the latest of every suite].
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// Look in this suite alone: `<package>/<bench target>`.
    #[arg(long, value_parser = crate::pick::suite_name)]
    pub(crate) suite: Option<String>,
    /// Draw with plain letters.
    #[arg(long)]
    pub(crate) ascii: bool,
}

pub(crate) fn run(args: &Explain, place: &Place) -> Result<CommandOutput> {
    let picked = pick::runs(place, args.run.as_deref(), args.suite.as_deref())?;
    if picked.runs.is_empty() {
        return Err(stop::nothing("there is no complete run to explain: make one with `cargo bench`"));
    }
    let below = pick::cases_below(place, &picked.runs, &args.case)?;
    let (manifest, mut case) = match below {
        Some((manifest, cases)) if cases.len() > 1 => {
            return Ok(CommandOutput {
                remarks: picked.remarks,
                ..CommandOutput::fine(several(manifest, &args.case, &cases))
            });
        }
        Some((manifest, mut cases)) => (manifest, cases.remove(0)),
        None => pick::case_of_any(place, &picked.runs, &args.case)?,
    };
    case.repeats = place.runs().repeats(&manifest.id, &case.id)?;
    let mut said = CommandOutput { remarks: picked.remarks, ..CommandOutput::fine(heading(manifest, &case)) };
    if let Some(trouble) = show::trouble(&case) {
        said.text.push_str(&format!("{}\n", visible_in_line(&trouble)));
    }
    said.text.push('\n');
    said.text.push_str(&samples::story(&samples::processes(&case), args.ascii));
    said.text.push_str(&ledger::story(&case));
    match last_duel(place, &case.id, &mut said.remarks)? {
        Some(comparison) => {
            let row = comparison.rows.iter().find(|row| row.case == case.id);
            let row = row.expect("the duel was looked for by its rows");
            said.text.push_str(&decision::duel(&comparison, row, args.ascii));
        }
        None => said.text.push_str(&format!(
            "no duel of it is stored: `{} compare-baseline --rebuild REV` measures it in turns with a \
             revision\n\n",
            weighbridge::tool()
        )),
    }
    match last_baseline(place, manifest, &mut said.remarks)? {
        Some(stored) => {
            let rules = compare_baseline::rules_beside(place, &stored.baseline)?;
            let judged = JudgedSuite::of(place, &stored, manifest, &rules)?;
            let row = judged.comparison.rows.iter().find(|row| row.case == case.id);
            let repeats =
                case.primary_metric().and_then(|metric| metric.estimate).map_or(0, |estimate| estimate.n);
            said.text.push_str(&match row {
                Some(row) => decision::stored(&judged.comparison, row, repeats),
                None => match &judged.comparison.refused {
                    Some(refusal) => format!(
                        "{}\n",
                        visible_in_line(&format!(
                            "against `{}`: not judged: {refusal}",
                            stored.baseline.name
                        ))
                    ),
                    None => format!("the baseline `{}` has no such case\n", stored.baseline.name),
                },
            });
        }
        None => said.text.push_str(&format!(
            "no baseline of this suite and machine is stored: `{} baseline set NAME` makes one of a run\n",
            weighbridge::tool()
        )),
    }
    said.text.truncate(said.text.trim_end().len());
    said.text.push('\n');
    Ok(said)
}

/// The cases that a short name may mean.
fn several(manifest: &RunManifest, typed: &str, cases: &[CaseRecord]) -> String {
    let mut table = Table::new(["case", "metric", "median>"]);
    for case in cases {
        let leading = case.leading().map_or("-", |metric| &metric.name);
        table.row([case.id.to_string(), leading.to_owned(), show::median(case.leading())]);
    }
    format!("`{typed}` is several cases of run {}: name the one to explain\n\n{}", manifest.id, table.text())
}

/// The heading: the case and its run, what it came to, and on which clock.
fn heading(manifest: &RunManifest, case: &CaseRecord) -> String {
    let commit = manifest.environment.software.get("commit");
    let commit = commit.map_or_else(String::new, |id| format!(" at {}", id.get(..12).unwrap_or(id)));
    let mut text = format!("{}\n", visible_in_line(&format!("{}: {}", case.id, case.description)));
    let of_run = format!(
        "run {} of {}{commit}, profile {}, on {}",
        manifest.id,
        manifest.suite,
        manifest.profile,
        manifest.environment.machine_id()
    );
    text.push_str(&format!("{}\n", visible_in_line(&of_run)));
    if let Some(fake) = fake_device(&manifest.environment) {
        text.push_str(&format!("{}\n", visible_in_line(&fake)));
    }
    if let Some(leading) = case.leading() {
        let interval = leading.estimate.and_then(|estimate| estimate.interval).map_or_else(
            || ", too few repeats for an interval".to_owned(),
            |(low, high)| {
                format!(", 95 % within {}", weighbridge::data::quantity::range(low, high, &leading.unit))
            },
        );
        let clock = match case.waiting() {
            Some(share) if leading.name != case.primary_metric => format!(
                "; it leads with CPU time, since the process waited {} of the wall time for a processor",
                samples::percent(share)
            ),
            Some(share) => format!(
                "; the process waited {} of the wall time for a processor, which is in that figure",
                samples::percent(share)
            ),
            None => String::new(),
        };
        text.push_str(&format!(
            "{} {}{interval}{clock}\n",
            visible_in_line(&leading.name),
            show::median(Some(leading))
        ));
    }
    text
}

/// The newest duel that has a row of the case.
fn last_duel(place: &Place, case: &CaseId, remarks: &mut Vec<String>) -> Result<Option<Comparison>> {
    let has = |duel: &Comparison| duel.rows.iter().any(|row| row.case == *case);
    Ok(duels::newest_first(place, remarks)?.find(has))
}

/// The baseline of the run's suite and machine that was promoted from the newest run other than this one.
pub(crate) fn last_baseline(
    place: &Place,
    run: &RunManifest,
    remarks: &mut Vec<String>,
) -> Result<Option<StoredBaseline>> {
    let (stored, broken) = place.baselines().of_suite(&run.environment.machine_id(), &run.suite)?;
    remarks.extend(broken.iter().map(|broken| format!("warning: {}", broken.why)));
    let fitting = stored.into_iter().filter(|stored| stored.baseline.run != run.id);
    Ok(fitting.max_by(|a, b| a.baseline.run.as_str().cmp(b.baseline.run.as_str())))
}

#[cfg(test)]
mod tests;
