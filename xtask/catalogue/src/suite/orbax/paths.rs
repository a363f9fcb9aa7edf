//! Paths as suites write them.

use std::path::PathBuf;

/// A path from the root.
pub(super) fn here(path: &str) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// The kind of place that a path lies in.
pub(super) fn store(path: &str) -> &'static str {
    match path.split_once("://") {
        None => "a file system",
        Some(("gs", _)) => "Google Cloud Storage",
        Some(_) => "an object store",
    }
}
