//! CKPT-1: a state saved, saved for good, and loaded.

use std::sync::Arc;

use weighbridge::Requirements;
use weighbridge::prelude::*;
use weighbridge_data::Cache;

use super::collected::{CollectedAction, collect};
use super::looks::LookedState;
use super::medium::Medium;
use super::operation::Operation;
use super::proof::{Proof, prove};
use super::rounds::SaveRounds;
use crate::contract::{Checkpointer, SaveOptions, SaveWaiter};
use crate::workload::{Compression, DeviceMesh, OrbaxOptions, Placement, Setting, State};

/// The axes of CKPT-1.
#[derive(Clone, Debug, Sweep)]
struct RoundTripAxes {
    #[sweep(
            default = State::MB_268, tiny = State::MB_16, large = State::GB_1, huge = State::GB_4
        )]
    variant: State,
    #[sweep(all, save = Operation::Save, durable_save = Operation::DurableSave, load = Operation::Load)]
    operation: Operation,
    #[sweep(implied, SaveWaiter::Blocking, SaveWaiter::Background)]
    saving: SaveWaiter,
    #[sweep(implied, Medium::Disk, Medium::Memory)]
    medium: Medium,
    #[sweep(implied, DeviceMesh::NONE, DeviceMesh::line(8))]
    mesh: DeviceMesh,
    #[sweep(implied, Setting::Own, Setting::Set(Compression::None), Setting::Set(Compression::Zstd))]
    compression: Setting<Compression>,
    orbax: OrbaxOptions,
}

/// A state of tensors, saved to files and loaded from them.
///
/// What does a checkpoint cost, and when is it safe? `save` is until a reader finds it, `durable_save` until
/// its file system has been flushed as well and it would survive a power cut, `load` until the state is in
/// memory of the process that is its own. The block `blocking` is what the caller of a save waits for,
/// `waiting` what goes on in the background after it, `flush` the flush. The axis `saving` has systems that
/// save in the background do that, and `medium` puts the files on a disk or in memory. On a `mesh` the state
/// of Orbax lies cut on simulated devices; other systems have it whole. With `compression=zstd` every system
/// that can compresses, with `none` nobody does, and without it each does as it does without being asked. The
/// axes that are called as options of Orbax set those, and other systems run as they are. A variant may also
/// be a text of tensors: `a:float32[32x16]{data,-};b:bfloat16[8]`; the types are `float32`, `bfloat16`,
/// `float64`, `int32` and `int64`.
///
/// Timed: the save or the load, from the request to its end, with the way to a worker and back. A load is
/// read while its clock runs: a byte of each page, and drawn numbers of each tensor (the block `look`). Not
/// timed: making and changing the state, removing checkpoints, letting a loaded state go. The state is
/// another for each save. The page cache is warm. The work report
/// has no transforms; content is the digests of all tensors. After the rounds every repeat loads the last
/// checkpoint that was measured and compares it with the state, tensor by tensor; then its files are
/// overwritten where they lie, which may not change what was loaded, and which must change what is loaded
/// next. Last of all, what was timed is done once more with collectors, whose findings are metrics of the
/// case.
#[scenario(id = "CKPT-1", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    filter = fits, needs = needs, describe = describe)]
fn round_trip(bencher: &mut Bencher, checkpointer: &mut dyn Checkpointer, axes: RoundTripAxes) -> Result<()> {
    let RoundTripAxes { variant, operation, saving, medium, mesh, compression, orbax } = axes;
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let placement = Placement::as_written(mesh, &state);
    let options = SaveOptions { compression, system: (&orbax).into(), ..SaveOptions::on(saving, placement) };
    let data = Arc::new(state.open(&Cache::from_env())?);
    let place = medium.place(bencher, 3 * state.bytes())?;
    let mut checkpoints = bencher.open(|| checkpointer.open(&options, &data))?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    bencher.bytes(state.bytes() as usize);
    let looked = LookedState { data: &data, onto: None };
    let rounds = SaveRounds::new(bencher, &mut *checkpoints, place.path(), looked);
    let saved = match operation {
        Operation::Save => rounds.save(false)?,
        Operation::DurableSave => rounds.save(true)?,
        Operation::Load => rounds.load(&|_, _| Ok(()), &|| Ok(()))?,
    };
    if let Some(more) = saved.more_memory {
        bencher.metric("extra_memory", more as f64, Unit::BYTES, Direction::Lower);
    }
    saved.inventory.tell(bencher);
    drop(checkpoints);
    let mut anew = checkpointer.open(&options, &data)?;
    prove(bencher, &mut *anew, saved.proof(Proof::whole(&data)), &saved.directory)?;
    drop(anew);
    collect(
        bencher,
        checkpointer.open(&options, &data),
        place.path(),
        CollectedAction::of(operation, saving),
    );
    Ok(())
}

/// Checks that the state can lie on the mesh and that the options agree, for the plan.
fn fits(axes: &RoundTripAxes) -> Result<(), String> {
    let RoundTripAxes { variant, mesh, compression, orbax, .. } = axes;
    orbax.fit()?;
    if *compression != Setting::Own && orbax.use_compression != Setting::Own {
        return Err("`compression` and `use_compression` say the same, and one is enough".to_owned());
    }
    mesh.holds(variant)
}

/// The memory that a point needs, for the plan.
fn needs(axes: &RoundTripAxes) -> Requirements {
    let RoundTripAxes { variant, .. } = axes;
    variant.needs()
}

/// Describes what a point does, for listings.
fn describe(axes: &RoundTripAxes) -> String {
    let RoundTripAxes { variant, operation, saving, medium, mesh, compression, .. } = axes;
    let compressed = match compression {
        Setting::Own => String::new(),
        Setting::Set(compression) => format!(", compression {compression}"),
    };
    let devices = if *mesh == DeviceMesh::NONE { String::new() } else { format!(", cut over {mesh}") };
    format!("{operation} of {}, {saving}, on {medium}{devices}{compressed}", variant.describe())
}
