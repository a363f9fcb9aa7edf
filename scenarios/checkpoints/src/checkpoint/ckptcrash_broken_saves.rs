//! CKPT-CRASH: what is left of a save that was broken off.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use weighbridge::Requirements;
use weighbridge::prelude::*;
use weighbridge_data::{Cache, DataSet, Draws};

use super::crash::{FileTree, LoggedChange, Recorder, Survives, parse};
use super::lots::Lots;
use super::medium::Medium;
use super::proof::{Proof, prove, state as check};
use crate::contract::{Checkpointer, Checkpoints, SaveOptions, SaveWaiter};
use crate::workload::{State, StateChange};

/// A save, broken off wherever it changes files.
///
/// May a checkpoint be trusted after a crash? One save is recorded, with every call that changes files and
/// all that it writes. Then points of it are drawn from the run's seed, at most 100, and what is there at
/// each is loaded: what a *kill* of the process leaves (all changes so far), and what a *power cut* leaves
/// (all names so far, and of each file what it held when it was synced last). Each time one of four things is
/// found:
///
/// - `absent`: there is no checkpoint of that name, and whoever looks for one takes the one before it;
/// - `whole`: the state, tensor by tensor;
/// - `refused`: the load ends with an error;
/// - `corrupt`: something else is loaded and nothing is said.
///
/// `not_corrupt` is the share of the points that are not `corrupt`. `durable_when_reported` is 1 where a
/// power cut right after the save reported its end leaves the whole state. The save is asked to be durable.
/// The state is changed before it is saved, and again as soon as the save returns: the checkpoint must hold
/// that of the call. It needs `strace`. Nothing is timed that the table shows, and the proof is that of
/// CKPT-1.
#[scenario(id = "CKPT-CRASH", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    repeats = 1, needs = needs, describe = describe)]
fn broken_saves(
    bencher: &mut Bencher,
    checkpointer: &mut dyn Checkpointer,
    #[sweep(default = State::MB_16, tiny = State::SMALL)] variant: State,
) -> Result<()> {
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let data = Arc::new(state.open(&Cache::from_env())?);
    let place = Medium::Disk.place(bencher, 4 * state.bytes())?;
    let [saves, left] = ["saves", "left"].map(|name| place.path().join(name));
    fs::create_dir(&saves)?;
    let mut checkpoints =
        bencher.open(|| checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), &data))?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    // What is saved is no state that a system is opened with, and none that it has after the call.
    let lots = Lots::new();
    let saved = lots.whole(&data);
    checkpoints.change(&saved)?;
    let changes = record(&mut *checkpoints, &saves, &lots.whole(&data))?;
    drop(checkpoints);
    let points = drawn(changes.len(), if bencher.is_smoke() { 3 } else { POINTS }, bencher.seed());
    let mut found = [CrashFound::default(); 2];
    let mut tree = FileTree::default();
    let mut safe = 0.0;
    for (number, change) in changes.iter().enumerate() {
        tree.change(change);
        let is_last = number + 1 == changes.len();
        if !points.contains(&number) && !is_last {
            continue;
        }
        for (survives, found) in [Survives::Kill, Survives::PowerCut].into_iter().zip(&mut found) {
            fs::create_dir(&left)?;
            tree.write(survives, &left)?;
            let outcome = outcome(checkpointer, &data, &saved, &left.join(NAME));
            if points.contains(&number) {
                found.count(outcome);
            }
            if is_last && survives == Survives::PowerCut {
                safe = f64::from(u8::from(outcome == CrashOutcome::Whole));
            }
            fs::remove_dir_all(&left)?;
        }
    }
    tell(bencher, &found, safe, changes.len());
    let mut checkpoints = checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), &data)?;
    prove(bencher, &mut *checkpoints, Proof::whole(&data).changed(&saved), &saves.join(NAME))
}

/// The name of the checkpoint.
const NAME: &str = "step-1";

/// Points at which a save is broken off.
const POINTS: usize = 100;

