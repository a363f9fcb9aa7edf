//! CKPT-8: a state saved and loaded by one layer of a system, without the layers above it.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use weighbridge::Error;
use weighbridge::Requirements;
use weighbridge::prelude::*;
use weighbridge_data::{Cache, DataSet};

use super::collected::{CollectedAction, collect};
use super::looks::LookedState;
use super::medium::Medium;
use super::proof::{Proof, prove};
use super::rounds::SaveRounds;
use crate::contract::{Checkpointer, Checkpoints, SaveLayer, SaveOptions, SaveWaiter, TensorHeader};
use crate::workload::{DeviceMesh, OrbaxOptions, Placement, State};

/// The axes of CKPT-8.
#[derive(Clone, Debug, Sweep)]
struct LayersAxes {
    #[sweep(
            default = State::MB_268, tiny = State::MB_16, large = State::GB_1, huge = State::GB_4
        )]
    variant: State,
    #[sweep(
        all,
        save = LayerOperation::Save,
        metadata = LayerOperation::Metadata,
        load = LayerOperation::Load
    )]
    operation: LayerOperation,
    #[sweep(all, checkpointer = SaveLayer::Checkpointer, tree = SaveLayer::Tree, arrays = SaveLayer::Arrays,
            arrays_with_metadata = SaveLayer::ArraysWithMetadata)]
    layer: SaveLayer,
    #[sweep(implied, SaveWaiter::Blocking, SaveWaiter::Background)]
    saving: SaveWaiter,
    #[sweep(implied, DeviceMesh::NONE, DeviceMesh::line(8))]
    mesh: DeviceMesh,
    orbax: OrbaxOptions,
}

/// A state of tensors, saved and loaded by one layer of a system.
///
/// What of a checkpoint's cost is of the arrays, and what do the layers above them add? `checkpointer` is
/// what users call, as in CKPT-1: a checkpoint gets its name when it is complete. `tree` saves the tree of
/// arrays into a directory that the caller names, and says in files of its own what is in it. `arrays` saves
/// the arrays, and what was written for one process is merged after it; `arrays_with_metadata` has a file of
/// what is known of each array beside them. Orbax has all of them (`Checkpointer`, `PyTreeCheckpointHandler`,
/// `ArrayHandler`). Reference (sharded) writes its files under their last names for the second, and without
/// digests and a manifest for the third; the fourth is as the second. `TensorStore` is a layer of arrays
/// alone. Of other systems the layers below the first are recorded skips.
///
/// Timed: the save, until every file is written, the load, or the metadata, with the way to a worker and
/// back. The block `blocking` is what the caller of a save waits for, `waiting` what goes on after it: with
/// `saving=background` the copies are in the first, and the rest of the writing and the merge in the second.
/// Not timed: making the state, removing checkpoints, letting a loaded state go. The page cache is warm.
/// `operation=metadata` reads what a checkpoint says of its tensors (name, type, shape; with Orbax, how they
/// were cut), and nothing of them. It must be what was saved, and be read by then: the checkpoint is moved
/// away before it is looked at. Of one that is not there nothing may be said. The work report has no
/// transforms; content is the digests of all tensors. After the rounds every repeat loads the last checkpoint
/// and compares it with the state, and what was timed is done once more with collectors, as in CKPT-1.
#[scenario(id = "CKPT-8", category = "Checkpoints", sets = ["checkpoint"], equivalence = exact,
    filter = fits, needs = needs, describe = describe)]
