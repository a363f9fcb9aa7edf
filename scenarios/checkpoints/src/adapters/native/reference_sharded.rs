//! `Reference (sharded)`: a file for each processor, digests in a manifest, and a name that is given last.
//!
//! ```text
//! <directory>/manifest.json     the layout of the state, and every piece with its digest
//!             shard-0.bin       runs of the state's bytes
//! ```
//!
//! A piece is as it is in memory, or compressed by zstd; its digest is of what is in memory.
//!
//! Everything is written under another name beside it, synced where it is to be durable, and renamed: a
//! directory with its final name is whole, or its digests say that it is not.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use weighbridge::{Error, ItemCopy, Result, adapter, skip};
use weighbridge_data::{DataSet, ExecutedWork};

use super::layer::ShardedLayer;
use super::manager::ShardedManager;
use super::owned::OwnedTensors;
use super::packing::Packer;
use super::rank::ShardedRank;
use super::replicas::ShardedReplicas;
use super::shard_manifest::{ShardManifest, save};
use super::sharded::ShardedCheckpoints;
use super::sharded_stored::StoredShards;
use super::shards::ShardWriting;
use crate::contract::{
    CheckpointFormat, Checkpointer, Checkpoints, Manager, Retention, SaveLayer, SaveOptions, SaveWaiter,
    StoredCheckpoint, StoredFiles, TensorHeader,
};
use crate::workload::{Compression, StateChange};

/// The checkpointer that others are verified against.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReferenceSharded;

/// A file for each processor, digests in a manifest, and a name that is given last.
#[adapter(name = "Reference (sharded)", tier = 0)]
impl Checkpointer for ReferenceSharded {
    fn open(&mut self, options: &SaveOptions, data: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        if let Some(replicas) = options.replicas {
            return Ok(Box::new(ShardedReplicas::new(data, replicas, options, threads)?));
        }
        if options.layer != SaveLayer::Checkpointer {
            return Ok(Box::new(ShardedLayer::new(data, options, threads)?));
        }
        let compression = options.compression.set().unwrap_or(Compression::None);
        if compression == Compression::Zstd {
            Packer::new().map_err(|error| skip(format!("compression {error}")))?;
        }
        let whole = ShardedCheckpoints::new(OwnedTensors::copy(data)?, options.saving, threads);
        Ok(Box::new(ShardedCheckpoints { onto: options.onto.clone(), compression, ..whole }))
    }

    fn open_ranks(
        &mut self,
        options: &SaveOptions,
        data: &Arc<DataSet>,
    ) -> Result<Vec<Box<dyn Checkpoints + Send + '_>>> {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let ranks = ShardedRank::all(data, options, threads)?.into_iter();
        Ok(ranks.map(|rank| Box::new(rank) as Box<dyn Checkpoints + Send>).collect())
    }

    fn open_stored(&mut self, files: StoredFiles<'_>) -> Result<Box<dyn StoredCheckpoint + '_>> {
        files.only(CheckpointFormat::Sharded)?;
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Ok(Box::new(StoredShards::open(files.directory, threads)?))
    }
}

impl Checkpoints for ShardedCheckpoints {
    fn change(&mut self, change: &StateChange) -> Result<()> {
        let state = Arc::get_mut(&mut self.state).ok_or_else(|| Error::new("the state is being saved"))?;
        state.change(change);
        Ok(())
    }

    fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
        self.wait()?;
        let how = self.writing(durable);
        if self.saving == SaveWaiter::Blocking {
            return save(&vec![&*self.state; self.threads], None, directory, how);
        }
        // What is written is a copy: the caller may change the state.
        let (copy, threads) = (self.state.again()?, self.threads);
        let directory = directory.to_owned();
        self.cancelled.store(false, Ordering::Relaxed);
        let cancelled = self.cancelled.clone();
        self.under_way.begin(move || {
            let how = ShardWriting { cancelled: &cancelled, ..how };
            save(&vec![&copy; threads], None, &directory, how)
        });
        Ok(())
    }

    fn is_complete(&mut self) -> Result<bool> {
        Ok(self.under_way.is_complete())
    }

    fn wait(&mut self) -> Result<()> {
        self.under_way.wait()
    }

    fn cancel(&mut self) -> Result<()> {
        if self.saving == SaveWaiter::Blocking {
            return Err(skip("cancelling a save: it returns when the save is complete"));
        }
        self.cancelled.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        self.load_step(directory).map(drop)
    }

    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        self.held.as_ref().map(|held| held.whole(field)).ok_or_else(|| Error::new("nothing was loaded"))
    }

    fn part(&mut self, field: usize, device: usize) -> Result<ItemCopy> {
        self.held.as_ref().ok_or_else(|| Error::new("nothing was loaded"))?.part(field, device)
    }

    fn view(&mut self, field: usize, device: Option<usize>, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.held.as_ref().ok_or_else(|| Error::new("nothing was loaded"))?.view(field, device, see)
    }

    fn read_metadata(&mut self, directory: &Path) -> Result<()> {
        self.described = None;
        self.described = Some(ShardManifest::of(directory)?.layout().headers());
        Ok(())
    }

    fn described(&mut self) -> Result<Vec<TensorHeader>> {
        self.described.clone().ok_or_else(|| Error::new("no manifest was read"))
    }

    fn release(&mut self) -> Result<()> {
        self.held = None;
        Ok(())
    }

    fn manager(&mut self, retention: &Retention) -> Result<Box<dyn Manager + '_>> {
        Ok(Box::new(ShardedManager::new(self, retention.clone())?))
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), weighbridge::Delivery::Owned, self.threads as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::atomic::AtomicBool;

    use weighbridge_data::Cache;

    use super::super::shard_manifest::MANIFEST;
    use super::*;
    use crate::workload::State;

    /// A place, and a state in a checkpointer of so many threads.
    fn opened(threads: usize) -> (tempfile::TempDir, Arc<DataSet>, ShardedCheckpoints) {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path().join("data")).open(&State::SMALL.data()).unwrap());
        let sharded = sharded_of(&data, threads);
        (place, data, sharded)
    }

    fn sharded_of(data: &DataSet, threads: usize) -> ShardedCheckpoints {
        ShardedCheckpoints::new(OwnedTensors::copy(data).unwrap(), SaveWaiter::Blocking, threads)
    }

    /// The ways to compress that this build has.
    fn compressions() -> impl Iterator<Item = Compression> {
        let there = |compression: &Compression| *compression == Compression::None || Packer::new().is_ok();
        [Compression::None, Compression::Zstd].into_iter().filter(there)
    }

    #[test]
    fn a_cancelled_save_leaves_nothing_and_one_that_failed_says_so_all_the_same() {
        let (place, data, _) = opened(2);
        let state = OwnedTensors::copy(&data).unwrap();
        let cancelled = AtomicBool::new(true);
        let directory = place.path().join("saved");
        let how = ShardWriting { cancelled: &cancelled, ..ShardWriting::plain(false) };
        save(&[&state; 2], None, &directory, how).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "the data alone");
        let mut sharded = ShardedCheckpoints { saving: SaveWaiter::Background, ..sharded_of(&data, 2) };
        sharded.save(&place.path().join("nowhere").join("saved"), false).unwrap();
        sharded.cancel().unwrap();
        assert!(sharded.wait().unwrap_err().to_string().contains("could not be made"));
    }

    #[test]
    fn a_save_in_the_background_is_of_the_state_as_it_was_and_its_failure_is_told_by_wait() {
        let (place, data, mut sharded) = opened(2);
        sharded.saving = SaveWaiter::Background;
        let directory = place.path().join("saved");
        sharded.save(&directory, false).unwrap();
        // The caller goes on and changes the state.
        Arc::get_mut(&mut sharded.state).expect("the save has a copy").bytes_mut().fill(7);
        sharded.wait().unwrap();
        assert!(sharded.is_complete().unwrap());
        sharded.load(&directory).unwrap();
        assert_eq!(sharded.loaded(0).unwrap().fields[0].bytes, data.rows(0, 0..1));
        sharded.save(&directory, false).unwrap();
        let why = sharded.wait().unwrap_err().to_string();
        assert!(why.contains("could not be given its name"), "{why}");
    }

    #[test]
    fn what_was_saved_is_loaded_bit_by_bit_whether_durable_or_not() {
        for (threads, compression) in
            [1, 2, 3].into_iter().flat_map(|threads| compressions().map(move |how| (threads, how)))
        {
            let (place, data, mut sharded) = opened(threads);
            sharded.compression = compression;
            for durable in [false, true] {
                let directory = place.path().join(format!("saved-{durable}"));
                sharded.save(&directory, durable).unwrap();
                sharded.load(&directory).unwrap();
                for field in 0..data.kinds().count() {
                    let kept = sharded.loaded(field).unwrap();
                    assert_eq!(kept.fields[0].bytes, data.rows(field, 0..1));
                }
            }
            let left = fs::read_dir(place.path()).unwrap().count();
            assert_eq!(left, 3, "the data, two checkpoints and nothing else");
        }
    }

    /// Damage to a checkpoint, and what is said of it then.
    type Damage<'a> = (&'a dyn Fn(&Path), &'a str);

    #[test]
    fn a_checkpoint_that_is_not_whole_is_refused_with_what_is_wrong() {
        let flip = |path: &Path| {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(path, bytes).unwrap();
        };
        let damage: [Damage<'_>; 6] = [
            (&|place| flip(&place.join("shard-1.bin")), "is damaged: "),
            (&|place| fs::remove_file(place.join("shard-0.bin")).unwrap(), "has no `shard-0.bin`"),
            (&|place| fs::remove_file(place.join(MANIFEST)).unwrap(), "has no manifest"),
            (&|place| fs::write(place.join(MANIFEST), "{").unwrap(), "has a manifest that is damaged"),
            (
                &|place| {
                    let file = File::options().write(true).open(place.join("shard-1.bin")).unwrap();
                    file.set_len(4096).unwrap();
                },
                "has no `shard-1.bin` that can be read: ",
            ),
            (
                &|place| {
                    let [one, other, aside] =
                        ["shard-0.bin", "shard-1.bin", "x"].map(|name| place.join(name));
                    fs::rename(&one, &aside).unwrap();
                    fs::rename(&other, &one).unwrap();
                    fs::rename(&aside, &other).unwrap();
                },
                "`shard-0.bin`",
            ),
        ];
        for ((damage, words), compression) in
            damage.iter().flat_map(|damage| compressions().map(move |how| (damage, how)))
        {
            let (place, _data, mut sharded) = opened(2);
            sharded.compression = compression;
            let directory = place.path().join("saved");
            sharded.save(&directory, false).unwrap();
            damage(&directory);
            let why = sharded.load(&directory).unwrap_err().to_string();
            assert!(why.contains(words), "{why}");
            assert!(sharded.loaded(0).is_err(), "nothing of it is handed out");
        }
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn a_bit_that_is_flipped_anywhere_in_a_compressed_file_is_told_or_changes_no_number() {
        let (place, data, mut sharded) = opened(1);
        sharded.compression = Compression::Zstd;
        let directory = place.path().join("saved");
        sharded.save(&directory, false).unwrap();
        let file = directory.join("shard-0.bin");
        let whole = fs::read(&file).unwrap();
        let expected: Vec<_> = (0..data.kinds().count()).map(|field| data.rows(field, 0..1)).collect();
        let mut told = 0;
        let places = (0..20).chain((0..whole.len()).step_by(whole.len() / 60)).chain([whole.len() - 1]);
        let all: Vec<(usize, usize)> = places.zip((0..8).cycle()).collect();
        for (at, bit) in &all {
            let mut bytes = whole.clone();
            bytes[*at] ^= 1 << bit;
            fs::write(&file, bytes).unwrap();
            match sharded.load(&directory) {
                Ok(()) => {
                    for (field, expected) in expected.iter().enumerate() {
                        assert_eq!(sharded.loaded(field).unwrap().fields[0].bytes, *expected);
                    }
                }
                Err(why) => {
                    let why = why.to_string();
                    assert!(
                        why.contains("is damaged: ") && why.contains("of `shard-0.bin` from 0 on"),
                        "{why}"
                    );
                    told += 1;
                }
            }
        }
        assert!(told + 3 >= all.len(), "{told} of {}", all.len());
    }

    #[test]
    fn a_manifest_cannot_have_a_load_make_room_for_more_than_a_piece_can_have() {
        let (place, _data, mut sharded) = opened(1);
        let directory = place.path().join("saved");
        sharded.save(&directory, false).unwrap();
        let manifest = fs::read_to_string(directory.join(MANIFEST)).unwrap();
        for bytes in [0, 1 << 40, usize::MAX] {
            let said = format!("\"zstd\":{bytes},\"digest\"");
            fs::write(directory.join(MANIFEST), manifest.replace("\"digest\"", &said)).unwrap();
            let why = sharded.load(&directory).unwrap_err().to_string();
            let words = if Packer::new().is_ok() {
                format!("is damaged: {bytes} bytes of `shard-0.bin`")
            } else {
                "is compressed by zstd: this build is without the feature `zstd`".to_owned()
            };
            assert!(why.contains(&words), "{why}");
        }
    }

    #[test]
    fn a_checkpoint_of_another_state_is_refused_and_a_name_that_is_taken_as_well() {
        let (place, _data, mut sharded) = opened(2);
        let directory = place.path().join("saved");
        sharded.save(&directory, false).unwrap();
        let why = sharded.save(&directory, false).unwrap_err().to_string();
        assert!(why.contains("could not be given its name"), "{why}");
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "nothing is left behind");
        let other = Arc::new(Cache::at(place.path().join("data")).open(&State::MB_16.data()).unwrap());
        let mut other = sharded_of(&other, 2);
        let why = other.load(&directory).unwrap_err().to_string();
        assert!(why.contains("is of another state: it has 21 tensors, and the state has 30"), "{why}");
    }
}