/// The changes of one save. As soon as the caller may go on, the state is another.
fn record(
    checkpoints: &mut dyn Checkpoints,
    directory: &Path,
    after: &StateChange,
) -> Result<Vec<LoggedChange>> {
    let above = directory.parent().unwrap_or(directory);
    let recorder = Recorder::begin(&checkpoints.processes(), above)?;
    checkpoints.save(&directory.join(NAME), true)?;
    checkpoints.change(after)?;
    checkpoints.wait()?;
    let changes = parse(&recorder.end()?, directory)?;
    if changes.is_empty() {
        return Err(Error::new("the save changed no file that could be seen"));
    }
    Ok(changes)
}

/// Different numbers below `of`, in order.
fn drawn(of: usize, most: usize, seed: u64) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..of).collect();
    let draw = Draws::new(seed, 0).at(0, 0);
    for place in 0..of.min(most) {
        let other = place + draw.below(place as u64, (of - place) as u64) as usize;
        numbers.swap(place, other);
    }
    numbers.truncate(most);
    numbers.sort_unstable();
    numbers
}

/// The outcome of a save that was broken off, as a load finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CrashOutcome {
    Absent,
    Whole,
    Refused,
    Corrupt,
}

/// The number of times that each outcome was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CrashFound {
    absent: u32,
    whole: u32,
    refused: u32,
    corrupt: u32,
}

impl CrashFound {
    fn count(&mut self, outcome: CrashOutcome) {
        *match outcome {
            CrashOutcome::Absent => &mut self.absent,
            CrashOutcome::Whole => &mut self.whole,
            CrashOutcome::Refused => &mut self.refused,
            CrashOutcome::Corrupt => &mut self.corrupt,
        } += 1;
    }
}

/// Returns what a load finds, by a system that has seen nothing of it.
fn outcome(
    checkpointer: &mut dyn Checkpointer,
    data: &Arc<DataSet>,
    saved: &StateChange,
    checkpoint: &Path,
) -> CrashOutcome {
    if !checkpoint.exists() {
        return CrashOutcome::Absent;
    }
    // A system that ends over a damaged file has refused it.
    let Ok(mut checkpoints) = checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), data) else {
        return CrashOutcome::Refused;
    };
    if checkpoints.load(checkpoint).is_err() {
        return CrashOutcome::Refused;
    }
    if check(&mut *checkpoints, Proof::whole(data).changed(saved)).is_ok() {
        CrashOutcome::Whole
    } else {
        CrashOutcome::Corrupt
    }
}

fn tell(bencher: &Bencher, found: &[CrashFound; 2], safe: f64, changes: usize) {
    let all = |found: &CrashFound| found.absent + found.whole + found.refused + found.corrupt;
    let (points, corrupt) = found.iter().fold((0, 0), |sum, one| (sum.0 + all(one), sum.1 + one.corrupt));
    let rightly = 100.0 * f64::from(points - corrupt) / f64::from(points.max(1));
    bencher.metric("not_corrupt", rightly, Unit::other("%"), Direction::Higher);
    bencher.metric("durable_when_reported", safe, Unit::COUNT, Direction::Higher);
    for (found, after) in found.iter().zip(["after_kill", "after_power_cut"]) {
        let say = |what, count: u32, direction| {
            bencher.metric(&format!("{after}/{what}"), f64::from(count), Unit::COUNT, direction);
        };
        say("corrupt", found.corrupt, Direction::Lower);
        say("refused", found.refused, Direction::Information);
        say("whole", found.whole, Direction::Information);
        say("absent", found.absent, Direction::Information);
    }
    bencher.metric("file_changes", changes as f64, Unit::COUNT, Direction::Information);
}

/// The memory that a point needs, for the plan.
fn needs(variant: &State) -> Requirements {
    let needs = variant.needs();
    // What was recorded, four letters a byte, and files in memory.
    Requirements { memory: needs.memory + 8 * variant.bytes(), ..needs }
}

/// Describes what a point does, for listings.
fn describe(variant: &State) -> String {
    format!("{POINTS} points at most of a save of {}", variant.describe())
}
