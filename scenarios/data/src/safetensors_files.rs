//! Tensors that lie in files of safetensors: the first weights of a training, or a state that is to be saved.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use safetensors::tensor::Metadata;
use safetensors::{Dtype as Type, SafeTensors};
use serde::Deserialize;
use weighbridge::{Dtype, Error, FieldKind, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::DataSpec;
use super::root::unreadable;

/// The ending of the names of such files.
const ENDING: &str = ".safetensors";

/// A header is not longer than this: the format's own bound.
const MOST_HEADER: u64 = 100_000_000;

/// The type as safetensors has it.
pub fn of_safetensors(dtype: Dtype) -> Type {
    match dtype {
        Dtype::U8 => Type::U8,
        Dtype::I32 => Type::I32,
        Dtype::I64 => Type::I64,
        Dtype::BF16 => Type::BF16,
        Dtype::F32 => Type::F32,
        Dtype::F64 => Type::F64,
    }
}

/// The files of safetensors at a path: the file itself, or those of a directory in the order of their names.
///
/// # Errors
/// When nothing is there, there are none, or one is missing that an index names.
pub fn safetensors_files(path: &Path) -> Result<Vec<PathBuf>> {
    let facts = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !facts.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(path).map_err(|error| unreadable(path, &error))? {
        names.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    no_file_missing(path, &names)?;
    let files: Vec<PathBuf> =
        names.iter().filter(|name| name.ends_with(ENDING)).map(|name| path.join(name)).collect();
    if files.is_empty() {
        return Err(Error::new(format!("{} has no files of safetensors", path.display())));
    }
    Ok(files)
}

/// The list of the files of safetensors of a model, where it has several.
#[derive(Debug, Deserialize)]
struct SafetensorsIndex {
    weight_map: BTreeMap<String, String>,
}

/// Checks that every file that an index of a directory names is among the directory's names.
///
/// # Errors
/// A file that is missing; an index that is damaged.
pub fn no_file_missing(directory: &Path, names: &BTreeSet<String>) -> Result<()> {
    for index in names.iter().filter(|name| name.ends_with(".safetensors.index.json")) {
        let text = fs::read(directory.join(index))?;
        let read: SafetensorsIndex = serde_json::from_slice(&text).map_err(|error| {
            Error::new(format!("the checkpoint has an index `{index}` that is damaged: {error}"))
        })?;
        if let Some((tensor, file)) = read.weight_map.iter().find(|(_, file)| !names.contains(*file)) {
            return Err(Error::new(format!(
                "the checkpoint has no `{file}`, where `{index}` has the tensor `{tensor}`"
            )));
        }
    }
    Ok(())
}

/// The header of a tensor in a file.
pub struct FiledTensor {
    /// Its name.
    pub name: String,
    /// The type of its numbers.
    pub dtype: Type,
    /// Its dimensions.
    pub shape: Vec<usize>,
    /// The position of its file.
    pub file: usize,
}

/// The tensors in these files, in the order in which they lie there. Headers alone are read.
///
/// # Errors
/// A file that cannot be read, is no safetensors, or is shorter or longer than its header says; a tensor in
/// two files. Each names the file.
pub fn safetensors_headers(files: &[PathBuf]) -> Result<Vec<FiledTensor>> {
    let mut tensors = Vec::new();
    let mut known = BTreeSet::new();
    for (file, path) in files.iter().enumerate() {
        let header = header(path)?;
        for name in header.offset_keys() {
            let Some(tensor) = header.info(&name) else { continue };
            if !known.insert(name.clone()) {
                let path = path.display();
                return Err(Error::new(format!("{path}: the tensor `{name}` is in another file as well")));
            }
            tensors.push(FiledTensor { name, dtype: tensor.dtype, shape: tensor.shape.clone(), file });
        }
    }
    Ok(tensors)
}

/// Name, type and shape of the same, as fields of a data set.
///
/// # Errors
/// A file that cannot be read, is no safetensors, or is shorter or longer than its header says; a tensor in
/// two files, or of a type that no data set has. Each names the file.
pub fn safetensors_kinds(files: &[PathBuf]) -> Result<Vec<FieldKind>> {
    let kind = |FiledTensor { name, dtype, shape, file }| {
        let known = Dtype::ALL.into_iter().find(|known| of_safetensors(*known) == dtype);
        let dtype = known.ok_or_else(|| {
            Error::new(format!("{}: the tensor `{name}` is of the type {dtype:?}", files[file].display()))
        })?;
        Ok(FieldKind { name, dtype, shape })
    };
    safetensors_headers(files)?.into_iter().map(kind).collect()
}

/// Returns the header of a file, which begins with the header's length in eight bytes.
fn header(path: &Path) -> Result<Metadata> {
    let failed = |error: std::io::Error| unreadable(path, &error);
    let no_safetensors = |what: &str| Error::new(format!("{} is no safetensors: {what}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let mut length = [0; 8];
    if bytes < 8 {
        return Err(no_safetensors("it has no header"));
    }
    file.read_exact(&mut length).map_err(failed)?;
    let length = u64::from_le_bytes(length);
    if length > MOST_HEADER || length > bytes - 8 {
        return Err(no_safetensors("its header is longer than the file, or than a header can be"));
    }
    let mut text = vec![0; length as usize];
    file.read_exact(&mut text).map_err(failed)?;
    let header: Metadata =
        serde_json::from_slice(&text).map_err(|error| no_safetensors(&error.to_string()))?;
    let due = 8 + length + header.data_len() as u64;
    if due != bytes {
        return Err(no_safetensors(&format!("it has {bytes} bytes, and its header says {due}")));
    }
    Ok(header)
}

/// The bytes of every field, in the order of the specification. `digest` is the XXH3-64 of the file, where
/// that is told.
///
/// # Errors
/// A file that cannot be read, is no safetensors, or is another one than its digest says; a tensor that is
/// missing or has another type or shape; a tensor that is no field. Each names the file or the directory, and
/// the tensor.
pub(super) fn read(paths: &[PathBuf], spec: &DataSpec, digest: Option<u64>) -> Result<Vec<Vec<u8>>> {
    let place = match paths {
        [file] => file.as_path(),
        files => files[0].parent().unwrap_or(Path::new("")),
    };
    let refused = |what: String| Error::new(format!("the tensors in {}: {what}", place.display()));
    let mut left: BTreeMap<String, (Type, Vec<usize>, Vec<u8>)> = BTreeMap::new();
    for path in paths {
        let bytes = fs::read(path).map_err(|error| unreadable(path, &error))?;
        let found = digest.map(|_| xxh3_64(&bytes));
        if let (Some(digest), Some(found)) = (digest, found)
            && digest != found
        {
            return Err(refused(format!(
                "the file's digest is {found:016x}, and the configuration has {digest:016x}"
            )));
        }
        let tensors = SafeTensors::deserialize(&bytes)
            .map_err(|error| refused(format!("{} is no safetensors: {error}", path.display())))?;
        for (name, tensor) in tensors.iter() {
            left.insert(name.to_owned(), (tensor.dtype(), tensor.shape().to_vec(), tensor.data().to_vec()));
        }
    }
    let mut read = Vec::with_capacity(spec.fields.len());
    for kind in spec.kinds() {
        let due = format!("`{}` is due as {} {:?}", kind.name, kind.dtype.name(), kind.shape);
        let (dtype, shape, bytes) =
            left.remove(&*kind.name).ok_or_else(|| refused(format!("{due}, and is missing")))?;
        if dtype != of_safetensors(kind.dtype) || shape != kind.shape {
            return Err(refused(format!("{due}, and is {dtype:?} {shape:?}")));
        }
        read.push(bytes);
    }
    match left.keys().next() {
        None => Ok(read),
        Some(more) => Err(refused(format!("`{more}` is no tensor that is due"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, FieldSpec, FieldValues, Origin};
    use safetensors::serialize;
    use safetensors::tensor::TensorView;

    const WEIGHT: (&str, &[usize], Type) = ("0.weight", &[2, 3], Type::F32);
    const BIAS: (&str, &[usize], Type) = ("0.bias", &[3], Type::F32);

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
        let spec = DataSpec { fields, elements: 1, origin: Origin::Tensors { digest: Some(digest) } };
        let set = Cache::at(place.path().join("cache")).open_files(&spec, vec![path])?;
        assert_eq!(set.rows(1, 0..1), [0, 1, 2, 3].repeat(3));
        Ok(bytemuck::pod_collect_to_vec(set.rows(0, 0..1)))
    }

    #[test]
    fn a_file_holds_what_the_parameters_begin_with() {
        let bytes = file(&[BIAS, WEIGHT]);
        assert_eq!(open(&bytes, xxh3_64(&bytes)).unwrap(), [f32::from_le_bytes([0, 1, 2, 3]); 6]);
    }

    #[test]
    fn another_file_and_other_tensors_are_refused_by_name() {
        let refused = |tensors: &[(&str, &[usize], Type)]| {
            let bytes = file(tensors);
            open(&bytes, xxh3_64(&bytes)).unwrap_err().to_string()
        };
        assert!(refused(&[WEIGHT]).contains("`0.bias` is due as f32 [3], and is missing"));
        assert!(
            refused(&[WEIGHT, ("0.bias", &[4], Type::F32)])
                .contains("`0.bias` is due as f32 [3], and is F32 [4]")
        );
        assert!(refused(&[WEIGHT, ("0.bias", &[3], Type::F16)]).contains("and is F16 [3]"));
        assert!(
            refused(&[WEIGHT, BIAS, ("1.bias", &[3], Type::F32)])
                .contains("`1.bias` is no tensor that is due")
        );
        let bytes = file(&[WEIGHT, BIAS]);
        let said = open(&bytes, 1).unwrap_err().to_string();
        let found = format!("digest is {:016x}, and the configuration has 0000000000000001", xxh3_64(&bytes));
        assert!(said.contains(&found), "{said}");
        let said = open(b"none", xxh3_64(b"none")).unwrap_err().to_string();
        assert!(said.contains("is no safetensors"), "{said}");
    }

    #[test]
    fn headers_alone_say_what_is_in_files_in_the_order_in_which_it_lies_there() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("b.safetensors"), file(&[WEIGHT])).unwrap();
        fs::write(place.path().join("a.safetensors"), file(&[("z", &[], Type::F64), ("y", &[2], Type::F64)]))
            .unwrap();
        fs::write(place.path().join("config.json"), "{}").unwrap();
        let files = safetensors_files(place.path()).unwrap();
        let names: Vec<String> =
            safetensors_kinds(&files).unwrap().iter().map(|kind| kind.name.clone()).collect();
        assert_eq!(names.len(), 3);
        assert_eq!(names[2], "0.weight", "{names:?}");
        let one = safetensors_kinds(&safetensors_files(&files[1]).unwrap()).unwrap();
        assert_eq!((one[0].dtype, &one[0].shape[..]), (Dtype::F32, &[2, 3][..]));
    }

    #[test]
    fn files_that_are_damaged_missing_or_of_other_types_are_refused_by_name() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.safetensors");
        let told = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            safetensors_kinds(std::slice::from_ref(&path)).unwrap_err().to_string()
        };
        let whole = file(&[WEIGHT]);
        assert!(told(&whole[..whole.len() - 1]).contains("bytes, and its header says"));
        assert!(told(&whole[..20]).contains("its header is longer than the file"));
        assert!(told(b"none").contains("it has no header"));
        assert!(told(&[u8::MAX; 64]).contains("longer than the file, or than a header can be"));
        assert!(told(&[&[2, 0, 0, 0, 0, 0, 0, 0][..], b"[]"].concat()).contains("is no safetensors"));
        assert!(told(&file(&[("x", &[2], Type::F16)])).contains("the tensor `x` is of the type F16"));
        fs::write(&path, &whole).unwrap();
        fs::copy(&path, place.path().join("b.safetensors")).unwrap();
        let both = safetensors_files(place.path()).unwrap();
        assert!(
            safetensors_kinds(&both)
                .unwrap_err()
                .to_string()
                .contains("`0.weight` is in another file as well")
        );
        fs::write(place.path().join("m.safetensors.index.json"), r#"{"weight_map": {"w": "c.safetensors"}}"#)
            .unwrap();
        let told = safetensors_files(place.path()).unwrap_err().to_string();
        assert!(told.contains("has no `c.safetensors`"), "{told}");
        let told = safetensors_files(&place.path().join("nothing")).unwrap_err().to_string();
        assert!(told.contains("nothing"), "{told}");
        let empty = tempfile::tempdir().unwrap();
        assert!(
            safetensors_files(empty.path()).unwrap_err().to_string().contains("has no files of safetensors")
        );
    }
}
