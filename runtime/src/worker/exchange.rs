//! The file in which a worker hands batches over.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::protocol::{ExchangedBatch, ExchangedField};
use crate::bencher::{Dtype, FieldCopy, ItemCopy};

/// The exchange file of an open pipeline.
#[derive(Debug)]
pub(super) struct Exchange {
    path: PathBuf,
    file: File,
}

impl Exchange {
    /// Makes it, empty.
    pub(super) fn create(path: PathBuf) -> std::io::Result<Self> {
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(Self { path, file })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the batch that is said to lie there; the error says what is wrong with it.
    pub(super) fn read(&self, batch: &ExchangedBatch) -> Result<ItemCopy, String> {
        let length = self.file.metadata().map_err(|error| error.to_string())?.len();
        let fields = batch.fields.iter().map(|field| self.field(batch.elements, field, length));
        Ok(ItemCopy { elements: batch.elements as usize, fields: fields.collect::<Result<_, _>>()? })
    }

    fn field(&self, elements: u64, field: &ExchangedField, length: u64) -> Result<FieldCopy, String> {
        let ExchangedField { name, dtype, shape, offset } = field;
        let known = Dtype::ALL.into_iter().find(|known| known.name() == dtype).ok_or_else(|| {
            let all: Vec<&str> = Dtype::ALL.into_iter().map(Dtype::name).collect();
            format!("it delivers `{name}` as {dtype}; types are {}", all.join(", "))
        })?;
        let size = shape.iter().try_fold(known.size() as u64, |size, side| size.checked_mul(*side as u64));
        let bytes = size.and_then(|size| size.checked_mul(elements));
        let end = bytes.and_then(|bytes| bytes.checked_add(*offset));
        // What is not there is not read, so that a wrong shape asks for no memory either.
        let (Some(bytes), Some(..)) = (bytes, end.filter(|end| *end <= length)) else {
            return Err(format!(
                "it says that {elements} elements of `{name}`, {dtype} {shape:?}, lie from byte {offset} of \
                 the exchange file, which has {length} bytes"
            ));
        };
        let mut buffer = vec![0; bytes as usize];
        self.file
            .read_exact_at(&mut buffer, *offset)
            .map_err(|error| format!("the exchange file {} cannot be read: {error}", self.path.display()))?;
        Ok(FieldCopy { name: name.clone(), dtype: known, shape: shape.clone(), bytes: buffer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(elements: u64, dtype: &str, shape: &[usize], offset: u64) -> ExchangedBatch {
        let field = ExchangedField { name: "x".into(), dtype: dtype.into(), shape: shape.to_vec(), offset };
        ExchangedBatch { elements, fields: vec![field] }
    }

    #[test]
    fn a_batch_is_what_lies_where_it_is_said_to_lie() {
        let folder = tempfile::tempdir().unwrap();
        let exchange = Exchange::create(folder.path().join("exchange")).unwrap();
        std::fs::write(exchange.path(), [9, 9, 1, 2, 3, 4, 5, 6]).unwrap();
        let kept = exchange.read(&batch(2, "u8", &[3], 2)).unwrap();
        assert_eq!((kept.elements, &*kept.fields[0].bytes), (2, &[1, 2, 3, 4, 5, 6][..]));
        for wrong in [batch(3, "u8", &[3], 2), batch(2, "u8", &[usize::MAX, 9], 0), batch(1, "i64", &[], 1)] {
            let why = exchange.read(&wrong).unwrap_err();
            assert!(why.contains("exchange file, which has 8 bytes"), "{why}");
        }
        let why = exchange.read(&batch(2, "f16", &[2], 0)).unwrap_err();
        assert_eq!(why, "it delivers `x` as f16; types are u8, i32, i64, bf16, f32, f64");
    }
}
