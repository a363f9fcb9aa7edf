//! The files in which it is remembered what was found in a program, and what measuring has shown of it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::catalogue::Catalogue;

/// The file in which it is remembered what was found in this program.
pub(crate) static PATH: OnceLock<PathBuf> = OnceLock::new();

/// The file of benchmarks that need closures before their own, as measuring them has shown.
pub(crate) fn needing(path: &Path) -> PathBuf {
    path.with_extension("needing")
}

/// Remembers that this benchmark needs the closures before its own.
pub(crate) fn remember_needing(name: &str) {
    let Some(path) = PATH.get() else { return };
    if let Ok(mut file) = File::options().append(true).create(true).open(needing(path)) {
        // Without it the next process finds it out again.
        let _ = file.write_all(format!("{name}\n").as_bytes());
    }
}

/// In one piece, for programs that run side by side. What cannot be remembered is found again.
pub(crate) fn remember(path: &Path, catalogue: &Catalogue) {
    let write = || {
        let text = serde_json::to_vec(catalogue).ok()?;
        fs::create_dir_all(path.parent()?).ok()?;
        let new = path.with_extension(format!("new-{}", std::process::id()));
        fs::write(&new, text).ok()?;
        fs::rename(&new, path).ok()
    };
    let _ = write();
}