fn layers(bencher: &mut Bencher, checkpointer: &mut dyn Checkpointer, axes: LayersAxes) -> Result<()> {
    let LayersAxes { variant, operation, layer, saving, mesh, orbax } = axes;
    let state = if bencher.is_smoke() { State::SMALL } else { variant };
    let placement = Placement::as_written(mesh, &state);
    let options = SaveOptions { system: (&orbax).into(), layer, ..SaveOptions::on(saving, placement) };
    let data = Arc::new(state.open(&Cache::from_env())?);
    let place = Medium::Disk.place(bencher, 3 * state.bytes())?;
    let mut checkpoints = bencher.open(|| checkpointer.open(&options, &data))?;
    checkpoints.executed().check_platform(bencher.platform())?;
    bencher.work(checkpoints.executed().report(&data, checkpoints.entry_point()));
    bencher.bytes(state.bytes() as usize);
    let looked = LookedState { data: &data, onto: None };
    let rounds = SaveRounds::new(bencher, &mut *checkpoints, place.path(), looked);
    let saved = match operation {
        LayerOperation::Save => rounds.save(false)?,
        LayerOperation::Metadata => rounds.metadata()?,
        LayerOperation::Load => rounds.load(&|_, _| Ok(()), &|| Ok(()))?,
    };
    if operation == LayerOperation::Metadata {
        prove_metadata(&mut *checkpoints, &data, &saved.directory)?;
    }
    saved.inventory.tell(bencher);
    drop(checkpoints);
    let mut anew = checkpointer.open(&options, &data)?;
    prove(bencher, &mut *anew, saved.proof(Proof::whole(&data)), &saved.directory)?;
    drop(anew);
    if operation == LayerOperation::Metadata {
        let mut anew = checkpointer.open(&options, &data)?;
        prove_nothing_is_said(&mut *anew, &place.path().join("nowhere"))?;
    }
    let collecting = match operation {
        LayerOperation::Save => CollectedAction::Save(saving),
        LayerOperation::Metadata => CollectedAction::Metadata,
        LayerOperation::Load => CollectedAction::Load,
    };
    collect(bencher, checkpointer.open(&options, &data), place.path(), collecting);
    Ok(())
}

/// The operation of a layer that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerOperation {
    /// A save.
    Save,
    /// A read of what a checkpoint says of its tensors.
    Metadata,
    /// A load.
    Load,
}

impl fmt::Display for LayerOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Save => "save",
            Self::Metadata => "metadata",
            Self::Load => "load",
        })
    }
}

/// Proves that what was read last of what a checkpoint says is the state's, and was read by then: the
/// checkpoint is moved away before it is looked at.
fn prove_metadata(checkpoints: &mut dyn Checkpoints, data: &DataSet, directory: &Path) -> Result<()> {
    let away = directory.with_extension("away");
    fs::rename(directory, &away)?;
    let described = checkpoints.described();
    fs::rename(&away, directory)?;
    let described = described?;
    let expected: Vec<TensorHeader> = data.kinds().map(TensorHeader::of).collect();
    if described.len() != expected.len() {
        let (found, due) = (described.len(), expected.len());
        return Err(Error::new(format!(
            "the checkpoint says that it has {found} tensors, and {due} were saved"
        )));
    }
    match described.iter().zip(&expected).find(|(described, expected)| described != expected) {
        None => Ok(()),
        Some((TensorHeader { key, dtype, shape }, expected)) => Err(Error::new(format!(
            "the checkpoint says that it has {key}, {dtype} {shape:?}, where {}, {} {:?} was saved",
            expected.key, expected.dtype, expected.shape
        ))),
    }
}

/// Proves that a system says nothing of a checkpoint that is not there. It may be asked nothing more then.
fn prove_nothing_is_said(checkpoints: &mut dyn Checkpoints, nowhere: &Path) -> Result<()> {
    match checkpoints.read_metadata(nowhere) {
        Ok(()) => {
            Err(Error::new("it says what is in a checkpoint where there is none: it is known from elsewhere"))
        }
        Err(_) => Ok(()),
    }
}

/// Checks that the state can lie on the mesh and that the options agree, for the plan.
fn fits(axes: &LayersAxes) -> Result<(), String> {
    let LayersAxes { variant, mesh, orbax, .. } = axes;
    orbax.fit()?;
    mesh.holds(variant)
}

/// The memory that a point needs, for the plan.
fn needs(axes: &LayersAxes) -> Requirements {
    let LayersAxes { variant, .. } = axes;
    variant.needs()
}

