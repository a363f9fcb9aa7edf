//! The directory of real data: where files are looked for, and what is said when they are not there.

use std::path::{Path, PathBuf};

use weighbridge::{Error, ErrorKind, Result};

/// The first of these that exists below the data root; else a skip with `remedy`, which says what to fetch.
pub(super) fn below_root(data_root: Option<&Path>, names: &[&str], remedy: &str) -> Result<PathBuf> {
    let Some(root) = data_root else {
        let place = names.join("` or `<root>/");
        return Err(Error::of(
            ErrorKind::NoData,
            format!(
                "no directory of real data is named: {remedy}, so that `<root>/{place}` exists, and name \
                 <root> with --data-root or WEIGHBRIDGE_DATA_ROOT"
            ),
        ));
    };
    names.iter().map(|name| root.join(name)).find(|path| path.exists()).ok_or_else(|| {
        let places: Vec<String> = names.iter().map(|name| root.join(name).display().to_string()).collect();
        Error::of(ErrorKind::NoData, format!("{} is absent: {remedy} there", places.join(" or ")))
    })
}

/// A file that should be readable and is not.
pub(super) fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::new(format!("failed to read {}: {error}", path.display()))
}
