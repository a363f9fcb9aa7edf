//! A state beside its checkpoints of shards.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weighbridge::Result;

use super::held::LoadedTensors;
use super::owned::OwnedTensors;
use super::shard_manifest::{ShardManifest, broken};
use super::shards::ShardWriting;
use super::under_way::SaveUnderWay;
use crate::contract::{SaveWaiter, TensorHeader};
use crate::workload::{Compression, Placement};

/// A state and its checkpoints.
pub(super) struct ShardedCheckpoints {
    pub(super) state: Arc<OwnedTensors>,
    pub(super) saving: SaveWaiter,
    pub(super) threads: usize,
    /// The devices that it is loaded onto.
    pub(super) onto: Option<Placement>,
    pub(super) compression: Compression,
    /// A save in the background.
    pub(super) under_way: SaveUnderWay,
    /// `true` if that is to end before it is complete.
    pub(super) cancelled: Arc<AtomicBool>,
    pub(super) held: Option<LoadedTensors>,
    /// The tensors of the manifest that was read last.
    pub(super) described: Option<Vec<TensorHeader>>,
}

impl ShardedCheckpoints {
    /// A state that is loaded whole.
    pub(super) fn new(state: OwnedTensors, saving: SaveWaiter, threads: usize) -> Self {
        Self {
            state: Arc::new(state),
            saving,
            threads,
            onto: None,
            compression: Compression::None,
            under_way: SaveUnderWay::default(),
            cancelled: Arc::default(),
            held: None,
            described: None,
        }
    }

    /// Options for writing a save.
    pub(super) fn writing(&self, durable: bool) -> ShardWriting<'static> {
        ShardWriting { compression: self.compression, ..ShardWriting::plain(durable) }
    }

    /// Loads a checkpoint, and says which step it is of, where it is of one.
    pub(super) fn load_step(&mut self, directory: &Path) -> Result<Option<u64>> {
        self.held = None;
        let manifest = ShardManifest::of(directory)?;
        if let Some(difference) = self.state.layout().difference(&manifest.layout) {
            return Err(broken(directory, &format!("is of another state: {difference}")));
        }
        let step = manifest.step;
        let room = manifest.read(directory)?;
        self.held = Some(LoadedTensors::of(room, self.onto.as_ref(), self.threads)?);
        Ok(step)
    }
}