/// Describes what a point does, for listings.
fn describe(axes: &LayersAxes) -> String {
    let LayersAxes { variant, operation, layer, saving, mesh, .. } = axes;
    let devices = if *mesh == DeviceMesh::NONE { String::new() } else { format!(", cut over {mesh}") };
    format!("{operation} of {} by its {layer}, {saving}{devices}", variant.describe())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use weighbridge::{Delivery, ItemCopy};
    use weighbridge_data::ExecutedWork;

    use super::*;
    use crate::adapters::native::ReferenceSharded;

    /// The reference, which may lie about what a checkpoint says.
    struct SayingSystem<'a> {
        honest: Box<dyn Checkpoints + 'a>,
        lie: MetadataLie,
        known: Vec<TensorHeader>,
        from: PathBuf,
    }

    #[derive(Clone, Copy, PartialEq)]
    enum MetadataLie {
        None,
        /// It says what was opened.
        KnowsTheState,
        /// It reads when it is looked at.
        ReadsLater,
        /// A shape is another.
        OtherShape,
        /// The last tensor is not told.
        LeavesOneOut,
    }

    impl Checkpoints for SayingSystem<'_> {
        fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
            self.honest.save(directory, durable)
        }

        fn load(&mut self, directory: &Path) -> Result<()> {
            self.honest.load(directory)
        }

        fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
            self.honest.loaded(field)
        }

        fn release(&mut self) -> Result<()> {
            self.honest.release()
        }

        fn read_metadata(&mut self, directory: &Path) -> Result<()> {
            directory.clone_into(&mut self.from);
            match self.lie {
                MetadataLie::KnowsTheState | MetadataLie::ReadsLater => Ok(()),
                _ => self.honest.read_metadata(directory),
            }
        }

        fn described(&mut self) -> Result<Vec<TensorHeader>> {
            if self.lie == MetadataLie::ReadsLater {
                self.honest.read_metadata(&self.from)?;
            }
            if self.lie == MetadataLie::KnowsTheState {
                return Ok(self.known.clone());
            }
            let mut said = self.honest.described()?;
            match self.lie {
                MetadataLie::OtherShape => said[1].shape[0] += 1,
                MetadataLie::LeavesOneOut => drop(said.pop()),
                _ => {}
            }
            Ok(said)
        }

        fn executed(&self) -> ExecutedWork {
            ExecutedWork::ours(Vec::new(), Delivery::Owned, 1)
        }
    }

    #[test]
    fn what_a_checkpoint_says_is_the_states_and_is_read_from_it_or_that_is_told() {
        let place = tempfile::tempdir().unwrap();
        let data = Arc::new(Cache::at(place.path().join("data")).open(&State::SMALL.data()).unwrap());
        let read = |layer, lie, name: &str| {
            let mut reference = ReferenceSharded;
            let options = SaveOptions { layer, ..SaveOptions::whole(SaveWaiter::Blocking) };
            let honest = reference.open(&options, &data).unwrap();
            let known = data.kinds().map(TensorHeader::of).collect();
            let mut saying = SayingSystem { honest, lie, known, from: PathBuf::new() };
            let directory = place.path().join(name);
            saying.save(&directory, false).unwrap();
            saying.read_metadata(&directory)?;
            let proven = prove_metadata(&mut saying, &data, &directory);
            saying.load(&directory).expect("the checkpoint is back");
            proven.and_then(|()| prove_nothing_is_said(&mut saying, &place.path().join("nowhere")))
        };
        for (name, layer) in [("whole", SaveLayer::Checkpointer), ("tree", SaveLayer::Tree)] {
            read(layer, MetadataLie::None, name).unwrap();
        }
        let declined = read(SaveLayer::Arrays, MetadataLie::None, "arrays").unwrap_err();
        assert!(declined.is_skip() && declined.to_string().contains("without a manifest"), "{declined}");
        for (lie, name, words) in [
            (MetadataLie::KnowsTheState, "known", "it is known from elsewhere"),
            (MetadataLie::ReadsLater, "later", "has no manifest"),
            (MetadataLie::OtherShape, "shape", "where ['blocks.0.query'], <f4 [64, 64] was saved"),
            (MetadataLie::LeavesOneOut, "fewer", "that it has 20 tensors, and 21 were saved"),
        ] {
            let told = read(SaveLayer::Checkpointer, lie, name).unwrap_err().to_string();
            assert!(told.contains(words), "{told}");
        }
    }
}
