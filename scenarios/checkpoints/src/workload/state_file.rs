//! A state that lies in files of safetensors: its tensors and their numbers are read from there.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use weighbridge::FieldKind;
use weighbridge_data::{safetensors_files, safetensors_kinds};

use super::{CutsFile, DeviceMesh, Tensor};

/// A state that lies in files: `path:/models/llama`, or `path:/models/llama cuts=/models/cuts.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFile {
    path: PathBuf,
    /// The file that says how its tensors are cut.
    cuts: Option<PathBuf>,
    /// The mesh that the cuts are of.
    mesh: Option<DeviceMesh>,
    tensors: Vec<Tensor>,
}

/// The prefix of a path.
pub(super) const PATH: &str = "path:";

/// The text between a path and the file of its cuts.
const CUTS: &str = " cuts=";

impl StateFile {
    /// Its tensors, in the order in which they lie in the files.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// The mesh that its cuts are of, where a file names them.
    pub fn mesh(&self) -> Option<&DeviceMesh> {
        self.mesh.as_ref()
    }

    /// The files, as they are now.
    ///
    /// # Errors
    /// When nothing is there any more.
    pub fn files(&self) -> weighbridge::Result<Vec<PathBuf>> {
        safetensors_files(&self.path)
    }
}

/// A path of this machine and the file of its cuts, of a text without `path:`.
///
/// # Errors
/// What the text names instead.
pub(super) fn path_and_cuts(text: &str) -> Result<(PathBuf, Option<PathBuf>), String> {
    match text.rsplit_once(CUTS) {
        None => Ok((local(text)?, None)),
        Some((path, cuts)) => Ok((local(path)?, Some(local(cuts)?))),
    }
}

/// The same as a text.
pub(super) struct LocatedText<'a>(pub(super) &'a Path, pub(super) &'a Option<PathBuf>);

impl fmt::Display for LocatedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PATH}{}", self.0.display())?;
        self.1.as_ref().map_or(Ok(()), |cuts| write!(f, "{CUTS}{}", cuts.display()))
    }
}

/// A path of this machine.
///
/// # Errors
/// What it is instead.
pub(super) fn local(path: &str) -> Result<PathBuf, String> {
    if path.is_empty() {
        return Err("a path is missing".to_owned());
    }
    if path.contains("://") {
        return Err(format!(
            "`{path}` is in a store that is not at hand: a path of this machine can be read"
        ));
    }
    Ok(path.into())
}

impl fmt::Display for StateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        LocatedText(&self.path, &self.cuts).fmt(f)
    }
}

