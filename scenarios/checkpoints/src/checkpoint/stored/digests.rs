//! The digests of a checkpoint's tensors, in the files that Orbax's load benchmarks write and read, and in
//! one beside that.
//!
//! ```text
//! <directory>/host_00000.json   by key: SHA-256 of type, shape and numbers of a tensor, as Orbax has it
//!             tensors.json      by key: type and shape, so that what differs can be named
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weighbridge::{Error, Result};
use weighbridge_data::DataSet;

use crate::contract::{LoadedTensor, TensorHeader};

/// The digests of the tensors of a process, of which there is one.
const HOST: &str = "host_00000.json";

/// Types and shapes.
const TENSORS: &str = "tensors.json";

/// Digests of the tensors of a checkpoint, by their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::checkpoint) struct CheckpointDigests(BTreeMap<String, TensorDigest>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct TensorDigest {
    /// Type and shape; `None` where the digests are Orbax's alone.
    kind: Option<TensorForm>,
    digest: String,
}

/// The type and the shape of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TensorForm {
    dtype: String,
    shape: Vec<usize>,
}

impl CheckpointDigests {
    /// Those of a state.
    pub(in crate::checkpoint) fn of(data: &DataSet) -> Self {
        let mut digests = Self::default();
        for (field, kind) in data.kinds().enumerate() {
            digests.add_parts(TensorHeader::of(kind), data.rows(field, 0..1));
        }
        digests
    }

    /// Adds a tensor.
    pub(super) fn add(&mut self, tensor: LoadedTensor) {
        self.add_parts(tensor.header, &tensor.bytes);
    }

    fn add_parts(&mut self, header: TensorHeader, bytes: &[u8]) {
        let TensorHeader { key, dtype, shape } = header;
        let mut hash = Sha256::new();
        hash.update(dtype.as_bytes());
        hash.update(tuple(&shape).as_bytes());
        hash.update(bytes);
        let digest = hash.finalize().iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}"); // a text takes it
            hex
        });
        self.0.insert(key, TensorDigest { kind: Some(TensorForm { dtype, shape }), digest });
    }

    /// All digests in the order of the keys, as bytes.
    pub(super) fn bytes(&self) -> Vec<[u8; 16]> {
        let half = |digest: &TensorDigest| {
            let half = u128::from_str_radix(&digest.digest[..32], 16).expect("it is hexadecimal");
            half.to_be_bytes()
        };
        self.0.values().map(half).collect()
    }

    /// Reads what was captured, by us or by Orbax.
    ///
    /// # Errors
    /// Where there are none, or they are damaged.
    pub(in crate::checkpoint) fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(HOST);
        let text = fs::read(&path)
            .map_err(|error| Error::new(format!("there are no digests at {}: {error}", path.display())))?;
        let damaged =
            |path: &Path, what: String| Error::new(format!("{} is damaged: {what}", path.display()));
        let digests: BTreeMap<String, String> =
            serde_json::from_slice(&text).map_err(|error| damaged(&path, error.to_string()))?;
        let is_digest = |digest: &String| {
            digest.len() == 64 && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        if let Some((key, _)) = digests.iter().find(|(_, digest)| !is_digest(digest)) {
            return Err(damaged(&path, format!("what it has of {key} is no SHA-256")));
        }
        if digests.is_empty() {
            return Err(damaged(&path, "it has no tensor".to_owned()));
        }
        let path = directory.join(TENSORS);
        let mut kinds: BTreeMap<String, TensorForm> = match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| damaged(&path, error.to_string()))?,
            Err(_) => BTreeMap::new(), // Orbax writes none
        };
        let known = digests.into_iter().map(|(key, digest)| {
            let kind = kinds.remove(&key);
            (key, TensorDigest { kind, digest })
        });
        Ok(Self(known.collect()))
    }

    /// Writes them. Where others were captured before, those must be the same.
    ///
    /// # Errors
    /// Where they are others, or cannot be written.
    pub(in crate::checkpoint) fn capture(&self, directory: &Path) -> Result<()> {
        if directory.join(HOST).exists() {
            let before = Self::read(directory)?;
            return before.check(self).map_err(|error| {
                let directory = directory.display();
                Error::new(format!(
                    "{directory} has the digests of something else, and is not overwritten: {error}"
                ))
            });
        }
        let failed = |error: std::io::Error| {
            Error::new(format!("the digests cannot be written to {}: {error}", directory.display()))
        };
        fs::create_dir_all(directory).map_err(failed)?;
        let kinds: BTreeMap<&String, &Option<TensorForm>> =
            self.0.iter().map(|(key, known)| (key, &known.kind)).collect();
        let digests: BTreeMap<&String, &String> =
            self.0.iter().map(|(key, known)| (key, &known.digest)).collect();
        put(directory, TENSORS, &kinds).map_err(failed)?;
        put(directory, HOST, &digests).map_err(failed)
    }

    /// Holds what was found against these.
    ///
    /// # Errors
    /// A tensor that is missing, is too much, or has another type, shape or content.
    pub(in crate::checkpoint) fn check(&self, found: &Self) -> Result<()> {
        if let Some(key) = self.0.keys().find(|key| !found.0.contains_key(*key)) {
            return Err(Error::new(format!("there is no tensor {key}, and there are digests of one")));
        }
        for (key, found) in &found.0 {
            let wrong = |what: String| Err(Error::new(format!("the tensor {key} {what}")));
            let Some(known) = self.0.get(key) else {
                return wrong("is there, and no digest of it".to_owned());
            };
            if let (Some(known), Some(found)) = (&known.kind, &found.kind)
                && known != found
            {
                let told = |form: &TensorForm| format!("{} {:?}", form.dtype, form.shape);
                return wrong(format!("is of {}, and its digest of {}", told(found), told(known)));
            }
            if known.digest != found.digest {
                let unknown = if known.kind.is_some() { "" } else { ", or has another type or shape" };
                return wrong(format!("has not the numbers that its digest is of{unknown}"));
            }
        }
        Ok(())
    }
}

/// Writes a file beside its place, and gives it its name when it is whole.
fn put(directory: &Path, name: &str, value: &impl Serialize) -> std::io::Result<()> {
    let part = directory.join(format!(".{name}.part-{}", std::process::id()));
    fs::write(&part, serde_json::to_vec_pretty(value)?)?;
    fs::rename(&part, directory.join(name))
}

/// A shape as Python writes it: `(3, 4)`, `(3,)`, `()`.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}
