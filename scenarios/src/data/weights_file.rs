//! The first weights of a training, from a file of safetensors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use safetensors::{Dtype as Type, SafeTensors};
use weighbridge::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::DataSpec;
use super::root::unreadable;

/// The bytes of every parameter, in the order of the specification.
///
/// # Errors
/// A file that cannot be read, is no safetensors, or is another one than its digest says; a parameter that is missing or has another
/// type or shape; a tensor that is no parameter. Each names the file, and the tensor.
pub(super) fn read(path: &Path, spec: &DataSpec, digest: u64) -> Result<Vec<Vec<u8>>> {
    let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
    let refused = |what: String| Error::new(format!("the weights in {}: {what}", path.display()));
    let found = xxh3_64(&bytes);
    if found != digest {
        return Err(refused(format!(
            "the file's digest is {found:016x}, and the configuration has {digest:016x}"
        )));
    }
    let tensors =
        SafeTensors::deserialize(&bytes).map_err(|error| refused(format!("no safetensors: {error}")))?;
    let mut left: BTreeMap<String, _> = tensors.tensors().into_iter().collect();
    let mut read = Vec::with_capacity(spec.fields.len());
    for kind in spec.kinds() {
        let due = format!("`{}` is due as f32 {:?}", kind.name, kind.shape);
        let tensor = left.remove(&kind.name).ok_or_else(|| refused(format!("{due}, and is missing")))?;
        if tensor.dtype() != Type::F32 || tensor.shape() != kind.shape {
            return Err(refused(format!("{due}, and is {:?} {:?}", tensor.dtype(), tensor.shape())));
        }
        read.push(tensor.data().to_vec());
    }
    match left.keys().next() {
        None => Ok(read),
        Some(more) => Err(refused(format!("`{more}` is no parameter of the model"))),
    }
}

#[cfg(test)]
mod tests {
    use safetensors::serialize;
    use safetensors::tensor::TensorView;
    use weighbridge::{Dtype, FieldKind};

    use super::*;
    use crate::data::{Cache, FieldSpec, FieldValues, Origin};

    fn file(tensors: &[(&str, &[usize], Type)]) -> Vec<u8> {
        let bytes = [0_u8, 1, 2, 3].repeat(64);
        let view = |(name, shape, dtype): &(&str, &[usize], Type)| {
            let size = shape.iter().product::<usize>() * dtype.bitsize() / 8;
            ((*name).to_owned(), TensorView::new(*dtype, shape.to_vec(), &bytes[..size]).unwrap())
        };
        serialize(tensors.iter().map(view).collect::<Vec<_>>(), None).unwrap()
    }

    /// Opens a weight of 2 by 3 and a bias of 3 from a file of these bytes.
    fn open(bytes: &[u8], digest: u64) -> Result<Vec<f32>> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("w.safetensors");
        fs::write(&path, bytes).unwrap();
        let field = |name: &str, shape: &[usize]| FieldSpec {
            kind: FieldKind { name: name.into(), dtype: Dtype::F32, shape: shape.to_vec() },
            values: FieldValues::Read,
        };
        let fields = vec![field("0.weight", &[2, 3]), field("0.bias", &[3])];
        let spec = DataSpec { fields, elements: 1, origin: Origin::Weights { digest } };
        let set = Cache::at(place.path().join("cache")).open_file(&spec, &path)?;
        assert_eq!(set.rows(1, 0..1), [0, 1, 2, 3].repeat(3));
        Ok(bytemuck::pod_collect_to_vec(set.rows(0, 0..1)))
    }

    #[test]
    fn a_file_holds_what_the_parameters_begin_with() {
        let bytes = file(&[("0.bias", &[3], Type::F32), ("0.weight", &[2, 3], Type::F32)]);
        assert_eq!(open(&bytes, xxh3_64(&bytes)).unwrap(), [f32::from_le_bytes([0, 1, 2, 3]); 6]);
    }

    #[test]
    fn another_file_and_other_tensors_are_refused_by_name() {
        let refused = |tensors: &[(&str, &[usize], Type)]| {
            let bytes = file(tensors);
            open(&bytes, xxh3_64(&bytes)).unwrap_err().to_string()
        };
        let (weight, bias): ((_, &[usize], _), (_, &[usize], _)) =
            (("0.weight", &[2, 3], Type::F32), ("0.bias", &[3], Type::F32));
        assert!(refused(&[weight]).contains("`0.bias` is due as f32 [3], and is missing"));
        assert!(
            refused(&[weight, ("0.bias", &[4], Type::F32)])
                .contains("`0.bias` is due as f32 [3], and is F32 [4]")
        );
        assert!(refused(&[weight, ("0.bias", &[3], Type::F16)]).contains("and is F16 [3]"));
        assert!(
            refused(&[weight, bias, ("1.bias", &[3], Type::F32)])
                .contains("`1.bias` is no parameter of the model")
        );
        let bytes = file(&[weight, bias]);
        let said = open(&bytes, 1).unwrap_err().to_string();
        let found = format!("digest is {:016x}, and the configuration has 0000000000000001", xxh3_64(&bytes));
        assert!(said.contains(&found), "{said}");
        let said = open(b"none", xxh3_64(b"none")).unwrap_err().to_string();
        assert!(said.contains("no safetensors"), "{said}");
    }
}
