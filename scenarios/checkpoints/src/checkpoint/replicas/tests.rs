//! One replica reads and all have the state; each way to lie about it is told.

use std::sync::Arc;

use weighbridge::{Bencher, Budget, Delivery, Purpose, RepeatResult, Result, Settings};
use weighbridge_data::{Cache, ExecutedWork};

use super::{ReplicaReads, Sharing};
use crate::adapters::native::{ReferenceSharded, Safetensors};
use crate::checkpoint::alone::alone;
use crate::checkpoint::inventory::Inventory;
use crate::checkpoint::stored::{
    CheckpointDigests, Cut, StoredProof, copy, measure, place, write_safetensors,
};
use crate::contract::{
    Checkpointer, LoadedTensor, SaveOptions, SaveWaiter, StoredCheckpoint, StoredFiles, TensorHeader,
};
use crate::workload::{DeviceMesh, Placement, State, SystemOptions};

/// A checkpoint on two replicas of two devices, which is lied about in one way.
struct LyingSystem<'a> {
    lie: Lie,
    honest: Box<dyn StoredCheckpoint + 'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    None,
    /// Every replica reads the files.
    ReadsForEach,
    /// Nothing is read: what was loaded once is there for ever.
    ReadsOnce,
    /// Two replicas are one piece of memory.
    SharesMemory,
    /// The second replica has nothing but zeros.
    LeavesZeros,
    /// The second replica has what the first had before a number changed.
    LosesANumber,
    /// Leaves what is changed on a device as it was.
    ChangesNothing,
}

impl StoredCheckpoint for LyingSystem<'_> {
    fn headers(&self) -> &[TensorHeader] {
        self.honest.headers()
    }

    fn place(&mut self, onto: &Placement) -> Result<()> {
        self.honest.place(onto)
    }

    fn share(&mut self, once: bool) -> Result<()> {
        self.honest.share(once && self.lie != Lie::ReadsForEach)
    }

    fn load(&mut self) -> Result<()> {
        if self.lie == Lie::ReadsOnce && self.honest.loaded(0).is_ok() {
            return Ok(());
        }
        self.honest.load()
    }

    fn loaded(&mut self, tensor: usize) -> Result<LoadedTensor> {
        self.honest.loaded(tensor)
    }

    fn part(&mut self, tensor: usize, device: usize) -> Result<LoadedTensor> {
        // Devices 2 and 3 are those of the second replica.
        let from = if self.lie == Lie::SharesMemory { device % 2 } else { device };
        let mut part = self.honest.part(tensor, from)?;
        match self.lie {
            Lie::LeavesZeros if device >= 2 => part.bytes.fill(0),
            Lie::LosesANumber if device == 3 && tensor == 1 => part.bytes[2] ^= 1,
            _ => {}
        }
        Ok(part)
    }

    fn fill(&mut self, tensor: usize, device: usize, byte: u8) -> Result<()> {
        match self.lie {
            Lie::ChangesNothing => Ok(()),
            Lie::SharesMemory => self.honest.fill(tensor, device % 2, byte),
            _ => self.honest.fill(tensor, device, byte),
        }
    }

    fn release(&mut self) -> Result<()> {
        if self.lie == Lie::ReadsOnce { Ok(()) } else { self.honest.release() }
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), Delivery::Owned, 1)
    }
}

/// Runs what the scenario does with it, at a size for tests.
fn run(lie: Lie, sharing: Sharing) -> Result<RepeatResult> {
    let room = tempfile::tempdir().unwrap();
    let data = Arc::new(Cache::at(room.path().join("data")).open(&State::MB_16.data()).unwrap());
    let directory = room.path().join("checkpoint");
    let mut checkpointer = ReferenceSharded;
    checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), &data)?.save(&directory, false)?;
    let format = copy::format(&directory)?;
    let files = StoredFiles { directory: &directory, store: None, format, system: &SystemOptions::NONE };
    let mut stored = LyingSystem { lie, honest: checkpointer.open_stored(files)? };
    let onto = place(&mut stored, DeviceMesh::grid(&[("replica", 2), ("model", 2)]), Cut::Replicas)?;
    stored.share(sharing == Sharing::Broadcast)?;
    let bencher = Bencher::new(Settings::new(Purpose::Measure, Budget::SMOKE));
    stored.executed().check_platform(bencher.platform())?;
    bencher.work(stored.executed().report(&data, None));
    let mut reads = ReplicaReads::new(&mut stored, Inventory::of(&directory)?.bytes, sharing);
    measure(&bencher, &mut reads, Some(&directory), onto.as_ref())?;
    reads.tell(&bencher)?;
    let expected = CheckpointDigests::of(&data);
    let proof =
        StoredProof { expected: Some(&expected), onto: onto.as_ref(), apart: Some(sharing.of_one_memory()) };
    proof.prove(&bencher, &mut reads, Some(&directory))?;
    bencher.finish()
}

/// A metric of a repeat.
fn told(done: &RepeatResult, name: &str) -> f64 {
    done.seen.custom.iter().find(|metric| &*metric.name == name).expect("it is told").value
}

#[test]
fn one_replica_reads_the_files_once_and_without_a_broadcast_each_does() {
    alone(module_path!(), "one_replica_reads_the_files_once_and_without_a_broadcast_each_does", || {
        let once = run(Lie::None, Sharing::Broadcast).unwrap();
        let each = run(Lie::None, Sharing::Each).unwrap();
        for (done, due) in [(&once, 1.0), (&each, 2.0)] {
            for name in ["read_share/min", "read_share/max"] {
                assert!((told(done, name) - due).abs() < 0.1, "{name}: {}", told(done, name));
            }
        }
        assert_eq!(once.work.unwrap().content, each.work.unwrap().content);
    });
}

#[test]
fn each_way_to_lie_about_replicas_is_told() {
    alone(module_path!(), "each_way_to_lie_about_replicas_is_told", || {
        for (lie, words) in [
            (Lie::ReadsForEach, "one replica reads them once"),
            (Lie::ReadsOnce, "a broadcast has read 0 kB by calls"),
            (Lie::SharesMemory, "on device 0 changed with another device"),
            (Lie::LeavesZeros, "on device 2 has not the numbers of"),
            (Lie::LosesANumber, "the tensor ['blocks.0.attention_norm'] on device 3 has not the numbers of"),
            (Lie::ChangesNothing, "on device 0 stays as it was when it is written to"),
        ] {
            let told = run(lie, Sharing::Broadcast).unwrap_err().to_string();
            assert!(told.contains(words), "{lie:?}: {told}");
        }
        // Who was not asked for copies has none to be ranked with, and does no wrong.
        let declined = run(Lie::SharesMemory, Sharing::Each).unwrap_err();
        assert!(declined.is_skip() && declined.to_string().contains("one piece of memory"), "{declined}");
    });
}

#[test]
fn who_has_no_replicas_declines() {
    let (room, files) = (tempfile::tempdir().unwrap(), SystemOptions::NONE);
    let data = Cache::at(room.path().join("data")).open(&State::SMALL.data()).unwrap();
    let directory = room.path().join("checkpoint");
    write_safetensors(&data, &directory).unwrap();
    let format = copy::format(&directory).unwrap();
    let mut checkpointer = Safetensors;
    let files = StoredFiles { directory: &directory, store: None, format, system: &files };
    let mut stored = checkpointer.open_stored(files).unwrap();
    assert!(place(&mut *stored, DeviceMesh::line(2), Cut::Spread).unwrap_err().is_skip());
    assert!(stored.share(true).unwrap_err().is_skip());
}
