//! Where a command works: the product's workspace, and where cargo builds it.

use std::path::{Path, PathBuf, absolute};

use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;

/// Where a command works.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The root of the product's workspace.
    pub(crate) root: PathBuf,
    /// Where cargo builds it, and where all else is built, so that what both need is built once.
    pub(crate) target: PathBuf,
    /// The data directory.
    pub(crate) data: PathBuf,
}

impl Place {
    /// The workspace that this program was built in. `data` takes the place of the usual data directory.
    ///
    /// # Errors
    /// When cargo does not know it.
    pub(crate) fn find(data: Option<&Path>) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let metadata = MetadataCommand::new().current_dir(root).no_deps().exec();
        let metadata = metadata.context("failed to ask cargo for the workspace")?;
        let target = metadata.target_directory.into_std_path_buf();
        let data = match data {
            Some(data) => absolute(data).context("failed to find the data directory")?,
            None => target.join("weighbridge"),
        };
        Ok(Self { root: metadata.workspace_root.into_std_path_buf(), target, data })
    }

    /// This workspace of its own, or a package of it.
    pub(crate) fn lab(&self) -> PathBuf {
        self.root.join("tests").join("lab")
    }
}
