//! What the program that was started anew is told: the line, what the probes found, and a folder that its
//! processes share.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use weighbridge_load::{CacheProbe, Percentile};

use super::LoadArgs;

/// The environment variable that hands it on. It is none of those that records keep: the cases say what it
/// tells.
const VARIABLE: &str = "LOAD_OF_WEIGHBRIDGE";

/// The settings of all windows. No key is in it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HandedLoad {
    /// The line as it was typed.
    pub(super) args: LoadArgs,
    /// The probes for a cache, in the order of the sides.
    pub(super) probes: Vec<Option<CacheProbe>>,
    /// The folder that all windows share.
    pub(super) folder: PathBuf,
}

impl HandedLoad {
    /// Hands it to a program.
    ///
    /// # Errors
    /// When a path in it is no text.
    pub(super) fn hand_to(&self, program: &mut Command) -> Result<()> {
        program.env(VARIABLE, serde_json::to_string(self).context("failed to write the levels down")?);
        Ok(())
    }

    /// The settings that this process was told, if it was.
    pub(super) fn told() -> Option<Self> {
        serde_json::from_str(&std::env::var(VARIABLE).ok()?).ok()
    }

    /// The number of the next window of a case, from 0: each is given once.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn number(&self, case: &str) -> Result<u32> {
        for number in 0..u32::MAX {
            let file = self.folder.join(format!("{case}.{number}"));
            match fs::OpenOptions::new().write(true).create_new(true).open(&file) {
                Ok(_) => return Ok(number),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("failed to make {}", file.display()));
                }
            }
        }
        anyhow::bail!("there are too many windows")
    }

    /// Keeps the median latency of the first window of a case.
    ///
    /// # Errors
    /// Those of the file system.
    pub(super) fn keep_first(&self, case: &str, median: Option<Percentile>) -> Result<()> {
        let file = self.folder.join(format!("{case}.first"));
        let text = serde_json::to_string(&median).context("failed to write a window down")?;
        fs::write(&file, text).with_context(|| format!("failed to write {}", file.display()))
    }

    /// The same, for the last window.
    pub(super) fn first(&self, case: &str) -> Option<Percentile> {
        let text = fs::read_to_string(self.folder.join(format!("{case}.first"))).ok()?;
        serde_json::from_str(&text).ok()?
    }
}
