//! The policy that a workspace states.

use std::io::ErrorKind;

use anyhow::{Context, Result};
use weighbridge::data::{Layout, Policy, read_text};

use crate::history::accepted_file;
use crate::place::Place;
use crate::stop;

/// The settings of the workspace for the gate, with the changes that were accepted.
pub(crate) fn stated_policy(place: &Place) -> Result<Policy> {
    let file = place.root.join(".config").join("weighbridge.toml");
    let stated = match read_text(&file) {
        Ok(text) => Policy::read(&text).map_err(|why| stop::usage(format!("{}: {why}", file.display())))?,
        Err(error) if error.kind() == ErrorKind::NotFound => Policy::default(),
        Err(error) => return Err(error).with_context(|| format!("failed to read `{}`", file.display())),
    };
    Ok(Policy { accepted: accepted_file::read(&Layout::accepted_file(&place.root))?, ..stated })
}
