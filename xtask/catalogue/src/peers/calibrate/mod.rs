//! `peers calibrate`: holds what the harness says of each framework against a loop that its users would write
//! by hand.
//!
//! The two take turns, so that both see the same machine: the bench program with one repeat of each case, and
//! the script `scenarios/python/by_hand/<framework>.py` for each. Of all rounds the medians are compared.

mod by_hand;
mod cases;
mod cost;
mod explanation;
mod harness;
mod others;
mod page;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weighbridge::data::Exit;
use weighbridge_data::Cache;
use weighbridge_python as python;
use weighbridge_python::Peer;

use self::cases::{SCENARIOS, WorkerCell};
use self::cost::BatchCost;
use self::harness::HarnessReport;
use self::others::Others;
use self::page::{AGAIN, ComparedCase};
use crate::dry;
use weighbridge_xtask::command_output::{CommandOutput, say};
use weighbridge_xtask::place::Place;
use weighbridge_xtask::programs::{self, BuiltProgram};
use weighbridge_xtask::stop;

pub(super) fn run(peers: &[&'static Peer], rounds: u32, home: &Path, place: &Place) -> Result<CommandOutput> {
    let mut said = CommandOutput::fine("");
    let mut ready = Vec::new();
    for peer in peers {
        let script = python::script(peer);
        if let Some(why) = peer.missing(home) {
            said.remarks.push(format!("{}: {why}", peer.name));
            said.exit = said.exit.or(Exit::NothingToJudge);
        } else if script.is_file() {
            ready.push(*peer);
        } else {
            said.remarks.push(format!("error: {}: there is no script `{}`", peer.name, script.display()));
            said.exit = Exit::Failed;
        }
    }
    if ready.is_empty() {
        return Ok(said);
    }
    let mut bench = CalibrationBench::prepare(place, home, &ready)?;
    let mut compared = Vec::new();
    for (at, peer) in ready.iter().enumerate() {
        say(&format!("[{}/{}] {}: {rounds} rounds", at + 1, ready.len(), peer.name));
        let of = bench.all_rounds(peer, rounds)?;
        compared.extend(of.compared(peer));
        if of.costs.is_empty() && of.wrong.is_empty() {
            said.remarks.push(format!("error: {}: the harness measured no case of it", peer.name));
            said.exit = Exit::Failed;
        }
        for what in of.wrong {
            said.remarks.push(format!("error: {}: {what}", peer.name));
            said.exit = Exit::Failed;
        }
    }
    let (text, exit) =
        page::page(&compared, rounds, bench.others, weighbridge::data::page_fault_cost().as_secs_f64());
    said.text = text;
    said.exit = said.exit.or(exit);
    Ok(said)
}

/// The folder of the scripts' files, below that of the harness's runs. It is as deep as what frameworks keep
/// there: `runs/<run>/scratch/.kept/<framework>/<digest>`.
const SCRIPTS: &str = "by_hand/all/scratch/kept/any/converted";

/// The program, folders and data that both sides need.
struct CalibrationBench {
    program: BuiltProgram,
    home: PathBuf,
    /// The folder of the harness's runs.
    runs: PathBuf,
    /// The folder of the scripts' files.
    files: PathBuf,
    /// The folder of each scenario's data.
    data: Vec<PathBuf>,
    others: Others,
}

impl CalibrationBench {
    /// Builds the bench program, and makes the data where they are not there.
    fn prepare(place: &Place, home: &Path, peers: &[&Peer]) -> Result<Self> {
        let mut found = None;
        for program in programs::build(&place.root)? {
            let adapters = dry::adapters(&program)?;
            if peers.iter().all(|peer| adapters.contains_key(peer.name)) {
                found = Some(program);
                break;
            }
        }
        let program =
            found.ok_or_else(|| stop::nothing("no bench target of this workspace has the adapters"))?;
        let runs = place.layout.data().join("calibrate");
        match fs::remove_dir_all(&runs) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("failed to empty `{}`", runs.display()));
            }
            _ => {}
        }
        let files = runs.join(SCRIPTS);
        fs::create_dir_all(&files).with_context(|| format!("failed to make `{}`", files.display()))?;
        let mut data = Vec::new();
        for scenario in SCENARIOS {
            let set = Cache::from_env().open(&scenario.spec().source).map_err(anyhow::Error::msg)?;
            data.push(set.path(0).parent().context("a file lies in a folder")?.to_owned());
        }
        Ok(Self { program, home: home.to_owned(), runs, files, data, others: Others::default() })
    }

    /// The rounds that were asked for, and as many again, up to [`AGAIN`] times, of the cells that seem to be
    /// over: of a hundred cells a few are so in three rounds by chance, where rounds differ by more than the
    /// bound.
    fn all_rounds(&mut self, peer: &'static Peer, rounds: u32) -> Result<TurnRounds> {
        let mut of = TurnRounds::default();
        self.rounds(peer, &mut of, rounds, |_| true)?;
        for _ in 0..AGAIN {
            let over = of.over(peer, self.others, weighbridge::data::page_fault_cost().as_secs_f64());
            if over.is_empty() {
                break;
            }
            self.rounds(peer, &mut of, rounds, |cell| over.contains(&cell))?;
        }
        Ok(of)
    }

    /// Both sides of these cells in turns. Who begins a round changes, so that neither has always the
    /// processor that the other left warm.
    fn rounds(
        &mut self,
        peer: &Peer,
        of: &mut TurnRounds,
        rounds: u32,
        which: impl Fn(WorkerCell) -> bool,
    ) -> Result<()> {
        let wanted: Vec<WorkerCell> = WorkerCell::all().filter(|cell| which(*cell)).collect();
        for round in 0..rounds {
            self.others.look();
            // The harness says which cells there are.
            if round % 2 == 0 {
                of.add(harness::run(&self.program, peer, &self.home, &self.runs, &wanted)?);
                self.hand(peer, of, &wanted)?;
            } else {
                self.hand(peer, of, &wanted)?;
                of.add(harness::run(&self.program, peer, &self.home, &self.runs, &wanted)?);
            }
        }
        Ok(())
    }

    /// The script once for each of these cells.
    fn hand(&self, peer: &Peer, of: &mut TurnRounds, wanted: &[WorkerCell]) -> Result<()> {
        for cell in of.costs.keys().copied().filter(|cell| wanted.contains(cell)).collect::<Vec<_>>() {
            match by_hand::run(peer, cell, &self.home, &self.data[cell.scenario], &self.files)? {
                Ok(cost) => of.costs.entry(cell).or_default().hand.push(cost),
                Err(why) => of.give_up(cell, format!("{cell}: its script: {why}")),
            }
        }
        Ok(())
    }
}

