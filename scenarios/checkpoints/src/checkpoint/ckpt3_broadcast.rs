//! CKPT-3: a checkpoint that replicas of a training load, one of them from files and the others from it.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use weighbridge::Requirements;
use weighbridge::prelude::*;
use weighbridge_data::Cache;

use super::collected::collect_stored;
use super::inventory::Inventory;
use super::medium::Medium;
use super::replicas::{ReplicaReads, Sharing};
use super::stored::{CheckpointDigests, Cut, StoredProof, copy, measure, place};
use crate::contract::{Checkpointer, SaveOptions, SaveWaiter, StoredCheckpoint, StoredFiles};
use crate::workload::{DeviceCount, DeviceMesh, State, SystemOptions};

/// The axes of CKPT-3.
#[derive(Clone, Debug, Sweep)]
struct BroadcastAxes {
    #[sweep(
            default = State::MB_268, tiny = State::MB_16, large = State::GB_1
        )]
    variant: State,
    #[sweep(implied, DeviceCount::TWO, DeviceCount::FOUR)]
    replicas: DeviceCount,
    #[sweep(implied, DeviceCount::TWO, DeviceCount::ONE, DeviceCount::FOUR)]
    model: DeviceCount,
    #[sweep(implied, broadcast = Sharing::Broadcast, each = Sharing::Each)]
    sharing: Sharing,
}

/// A checkpoint that is loaded onto several replicas: one reads it, and the others get a copy.
///
/// What does it cost to begin a training with several replicas, whose files are far away? The devices are a
/// grid: `replicas` times the devices that a replica is cut over, `model`. With `sharing=broadcast` the files
/// are read for one replica, and the others get its numbers from memory; with `sharing=each` a system does as
/// it does without being asked. Orbax's devices are simulated in one process, and it loads by
/// `use_load_and_broadcast`; those of Reference (sharded) are runs of memory, and with `each` it reads the
/// files once for every replica. A system that has no devices is a recorded skip.
///
/// Timed: the load, until every device has its parts, with the way to a worker and back. Not timed: making
/// the state, the save, letting go. The page cache is warm. Metrics say how many times the bytes of the
/// checkpoint's files a load has read. In a broadcast that must be about once, in every load: from 0.8 times
/// to 1.3 times and 8 MB, for what a process reads beside the files. Then every device of every replica must
/// have its part of each tensor; numbers that are changed on one device may change on no other, so that no
/// two replicas are one piece of memory (where no broadcast was asked for, that is a recorded skip); and the
/// files are overwritten as in CKPT-7. Last of all, one load more has collectors, as in CKPT-1.
#[scenario(id = "CKPT-3", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    filter = fits, needs = needs, describe = describe)]
fn broadcast(bencher: &mut Bencher, checkpointer: &mut dyn Checkpointer, axes: BroadcastAxes) -> Result<()> {
    let BroadcastAxes { variant, replicas, model, sharing } = axes;
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let data = Arc::new(state.open(&Cache::from_env())?);
    let room = Medium::Disk.place(bencher, 2 * state.bytes())?;
    let directory = room.path().join("checkpoint");
    let make = |checkpointer: &mut dyn Checkpointer, directory: &Path| {
        let mut checkpoints = checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), &data)?;
        checkpoints.save(directory, true)?;
        checkpoints.wait()
    };
    make(checkpointer, &directory)?;
    let format = copy::format(&directory)
        .map_err(|_| skip("loading onto devices: it has none, and holds a state whole"))?;
    let files = StoredFiles { directory: &directory, store: None, format, system: &SystemOptions::NONE };
    let mut stored = bencher.open(|| checkpointer.open_stored(files))?;
    let mesh = DeviceMesh::replicated(replicas, model);
    let prepare = |stored: &mut dyn StoredCheckpoint| {
        let onto = place(stored, mesh.clone(), Cut::Replicas)?;
        stored.share(sharing == Sharing::Broadcast)?;
        Ok(onto)
    };
    let onto = prepare(&mut *stored)?;
    stored.executed().check_platform(bencher.platform())?;
    bencher.work(stored.executed().report(&data, stored.entry_point()));
    let inventory = Inventory::of(&directory)?;
    let mut reads = ReplicaReads::new(&mut *stored, inventory.bytes, sharing);
    let loaded = measure(bencher, &mut reads, Some(&directory), onto.as_ref())?;
    if let Some(more) = loaded.more_memory {
        bencher.metric("extra_memory", more as f64, Unit::BYTES, Direction::Lower);
    }
    bencher.bytes(loaded.tensors as usize);
    inventory.tell(bencher);
    reads.tell(bencher)?;
    let expected = CheckpointDigests::of(&data);
    let proof =
        StoredProof { expected: Some(&expected), onto: onto.as_ref(), apart: Some(sharing.of_one_memory()) };
    proof.prove(bencher, &mut reads, Some(&directory))?;
    drop(stored);
    fs::remove_dir_all(&directory)?;
    let prepare = |stored: &mut dyn StoredCheckpoint| prepare(stored).map(drop);
    collect_stored(bencher, checkpointer, files, &make, &prepare);
    Ok(())
}

/// Checks that the state can lie on the devices, for the plan.
fn fits(axes: &BroadcastAxes) -> Result<(), String> {
    let BroadcastAxes { variant, replicas, model, .. } = axes;
    if replicas.get() < 2 {
        return Err("one replica has nobody to give a copy to".to_owned());
    }
    DeviceMesh::replicated(*replicas, *model).holds(variant)
}

/// The memory that a point needs, for the plan: every replica has the whole state.
fn needs(axes: &BroadcastAxes) -> Requirements {
    let BroadcastAxes { variant, replicas, model, .. } = axes;
    let mut needs = variant.needs();
    // What the axis of the model does not divide lies on every device.
    needs.memory = needs
        .memory
        .saturating_add(variant.bytes().saturating_mul((replicas.get() * model.get().min(2)) as u64));
    needs
}

/// Describes what a point does, for listings.
fn describe(axes: &BroadcastAxes) -> String {
    let BroadcastAxes { variant, replicas, model, sharing } = axes;
    let how = match sharing {
        Sharing::Broadcast => "read once and copied",
        Sharing::Each => "read as the system does it",
    };
    format!("load of {} onto {replicas} replicas of {model} devices, {how}", variant.describe())
}
