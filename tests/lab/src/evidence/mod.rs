//! `evidence`: many comparisons of bodies of known kinds, with and without busy neighbours. Every round is
//! kept, so that anyone can decide again.

mod neighbours;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use weighbridge::data::{Comparison, Row, clopper_pearson};

use crate::cli::Evidence;
use crate::output::Output;
use crate::place::Place;
use crate::programs::{self, BuiltProgram};
use neighbours::Neighbours;
use weighbridge::data::Columns;

/// Comparisons of identical code, with neighbours and as many without.
const PLAIN: u32 = 20;

/// Comparisons with each planted slowdown, with neighbours and as many without.
const PLANTED: u32 = 5;

/// The slowdowns that are planted, and the margin beside which.
const SHARES: [f64; 2] = [0.02, 0.05];
const MARGIN: f64 = 0.01;

/// The same of `--fine`: what a body whose layouts allow it is to show.
const FINE_SHARES: [f64; 1] = [0.01];
const FINE_MARGIN: f64 = 0.005;

/// The body that is too long for a planted slowdown: a block would need fifty iterations of 4 ms.
const LONG: &str = "DEMO-5";

/// How many busy loops the neighbours are.
const NEIGHBOURS: usize = 2;

/// All comparisons, with their rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CalibrationEvidence {
    /// The machine in words.
    pub(crate) machine: String,
    /// The commit of the program.
    pub(crate) commit: String,
    /// The margin, as a share.
    pub(crate) margin: f64,
    /// The accepted chance of a false alarm among confirmed regressions.
    pub(crate) alpha: f64,
    /// One entry per run of `compare-baseline`.
    pub(crate) comparisons: Vec<KeptRow>,
}

/// One comparison of the whole suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptRow {
    /// Whether neighbours were busy.
    pub(crate) neighbours: bool,
    /// The planted slowdown, as a share.
    pub(crate) planted: f64,
    /// Its cases.
    pub(crate) cases: Vec<KeptCase>,
}

/// One case of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptCase {
    /// Its name.
    pub(crate) case: String,
    /// The verdict.
    pub(crate) verdict: String,
    /// One value per round.
    pub(crate) shifts: Vec<f64>,
    /// One value per fresh round, where a regression was to be confirmed.
    pub(crate) confirmation: Vec<f64>,
    /// The layout of both programs in each of those, if they were linked anew for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) layouts: Vec<u32>,
    /// Rounds in which the CPU clock decided.
    pub(crate) by_cpu: usize,
    /// Seconds to the first verdict.
    pub(crate) seconds: f64,
}

pub(crate) fn run(args: &Evidence, place: &Place) -> Result<Output> {
    let line = ["bench", "--no-run", "--bench", "demonstration"];
    let built = programs::build(&place.lab().join("rivals"), &place.target, &line)?;
    let program = &programs::of_target(&built, "demonstration")?;
    let copy = &copy(program, &place.data)?;
    let file = args.out.clone().unwrap_or_else(|| place.data.join("evidence.json"));
    let (shares, margin): (&[f64], f64) =
        if args.fine { (&FINE_SHARES, FINE_MARGIN) } else { (&SHARES, MARGIN) };
    let mut evidence = CalibrationEvidence { margin, alpha: 0.05, ..CalibrationEvidence::default() };
    // `--tries 5` is the whole of it.
    let scale = |count: u32| (count * args.tries).div_ceil(5);
    let mut plan = Vec::new();
    for neighbours in [false, true] {
        plan.extend(vec![(neighbours, 0.0); scale(PLAIN) as usize]);
        for share in shares {
            plan.extend(vec![(neighbours, *share); scale(PLANTED) as usize]);
        }
    }
    spread_out(&mut plan);
    for (at, (neighbours, share)) in plan.iter().enumerate() {
        let beside = if *neighbours { "with busy neighbours" } else { "alone" };
        eprintln!("evidence {} of {}: {}, {beside}", at + 1, plan.len(), planted(*share));
        let _busy = neighbours.then(|| Neighbours::start(NEIGHBOURS));
        let mut flags = vec!["--quiet".to_owned(), format!("--threshold={}%", margin * 100.0)];
        flags.extend((*share > 0.0).then(|| format!("--skip={LONG}")));
        if *share > 0.0 {
            flags.push(format!("--inject={share}"));
        }
        let comparison = compare(program, copy, &place.data, &flags)?;
        if let Some(environment) = &comparison.environment {
            evidence.machine = described(&environment.machine);
            evidence.commit = environment.software.get("commit").cloned().unwrap_or_default();
        }
        evidence.comparisons.push(KeptRow {
            neighbours: *neighbours,
            planted: *share,
            cases: comparison.rows.iter().map(KeptCase::of).collect(),
        });
        write_whole(&evidence, &file)?;
    }
    let mut said = Output::fine(evidence.report());
    said.remarks.push(format!("files: {}", file.display()));
    Ok(said)
}

