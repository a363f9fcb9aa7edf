//! CKPT-7: a checkpoint that lies somewhere, loaded.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weighbridge::prelude::*;
use weighbridge::{Equivalence, Error, Requirements};
use weighbridge_data::{Cache, DataSet};

use super::collected::collect_stored;
use super::inventory::Inventory;
use super::medium::Medium;
use super::stored::{
    CheckpointDigests, Cut, CutSource, StoredProof, copy, measure, place, write_safetensors,
};
use crate::contract::{
    CheckpointFormat, Checkpointer, SaveOptions, SaveWaiter, StoredCheckpoint, StoredFiles,
};
use crate::workload::{CheckpointSource, CutsFile, DeviceMesh, DigestUse, OrbaxLoadOptions, State};

/// The axes of CKPT-7.
#[derive(Clone, Debug, Sweep)]
struct LoadAxes {
    #[sweep(
            default = CheckpointSource::Spec(State::MB_268),
            tiny = CheckpointSource::Spec(State::MB_16),
            large = CheckpointSource::Spec(State::GB_1)
        )]
    variant: CheckpointSource,
    #[sweep(implied, own = MadeFormat::Own, safetensors = MadeFormat::Safetensors)]
    format: MadeFormat,
    #[sweep(implied, DeviceMesh::NONE, DeviceMesh::line(8))]
    onto: DeviceMesh,
    #[sweep(implied, spread = Cut::Spread, replicated = Cut::Replicated, replicas = Cut::Replicas)]
    cut: Cut,
    orbax: OrbaxLoadOptions,
}

/// A checkpoint that lies somewhere, loaded: from safetensors, from Orbax's files, from those of Reference
/// (sharded).
///
/// What does it cost to begin with somebody else's weights? A variant `path:/models/llama` names a
/// checkpoint: a directory, or a file of safetensors. It is read by the systems that read its format, and is
/// copied before, since its files are overwritten in the end. Any other variant is a state: its checkpoint is
/// made before, by each system or, with `format=safetensors`, by the harness.
///
/// `path:s3://BUCKET/PREFIX` is read from an object store, whose address and keys are those of the
/// environment (`AWS_ENDPOINT_URL`), by who reads safetensors from there. Its objects are not overwritten, so
/// nothing shows that every load reads them: it has no rank.
///
/// A path says nothing of what is right. `path:/models/llama check=DIRECTORY` holds every tensor against
/// digests, in the files that Orbax's load benchmarks write and read; `capture=DIRECTORY` writes them.
/// Without digests to check a checkpoint that is given as a path is not ranked. On `onto` the tensors lie on
/// devices: cut as often as the mesh lets them, whole on each with `cut=replicated`, or whole on each replica
/// along the first axis with `cut=replicas`. `path:/models/llama cuts=FILE` cuts them as a file says, in the
/// form of Orbax's benchmarks.
///
/// Timed: the load and one reading of it, as in CKPT-1, with the way to a worker and back. Not timed:
/// copying, reading what the files say of themselves, letting go. The page cache is warm. What the last
/// timed load has left and what one more load gives must have the digests, and each device its part; then
/// the files are overwritten where they lie, which may not change what was loaded, and must change what is
/// loaded next. Last of all, another copy is loaded once more with collectors, as in CKPT-1.
#[scenario(id = "CKPT-7", category = "Checkpoints", sets = ["checkpoint"], equivalence = by(agreement),
    filter = fits, needs = needs, describe = describe)]
fn load(bencher: &mut Bencher, checkpointer: &mut dyn Checkpointer, axes: LoadAxes) -> Result<()> {
    let LoadAxes { variant, format, onto, cut, orbax } = axes;
    let (made, bytes);
    let mut store = None;
    let mut known = match variant.digests() {
        DigestUse::Check(directory) => Some(CheckpointDigests::read(directory)?),
        DigestUse::None | DigestUse::Capture(_) => None,
    };
    match &variant {
        CheckpointSource::Path { path, .. } => {
            bytes = copy::inventory(path)?.bytes;
            made = CheckpointMaker::Copied(path.clone());
        }
        CheckpointSource::Store { url, .. } => {
            (bytes, made) = (0, CheckpointMaker::LiesThere);
            store = Some(&**url);
        }
        CheckpointSource::Spec(state) => {
            let state = if bencher.is_smoke() { &State::SMALL } else { state };
            let data = Arc::new(state.open(&Cache::from_env())?);
            known = Some(CheckpointDigests::of(&data));
            bytes = 2 * state.bytes();
            made = CheckpointMaker::Saved(format, data);
        }
    }
    let room = Medium::Disk.place(bencher, bytes)?;
    let directory = room.path().join("checkpoint");
    made.make(checkpointer, &directory)?;
    let is_own = matches!((&variant, format), (CheckpointSource::Spec(_), MadeFormat::Own));
    let format = match store {
        Some(_) => CheckpointFormat::Safetensors,
        None => copy::format(&directory)
            .map_err(|error| if is_own { skip("what it saves is read by itself alone") } else { error })?,
    };
    let files = StoredFiles { directory: &directory, store, format, system: &(&orbax).into() };
    let mut stored = bencher.open(|| checkpointer.open_stored(files))?;
    let mesh = onto;
    let cuts = match &variant {
        CheckpointSource::Path { cuts: Some(cuts), .. } => Some(CutsFile::read(cuts).map_err(Error::new)?),
        _ => None,
    };
    let how = CutSource { cut, file: cuts.as_ref() };
    let onto = place(&mut *stored, mesh.clone(), how)?;
    let mut report = stored.executed().untied(stored.entry_point());
    if known.is_none() {
        report.unverified = Some(NO_DIGESTS.to_owned());
    } else if store.is_some() {
        report.unverified = Some(IN_A_STORE.to_owned());
    }
    bencher.work(report);
    let loaded = measure(bencher, &mut *stored, store.is_none().then_some(&*directory), onto.as_ref())?;
    if let Some(more) = loaded.more_memory {
        bencher.metric("extra_memory", more as f64, Unit::BYTES, Direction::Lower);
    }
    bencher.bytes(loaded.tensors as usize);
    if store.is_none() {
        Inventory::of(&directory)?.tell(bencher);
    }
    let proof = StoredProof { expected: known.as_ref(), onto: onto.as_ref(), apart: None };
    let found = proof.prove(bencher, &mut *stored, store.is_none().then_some(&*directory))?;
    if let DigestUse::Capture(directory) = variant.digests() {
        found.capture(directory)?;
    }
    drop(stored);
    if store.is_none() {
        fs::remove_dir_all(&directory)?;
    }
    let make = |checkpointer: &mut dyn Checkpointer, directory: &Path| made.make(checkpointer, directory);
    let prepare = |stored: &mut dyn StoredCheckpoint| place(stored, mesh.clone(), how).map(drop);
    collect_stored(bencher, checkpointer, files, &make, &prepare);
    Ok(())
}

