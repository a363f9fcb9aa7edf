//! CKPT-RANKS: one checkpoint that several processes save and load together.

use std::path::Path;
use std::sync::Arc;

use weighbridge::Requirements;
use weighbridge::prelude::*;
use weighbridge_data::ranks::LaunchedRanks;
use weighbridge_data::{Cache, DataSet};

use super::collected::{CollectedAction, collect};
use super::looks::LookedState;
use super::medium::Medium;
use super::operation::Operation;
use super::proof::{Proof, prove};
use super::ranked::RankedCheckpoints;
use super::remote_ranks::{follow_checkpoints, open_all};
use super::rounds::SaveRounds;
use crate::contract::{Checkpointer, Checkpoints, SaveOptions, SaveWaiter};
use crate::workload::{DeviceMesh, Placement, State};

/// The axes of CKPT-RANKS.
#[derive(Clone, Debug, Sweep)]
struct ProcessesAxes {
    #[sweep(
            default = State::MB_268, tiny = State::MB_16, large = State::GB_1, huge = State::GB_4
        )]
    variant: State,
    #[sweep(2, 1, 4, 8)]
    ranks: usize,
    #[sweep(all, save = Operation::Save, durable_save = Operation::DurableSave, load = Operation::Load)]
    operation: Operation,
    #[sweep(implied, SaveWaiter::Blocking, SaveWaiter::Background)]
    saving: SaveWaiter,
    #[sweep(implied, Medium::Disk, Medium::Memory)]
    medium: Medium,
}

/// A state of tensors that lies on several processes, saved by all of them as one checkpoint, and loaded.
///
/// What does a checkpoint cost a training on several ranks? Each rank has its part of every tensor that their
/// number divides, and the whole of any other; they know of each other as those of a training do (gloo,
/// `jax.distributed`); those of the reference are threads of one process. All are told to save, or to load,
/// at once, and the last one that is done stands for all. `rank: save` or `rank: load` is the time of each
/// rank: the record has their least, mean, greatest, deviation and percentiles, and the ranks of both ends.
/// Ranks that are more than the processors take turns on them.
///
/// Timed: from the order to every rank until the last one is done, with the way to the workers and back; for
/// `durable_save` until the file system is flushed as well. Not timed: starting processes, their first
/// meeting, making the state. The work report has no transforms; content is the digests of all tensors, put
/// together from the parts of all ranks. The proof is that of CKPT-1, and of each rank the part that it has
/// after a load; what was timed is done once more with collectors, as in CKPT-1, and what those of a rank
/// find is called by its number. A rank that dies or hangs is named, and the others are ended.
#[scenario(id = "CKPT-RANKS", category = "Checkpoints", sets = ["checkpoint-ranks"], equivalence = exact,
    ranks = "collective", filter = fits, needs = needs, describe = describe)]
fn processes(bencher: &mut Bencher, checkpointer: &mut dyn Checkpointer, axes: ProcessesAxes) -> Result<()> {
    let ProcessesAxes { variant, ranks, operation, saving, medium } = axes;
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let options = SaveOptions::on(saving, Placement::spread(DeviceMesh::line(ranks), &state));
    let data = Arc::new(state.open(&Cache::from_env())?);
    let mut launched = LaunchedRanks::meet(bencher, ranks)?;
    if !launched.is_first() {
        follow_checkpoints(checkpointer, &mut launched, &options, &data);
        return data.check_unchanged();
    }
    let place = medium.place(bencher, 3 * state.bytes())?;
    bencher.bytes(state.bytes() as usize);
    measure(bencher, checkpointer, &mut launched, &options, &data, operation, place.path())
}

/// Measures and proves an operation of all ranks of a state.
fn measure(
    bencher: &Bencher,
    checkpointer: &mut dyn Checkpointer,
    launched: &mut LaunchedRanks,
    options: &SaveOptions,
    data: &Arc<DataSet>,
    operation: Operation,
    place: &Path,
) -> Result<()> {
    let opened = bencher.open(|| open_all(checkpointer, launched, options, data, place))?;
    let mut checkpoints = RankedCheckpoints::new(opened, &options.placement, data)?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(data, checkpoints.entry_point()));
    let looked = LookedState { data, onto: Some(&options.placement) };
    let rounds = SaveRounds::new(bencher, &mut checkpoints, place, looked);
    let saved = match operation {
        Operation::Save => rounds.save(false)?,
        Operation::DurableSave => rounds.save(true)?,
        Operation::Load => rounds.load(&|_, _| Ok(()), &|| Ok(()))?,
    };
    if let Some(more) = saved.more_memory {
        bencher.metric("extra_memory", more as f64, Unit::BYTES, Direction::Lower);
    }
    saved.inventory.tell(bencher);
    checkpoints.tell(bencher, operation);
    drop(checkpoints);
    let mut anew = open(checkpointer, launched, options, data, place)?;
    let proof = saved.proof(Proof::onto(data, &options.placement));
    prove(bencher, &mut *anew, proof, &saved.directory)?;
    drop(anew);
    let opened = open(checkpointer, launched, options, data, place);
    collect(bencher, opened, place, CollectedAction::of(operation, options.saving));
    Ok(())
}

