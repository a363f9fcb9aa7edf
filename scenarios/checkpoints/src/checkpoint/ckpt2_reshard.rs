//! CKPT-2: a state that is saved from one mesh of devices and loaded onto another.

use std::sync::Arc;

use weighbridge::Requirements;
use weighbridge::prelude::*;
use weighbridge_data::Cache;

use super::collected::{CollectedAction, collect};
use super::looks::LookedState;
use super::medium::Medium;
use super::proof::{Proof, prove};
use super::rounds::SaveRounds;
use crate::contract::{Checkpointer, SaveOptions, SaveWaiter};
use crate::workload::{DeviceMesh, OrbaxOptions, Placement, State};

/// The axes of CKPT-2.
#[derive(Clone, Debug, Sweep)]
struct ReshardAxes {
    #[sweep(
            default = State::MB_268, tiny = State::MB_16, large = State::GB_1, huge = State::GB_4
        )]
    variant: State,
    #[sweep(implied, DeviceMesh::line(8), DeviceMesh::grid(&[("data", 2), ("model", 4)]), DeviceMesh::NONE)]
    mesh: DeviceMesh,
    #[sweep(implied, DeviceMesh::grid(&[("data", 2), ("model", 2)]), DeviceMesh::line(8), DeviceMesh::NONE)]
    onto: DeviceMesh,
    orbax: OrbaxOptions,
}

/// A state of tensors, saved from the devices of `mesh` and loaded onto those of `onto`.
///
/// What does it cost to go on with a training on other devices than it was saved from? Each axis of a mesh
/// cuts the first dimension of a tensor that it divides, unless the tensor is written with cuts of its own:
/// `a:float32[32x16]{data,-}`. Orbax's devices are simulated in one process; those of other systems are runs
/// of memory, one for each device. A system that knows nothing of devices is a recorded skip. The axes that
/// are called as options of Orbax set those.
///
/// Timed: the load, until each device has its parts and they were read once, as in CKPT-1, with the way to a
/// worker and back. Not timed: making the
/// state, the save, letting a loaded state go. The page cache is warm. The work report has no transforms;
/// content is the digests of all tensors. After the rounds every repeat loads the checkpoint once more and
/// compares each tensor with the state, and the part that each device has with that which the target mesh
/// says; then its files are overwritten where they lie, which may not change what was loaded, and which must
/// change what is loaded next. Last of all, one load more has collectors, whose findings are metrics of the
/// case.
#[scenario(id = "CKPT-2", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    filter = fits, needs = needs, describe = describe)]
fn reshard(bencher: &mut Bencher, checkpointer: &mut dyn Checkpointer, axes: ReshardAxes) -> Result<()> {
    let ReshardAxes { variant, mesh, onto, orbax } = axes;
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let (placement, onto) = (Placement::spread(mesh, &state), Placement::spread(onto, &state));
    let options = SaveOptions {
        onto: Some(onto.clone()),
        system: (&orbax).into(),
        ..SaveOptions::on(SaveWaiter::Blocking, placement)
    };
    let data = Arc::new(state.open(&Cache::from_env())?);
    let place = Medium::Disk.place(bencher, 3 * state.bytes())?;
    let mut checkpoints = bencher.open(|| checkpointer.open(&options, &data))?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    bencher.bytes(state.bytes() as usize);
    let looked = LookedState { data: &data, onto: Some(&onto) };
    let rounds = SaveRounds::new(bencher, &mut *checkpoints, place.path(), looked);
    let saved = rounds.load(&|_, _| Ok(()), &|| Ok(()))?;
    if let Some(more) = saved.more_memory {
        bencher.metric("extra_memory", more as f64, Unit::BYTES, Direction::Lower);
    }
    saved.inventory.tell(bencher);
    drop(checkpoints);
    let mut anew = checkpointer.open(&options, &data)?;
    prove(bencher, &mut *anew, saved.proof(Proof::onto(&data, &onto)), &saved.directory)?;
    drop(anew);
    collect(bencher, checkpointer.open(&options, &data), place.path(), CollectedAction::Load);
    Ok(())
}

/// Checks that the state can lie on both meshes, for the plan.
fn fits(axes: &ReshardAxes) -> Result<(), String> {
    let ReshardAxes { variant, mesh, onto, orbax } = axes;
    orbax.fit()?;
    mesh.holds(variant)?;
    onto.holds(variant).map_err(|why| format!("to be loaded onto it: {why}"))
}

/// The memory that a point needs, for the plan: a tensor that is not cut lies on every device.
fn needs(axes: &ReshardAxes) -> Requirements {
    let ReshardAxes { variant, mesh, onto, .. } = axes;
    let mut needs = variant.needs();
    for mesh in [mesh, onto] {
        needs.memory = needs.memory.saturating_add(Placement::spread(mesh.clone(), variant).bytes(variant));
    }
    needs
}

/// Describes what a point does, for listings.
fn describe(axes: &ReshardAxes) -> String {
    let ReshardAxes { variant, mesh, onto, .. } = axes;
    format!("load of {}, from {mesh} onto {onto}", variant.describe())
}