/// A way to make a checkpoint that may be overwritten.
enum CheckpointMaker {
    /// From what lies there.
    Copied(PathBuf),
    /// From a state.
    Saved(MadeFormat, Arc<DataSet>),
    /// It is not: it is read where it lies.
    LiesThere,
}

impl CheckpointMaker {
    fn make(&self, checkpointer: &mut dyn Checkpointer, directory: &Path) -> Result<()> {
        match self {
            Self::LiesThere => Ok(()),
            Self::Copied(path) => copy::copy(path, directory),
            Self::Saved(MadeFormat::Safetensors, data) => write_safetensors(data, directory),
            Self::Saved(MadeFormat::Own, data) => {
                let mut checkpoints = checkpointer.open(&SaveOptions::whole(SaveWaiter::Blocking), data)?;
                checkpoints.save(directory, true)?;
                checkpoints.wait()
            }
        }
    }
}

/// The reason that a checkpoint which is given as a path has no rank, and what would give it one.
const NO_DIGESTS: &str = "nothing says what is in the checkpoint: `path:PATH capture=DIRECTORY` writes the \
                          digests of what is loaded now, and `path:PATH check=DIRECTORY` holds a later load \
                          against them";

/// The reason that a checkpoint in an object store has no rank.
const IN_A_STORE: &str =
    "nothing shows that every load has read the store: its objects are not overwritten, as files are";

/// By whom a checkpoint of a state is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeFormat {
    /// By each system, as it saves.
    Own,
    /// By the harness, as one file of safetensors.
    Safetensors,
}

impl fmt::Display for MadeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Own => "own",
            Self::Safetensors => "safetensors",
        })
    }
}

/// Checks that the state can lie on the mesh, for the plan; of a path the files say it, when it is run.
fn fits(axes: &LoadAxes) -> Result<(), String> {
    let LoadAxes { variant, onto, .. } = axes;
    match variant {
        CheckpointSource::Spec(state) => onto.holds(state),
        CheckpointSource::Path { .. } | CheckpointSource::Store { .. } => Ok(()),
    }
}

/// The agreement that a point needs. Where each system makes its checkpoint, what they load is compared;
/// where there are digests, each is held against those. What is loaded from a path without any agrees with
/// nothing, and neither does what is loaded from a store.
fn agreement(axes: &LoadAxes) -> Equivalence {
    let LoadAxes { variant, format, .. } = axes;
    match (variant, format) {
        (CheckpointSource::Spec(_), MadeFormat::Safetensors)
        | (CheckpointSource::Path { digests: DigestUse::Check(_), .. }, _) => Equivalence::None,
        _ => Equivalence::Exact,
    }
}

/// The memory that a point needs, for the plan: of a path by the size of its files.
fn needs(axes: &LoadAxes) -> Requirements {
    let LoadAxes { variant, onto, cut, .. } = axes;
    let devices: u64 = onto.axes().iter().map(|(_, size)| *size as u64).product();
    let copies = match cut {
        Cut::Spread => 1,
        Cut::Replicated => devices,
        Cut::Replicas => onto.axes().first().map_or(1, |(_, replicas)| *replicas as u64),
    };
    let (mut needs, bytes) = match variant {
        CheckpointSource::Spec(state) => (state.needs(), state.bytes()),
        CheckpointSource::Store { .. } => (Requirements { memory: 400 * (1_u64 << 20), batch: 1 }, 0),
        CheckpointSource::Path { path, .. } => {
            let bytes = copy::inventory(path).map_or(0, |inventory| inventory.bytes);
            let memory = (400 * (1_u64 << 20)).saturating_add(bytes.saturating_mul(3));
            (Requirements { memory, batch: 1 }, bytes)
        }
    };
    needs.memory = needs.memory.saturating_add(bytes.saturating_mul(copies));
    needs
}

/// Describes what a point does, for listings.
fn describe(axes: &LoadAxes) -> String {
    let LoadAxes { variant, onto, cut, .. } = axes;
    let devices = match cut {
        _ if *onto == DeviceMesh::NONE => String::new(),
        _ if let CheckpointSource::Path { cuts: Some(cuts), .. } = variant => {
            format!(", cut over {onto} as {} says", cuts.display())
        }
        Cut::Spread => format!(", cut over {onto}"),
        Cut::Replicated => format!(", whole on each of {onto}"),
        Cut::Replicas => format!(", whole on each replica of {onto}"),
    };
    format!("load of {}{devices}", variant.describe())
}
