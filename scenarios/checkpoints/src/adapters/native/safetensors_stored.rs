//! Files of safetensors that lie somewhere, one or several: each is read whole into memory, and its header
//! says what is in it.

use std::fs;
use std::path::{Path, PathBuf};

use safetensors::{Dtype as Type, SafeTensors};
use weighbridge::{Delivery, Error, Result, skip};
use weighbridge_data::{ExecutedWork, FiledTensor, safetensors_files, safetensors_headers};

use super::safetensors_error::told;
use crate::contract::{LoadedTensor, StoredCheckpoint, TensorHeader};

/// The files, and what was loaded of them.
pub(super) struct StoredSafetensors {
    files: Vec<PathBuf>,
    headers: Vec<TensorHeader>,
    /// The name of each tensor, and the position of its file.
    places: Vec<(String, usize)>,
    held: Vec<Vec<u8>>,
}

impl StoredSafetensors {
    pub(super) fn open(directory: &Path) -> Result<Self> {
        let files = safetensors_files(directory)?;
        let mut tensors = Vec::new();
        for FiledTensor { name, dtype, shape, file } in safetensors_headers(&files)? {
            let (key, dtype) = (TensorHeader::flat_key(&name), numpys(dtype)?.to_owned());
            tensors.push((TensorHeader { key, dtype, shape }, (name, file)));
        }
        tensors.sort_by(|(one, _), (other, _)| one.key.cmp(&other.key));
        let (headers, places) = tensors.into_iter().unzip();
        Ok(Self { files, headers, places, held: Vec::new() })
    }
}

impl StoredCheckpoint for StoredSafetensors {
    fn headers(&self) -> &[TensorHeader] {
        &self.headers
    }

    fn load(&mut self) -> Result<()> {
        self.held.clear();
        for path in &self.files {
            let read = fs::read(path)?;
            SafeTensors::deserialize(&read).map_err(|error| of(path, told(error)))?;
            self.held.push(read);
        }
        Ok(())
    }

    fn loaded(&mut self, tensor: usize) -> Result<LoadedTensor> {
        let (name, file) = &self.places[tensor];
        let held = self.held.get(*file).ok_or_else(|| Error::new("nothing was loaded"))?;
        let found = SafeTensors::deserialize(held).and_then(|all| all.tensor(name)).map_err(told)?;
        let (dtype, shape) = (numpys(found.dtype())?.to_owned(), found.shape().to_vec());
        let header = TensorHeader { key: TensorHeader::flat_key(name), dtype, shape };
        Ok(LoadedTensor { header, bytes: found.data().to_vec() })
    }

    fn release(&mut self) -> Result<()> {
        self.held.clear();
        Ok(())
    }

    fn executed(&self) -> ExecutedWork {
        ExecutedWork::ours(Vec::new(), Delivery::Owned, 1)
    }
}

fn of(path: &Path, error: Error) -> Error {
    Error::new(format!("{}: {error}", path.display()))
}

/// A type as numpy writes it; what numpy has no word for as `ml_dtypes` does.
fn numpys(dtype: Type) -> Result<&'static str> {
    Ok(match dtype {
        Type::BOOL => "|b1",
        Type::U8 => "|u1",
        Type::I8 => "|i1",
        Type::U16 => "<u2",
        Type::I16 => "<i2",
        Type::F16 => "<f2",
        Type::BF16 => "<V2",
        Type::U32 => "<u4",
        Type::I32 => "<i4",
        Type::F32 => "<f4",
        Type::U64 => "<u8",
        Type::I64 => "<i8",
        Type::F64 => "<f8",
        other => return Err(skip(format!("a tensor of the type {other:?}: nobody here holds one"))),
    })
}
