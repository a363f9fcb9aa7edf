//! The names of what lies in the cache of data sets.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The manifest's file name.
pub(super) const MANIFEST: &str = "data.json";

/// The file name of a field.
pub(super) fn field_file(name: &str) -> String {
    format!("{name}.bin")
}

/// A name for a data set that is being made.
pub(super) fn making(cache: &Path) -> PathBuf {
    unique(cache, "making")
}

/// A name for a data set that is on its way out.
pub(super) fn aside(cache: &Path) -> PathBuf {
    unique(cache, "aside")
}

/// A name that no other call gets, in this process or another.
fn unique(cache: &Path, what: &str) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    cache.join(format!(".{what}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)))
}
