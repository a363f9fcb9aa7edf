//! CKPT-8: a state saved and loaded by one layer of a system, without the layers above it.

use std::sync::Arc;

use weighbridge::Requirements;
use weighbridge::prelude::*;

use super::medium::Medium;
use super::operation::Operation;
use super::proof::{Proof, prove};
use super::rounds::SaveRounds;
use crate::contract::{Checkpointer, SaveLayer, SaveOptions, Saving};
use crate::data::Cache;
use crate::workload::{DeviceMesh, OrbaxOptions, Placement, State};

/// A state of `f32` tensors, saved and loaded by one layer of a system.
///
/// What of a checkpoint's cost is of the arrays, and what do the layers above them add? `checkpointer` is what users call, as in
/// CKPT-1: a checkpoint gets its name when it is complete. `tree` saves the tree of arrays into a directory that the caller names,
/// and says in files of its own what is in it. `arrays` saves the arrays, and what was written for one process is merged after it;
/// `arrays_with_metadata` has a file of what is known of each array beside them. Orbax has all of them (`Checkpointer`,
/// `PyTreeCheckpointHandler`, `ArrayHandler`). Reference (sharded) writes its files under their last names for the second, and without
/// digests and a manifest for the third; the fourth is as the second. `TensorStore` is a layer of arrays alone. Of other systems the layers below the first are
/// recorded skips.
///
/// Timed: the save, until every file is written, or the load, with the way to a worker and back. The block `blocking` is what the
/// caller of a save waits for, `waiting` what goes on after it: with `saving=background` the copies are in the first, and the rest
/// of the writing and the merge in the second. Not timed: making the state, removing checkpoints, letting a loaded state go. The
/// page cache is warm. The work report has no transforms; content is the digests of all tensors. After the rounds every repeat
/// loads the last checkpoint and compares it with the state as in CKPT-1.
#[scenario(id = "CKPT-8", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    filter = fits, needs = needs, describe = describe)]
#[expect(clippy::too_many_arguments, reason = "each is an axis")]
fn layers(
    bencher: &mut Bencher,
    checkpointer: &mut dyn Checkpointer,
    #[sweep(
        default = State::MB_268, tiny = State::MB_16, large = State::GB_1, huge = State::GB_4
    )]
    variant: State,
    #[sweep(all, save = Operation::Save, load = Operation::Load)] operation: Operation,
    #[sweep(all, checkpointer = SaveLayer::Checkpointer, tree = SaveLayer::Tree, arrays = SaveLayer::Arrays,
        arrays_with_metadata = SaveLayer::ArraysWithMetadata)]
    layer: SaveLayer,
    #[sweep(implied, Saving::Blocking, Saving::Background)] saving: Saving,
    #[sweep(implied, DeviceMesh::NONE, DeviceMesh::line(8))] mesh: DeviceMesh,
    orbax: OrbaxOptions,
) -> Result<()> {
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let placement = Placement::as_written(mesh, &state);
    let options = SaveOptions { orbax, layer, ..SaveOptions::on(saving, placement) };
    let data = Arc::new(Cache::from_env().open(&state.data())?);
    let place = Medium::Disk.place(bencher, 3 * state.bytes())?;
    let mut checkpoints = bencher.open(|| checkpointer.open(&options, &data))?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    bencher.bytes(state.bytes() as usize);
    let rounds = SaveRounds::new(bencher, &mut *checkpoints, place.path());
    let saved = match operation {
        Operation::Save => rounds.save(false)?,
        Operation::DurableSave => rounds.save(true)?,
        Operation::Load => rounds.load(&|_, _| Ok(()), &|| Ok(()))?,
    };
    saved.inventory.tell(bencher);
    prove(bencher, &mut *checkpoints, Proof::whole(&data), &saved.directory)
}

/// Whether the state can lie on the mesh, for the plan.
fn fits(
    variant: &State,
    _: &Operation,
    _: &SaveLayer,
    _: &Saving,
    mesh: &DeviceMesh,
    orbax: &OrbaxOptions,
) -> Result<(), String> {
    orbax.fit()?;
    mesh.holds(variant)
}

/// What a point needs, for the plan.
fn needs(
    variant: &State,
    _: &Operation,
    _: &SaveLayer,
    _: &Saving,
    _: &DeviceMesh,
    _: &OrbaxOptions,
) -> Requirements {
    variant.needs()
}

/// What a point does, for listings.
fn describe(
    variant: &State,
    operation: &Operation,
    layer: &SaveLayer,
    saving: &Saving,
    mesh: &DeviceMesh,
    _: &OrbaxOptions,
) -> String {
    let devices = if *mesh == DeviceMesh::NONE { String::new() } else { format!(", cut over {mesh}") };
    format!("{operation} of {} by its {layer}, {saving}{devices}", variant.describe())
}
