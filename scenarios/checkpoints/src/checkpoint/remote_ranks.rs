//! Ranks of a state that are processes of a launch: those of others, as rank 0 drives them, and as another
//! process answers for its own.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weighbridge::worker::CollectorAnswer;
use weighbridge::{Error, ItemCopy, Result};
use weighbridge_data::ranks::{LaunchedRanks, LineMessage, RankLine, item, of_item};
use weighbridge_data::{DataSet, ExecutedWork};

use crate::contract::{Checkpointer, Checkpoints, LookedPart, SaveOptions};
use crate::workload::StateChange;

/// A file by which another process shows that it sees the folder of rank 0.
#[derive(Debug, Serialize, Deserialize)]
struct FolderProbe {
    file: PathBuf,
    word: String,
}

/// Opens a state on the ranks of all processes of the launch.
///
/// # Errors
/// What the system says; a process that does not see the folder.
pub(super) fn open_all<'a>(
    checkpointer: &'a mut dyn Checkpointer,
    launched: &mut LaunchedRanks,
    options: &SaveOptions,
    data: &Arc<DataSet>,
    place: &Path,
) -> Result<Vec<Box<dyn Checkpoints + Send + 'a>>> {
    if launched.is_alone() {
        return checkpointer.open_ranks(options, data);
    }
    let word = format!("{:016x}", RandomState::new().hash_one(0_u8));
    let probe = FolderProbe { file: place.join(format!("seen-{word}")), word };
    fs::write(&probe.file, &probe.word)?;
    let told = serde_json::to_value(&probe).map_err(|error| Error::new(error.to_string()))?;
    let own = launched.order(&told)?;
    let own = checkpointer.open_ranks(&SaveOptions { place: own, ..options.clone() }, data);
    let opened =
        launched.join(own, |line, opened| Ok(Box::new(RemoteCheckpoints::new(line, &opened)?) as Box<_>));
    fs::remove_file(&probe.file)?;
    opened
}

/// Opens this process's own ranks as often as rank 0 asks for it, and answers for them.
pub(super) fn follow_checkpoints(
    checkpointer: &mut dyn Checkpointer,
    launched: &mut LaunchedRanks,
    options: &SaveOptions,
    data: &Arc<DataSet>,
) {
    while let Some(order) = launched.next_order() {
        let options = SaveOptions { place: Some(order.place), ..options.clone() };
        let seen = serde_json::from_value::<FolderProbe>(order.with)
            .map_err(|error| Error::new(error.to_string()))
            .and_then(|probe| is_seen(&probe));
        let opened = match seen {
            Ok(()) => checkpointer.open_ranks(&options, data),
            Err(error) => Err(error),
        };
        launched.serve(opened, |_, rank, asked| answer(&mut **rank, asked));
    }
}

/// Tells whether the folder of rank 0 is seen here.
fn is_seen(probe: &FolderProbe) -> Result<()> {
    if fs::read_to_string(&probe.file).is_ok_and(|found| found == probe.word) {
        return Ok(());
    }
    let folder = probe.file.parent().unwrap_or(&probe.file).display();
    Err(Error::new(format!(
        "the folder {folder} of rank 0 is not seen here, and all ranks save into it: `--data` or \
         WEIGHBRIDGE_DATA names a folder that all ranks see"
    )))
}

/// A rank at the other end of a line.
struct RemoteCheckpoints {
    line: RankLine,
    facts: RankedFacts,
}

/// The facts of a rank that are asked for once.
#[derive(Serialize, Deserialize)]
struct RankedFacts {
    executed: ExecutedWork,
    entry_point: Option<String>,
    processes: Vec<u32>,
    machine: String,
}

impl RemoteCheckpoints {
    fn new(line: RankLine, opened: &LineMessage) -> Result<Self> {
        Ok(Self { line, facts: opened.read()? })
    }

    fn tell(&mut self, word: &str, with: impl Serialize) -> Result<()> {
        self.line.ask(word, with, &[]).map(drop)
    }
}

impl Drop for RemoteCheckpoints {
    fn drop(&mut self) {
        self.line.close();
    }
}

/// The number of no process: of one elsewhere nothing can be counted here.
const ELSEWHERE: u32 = u32::MAX;

impl Checkpoints for RemoteCheckpoints {
    fn change(&mut self, change: &StateChange) -> Result<()> {
        self.tell("change", change)
    }

    fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
        self.tell("save", (directory, durable))
    }

    fn wait(&mut self) -> Result<()> {
        self.tell("wait", ())
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        self.tell("load", directory)
    }

    fn part(&mut self, field: usize, device: usize) -> Result<ItemCopy> {
        item(&self.line.ask("part", (field, device), &[])?)
    }

    fn loaded(&mut self, _field: usize) -> Result<ItemCopy> {
        Err(Error::new("a rank has its part of a tensor alone"))
    }

    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        Ok(self.line.ask("look", parts, &[])?.bytes)
    }

    fn release(&mut self) -> Result<()> {
        self.tell("release", ())
    }

    fn collect(&mut self, on: bool) -> Result<CollectorAnswer> {
        self.line.ask("collect", on, &[])?.read()
    }

    fn collected(&mut self) -> Result<CollectorAnswer> {
        self.line.ask("collected", (), &[])?.read()
    }

    fn processes(&self) -> Vec<u32> {
        if self.facts.machine == machine() { self.facts.processes.clone() } else { vec![ELSEWHERE] }
    }

    fn executed(&self) -> ExecutedWork {
        self.facts.executed.clone()
    }

    fn entry_point(&self) -> Option<String> {
        self.facts.entry_point.clone()
    }
}

/// Answers rank 0 for a rank.
fn answer(rank: &mut (dyn Checkpoints + Send + '_), asked: &LineMessage) -> Result<LineMessage> {
    match &*asked.word {
        "opened" => LineMessage::of(RankedFacts {
            executed: rank.executed(),
            entry_point: rank.entry_point(),
            processes: rank.processes(),
            machine: machine(),
        }),
        "change" => LineMessage::of(rank.change(&asked.read()?)?),
        "save" => {
            let (directory, durable): (PathBuf, bool) = asked.read()?;
            LineMessage::of(rank.save(&directory, durable)?)
        }
        "wait" => LineMessage::of(rank.wait()?),
        "load" => LineMessage::of(rank.load(&asked.read::<PathBuf>()?)?),
        "part" => {
            let (field, device) = asked.read()?;
            of_item(&rank.part(field, device)?)
        }
        "look" => Ok(LineMessage::of(())?.and(rank.look(&asked.read::<Vec<LookedPart>>()?)?)),
        "release" => LineMessage::of(rank.release()?),
        "collect" => LineMessage::of(rank.collect(asked.read()?)?),
        "collected" => LineMessage::of(rank.collected()?),
        other => Err(Error::new(format!("a rank of a state is asked for `{other}`"))),
    }
}

/// The machine and the table of processes that this process sees: where both are the same, so are numbers of
/// processes.
fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let table = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {}", boot.trim(), table.display())
}
