//! Suite files: which benchmarks run at which values of their axes, kept in a file instead of a command line.
//!
//! A file becomes [`Node`]s, each with its place, whichever syntax it has. A [`SuiteFile`] is read from
//! those, key by key. A bench target makes a request of each of its benchmarks.

mod form;
mod keys;
mod node;
mod requests;
mod toml;
mod toml_places;

use std::ffi::OsStr;
use std::path::Path;

pub use form::{SuiteBenchmark, SuiteFile, WrittenText, arrays};
pub use keys::Keys;
pub use node::{Mistake, Node, Position, TableKey, Value};

/// A file of TOML as nodes.
///
/// # Errors
/// What is wrong in the text, with its place. YAML is refused by the file's name: the tool reads it, so that
/// no bench target builds a reader of YAML.
pub fn nodes(file: &str, text: &str) -> Result<Node, Mistake> {
    if is_yaml(file) {
        let tool = crate::tool();
        return Err(Mistake::of_file(format!(
            "a bench target reads TOML; `{tool} suite run {file}` reads YAML and hands it on"
        )));
    }
    toml::read(text)
}

/// Tells whether a file of this name is YAML.
fn is_yaml(file: &str) -> bool {
    matches!(Path::new(file).extension().and_then(OsStr::to_str), Some("yaml" | "yml"))
}
