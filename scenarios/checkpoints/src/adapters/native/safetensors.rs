//! `safetensors`: the crate of that name, as its documentation writes it. One file: a header of names, types
//! and places, and the bytes of the tensors behind it.
//!
//! `serialize_to_file` writes the file and syncs nothing. The file is read whole into memory: its users
//! mostly map it instead, and then have the file's pages, and no memory of their own.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use safetensors::tensor::TensorView;
use safetensors::{SafeTensors, serialize_to_file};
use weighbridge::{Delivery, Dtype, Error, FieldCopy, ItemCopy, Result, adapter, skip};
use weighbridge_data::{DataSet, ExecutedWork, of_safetensors};

use super::layout::StoredTensor;
use super::owned::OwnedTensors;
use super::safetensors_error::told;
use super::safetensors_stored::{StoredSafetensors, place};
use crate::contract::{
    CheckpointFormat, Checkpointer, Checkpoints, SaveOptions, SaveWaiter, StoredCheckpoint, StoredFiles,
};
use crate::workload::StateChange;

/// The crate `safetensors`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Safetensors;

/// The crate of that name: one file, read into memory.
#[adapter(name = "safetensors")]
impl Checkpointer for Safetensors {
    fn open(&mut self, options: &SaveOptions, data: &Arc<DataSet>) -> Result<Box<dyn Checkpoints + '_>> {
        if options.saving == SaveWaiter::Background {
            return Err(skip("`serialize_to_file` returns when the file is written"));
        }
        options.no_compression()?;
        options.no_devices()?;
        options.no_layers()?;
        options.no_replicas()?;
        data.has_arrays_alone()?;
        Ok(Box::new(SafetensorsFile { state: OwnedTensors::copy(data)?, held: None, places: Vec::new() }))
    }

    fn open_stored(&mut self, files: StoredFiles<'_>) -> Result<Box<dyn StoredCheckpoint + '_>> {
        files.only(CheckpointFormat::Safetensors)?;
        Ok(Box::new(StoredSafetensors::open(files.directory)?))
    }
}

struct SafetensorsFile {
    state: OwnedTensors,
    held: Option<Vec<u8>>,
    /// The place in what is held of each tensor of the state.
    places: Vec<Range<usize>>,
}

/// The file of a checkpoint.
const FILE: &str = "model.safetensors";

impl Checkpoints for SafetensorsFile {
    fn change(&mut self, change: &StateChange) -> Result<()> {
        self.state.change(change);
        Ok(())
    }

    fn save(&mut self, directory: &Path, _durable: bool) -> Result<()> {
        fs::create_dir(directory)?;
        let state = &self.state;
        let mut views = Vec::new();
        for (field, tensor) in state.layout().tensors.iter().enumerate() {
            let kind = &tensor.kind;
            let view = TensorView::new(of_safetensors(kind.dtype), kind.shape.clone(), state.tensor(field));
            views.push((&kind.name, view.map_err(told)?));
        }
        serialize_to_file(views, None, &directory.join(FILE)).map_err(told)
    }

    fn load(&mut self, directory: &Path) -> Result<()> {
        let read = fs::read(directory.join(FILE))?;
        let tensors = SafeTensors::deserialize(&read).map_err(told)?;
        let kinds = self.state.layout().tensors.iter();
        let place = |tensor: &StoredTensor| place(&read, &tensors, &tensor.kind.name);
        self.places = kinds.map(place).collect::<Result<_>>()?;
        self.held = Some(read);
        Ok(())
    }

    fn view(&mut self, field: usize, device: Option<usize>, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        let Some(held) = self.held.as_ref().filter(|_| device.is_none()) else {
            return Err(Error::new("nothing was loaded, or it lies on no devices"));
        };
        see(&held[self.places[field].clone()]);
        Ok(())
    }

    fn loaded(&mut self, field: usize) -> Result<ItemCopy> {
        let held = self.held.as_ref().ok_or_else(|| Error::new("nothing was loaded"))?;
        let tensors = SafeTensors::deserialize(held).map_err(told)?;
        let kind = &self.state.layout().tensors[field].kind;
        let tensor = tensors.tensor(&kind.name).map_err(told)?;
        let dtype = Dtype::ALL.into_iter().find(|dtype| of_safetensors(*dtype) == tensor.dtype());
        let dtype =
            dtype.ok_or_else(|| Error::new(format!("`{}` has the type {:?}", kind.name, tensor.dtype())))?;
        let (name, shape, bytes) = (kind.name.clone(), tensor.shape().to_vec(), tensor.data().to_vec());
        Ok(ItemCopy { elements: 1, fields: vec![FieldCopy { name, dtype, shape, bytes }] })
    }

    fn release(&mut self) -> Result<()> {
        self.held = None;
        Ok(())
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), Delivery::Owned, 1)
    }
}
