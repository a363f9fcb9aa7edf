//! JSON into types and back, in one way for all of them: what is kept in files, what processes say to each
//! other, settings.
//!
//! A type that derives `Deserialize` is compiled once for every deserializer that reads it, and once more for
//! every form that this one may hand it: a struct as a sequence, a field by its number. [`Reader`] goes
//! through a tree of values and hands on the one form that we write, which is less than half of the code that
//! `serde_json::from_slice` makes of the same types. A bench binary's build is a promise, so nothing in this
//! crate reads a type in another way.
//! Nor does it write one otherwise than through [`write`]: the text is that of `serde_json`, of whose code a
//! part would be made again for each type.
//!
//! The tree costs time and memory for large files; none that we read is large beside what was measured for
//! it.

mod frame;
mod reader;
mod toml_depth;
mod tree;
mod writer;

pub(crate) use frame::{Frames, send};
pub(crate) use reader::{Reader, from_toml, read};
pub use toml_depth::too_deep;
pub(crate) use tree::Tree;
pub(crate) use writer::write;
