//! What the families of the catalogue stand on: data sets, cursors over batches of them, draws, and ranks
//! that share them.
//!
//! - Data sets: synthetic ones from a seed, real ones from files; all kept once, in one format that any
//!   process in any language can map. Takes a [`DataSpec`], hands on a [`DataSet`]. The format and its rules
//!   are in [`Cache`].
//! - [`Epochs`] is an open pipeline over one: a cursor that hands out a [`Batch`] after the other.
//! - [`Draws`] are the random choices of a workload, the same in every system.

#[cfg(target_endian = "big")]
compile_error!(
    "data sets are little-endian on disk and are mapped as they lie: a big-endian machine cannot use them"
);

mod bounded_numbers;
mod cache;
mod cifar10;
mod clusters;
mod coco;
mod criteo;
mod cut;
mod digits;
mod draw;
mod either;
mod encoded;
mod epochs;
mod generate;
mod layout;
mod leaf;
mod manifest;
mod network;
mod normal_stream;
mod object_store;
pub mod photograph;
pub mod processes;
pub mod ranks;
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
pub use cut::cut;
pub use digits::DIGITS;
pub use draw::{Draw, Draws, split};
pub use encoded::{TAR_BLOCK, TAR_END, encoded, encoded_name, tar_header, tar_places};
pub use epochs::{Batch, Epochs, ExecutedWork, Rank, time_epoch};
pub use leaf::Leaf;
pub use manifest::Normalisation;
pub use network::NetworkCopy;
pub use object_store::{ObjectStore, SHARD, StoreCounts, StoreTerms};
pub use real_sets::{REAL_SETS, RealSet, SetStatus};
pub use safetensors_files::{
    FiledTensor, no_file_missing, of_safetensors, safetensors_files, safetensors_headers, safetensors_kinds,
};
pub use set::DataSet;
pub use spec::{DataSpec, FieldSpec, FieldValues, Origin, VOCABULARY};