/// Reads the headers of the files. A checkpoint of Orbax is refused with what makes files of safetensors of
/// it.
impl FromStr for StateFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix(PATH).unwrap_or(text);
        let (path, cuts) = path_and_cuts(text)?;
        if ["_CHECKPOINT_METADATA", "_METADATA", "manifest.ocdbt"].iter().any(|name| path.join(name).exists())
        {
            return Err(format!(
                "{} is a checkpoint of Orbax, and a state is read from files of safetensors: \
                 scenarios/python/to_safetensors.py makes one of it",
                path.display()
            ));
        }
        let kinds = safetensors_files(&path).and_then(|files| safetensors_kinds(&files));
        let tensor = |FieldKind { name, dtype, shape }| {
            let tensor = Tensor::array(String::from(&*name), dtype, shape);
            tensor.can_be_held().map(|()| tensor)
        };
        let kinds = kinds.map_err(|error| error.to_string())?;
        let mut tensors = kinds.into_iter().map(tensor).collect::<Result<Vec<_>, _>>()?;
        if tensors.is_empty() {
            return Err(format!("{} has no tensor", path.display()));
        }
        let mut mesh = None;
        if let Some(cuts) = &cuts {
            let cuts = CutsFile::read(cuts)?;
            cuts.cut(&mut tensors)?;
            mesh = Some(cuts.mesh().clone());
        }
        Ok(Self { path, cuts, mesh, tensors })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use safetensors::Dtype as Type;
    use safetensors::serialize;
    use safetensors::tensor::TensorView;
    use weighbridge::Dtype;
    use weighbridge_data::Cache;

    use super::*;
    use crate::workload::State;

    fn write(path: &Path, tensors: &[(&str, &[usize], Type)]) {
        let bytes: Vec<u8> = (0..=255).collect();
        let view = |(name, shape, dtype): &(&str, &[usize], Type)| {
            let size = shape.iter().product::<usize>() * dtype.bitsize() / 8;
            ((*name).to_owned(), TensorView::new(*dtype, shape.to_vec(), &bytes[..size]).unwrap())
        };
        fs::write(path, serialize(tensors.iter().map(view).collect::<Vec<_>>(), None).unwrap()).unwrap();
    }

    #[test]
    fn a_state_in_files_has_their_tensors_and_their_numbers() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("model.safetensors");
        write(&file, &[("w", &[4, 2], Type::BF16), ("step", &[], Type::I64)]);
        let text = format!("path:{}", place.path().display());
        let state: State = text.parse().unwrap();
        assert_eq!(state.to_string(), text);
        let mut found: Vec<(String, Dtype, Vec<usize>)> =
            state.tensors().into_iter().map(|tensor| (tensor.name, tensor.dtype, tensor.shape)).collect();
        found.sort();
        assert_eq!(
            found,
            [("step".to_owned(), Dtype::I64, vec![]), ("w".to_owned(), Dtype::BF16, vec![4, 2])]
        );
        let cache = Cache::at(place.path().join("cache"));
        let data = state.open(&cache).unwrap();
        let at = data.kinds().position(|kind| &*kind.name == "w").unwrap();
        assert_eq!(data.rows(at, 0..1), (0..16).collect::<Vec<u8>>());
        // Other numbers under the same name are another state.
        write(&file, &[("w", &[4, 2], Type::BF16), ("step", &[], Type::I64), ("b", &[1], Type::F32)]);
        let told = state.open(&cache).unwrap_err().to_string();
        assert!(told.contains("`b` is no tensor that is due"), "{told}");
    }

    #[test]
    fn cuts_that_a_file_names_are_those_of_the_tensors() {
        let place = tempfile::tempdir().unwrap();
        let (file, cuts) = (place.path().join("model.safetensors"), place.path().join("cuts.json"));
        write(&file, &[("a.w", &[4, 2], Type::F32)]);
        let json = r#"{"a.w": {"shape": [4, 2], "dtype": "float32", "sharding":
            {"mesh": {"shape": [2, 1, 2], "axes": ["data", "stage", "model"]},
             "spec": [["data", "stage", "model"]]}}}"#;
        fs::write(&cuts, json).unwrap();
        let text = format!("path:{} cuts={}", file.display(), cuts.display());
        let state: State = text.parse().unwrap();
        assert_eq!(state.to_string(), text);
        assert_eq!(state.tensors()[0].sharding, [["data".to_owned(), "model".to_owned()]]);
    }

    #[test]
    fn what_is_no_state_is_refused_by_name() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        write(&path("half.safetensors"), &[("x", &[2], Type::F16)]);
        write(&path("none.safetensors"), &[("x", &[0], Type::F32)]);
        write(&path("name.safetensors"), &[("a/b", &[2], Type::F32)]);
        write(&path("byte.safetensors"), &[("x", &[2], Type::U8)]);
        fs::create_dir(path("orbax")).unwrap();
        fs::write(path("orbax/_METADATA"), "{}").unwrap();
        for (text, why) in [
            (format!("path:{}", path("half.safetensors").display()), "the tensor `x` is of the type F16"),
            (format!("path:{}", path("none.safetensors").display()), "tensor `x` has no numbers"),
            (format!("path:{}", path("name.safetensors").display()), "cannot be called `a/b`"),
            (format!("path:{}", path("byte.safetensors").display()), "states have tensors of float32"),
            (format!("path:{}", path("orbax").display()), "to_safetensors.py makes one of it"),
            (format!("path:{}", path("nothing").display()), "nothing"),
            (format!("path:{} cuts=", path("half.safetensors").display()), "a path is missing"),
            ("path:gs://bucket/llama".to_owned(), "`gs://bucket/llama` is in a store that is not at hand"),
            ("path:".to_owned(), "a path is missing"),
        ] {
            let told = text.parse::<State>().expect_err(&text);
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
