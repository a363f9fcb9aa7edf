//! A checkpoint of `Reference (sharded)` that lies somewhere: its manifest says what is in it.

use std::path::{Path, PathBuf};

use weighbridge::{Delivery, Dtype, Error, Kept, Result};

use super::reference_sharded::{Held, ShardManifest};
use crate::contract::{Executed, LoadedTensor, StoredCheckpoint, TensorHeader};
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
    held: Option<Held>,
}

impl StoredShards {
    pub(super) fn open(directory: &Path, threads: usize) -> Result<Self> {
        let manifest = ShardManifest::of(directory)?;
        let header = |(place, tensor): (usize, &super::layout::StoredTensor)| {
            let kind = &tensor.kind;
            let dtype = numpys(kind.dtype).to_owned();
            (
                TensorHeader { key: TensorHeader::flat_key(&kind.name), dtype, shape: kind.shape.clone() },
                place,
            )
        };
        let mut tensors: Vec<_> = manifest.layout().tensors.iter().enumerate().map(header).collect();
        tensors.sort_by(|(one, _), (other, _)| one.key.cmp(&other.key));
        let (headers, places) = tensors.into_iter().unzip();
        Ok(Self { directory: directory.to_owned(), threads, headers, places, onto: None, held: None })
    }

    /// Content as it was loaded, under the name and with the type that the files say.
    fn told(kept: Kept) -> Result<LoadedTensor> {
        let field = kept.fields.into_iter().next().ok_or_else(|| Error::new("a tensor came as none"))?;
        let dtype = numpys(field.dtype).to_owned();
        let header = TensorHeader { key: TensorHeader::flat_key(&field.name), dtype, shape: field.shape };
        Ok(LoadedTensor { header, bytes: field.bytes })
    }

    fn held(&self) -> Result<&Held> {
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

    fn load(&mut self) -> Result<()> {
        self.held = None;
        let room = ShardManifest::of(&self.directory)?.read(&self.directory)?;
        self.held = Some(Held::of(room, self.onto.as_ref(), self.threads)?);
        Ok(())
    }

    fn loaded(&mut self, tensor: usize) -> Result<LoadedTensor> {
        Self::told(self.held()?.whole(self.places[tensor]))
    }

    fn part(&mut self, tensor: usize, device: usize) -> Result<LoadedTensor> {
        Self::told(self.held()?.part(self.places[tensor], device)?)
    }

    fn release(&mut self) -> Result<()> {
        self.held = None;
        Ok(())
    }

    fn executed(&self) -> Executed {
        Executed::ours(Vec::new(), Delivery::Owned, self.threads as u64)
    }
}

/// A type as numpy writes it.
fn numpys(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::U8 => "|u1",
        Dtype::I32 => "<i4",
        Dtype::I64 => "<i8",
        Dtype::F32 => "<f4",
        Dtype::F64 => "<f8",
    }
}
