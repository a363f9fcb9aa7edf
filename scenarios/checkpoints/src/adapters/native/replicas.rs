//! `Reference (sharded)` with replicas: each is a copy of the state in memory. Together they save as threads
//! do: a file for each.

use std::path::Path;
use std::sync::Arc;

use weighbridge::{Error, ItemCopy, Result};
use weighbridge_data::{DataSet, ExecutedWork};

use super::owned::OwnedTensors;
use super::shard_manifest::{ShardManifest, save};
use super::shards::ShardWriting;
use super::under_way::SaveUnderWay;
use crate::contract::{Checkpoints, Replicas, SaveOptions, SaveWaiter};
use crate::workload::StateChange;

/// Replicas of a state, and their checkpoints.
pub(super) struct ShardedReplicas {
    /// First to last.
    copies: Vec<Arc<OwnedTensors>>,
    /// The devices of one of them.
    devices: usize,
    /// `true` if each writes a share; else the first writes all, by so many threads.
    share: bool,
    threads: usize,
    saving: SaveWaiter,
    under_way: SaveUnderWay,
    held: Option<OwnedTensors>,
}

impl ShardedReplicas {
    pub(super) fn new(
        data: &DataSet,
        replicas: Replicas,
        options: &SaveOptions,
        threads: usize,
    ) -> Result<Self> {
        options.no_devices()?;
        options.no_compression()?;
        options.no_layers()?;
        let copies =
            (0..replicas.number).map(|_| OwnedTensors::copy(data).map(Arc::new)).collect::<Result<_>>()?;
        Ok(Self {
            copies,
            devices: options.placement.mesh.of_a_replica().devices(),
            share: replicas.share,
            threads,
            saving: options.saving,
            under_way: SaveUnderWay::default(),
            held: None,
        })
    }

    /// Whoever writes: a file each.
    fn writers(&self) -> Vec<Arc<OwnedTensors>> {
        if self.share { self.copies.clone() } else { vec![self.copies[0].clone(); self.threads] }
    }
}

impl Checkpoints for ShardedReplicas {
    fn change(&mut self, change: &StateChange) -> Result<()> {
        for copy in &mut self.copies {
            Arc::get_mut(copy).ok_or_else(|| Error::new("the state is being saved"))?.change(change);
        }
        Ok(())
    }

    fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
        self.wait()?;
        let (writers, how) = (self.writers(), ShardWriting::plain(durable));
        if self.saving == SaveWaiter::Blocking {
            let writers: Vec<&OwnedTensors> = writers.iter().map(Arc::as_ref).collect();
            return save(&writers, None, directory, how);
        }
        // What is written are copies: the caller may change the state.
        let copied = if self.share { &self.copies[..] } else { &self.copies[..1] };
        let copies = copied.iter().map(|copy| copy.again()).collect::<Result<Vec<_>>>()?;
        let (files, directory) = (writers.len(), directory.to_owned());
        self.under_way.begin(move || {
            let writers: Vec<&OwnedTensors> = copies.iter().cycle().take(files).collect();
            save(&writers, None, &directory, how)
        });
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        self.under_way.wait()
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        self.held = None;
        self.held = Some(ShardManifest::of(directory)?.read(directory)?);
        Ok(())
    }

    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        self.held.as_ref().map(|held| held.kept(field)).ok_or_else(|| Error::new("nothing was loaded"))
    }

    fn view(&mut self, field: usize, device: Option<usize>, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        let Some(held) = self.held.as_ref().filter(|_| device.is_none()) else {
            return Err(Error::new("nothing was loaded, or it lies on no devices"));
        };
        see(held.tensor(field));
        Ok(())
    }

    fn release(&mut self) -> Result<()> {
        self.held = None;
        Ok(())
    }

    fn mark_devices(&mut self) -> Result<()> {
        self.wait()?;
        for (replica, copy) in self.copies.iter_mut().enumerate() {
            let mark = u8::try_from(replica * self.devices + 1)
                .map_err(|_| Error::new("there are more devices than a byte can number"))?;
            let copy = Arc::get_mut(copy).ok_or_else(|| Error::new("the state is being saved"))?;
            copy.bytes_mut().fill(mark);
        }
        Ok(())
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), weighbridge::Delivery::Owned, self.writers().len() as u64)
    }
}