/// The costs of a cell in each round, by side.
#[derive(Debug, Default)]
struct MeasuredCosts {
    harness: Vec<BatchCost>,
    hand: Vec<BatchCost>,
    waited: bool,
}

/// The results of all rounds of a peer.
#[derive(Debug, Default)]
struct TurnRounds {
    costs: BTreeMap<WorkerCell, MeasuredCosts>,
    /// Cells that are not tried again: a side failed.
    given_up: BTreeSet<WorkerCell>,
    wrong: Vec<String>,
}

impl TurnRounds {
    /// Adds a round of the harness.
    fn add(&mut self, told: BTreeMap<WorkerCell, HarnessReport>) {
        for (cell, told) in told {
            match told {
                _ if self.given_up.contains(&cell) => {}
                HarnessReport::Measured { cost, waited } => {
                    let costs = self.costs.entry(cell).or_default();
                    costs.harness.push(cost);
                    costs.waited |= waited;
                }
                HarnessReport::Declined => {}
                HarnessReport::Failed(why) => self.give_up(cell, format!("{cell}: the harness: {why}")),
            }
        }
    }

    fn give_up(&mut self, cell: WorkerCell, why: String) {
        self.costs.remove(&cell);
        self.given_up.insert(cell);
        self.wrong.push(why);
    }

    /// The cells with a difference that nothing explains, and on which the rounds agree so far.
    fn over(&self, peer: &Peer, others: Others, fault_cost: f64) -> BTreeSet<WorkerCell> {
        let is_over =
            |one: &ComparedCase| one.judged(others, fault_cost).is_some_and(|judged| judged.is_over());
        self.compared(peer).into_iter().filter(is_over).map(|one| one.cell).collect()
    }

