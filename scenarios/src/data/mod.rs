//! The data sets: synthetic ones from a seed, real ones from files; all kept once, in one format that any process in
//! any language can map.
//!
//! Takes a [`DataSpec`], hands on a [`DataSet`]. The format and its rules are in [`Cache`].

#[cfg(target_endian = "big")]
compile_error!(
    "data sets are little-endian on disk and are mapped as they lie: a big-endian machine cannot use them"
);

mod cache;
mod cifar10;
mod clusters;
mod coco;
mod criteo;
mod digits;
mod generate;
mod layout;
mod leaf;
mod manifest;
mod network;
mod normal_stream;
pub mod photograph;
mod real;
mod real_sets;
mod resize;
mod room;
mod root;
mod safetensors_files;
mod scene;
mod set;
mod spec;
mod statistics;
mod text;
mod wikitext;

pub use cache::Cache;
pub use digits::DIGITS;
pub use leaf::Leaf;
pub use manifest::Normalisation;
pub use network::NetworkCopy;
pub use real_sets::{REAL_SETS, RealSet, SetStatus};
pub(crate) use safetensors_files::{FiledTensor, no_file_missing, of_safetensors, safetensors_headers};
pub use safetensors_files::{safetensors_files, safetensors_kinds};
pub use set::DataSet;
pub use spec::{DataSpec, FieldSpec, FieldValues, Origin, VOCABULARY};
