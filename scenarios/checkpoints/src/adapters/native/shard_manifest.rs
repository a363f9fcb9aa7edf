//! A checkpoint of shards: its manifest, and how all of it is written and read.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};
use weighbridge::{Error, Result};

use super::layout::TensorLayout;
use super::owned::OwnedTensors;
use super::pieces::TensorPiece;
use super::shards::{self, ShardWriting};

/// `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShardManifest {
    format: u32,
    /// The step of the training that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) step: Option<u64>,
    pub(super) layout: TensorLayout,
    pieces: Vec<TensorPiece>,
}

/// The version of the format.
const FORMAT: u32 = 1;

/// The manifest's file name.
pub(super) const MANIFEST: &str = "manifest.json";

impl ShardManifest {
    /// The manifest of a checkpoint.
    pub(super) fn of(directory: &Path) -> Result<Self> {
        let broken = |what: String| broken(directory, &what);
        let manifest = directory.join(MANIFEST);
        let text = fs::read(&manifest).map_err(|error| broken(format!("has no manifest: {error}")))?;
        let manifest: Self = serde_json::from_slice(&text)
            .map_err(|error| broken(format!("has a manifest that is damaged: {error}")))?;
        if manifest.format != FORMAT {
            return Err(broken(format!("is of format {}, and this reads {FORMAT}", manifest.format)));
        }
        Ok(manifest)
    }

    /// The tensors.
    pub(super) fn layout(&self) -> &TensorLayout {
        &self.layout
    }

    /// All of it, each piece held against its digest.
    pub(super) fn read(self, directory: &Path) -> Result<OwnedTensors> {
        if !self.layout.is_possible() {
            return Err(broken(directory, "has a manifest whose tensors lie where none can"));
        }
        let mut room = OwnedTensors::room(Arc::new(self.layout))?;
        shards::read(directory, &self.pieces, room.bytes_mut(), true)
            .map_err(|what| broken(directory, &what))?;
        Ok(room)
    }
}

pub(super) fn broken(directory: &Path, what: &str) -> Error {
    Error::new(format!("the checkpoint {} {what}", directory.display()))
}

/// Saves a state, of a step where a training has one: all of it under its name, or nothing. Each of the
/// writers has all of the state and writes a file of it; there is one at least. Where it is cancelled before
/// it is complete, nothing is what was asked for.
pub(super) fn save(
    writers: &[&OwnedTensors],
    step: Option<u64>,
    directory: &Path,
    how: ShardWriting<'_>,
) -> Result<()> {
    let partial = partial(directory)?;
    let durable = how.durable;
    let whole = write(writers, step, &partial, how);
    let saved = whole
        .and_then(|whole| if whole { put(&partial, directory, durable).map(|()| true) } else { Ok(false) });
    if !matches!(saved, Ok(true)) {
        let _ = fs::remove_dir_all(&partial); // gone already, where it has its name
    }
    saved.map(drop)
}

/// Writes all files into a directory that is made for them; `false` where it was cancelled before.
pub(super) fn write(
    writers: &[&OwnedTensors],
    step: Option<u64>,
    directory: &Path,
    how: ShardWriting<'_>,
) -> Result<bool> {
    let failed = |what: &str, error: io::Error| failed(directory, what, &error);
    fs::create_dir(directory).map_err(|error| failed("be made", error))?;
    let bytes: Vec<&[u8]> = writers.iter().map(|state| state.bytes()).collect();
    let pieces = match shards::write(directory, &bytes, how) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
        pieces => pieces.map_err(|error| failed("be written", error))?,
    };
    let manifest =
        ShardManifest { format: FORMAT, step, layout: TensorLayout::clone(writers[0].layout()), pieces };
    let text = serde_json::to_vec(&manifest).map_err(|error| failed("be described", error.into()))?;
    let mut file = File::create_new(directory.join(MANIFEST)).map_err(|error| failed("be written", error))?;
    file.write_all(&text).map_err(|error| failed("be written", error))?;
    if how.durable {
        file.sync_all().map_err(|error| failed("be synced", error))?;
        sync(directory).map_err(|error| failed("be synced", error))?;
    }
    Ok(true)
}

/// A name beside the checkpoint's that no other saver takes.
fn partial(directory: &Path) -> Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = directory.file_name().ok_or_else(|| Error::new("a checkpoint is a directory with a name"))?;
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Ok(directory.with_file_name(format!(".{}.partial-{process}-{number}", name.to_string_lossy())))
}

/// Gives a whole directory its name, which nothing has yet.
fn put(partial: &Path, directory: &Path, durable: bool) -> Result<()> {
    let failed = |what, error| failed(directory, what, &error);
    // A directory that is there is replaced where it is empty, and refused where it is not.
    fs::rename(partial, directory).map_err(|error| failed("be given its name", error))?;
    if durable {
        let above = directory.parent().unwrap_or(Path::new("."));
        sync(above).map_err(|error| failed("be synced", error))?;
    }
    Ok(())
}

fn sync(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

pub(super) fn failed(directory: &Path, what: &str, error: &io::Error) -> Error {
    Error::new(format!("the checkpoint {} could not {what}: {error}", directory.display()))
}
