//! Cuts of tensors that a file names, in the form of Orbax's benchmarks (`sharding_config_path`).
//!
//! ```text
//! {"decoder.scale": {"shape": [4096], "dtype": "float32",
//!                    "sharding": {"mesh": {"shape": [8, 2], "axes": ["data", "tensor"]},
//!                                 "spec": [["data", "tensor"]]}}}
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use weighbridge::Dtype;

use super::{DeviceMesh, Tensor};

/// The shardings of tensors in a file. Axes of one device cut nothing, and are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutsFile {
    path: PathBuf,
    mesh: DeviceMesh,
    cuts: BTreeMap<String, Tensor>,
}

#[derive(Debug, Deserialize)]
struct CutTensor {
    shape: Vec<usize>,
    sharding: NamedSharding,
}

#[derive(Debug, Deserialize)]
struct NamedSharding {
    mesh: MeshForm,
    spec: Vec<Option<AxisOrAxes>>,
}

#[derive(Debug, Deserialize)]
struct MeshForm {
    shape: Vec<usize>,
    axes: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum AxisOrAxes {
    One(String),
    Several(Vec<String>),
}

impl CutsFile {
    /// Reads such a file.
    ///
    /// # Errors
    /// A file that cannot be read or has another form; a mesh with an axis twice; tensors on two meshes; a
    /// cut along an axis that the mesh lacks, or twice along one. Each names the file, and the tensor.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |what: String| format!("the cuts in {}: {what}", path.display());
        let text = fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let read: BTreeMap<String, CutTensor> =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        let mut found: Option<DeviceMesh> = None;
        let mut cuts = BTreeMap::new();
        for (name, CutTensor { shape, sharding }) in read {
            let MeshForm { shape: sizes, axes } = sharding.mesh;
            if sizes.len() != axes.len() || sizes.contains(&0) {
                return Err(wrong(format!("the mesh of `{name}` has no size for each axis")));
            }
            let sizes: Vec<(&str, usize)> = axes.iter().map(String::as_str).zip(sizes).collect();
            let is_one = |axis: &str| sizes.iter().any(|(name, size)| *name == axis && *size == 1);
            let mut named: Vec<(&str, usize)> = sizes.clone();
            named.retain(|(_, size)| *size > 1);
            let mesh = DeviceMesh::grid(&named);
            if named.iter().any(|(axis, _)| named.iter().filter(|(other, _)| other == axis).count() > 1) {
                return Err(wrong(format!("the mesh of `{name}` has an axis twice")));
            }
            if found.as_ref().is_some_and(|before| *before != mesh) {
                return Err(wrong(format!("`{name}` lies on the mesh {mesh}, and others on another")));
            }
            let cut = |axes: Option<AxisOrAxes>| {
                let mut axes = match axes {
                    None => Vec::new(),
                    Some(AxisOrAxes::One(axis)) => vec![axis],
                    Some(AxisOrAxes::Several(axes)) => axes,
                };
                axes.retain(|axis| !is_one(axis));
                axes
            };
            let sharding: Vec<Vec<String>> = sharding.spec.into_iter().map(cut).collect();
            if let Some(axis) =
                sharding.iter().flatten().find(|axis| mesh.parts(&[(*axis).clone()]).is_none())
            {
                return Err(wrong(format!("`{name}` is cut along `{axis}`, which its mesh lacks")));
            }
            let tensor = Tensor { sharding, ..Tensor::array(name.clone(), Dtype::F32, shape) };
            tensor.is_cut_once().map_err(wrong)?;
            found = Some(mesh);
            cuts.insert(name, tensor);
        }
        let mesh = found.ok_or_else(|| wrong("there is no tensor".to_owned()))?;
        Ok(Self { path: path.to_owned(), mesh, cuts })
    }

    /// The mesh that all of them lie on; none where every axis has one device.
    pub fn mesh(&self) -> &DeviceMesh {
        &self.mesh
    }

