//! A checkpoint of `Reference (sharded)` that lies somewhere: its manifest says what is in it.

use std::path::{Path, PathBuf};

use weighbridge::{Delivery, Error, FieldCopy, FieldKind, ItemCopy, Result};
use weighbridge_data::ExecutedWork;

use super::held::LoadedTensors;
use super::parts::MeshParts;
use super::shard_manifest::ShardManifest;
use crate::contract::{LoadedTensor, StoredCheckpoint, TensorHeader};
use crate::workload::Placement;

/// The files, and what was loaded of them.
pub(super) struct StoredShards {
    directory: PathBuf,
    threads: usize,
    headers: Vec<TensorHeader>,
    /// The position in the manifest of each tensor.
    places: Vec<usize>,
    /// The devices that it is loaded onto, by the positions in the manifest.
    onto: Option<Placement>,
    /// `true` if each replica of those reads the files: replicas lie along the first axis.
    each_reads: bool,
    held: Option<LoadedTensors>,
}

impl StoredShards {
    pub(super) fn open(directory: &Path, threads: usize) -> Result<Self> {
        let manifest = ShardManifest::of(directory)?;
        let header =
            |(place, tensor): (usize, &super::layout::StoredTensor)| (TensorHeader::of(&tensor.kind), place);
        let mut tensors: Vec<_> = manifest.layout().tensors.iter().enumerate().map(header).collect();
        tensors.sort_by(|(one, _), (other, _)| one.key.cmp(&other.key));
        let (headers, places) = tensors.into_iter().unzip();
        Ok(Self {
            directory: directory.to_owned(),
            threads,
            headers,
            places,
            onto: None,
            each_reads: false,
            held: None,
        })
    }

    /// Content as it was loaded, under the name and with the type that the files say.
    fn told(kept: ItemCopy) -> Result<LoadedTensor> {
        let field = kept.fields.into_iter().next().ok_or_else(|| Error::new("a tensor came as none"))?;
        let FieldCopy { name, dtype, shape, bytes } = field;
        Ok(LoadedTensor { header: TensorHeader::of(&FieldKind { name, dtype, shape }), bytes })
    }

    /// Reads the files for every replica, one after the other, as processes of their own would.
    fn each(&self, onto: &Placement) -> Result<MeshParts> {
        let replicas = onto.mesh.axes().first().map_or(1, |(_, replicas)| *replicas);
        let devices = onto.devices() / replicas;
        let read = || {
            let room = ShardManifest::of(&self.directory)?.read(&self.directory)?;
            MeshParts::of(&room, onto, self.threads)
        };
        let mut all = read()?;
        for replica in 1..replicas {
            all.take(read()?, replica * devices..(replica + 1) * devices);
        }
        Ok(all)
    }

    fn held(&self) -> Result<&LoadedTensors> {
        self.held.as_ref().ok_or_else(|| Error::new("nothing was loaded"))
    }
}

impl StoredCheckpoint for StoredShards {
    fn headers(&self) -> &[TensorHeader] {
        &self.headers
    }

    fn place(&mut self, onto: &Placement) -> Result<()> {
        let mut shardings = vec![Vec::new(); self.places.len()];
        for (place, sharding) in self.places.iter().zip(&onto.shardings) {
            shardings[*place].clone_from(sharding);
        }
        self.onto = Some(Placement { mesh: onto.mesh.clone(), shardings });
        Ok(())
    }

    fn share(&mut self, once: bool) -> Result<()> {
        self.each_reads = !once;
        Ok(())
    }

    fn load(&mut self) -> Result<()> {
        self.held = None;
        let read = || ShardManifest::of(&self.directory)?.read(&self.directory);
        self.held = Some(match &self.onto {
            Some(onto) if self.each_reads => LoadedTensors::Parts(self.each(onto)?),
            onto => LoadedTensors::of(read()?, onto.as_ref(), self.threads)?,
        });
        Ok(())
    }

    fn fill(&mut self, tensor: usize, device: usize, byte: u8) -> Result<()> {
        let held = self.held.as_mut().ok_or_else(|| Error::new("nothing was loaded"))?;
        held.fill(self.places[tensor], device, byte)
    }

    fn loaded(&mut self, tensor: usize) -> Result<LoadedTensor> {
        Self::told(self.held()?.whole(self.places[tensor]))
    }

    fn part(&mut self, tensor: usize, device: usize) -> Result<LoadedTensor> {
        Self::told(self.held()?.part(self.places[tensor], device)?)
    }

    fn view(&mut self, tensor: usize, device: Option<usize>, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.held()?.view(self.places[tensor], device, see)
    }

    fn release(&mut self) -> Result<()> {
        self.held = None;
        Ok(())
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), Delivery::Owned, self.threads as u64)
    }
}