/// The same program under another name: both sides of a duel are files of their own, as they would be.
fn copy(program: &BuiltProgram, data: &Path) -> Result<PathBuf> {
    let copy = data.join("demonstration-copy");
    let made = fs::create_dir_all(data).and_then(|()| fs::copy(&program.path, &copy));
    made.with_context(|| format!("failed to copy to `{}`", copy.display()))?;
    Ok(copy)
}

/// A planted slowdown in words.
fn planted(share: f64) -> String {
    if share == 0.0 { "as it is".to_owned() } else { format!("{} % planted", share * 100.0) }
}

/// Lets a program measure its copy in turns with itself.
fn compare(program: &BuiltProgram, copy: &Path, data: &Path, flags: &[String]) -> Result<Comparison> {
    let file = data.join("demonstration-comparison.json");
    let mut command = Command::new(&program.path);
    command.current_dir(&program.directory).arg("--bench").args(flags).arg("--versus").arg(copy);
    command.arg("--comparison").arg(&file).arg("--data").arg(data).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().context("failed to start the bench program")?;
    let text = fs::read(&file).with_context(|| format!("it ended with {status} and no comparison"))?;
    // The next one is not to be taken for it.
    fs::remove_file(&file).context("failed to remove the comparison")?;
    serde_json::from_slice(&text).context("failed to read the comparison")
}

/// Writes evidence whole or not at all.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn write_whole(evidence: &impl Serialize, file: &Path) -> Result<()> {
    let text = serde_json::to_vec(evidence).context("failed to put the evidence into JSON")?;
    let temporary: PathBuf = file.with_extension("new");
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("failed to make `{}`", folder.display()))?;
    }
    fs::write(&temporary, text)
        .and_then(|()| fs::rename(&temporary, file))
        .with_context(|| format!("failed to write `{}`", file.display()))
}

/// A rate with the bound that it is below with 95 % certainty.
pub(crate) fn rate(count: u64, of: u64) -> String {
    // The upper end of an interval at 90 % is a bound at 95 % on one side.
    let most = clopper_pearson(count, of, 0.9).map_or(1.0, |(_, high)| high);
    format!("{count} of {of}, at most {:.1} % (95 %)", most * 100.0)
}

/// Spreads the kinds of comparison over the whole time, so that a drift of the machine falls on all alike.
fn spread_out(plan: &mut Vec<(bool, f64)>) {
    let mut left = std::mem::take(plan);
    let stride = 7; // no divisor of the plan's usual sizes, so that kinds alternate
    while !left.is_empty() {
        for at in (0..left.len()).rev().step_by(stride) {
            plan.push(left.remove(at));
        }
    }
}

/// The machine of a record in words.
pub(crate) fn described(machine: &std::collections::BTreeMap<String, String>) -> String {
    let fact = |name: &str| machine.get(name).cloned().unwrap_or_else(|| "?".to_owned());
    format!("{}, {}", fact("cpu model"), fact("cores"))
}

impl KeptCase {
    /// What is kept of a row.
    pub(crate) fn of(row: &Row) -> Self {
        let rounds = row.rounds.clone().unwrap_or_default();
        // Seven digits decide as all would, and keep the file small.
        let short = |values: &[f64]| values.iter().map(|value| (value * 1e7).round() / 1e7).collect();
        Self {
            case: row.case.to_string(),
            verdict: row.verdict.name().to_owned(),
            shifts: short(&rounds.shifts),
            confirmation: short(&rounds.confirmation),
            layouts: rounds.layouts,
            by_cpu: rounds.by_cpu,
            seconds: (rounds.seconds * 100.0).round() / 100.0,
        }
    }
}