    /// Cuts tensors so.
    ///
    /// # Errors
    /// A tensor that the file lacks or has in another shape; one that is only in the file.
    pub fn cut(&self, tensors: &mut [Tensor]) -> Result<(), String> {
        let wrong = |what: String| Err(format!("the cuts in {}: {what}", self.path.display()));
        for tensor in &mut *tensors {
            let name = &tensor.name;
            let Some(cut) = self.cuts.get(name) else { return wrong(format!("`{name}` is missing")) };
            if cut.shape != tensor.shape {
                return wrong(format!("`{name}` is due as {:?}, and is {:?}", tensor.shape, cut.shape));
            }
            tensor.sharding.clone_from(&cut.sharding);
        }
        match self.cuts.keys().find(|name| tensors.iter().all(|tensor| tensor.name != **name)) {
            None => Ok(()),
            Some(more) => wrong(format!("`{more}` is no tensor that is due")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<CutsFile, String> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("cuts.json");
        fs::write(&path, json).unwrap();
        CutsFile::read(&path)
    }

    /// A tensor on a mesh of `data`, `one` and `model`.
    fn one(shape: &str, spec: &str) -> String {
        format!(
            r#""w": {{"shape": {shape}, "dtype": "float32", "sharding":
                {{"mesh": {{"shape": [2, 1, 4], "axes": ["data", "one", "model"]}}, "spec": {spec}}}}}"#
        )
    }

    fn cut(shape: &str, spec: &str) -> Result<Vec<Vec<String>>, String> {
        let mut tensors = ["w:float32[8x8]".parse::<Tensor>().unwrap()];
        read(&format!("{{{}}}", one(shape, spec)))?.cut(&mut tensors)?;
        let [tensor] = tensors;
        Ok(tensor.sharding)
    }

    #[test]
    fn an_axis_several_or_none_cut_a_dimension_and_axes_of_one_device_cut_nothing() {
        let of = |cuts: &[&[&str]]| -> Vec<Vec<String>> {
            cuts.iter().map(|axes| axes.iter().map(|axis| (*axis).to_owned()).collect()).collect()
        };
        assert_eq!(cut("[8, 8]", r#"["data", null]"#), Ok(of(&[&["data"], &[]])));
        assert_eq!(cut("[8, 8]", r#"[["model", "one", "data"]]"#), Ok(of(&[&["model", "data"]])));
        assert_eq!(cut("[8, 8]", r#"["one"]"#), Ok(of(&[&[]])));
        assert_eq!(cut("[8, 8]", "[]"), Ok(of(&[])));
        let file = read(&format!("{{{}}}", one("[8, 8]", "[]"))).unwrap();
        assert_eq!(file.mesh().to_string(), "data=2+model=4");
    }

    #[test]
    fn what_does_not_fit_the_tensors_or_itself_is_refused_by_name() {
        for (shape, spec, why) in [
            ("[8]", "[]", "`w` is due as [8, 8], and is [8]"),
            ("[8, 8]", r#"["fsdp"]"#, "`w` is cut along `fsdp`, which its mesh lacks"),
            ("[8, 8]", r#"["data", "data"]"#, "tensor `w` is cut twice along `data`"),
            ("[8, 8]", "[null, null, null]", "tensor `w` has cuts of 3 dimensions, and has 2"),
            ("[8, 8]", "3", "invalid type"),
        ] {
            let told = cut(shape, spec).unwrap_err();
            assert!(told.contains(why) && told.contains("cuts.json"), "{told}");
        }
        let two = format!(
            "{{{}, {}}}",
            one("[8]", "[]"),
            one("[8]", "[]").replace("\"w\"", "\"v\"").replace("[2, 1, 4]", "[2, 1, 2]")
        );
        assert!(read(&two).unwrap_err().contains("lies on the mesh data=2+model="), "{:?}", read(&two));
        let both = format!("{{{}, {}}}", one("[8, 8]", "[]"), one("[8]", "[]").replace("\"w\"", "\"v\""));
        let mut tensors = ["w:float32[8x8]".parse::<Tensor>().unwrap()];
        assert!(read(&both).unwrap().cut(&mut tensors).unwrap_err().contains("`v` is no tensor that is due"));
        tensors[0].name = "u".into();
        assert!(read(&both).unwrap().cut(&mut tensors).unwrap_err().contains("`u` is missing"));
        assert!(read("{}").unwrap_err().contains("there is no tensor"));
        let odd = one("[8]", "[]").replace("[2, 1, 4]", "[2, 1]");
        assert!(read(&format!("{{{odd}}}")).unwrap_err().contains("has no size for each axis"));
        let twice = one("[8]", "[]").replace("\"model\"]", "\"data\"]");
        assert!(read(&format!("{{{twice}}}")).unwrap_err().contains("has an axis twice"));
        assert!(CutsFile::read(Path::new("/nothing.json")).unwrap_err().contains("/nothing.json"));
    }
}
