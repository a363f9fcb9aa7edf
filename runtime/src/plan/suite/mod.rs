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
#[cfg(feature = "yaml")]
mod yaml;

use std::ffi::OsStr;
use std::path::Path;

pub use form::{SuiteBenchmark, SuiteFile, WrittenText, arrays};
pub use keys::Keys;
pub use node::{Mistake, Node, Position, TableKey, Value};

/// A file as nodes: YAML where its name ends with `.yaml` or `.yml`, and TOML otherwise.
///
/// # Errors
/// What is wrong in the text, with its place. Where this program was built without the feature `yaml`, YAML
/// is refused.
pub fn nodes(file: &str, text: &str) -> Result<Node, Mistake> {
    match is_yaml(file) {
        true => of_yaml(text),
        false => toml::read(text),
    }
}

/// Tells whether a file of this name is YAML.
fn is_yaml(file: &str) -> bool {
    matches!(Path::new(file).extension().and_then(OsStr::to_str), Some("yaml" | "yml"))
}

#[cfg(feature = "yaml")]
fn of_yaml(text: &str) -> Result<Node, Mistake> {
    yaml::read(text)
}

#[cfg(not(feature = "yaml"))]
fn of_yaml(_: &str) -> Result<Node, Mistake> {
    Err(Mistake::of_file(
        "this program does not read YAML: build it with the feature `yaml` of weighbridge, or write the file \
         as TOML",
    ))
}