/// What is counted over some comparisons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VerdictCount {
    pub(crate) tries: u64,
    pub(crate) regressed: u64,
    pub(crate) improved: u64,
    pub(crate) unchanged: u64,
    pub(crate) inconclusive: u64,
}

impl VerdictCount {
    /// Counts one more, by the name of its verdict.
    pub(crate) fn add(&mut self, verdict: &str) {
        self.tries += 1;
        match verdict {
            "Regressed" => self.regressed += 1,
            "Improved" => self.improved += 1,
            "Unchanged" => self.unchanged += 1,
            _ => self.inconclusive += 1,
        }
    }
}

impl CalibrationEvidence {
    fn count(&self, takes: impl Fn(&KeptRow, &KeptCase) -> bool) -> VerdictCount {
        let mut count = VerdictCount::default();
        for kept in &self.comparisons {
            for case in kept.cases.iter().filter(|case| takes(kept, case)) {
                count.add(&case.verdict);
            }
        }
        count
    }

    /// The slowdowns that were planted, from the smallest on.
    fn shares(&self) -> Vec<f64> {
        let planted = self.comparisons.iter().map(|kept| kept.planted).filter(|share| *share > 0.0);
        let mut shares: Vec<f64> = planted.collect();
        shares.sort_by(f64::total_cmp);
        shares.dedup_by(|a, b| is(*a, *b));
        shares
    }

    /// The table, and below it the rates.
    pub(crate) fn report(&self) -> String {
        let shares = self.shares();
        let found: Vec<String> = shares.iter().map(|share| format!("+{} % found>", share * 100.0)).collect();
        let heads = ["case", "neighbours", "same: tries>", "regressed>", "improved>", "unchanged>"];
        let heads = heads.into_iter().chain(["inconclusive>"]);
        let mut table = Columns::new(heads.chain(found.iter().map(String::as_str)).chain(["seconds>"]));
        let mut names: Vec<&str> =
            self.comparisons.iter().flat_map(|kept| &kept.cases).map(|case| case.case.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in &names {
            for neighbours in [false, true] {
                let of = |planted: f64| {
                    self.count(|kept, case| {
                        kept.neighbours == neighbours && is(kept.planted, planted) && case.case == *name
                    })
                };
                let same = of(0.0);
                let found = |count: VerdictCount| match count.tries {
                    0 => "-".to_owned(),
                    tries => format!("{}/{tries}", count.regressed),
                };
                let times: Vec<f64> = (self.comparisons.iter())
                    .filter(|kept| kept.neighbours == neighbours && is(kept.planted, 0.0))
                    .flat_map(|kept| &kept.cases)
                    .filter(|case| case.case == *name)
                    .map(|case| case.seconds)
                    .collect();
                let known = [
                    (*name).to_owned(),
                    if neighbours { "2 busy loops" } else { "none" }.to_owned(),
                    same.tries.to_string(),
                    same.regressed.to_string(),
                    same.improved.to_string(),
                    same.unchanged.to_string(),
                    same.inconclusive.to_string(),
                ];
                let planted = shares.iter().map(|share| found(of(*share)));
                let seconds = format!("{:.1}", weighbridge::data::median(&times));
                table.row(known.into_iter().chain(planted).chain([seconds]));
            }
        }
        let same = self.count(|kept, _| is(kept.planted, 0.0));
        let wrong = self.count(|kept, _| kept.planted > 0.0).improved;
        let mut text = format!("{}, commit {}\n\n{}\n", self.machine, self.commit, table.text());
        text.push_str(&format!("identical code called Regressed: {}\n", rate(same.regressed, same.tries)));
        text.push_str(&format!("identical code called Improved: {}\n", rate(same.improved, same.tries)));
        text.push_str(&format!("verdicts of the wrong sign: {wrong}\n"));
        for share in shares {
            let found = self.count(|kept, _| is(kept.planted, share));
            let part = found.regressed as f64 / found.tries.max(1) as f64 * 100.0;
            text.push_str(&format!(
                "+{} % found: {} of {} ({part:.1} %)\n",
                share * 100.0,
                found.regressed,
                found.tries
            ));
        }
        text
    }
}

fn is(planted: f64, share: f64) -> bool {
    (planted - share).abs() < 1e-9
}
