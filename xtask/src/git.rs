//! Questions to git.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs git in a folder, and returns what it says.
///
/// # Errors
/// Where it cannot be started, or ends with an error: with what it says of that.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let asked = Command::new("git").current_dir(folder).args(arguments).stdin(Stdio::null()).output();
    let asked = asked.context("failed to start git")?;
    if !asked.status.success() {
        bail!("git {}: {}", arguments[0], String::from_utf8_lossy(&asked.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&asked.stdout).trim_end().to_owned())
}
