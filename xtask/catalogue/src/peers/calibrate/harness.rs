//! The harness's side: the bench program as `cargo bench` starts it, with one repeat of these cases of one
//! adapter.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use weighbridge::data::names;
use weighbridge::data::{CaseRecord, CaseStatus, Exit, Layout, Reading, Runs};
use weighbridge_python::Peer;

use super::cases::{VARIANT, WorkerCell};
use super::cost::BatchCost;
use weighbridge_xtask::programs::BuiltProgram;
use weighbridge_xtask::stop;

/// The outcome of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HarnessReport {
    Measured {
        cost: BatchCost,
        /// `true` if its threads waited so long for a processor that its wall times say more of the machine.
        waited: bool,
    },
    /// The adapter cannot do it.
    Declined,
    /// A failure, with its reason.
    Failed(String),
}

/// Runs these cells of a peer once. The files of the run lie in `data`.
pub(super) fn run(
    program: &BuiltProgram,
    peer: &Peer,
    home: &Path,
    data: &Path,
    cells: &[WorkerCell],
) -> Result<BTreeMap<WorkerCell, HarnessReport>> {
    let mut command = Command::new(&program.path);
    command.current_dir(&program.directory).args(["--bench", "--repeats", "1", "--adapter", peer.name]);
    let mut workers: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for cell in cells {
        workers.entry(cell.scenario().id).or_default().push(cell.workers.to_string());
    }
    for (id, workers) in workers {
        command.args(["--scenario", id, "--param", &format!("{id}.workers={}", workers.join(","))]);
        command.args(["--param", &format!("{id}.variant={VARIANT}")]);
    }
    command.arg("--data").arg(data).env("WEIGHBRIDGE_PEERS", home);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let ended = command.output().with_context(|| format!("failed to start {}", program.suite))?;
    match ended.status.code() {
        Some(0 | 4..=6) => {} // what became of each case is in its record
        Some(code) if code == i32::from(Exit::Interrupted.code()) => return Err(stop::interrupted()),
        _ => bail!("{} did not come to its end: {}", program.suite, ended.status),
    }
    let runs = Runs::new(Layout::new(data));
    let listing = runs.list()?;
    let newest = listing.runs.first().context("the bench program stored no run")?;
    let run = runs.load(&newest.id)?;
    let told = |case: &CaseRecord| Some((WorkerCell::of(&case.id)?, HarnessReport::of(case)));
    Ok(run.cases.iter().filter_map(told).collect())
}

impl HarnessReport {
    fn of(case: &CaseRecord) -> Self {
        let failed = |why: &str| Self::Failed(why.lines().last().unwrap_or_default().to_owned());
        match &case.status {
            CaseStatus::Skipped(_) => return Self::Declined,
            CaseStatus::Failed(why) => return failed(&why.to_string()),
            CaseStatus::Incomplete => return failed("the run ended before it was done"),
            CaseStatus::Measured => {}
        }
        if let Some(finding) = case.failed_rules().next() {
            return failed(&format!("it did not verify: {finding}"));
        }
        let value = |name| case.metric(name)?.values.iter().find_map(Reading::value);
        let (Some(wall), Some(cpu), Some(cell)) =
            (value(names::THROUGHPUT), value(names::THROUGHPUT_CPU), WorkerCell::of(&case.id))
        else {
            return failed("it has no throughput");
        };
        let batch = cell.scenario().spec().batch_size as f64;
        let measured: u64 = case.processes.iter().map(|process| process.iterations).sum();
        let faults = value(names::MINOR_FAULTS).unwrap_or_default() / measured.max(1) as f64;
        // Beside workers the loop works while they do.
        let own = value(names::LOOP_TIME).filter(|_| cell.workers == 0).unwrap_or_default();
        let cost = BatchCost { wall: batch / wall, cpu: batch / cpu, faults, own };
        Self::Measured { cost, waited: case.waiting().is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{around, case};
    use weighbridge::data::FailureReason;

    #[test]
    fn a_case_that_failed_or_was_declined_has_no_cost() {
        let mut one = case("CV-1", "NumPy", &around(64e6));
        assert_eq!(HarnessReport::of(&one), HarnessReport::Failed("it has no throughput".to_owned()));
        one.status = CaseStatus::Failed(FailureReason::Unwritable("Traceback\nOSError: no room".to_owned()));
        assert_eq!(HarnessReport::of(&one), HarnessReport::Failed("OSError: no room".to_owned()));
        one.status = CaseStatus::Skipped("2 workers: numpy has none".into());
        assert_eq!(HarnessReport::of(&one), HarnessReport::Declined);
    }

    #[test]
    fn the_cost_of_a_batch_follows_from_the_rates_that_are_ranked() {
        let mut one = case("CV-1", "NumPy", &[64e6]);
        let mut cpu = one.metrics[0].clone();
        cpu.name = "throughput_cpu".to_owned();
        cpu.values = vec![Reading::Value(32e6)];
        one.metrics.push(cpu);
        let HarnessReport::Measured { cost, waited } = HarnessReport::of(&one) else {
            panic!("it was measured")
        };
        assert!((cost.wall - 1e-6).abs() < 1e-12 && (cost.cpu - 2e-6).abs() < 1e-12, "{cost:?}");
        assert!(!waited);
    }
}
