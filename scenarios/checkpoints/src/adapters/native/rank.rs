//! `Reference (sharded)` of several ranks: each is a thread with its part of the state, and saves it in a
//! directory of its own.
//!
//! ```text
//! <directory>/rank-0/    what `Reference (sharded)` writes of the first rank's parts
//!             rank-1/    of the second's
//! ```
//!
//! The directory of a rank is whole or not there, and the checkpoint is complete when those of all ranks are.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weighbridge::{Error, FieldCopy, FieldKind, ItemCopy, Result};
use weighbridge_data::{DataSet, ExecutedWork};

use super::layout::TensorLayout;
use super::owned::OwnedTensors;
use super::parts::MeshParts;
use super::shard_manifest::failed;
use super::sharded::ShardedCheckpoints;
use crate::contract::{Checkpoints, SaveOptions};
use crate::workload::StateChange;

/// A rank, and its part of the state as a state of its own.
pub(super) struct ShardedRank {
    own: ShardedCheckpoints,
    rank: usize,
}

impl ShardedRank {
    /// One for each device of the placement that is this process's own, with as many threads together as
    /// there are processors.
    ///
    /// # Errors
    /// A part that a device cannot have; no memory for it; a layer or replicas, which ranks have not.
    pub(super) fn all(data: &DataSet, options: &SaveOptions, threads: usize) -> Result<Vec<Self>> {
        options.no_layers()?;
        options.no_replicas()?;
        options.no_devices()?;
        options.no_compression()?;
        let placement = &options.placement;
        let parts = MeshParts::of(&OwnedTensors::copy(data)?, placement, threads)?;
        let ranks = placement.devices();
        let rank = |rank: usize| {
            let kept = |field| parts.kept(field, rank).map(|kept| kept.fields);
            let fields: Vec<FieldCopy> =
                (0..data.kinds().count()).map(kept).collect::<Result<Vec<_>>>()?.concat();
            let own =
                ShardedCheckpoints::new(OwnedTensors::of(&fields)?, options.saving, (threads / ranks).max(1));
            Ok(Self { own, rank })
        };
        options.own_ranks().map(rank).collect()
    }

    fn below(&self, directory: &Path) -> PathBuf {
        directory.join(format!("rank-{}", self.rank))
    }
}

impl Checkpoints for ShardedRank {
    fn change(&mut self, change: &StateChange) -> Result<()> {
        self.own.change(change)
    }

    fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
        // The first one that comes makes it.
        fs::create_dir_all(directory).map_err(|error| failed(directory, "be made", &error))?;
        self.own.save(&self.below(directory), durable)
    }

    fn wait(&mut self) -> Result<()> {
        self.own.wait()
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        self.own.load(&self.below(directory))
    }

    fn loaded(&mut self, _field: usize) -> Result<ItemCopy> {
        Err(Error::new("a rank has its part of a tensor alone"))
    }

    fn part(&mut self, field: usize, device: usize) -> Result<ItemCopy> {
        if device != self.rank {
            return Err(Error::new(format!("device {device} is that of another rank than {}", self.rank)));
        }
        self.own.loaded(field)
    }

    fn view(&mut self, field: usize, device: Option<usize>, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        if device != Some(self.rank) {
            return Err(Error::new(format!("rank {} has its part of a tensor alone", self.rank)));
        }
        self.own.view(field, None, see)
    }

    fn release(&mut self) -> Result<()> {
        self.own.release()
    }

    fn executed(&self) -> ExecutedWork {
        self.own.executed()
    }
}

fn kind(field: &FieldCopy) -> FieldKind {
    FieldKind { name: field.name.clone(), dtype: field.dtype, shape: field.shape.clone() }
}

impl OwnedTensors {
    /// A state of these tensors.
    fn of(fields: &[FieldCopy]) -> Result<Self> {
        let mut owned = Self::room(Arc::new(TensorLayout::of_kinds(fields.iter().map(kind))))?;
        for (field, tensor) in fields.iter().enumerate() {
            let offset = owned.layout().tensors[field].offset;
            owned.bytes_mut()[offset..][..tensor.bytes.len()].copy_from_slice(&tensor.bytes);
        }
        Ok(owned)
    }
}