    fn compared(&self, peer: &Peer) -> Vec<ComparedCase> {
        let (name, short) = (peer.name, peer.short);
        let of = |(cell, costs): (&WorkerCell, &MeasuredCosts)| {
            let rounds = costs.harness.iter().copied().zip(costs.hand.iter().copied()).collect();
            ComparedCase { name, short, cell: *cell, rounds, waited: costs.waited }
        };
        self.costs.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use weighbridge::data::{Layout, RunId};

    use super::*;
    use crate::fixtures::home;

    const CELL: WorkerCell = WorkerCell { scenario: 0, workers: 0 };

    fn measured(cpu: f64) -> BTreeMap<WorkerCell, HarnessReport> {
        BTreeMap::from([(
            CELL,
            HarnessReport::Measured {
                cost: BatchCost { wall: cpu, cpu, faults: 0.0, own: 0.0 },
                waited: false,
            },
        )])
    }

    #[test]
    fn files_of_scripts_lie_as_deep_as_those_of_the_harness() {
        let run: RunId = "20261127-041232-eacd86".parse().expect("a run's id");
        let kept = Layout::new(Path::new("data")).kept(&run).join("mosaic").join("5c1064c1541c77b3");
        assert_eq!(Path::new("data").join(SCRIPTS).components().count(), kept.components().count());
    }

    #[test]
    fn what_is_not_installed_is_named_with_its_command_and_nothing_is_built() {
        let (peers, home) = (tempfile::tempdir().expect("a folder"), home());
        let grain = python::find("grain").expect("known");
        let said = run(&[grain], 5, peers.path(), &home.place).expect("said");
        assert_eq!(said.exit, Exit::NothingToJudge);
        assert_eq!(said.remarks, ["Google Grain: not installed: cargo catalogue peers install grain"]);
        assert_eq!(said.text, "");
    }

    #[test]
    fn a_cell_whose_side_failed_is_told_once_and_the_others_go_on() {
        let mut of = TurnRounds::default();
        of.add(measured(1.0));
        let other = WorkerCell { workers: 2, ..CELL };
        of.add(BTreeMap::from([(other, HarnessReport::Failed("no room".to_owned()))]));
        of.give_up(CELL, "its script".to_owned());
        of.add(measured(2.0));
        assert!(of.costs.is_empty());
        assert_eq!(of.wrong, ["CV-1, 2 workers: the harness: no room", "its script"]);
    }

    #[test]
    fn a_cell_that_is_over_in_a_few_rounds_is_so_no_more_when_later_ones_do_not_agree() {
        let mut of = TurnRounds::default();
        let mut round = |harness, hand| {
            of.add(measured(harness * 1e-4));
            let cost = BatchCost { wall: hand * 1e-4, cpu: hand * 1e-4, faults: 0.0, own: 0.0 };
            of.costs.entry(CELL).or_default().hand.push(cost);
            of.over(python::find("torch").expect("known"), Others::default(), 1e-6)
        };
        assert_eq!(round(2.0, 1.0), BTreeSet::from([CELL]));
        assert_eq!(round(2.0, 1.0), BTreeSet::from([CELL]));
        assert_eq!(round(1.0, 1.0), BTreeSet::new());
    }

    #[test]
    fn both_sides_are_compared_round_by_round() {
        let mut of = TurnRounds::default();
        for cpu in [1.0, 9.0, 2.0] {
            of.add(measured(cpu));
            of.costs.entry(CELL).or_default().hand.push(BatchCost {
                wall: 4.0,
                cpu: 4.0,
                faults: 0.0,
                own: 0.0,
            });
        }
        let compared = of.compared(python::find("numpy").expect("known"));
        assert_eq!(compared.len(), 1);
        let cpu: Vec<_> = compared[0].rounds.iter().map(|(harness, hand)| (harness.cpu, hand.cpu)).collect();
        assert_eq!(cpu, [(1.0, 4.0), (9.0, 4.0), (2.0, 4.0)]);
    }
}
