//! Tensors on their way to a worker, as files, and back, as the fields of a batch.

use std::path::{Path, PathBuf};

use serde::Serialize;
use weighbridge::{Dtype, Error, ErrorKind, FieldCopy, FieldKind, ItemCopy, Result};
use weighbridge_data::DataSet;

/// The files of a data set that has no constants of `Normalize`.
#[derive(Debug, Serialize)]
pub struct TensorFiles {
    elements: usize,
    digest: String,
    fields: Vec<TensorFile>,
}

#[derive(Debug, Serialize)]
struct TensorFile {
    #[serde(flatten)]
    kind: FieldKind,
    path: PathBuf,
    mean: Option<f32>,
    scale: Option<f32>,
}

impl TensorFiles {
    /// The files of a data set.
    pub fn of(data: &DataSet) -> Self {
        let file = |(field, kind): (usize, &FieldKind)| TensorFile {
            kind: kind.clone(),
            path: data.path(field).to_owned(),
            mean: None,
            scale: None,
        };
        let fields = data.kinds().enumerate().map(file).collect();
        Self { elements: data.elements(), digest: data.digest().to_owned(), fields }
    }

    /// A batch, written to a file for each field in this directory.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn written(batch: &ItemCopy, place: &Path) -> Result<Self> {
        let file = |(position, FieldCopy { name, dtype, shape, bytes }): (usize, &FieldCopy)| {
            let path = place.join(format!("field-{position}"));
            std::fs::write(&path, bytes)?;
            let kind = FieldKind { name: name.clone(), dtype: *dtype, shape: shape.clone() };
            Ok(TensorFile { kind, path, mean: None, scale: None })
        };
        let fields = batch.fields.iter().enumerate().map(file).collect::<Result<_>>()?;
        Ok(Self { elements: batch.elements, digest: String::new(), fields })
    }
}

/// The numbers of each field, by its name.
///
/// # Errors
/// As [`numbers`].
pub fn tensors(kept: ItemCopy) -> Result<Vec<(String, Vec<f32>)>> {
    kept.fields.into_iter().map(|field| Ok((field.name.clone(), numbers(&field)?))).collect()
}

/// The numbers of a field.
///
/// # Errors
/// A field of another type.
pub fn numbers(field: &FieldCopy) -> Result<Vec<f32>> {
    if field.dtype != Dtype::F32 {
        return Err(unexpected("a field of f32", Some(field)));
    }
    Ok(field.bytes.as_chunks().0.iter().map(|four| f32::from_le_bytes(*four)).collect())
}

/// The numbers of a field of `i64`, none of them below zero.
///
/// # Errors
/// A field of another type; a number below zero.
pub fn counts(field: &FieldCopy) -> Result<Vec<u64>> {
    let read = |eight: &[u8; 8]| u64::try_from(i64::from_le_bytes(*eight)).ok();
    let counts = (field.dtype == Dtype::I64).then(|| field.bytes.as_chunks().0.iter().map(read).collect());
    counts.flatten().ok_or_else(|| unexpected("a field of counts", Some(field)))
}

/// The error for something else where a field is due.
pub fn unexpected(due: &str, found: Option<&FieldCopy>) -> Error {
    let found = found.map_or_else(
        || "nothing".to_owned(),
        |field| format!("`{}`, {} {:?}", field.name, field.dtype.name(), field.shape),
    );
    Error::of(ErrorKind::Protocol, format!("{found} where `{due}` is due"))
}
