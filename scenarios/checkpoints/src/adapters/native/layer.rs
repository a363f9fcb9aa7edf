//! `Reference (sharded)` without what is above a layer: files under their last names, and below that files
//! without a manifest.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use weighbridge::{Error, ItemCopy, Result, skip};
use weighbridge_data::{DataSet, ExecutedWork};

use super::owned::OwnedTensors;
use super::shard_manifest::{ShardManifest, broken, failed, write};
use super::under_way::SaveUnderWay;
use crate::adapters::native::shards;
use crate::adapters::native::shards::ShardWriting;
use crate::contract::{Checkpoints, SaveLayer, SaveOptions, SaveWaiter, TensorHeader};
use crate::workload::StateChange;

/// A state that is saved by a layer.
pub(super) struct ShardedLayer {
    state: Arc<OwnedTensors>,
    layer: SaveLayer,
    saving: SaveWaiter,
    threads: usize,
    under_way: SaveUnderWay,
    held: Option<OwnedTensors>,
    described: Option<Vec<TensorHeader>>,
}

impl ShardedLayer {
    pub(super) fn new(data: &DataSet, options: &SaveOptions, threads: usize) -> Result<Self> {
        options.no_devices()?;
        options.no_compression()?;
        let state = Arc::new(OwnedTensors::copy(data)?);
        let (layer, saving) = (options.layer, options.saving);
        let under_way = SaveUnderWay::default();
        Ok(Self { state, layer, saving, threads, under_way, held: None, described: None })
    }
}

/// Saves a state in a directory that is made for it.
fn save(
    state: &OwnedTensors,
    layer: SaveLayer,
    threads: usize,
    directory: &Path,
    durable: bool,
) -> Result<()> {
    if layer != SaveLayer::Arrays {
        return write(&vec![state; threads], None, directory, ShardWriting::plain(durable)).map(drop);
    }
    fs::create_dir(directory).map_err(|error| failed(directory, "be made", &error))?;
    let how = ShardWriting { digests: false, ..ShardWriting::plain(durable) };
    let written = shards::write(directory, &vec![state.bytes(); threads], how);
    written.map(drop).map_err(|error| failed(directory, "be written", &error))
}

impl Checkpoints for ShardedLayer {
    fn change(&mut self, change: &StateChange) -> Result<()> {
        let state = Arc::get_mut(&mut self.state).ok_or_else(|| Error::new("the state is being saved"))?;
        state.change(change);
        Ok(())
    }

    fn save(&mut self, directory: &Path, durable: bool) -> Result<()> {
        self.wait()?;
        let (layer, threads, directory) = (self.layer, self.threads, directory.to_owned());
        match self.saving {
            SaveWaiter::Blocking => save(&self.state, layer, threads, &directory, durable),
            SaveWaiter::Background => {
                let copy = self.state.again()?;
                self.under_way.begin(move || save(&copy, layer, threads, &directory, durable));
                Ok(())
            }
        }
    }

    fn wait(&mut self) -> Result<()> {
        self.under_way.wait()
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        self.held = None;
        self.held = Some(if self.layer == SaveLayer::Arrays {
            let mut room = OwnedTensors::room(self.state.layout().clone())?;
            let pieces = shards::pieces(room.bytes().len(), self.threads);
            shards::read(directory, &pieces, room.bytes_mut(), false)
                .map_err(|what| broken(directory, &what))?;
            room
        } else {
            let manifest = ShardManifest::of(directory)?;
            if let Some(difference) = self.state.layout().difference(manifest.layout()) {
                return Err(broken(directory, &format!("is of another state: {difference}")));
            }
            manifest.read(directory)?
        });
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

    fn read_metadata(&mut self, directory: &Path) -> Result<()> {
        if self.layer == SaveLayer::Arrays {
            return Err(skip(
                "reading what a checkpoint says of its tensors: without a manifest it says nothing",
            ));
        }
        self.described = None;
        self.described = Some(ShardManifest::of(directory)?.layout().headers());
        Ok(())
    }

    fn described(&mut self) -> Result<Vec<TensorHeader>> {
        self.described.clone().ok_or_else(|| Error::new("no manifest was read"))
    }

    fn release(&mut self) -> Result<()> {
        self.held = None;
        Ok(())
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), weighbridge::Delivery::Owned, self.threads as u64)
    }
}