/// Opens the state on its ranks once more.
fn open<'a>(
    checkpointer: &'a mut dyn Checkpointer,
    launched: &mut LaunchedRanks,
    options: &SaveOptions,
    data: &Arc<DataSet>,
    place: &Path,
) -> Result<Box<dyn Checkpoints + 'a>> {
    let ranks = open_all(checkpointer, launched, options, data, place)?;
    Ok(Box::new(RankedCheckpoints::new(ranks, &options.placement, data)?))
}

/// Checks that the state can lie on the ranks, for the plan.
fn fits(axes: &ProcessesAxes) -> Result<(), String> {
    let ProcessesAxes { variant, ranks, .. } = axes;
    DeviceMesh::line(*ranks).holds(variant)
}

/// The memory that a point needs, for the plan: a process for each rank, and what is not cut on every one.
fn needs(axes: &ProcessesAxes) -> Requirements {
    let ProcessesAxes { variant, ranks, .. } = axes;
    let one = variant.needs();
    let process = State::SMALL.needs().memory;
    Requirements { memory: one.memory.saturating_add(process.saturating_mul(*ranks as u64)), ..one }
}

/// Describes what a point does, for listings.
fn describe(axes: &ProcessesAxes) -> String {
    let ProcessesAxes { variant, ranks, operation, saving, medium } = axes;
    format!("{operation} of {}, {saving}, on {medium}, by {ranks} processes", variant.describe())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use weighbridge::worker::{CollectedMetric, CollectorAnswer};
    use weighbridge::{
        Budget, Delivery, ErrorKind, FieldCopy, ItemCopy, Purpose, RepeatResult, Settings, skip,
    };
    use weighbridge_data::ExecutedWork;

    use super::*;
    use crate::adapters::native::{ReferenceSharded, Safetensors};
    use crate::checkpoint::proof::expected;
    use crate::workload::StateChange;

    /// Ranks in threads of this process: each writes a file for its part of each tensor, and one may be at
    /// fault.
    struct Folders(RankFault);

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum RankFault {
        None,
        /// Rank 1 is not there.
        Missing,
        /// Rank 1 writes nothing.
        WritesNothing,
        /// Ranks load the parts of their neighbours.
        LoadsOfAnother,
        /// Ranks keep what they saved.
        Keeps,
        /// Rank 1 dies while it saves.
        Dies,
    }

    struct Folder {
        fault: RankFault,
        rank: usize,
        of: usize,
        /// Of each tensor its name, and shape and bytes of this rank's part.
        state: Vec<(String, Vec<usize>, Vec<u8>)>,
        held: Vec<Vec<u8>>,
    }

    impl Checkpointer for Folders {
        fn open(&mut self, _: &SaveOptions, _: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>> {
            Err(skip("ranks alone"))
        }

        fn open_ranks(
            &mut self,
            options: &SaveOptions,
            data: &Arc<DataSet>,
        ) -> Result<Vec<Box<dyn Checkpoints + Send + '_>>> {
            let of = options.placement.devices();
            let tensor = |rank, (field, kind): (usize, &weighbridge::FieldKind)| {
                let part = options.placement.part(field, &kind.shape, rank);
                let bytes = expected(data.rows(field, 0..1), kind.dtype.size(), &kind.shape, &part);
                (kind.name.clone(), part.iter().map(ExactSizeIterator::len).collect(), bytes)
            };
            let rank = |rank| Folder {
                fault: self.0,
                rank,
                of,
                state: data.kinds().enumerate().map(|kind| tensor(rank, kind)).collect(),
                held: Vec::new(),
            };
            let there = if self.0 == RankFault::Missing { 1 } else { of };
            Ok((0..there).map(|index| Box::new(rank(index)) as Box<_>).collect())
        }
    }

    impl Checkpoints for Folder {
        fn change(&mut self, change: &StateChange) -> Result<()> {
            for (field, (.., bytes)) in self.state.iter_mut().enumerate() {
                change.apply(field, 4, bytes);
            }
            Ok(())
        }

        fn save(&mut self, directory: &Path, _durable: bool) -> Result<()> {
            match self.fault {
                RankFault::WritesNothing if self.rank == 1 => return Ok(()),
                RankFault::Dies if self.rank == 1 => {
                    return Err(Error::of(ErrorKind::Exit(9), "the worker exited with code 9"));
                }
                _ => fs::create_dir_all(directory)?,
            }
            for (name, _, bytes) in &self.state {
                fs::write(directory.join(format!("{name}.{}", self.rank)), bytes)?;
            }
            Ok(())
        }

        fn load(&mut self, directory: &Path) -> Result<()> {
            if self.fault == RankFault::Keeps {
                self.held = self.state.iter().map(|(.., bytes)| bytes.clone()).collect();
                return Ok(());
            }
            let other = usize::from(self.fault == RankFault::LoadsOfAnother);
            let of = (self.rank + other) % self.of;
            let read = |(name, ..): &(String, _, _)| Ok(fs::read(directory.join(format!("{name}.{of}")))?);
            self.held = self.state.iter().map(read).collect::<Result<_>>()?;
            Ok(())
        }

        fn loaded(&mut self, _: usize) -> Result<ItemCopy> {
            Err(Error::new("a rank has its part alone"))
        }

        fn part(&mut self, field: usize, device: usize) -> Result<ItemCopy> {
            assert_eq!(device, self.rank, "a rank is asked for its own part");
            let (name, shape, _) = self.state[field].clone();
            let bytes = self.held.get(field).cloned().ok_or_else(|| Error::new("nothing was loaded"))?;
            let field = FieldCopy { name, dtype: weighbridge::Dtype::F32, shape, bytes };
            Ok(ItemCopy { elements: 1, fields: vec![field] })
        }

        fn release(&mut self) -> Result<()> {
            self.held.clear();
            Ok(())
        }

        fn collected(&mut self) -> Result<CollectorAnswer> {
            let (tag, unit) = ("6_io/files_count".to_owned(), String::new());
            let metric = CollectedMetric { tag, value: Some(self.rank as f64), unit, better: None };
            Ok(CollectorAnswer { metrics: vec![metric], ..CollectorAnswer::default() })
        }

        fn executed(&self) -> ExecutedWork {
            ExecutedWork::ours(Vec::new(), Delivery::Owned, 0)
        }
    }

    fn run(checkpointer: &mut dyn Checkpointer, ranks: usize, operation: Operation) -> Result<RepeatResult> {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path().join("data")).open(&State::SMALL.data()).unwrap());
        let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
        let directory = place.path().join("checkpoints");
        fs::create_dir(&directory).unwrap();
        let placement = Placement::spread(DeviceMesh::line(ranks), &State::SMALL);
        let options = SaveOptions::on(SaveWaiter::Blocking, placement);
        let mut alone = LaunchedRanks::meet(&bencher, ranks)?;
        measure(&bencher, checkpointer, &mut alone, &options, &data, operation, &directory)?;
        bencher.finish()
    }

    fn refused(fault: RankFault) -> Error {
        run(&mut Folders(fault), 2, Operation::Save).unwrap_err()
    }

    #[test]
    fn honest_ranks_save_and_load_one_state_and_each_tells_its_own_times() {
        let mut contents = Vec::new();
        for (ranks, operation) in [(1, Operation::Save), (2, Operation::DurableSave), (4, Operation::Load)] {
            let done = run(&mut Folders(RankFault::None), ranks, operation).unwrap();
            let told: Vec<(&str, usize)> =
                done.seen.ranks.iter().map(|metric| (&*metric.name, metric.values.len())).collect();
            let what = if operation == Operation::Load { "rank/load" } else { "rank/save" };
            assert_eq!(told, [(what, ranks)], "the save before a load is not told");
            let region = if operation == Operation::Load { "load" } else { "blocking" };
            let found = |name: String| {
                done.seen.custom.iter().find(|metric| metric.name == name).map(|metric| metric.value)
            };
            assert!(found(format!("{region}/0_basics/time_s")).is_some());
            for rank in 0..=ranks {
                let collected = found(format!("{region}/rank/{rank}/6_io/files_count"));
                assert_eq!(collected, (rank < ranks).then_some(rank as f64));
            }
            let work = done.work.unwrap();
            assert_eq!(work.report.workers, ranks as u64);
            contents.push(work.content);
        }
        for (ranks, operation) in [(1, Operation::Load), (2, Operation::Save), (8, Operation::Load)] {
            contents.push(run(&mut ReferenceSharded, ranks, operation).unwrap().work.unwrap().content);
        }
        assert!(
            contents.iter().all(|content| content == &contents[0]),
            "the same state, whoever has which part"
        );
    }

    #[test]
    fn parts_that_are_missing_or_of_another_rank_are_refused() {
        let said = refused(RankFault::LoadsOfAnother).to_string();
        assert!(said.contains("the tensor `embedding`"), "{said}");
        let said = refused(RankFault::WritesNothing).to_string();
        assert!(said.starts_with("rank 1 of 2 (from 0): "), "{said}");
        // What a rank was opened with is not the state that was saved; which tensors differ is drawn.
        let said = refused(RankFault::Keeps).to_string();
        assert!(said.ends_with("has not the bytes that were saved"), "{said}");
        let said = refused(RankFault::Missing).to_string();
        assert!(said.contains("2 ranks were asked for, and 1 were opened"), "{said}");
    }

    #[test]
    fn a_rank_that_dies_is_named_and_who_saves_from_one_process_declines() {
        let died = refused(RankFault::Dies);
        assert_eq!(died.kind(), &ErrorKind::Exit(9));
        assert_eq!(died.to_string(), "rank 1 of 2 (from 0): the worker exited with code 9");
        let declined = run(&mut Safetensors, 2, Operation::Save).unwrap_err();
        assert!(declined.is_skip() && declined.to_string().contains("several processes"), "{declined}");
    }
}
