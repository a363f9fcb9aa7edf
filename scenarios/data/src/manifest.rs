//! `data.json`: what lies in a data set's directory.

use serde::{Deserialize, Serialize};
use weighbridge::FieldKind;
use xxhash_rust::xxh3::xxh3_128;

/// The version of the format, and of the generators: raise it when either changes. It is part of the
/// directory's name, so that no data of an older kind are taken for new ones.
pub(super) const FORMAT: u32 = 1;

/// The file as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DataManifest {
    /// The version of the format.
    pub(super) format: u32,
    /// The number of elements of every field.
    pub(super) elements: usize,
    /// The fields, in order.
    pub(super) fields: Vec<FieldEntry>,
    /// `xxh3-128` over all fields: kinds, count, contents, constants.
    pub(super) digest: String,
}

/// One field's file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FieldEntry {
    /// Name, type, element shape.
    pub(super) kind: FieldKind,
    /// The file's length.
    pub(super) bytes: u64,
    /// `xxh3-128` of the file.
    pub(super) digest: String,
    /// The constants of `Normalize`, for `f32` fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) normalisation: Option<Normalisation>,
}

/// The constants of `Normalize` for one `f32` field: `(x - mean[k]) * scale[k]`, `k` the index on the last
/// axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Normalisation {
    /// The mean over the data set.
    pub mean: Vec<f32>,
    /// One over the standard deviation over the data set; 1 where there is none.
    pub scale: Vec<f32>,
}

impl Normalisation {
    fn bits(&self) -> Vec<u32> {
        self.mean.iter().chain(&self.scale).map(|x| x.to_bits()).collect()
    }
}

impl DataManifest {
    /// Puts the fields together.
    pub(super) fn new(elements: usize, fields: Vec<FieldEntry>) -> Self {
        let line = |FieldEntry { kind, digest, normalisation, .. }: &FieldEntry| {
            let constants = normalisation.as_ref().map(Normalisation::bits);
            let (name, dtype, shape) = (&kind.name, kind.dtype.name(), &kind.shape);
            format!("{name}\0{dtype}\0{shape:?}\0{elements}\0{digest}\0{constants:?}\n")
        };
        let text: Vec<String> = fields.iter().map(line).collect();
        Self { format: FORMAT, elements, fields, digest: hex(xxh3_128(text.concat().as_bytes())) }
    }
}

/// A digest as people and files write it.
pub(super) fn hex(digest: u128) -> String {
    format!("{digest:032x}")
}
