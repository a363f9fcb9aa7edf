//! Files of safetensors that lie somewhere, one or several: each is read whole into memory, and its header
//! says what is in it.

use std::fs;
use std::ops::Range;
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
    /// The place of each tensor in what is held of its file.
    ranges: Vec<Range<usize>>,
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
        Ok(Self { files, headers, places, held: Vec::new(), ranges: Vec::new() })
    }
}

impl StoredCheckpoint for StoredSafetensors {
    fn headers(&self) -> &[TensorHeader] {
        &self.headers
    }

    fn load(&mut self) -> Result<()> {
        self.held.clear();
        self.ranges = vec![0..0; self.places.len()];
        for (at, path) in self.files.iter().enumerate() {
            let read = fs::read(path)?;
            let tensors = SafeTensors::deserialize(&read).map_err(|error| of(path, told(error)))?;
            for (range, (name, _)) in self.ranges.iter_mut().zip(&self.places).filter(|(_, of)| of.1 == at) {
                *range = place(&read, &tensors, name)?;
            }
            self.held.push(read);
        }
        Ok(())
    }

    fn view(&mut self, tensor: usize, device: Option<usize>, see: &mut dyn FnMut(&[u8])) -> Result<()> {
        let Some(held) = self.held.get(self.places[tensor].1).filter(|_| device.is_none()) else {
            return Err(Error::new("nothing was loaded, or it lies on no devices"));
        };
        see(&held[self.ranges[tensor].clone()]);
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

/// The place of a tensor in the file that it was found in.
pub(super) fn place(file: &[u8], tensors: &SafeTensors<'_>, name: &str) -> Result<Range<usize>> {
    let bytes = tensors.tensor(name).map_err(told)?.data().as_ptr_range();
    let offset = |end: *const u8| end as usize - file.as_ptr() as usize;
    Ok(offset(bytes.start)..offset(bytes.end))
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
