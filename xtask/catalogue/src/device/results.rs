//! A folder of results, as it came from a machine that nobody here knows: looked at before anything of it is
//! read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use weighbridge::data::{read_text, visible_in_line};
use weighbridge_xtask::stop;

/// The most that a file of results may hold, in bytes.
const LARGEST_FILE: u64 = 64 << 20;

/// The most that all of them may hold, in bytes.
const LARGEST: u64 = 512 << 20;

/// The most files and folders that there may be.
const MOST: usize = 50_000;

/// The list of steps.
const STEPS: &str = "steps.tsv";

/// A folder of results with nothing in it that leads elsewhere.
#[derive(Debug)]
pub(super) struct Results {
    folder: PathBuf,
}

/// A step, and how it ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DeviceStep {
    pub(super) name: String,
    pub(super) state: String,
    pub(super) seconds: String,
}

impl DeviceStep {
    /// True if it ended well.
    pub(super) fn is_well(&self) -> bool {
        self.state == "ok"
    }
}

impl Results {
    /// Goes through the folder.
    ///
    /// # Errors
    /// That it is none of results, or holds what no step writes: a link, a device, a huge file.
    pub(super) fn of(folder: &Path) -> Result<Self> {
        let mut seen = Seen::default();
        seen.look(folder, folder)?;
        if !folder.join(STEPS).is_file() {
            let name = folder.display();
            return Err(stop::usage(format!("{name} is no folder of results: it has no {STEPS}")));
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// The steps, as the script wrote them down.
    ///
    /// # Errors
    /// That they cannot be read.
    pub(super) fn steps(&self) -> Result<Vec<DeviceStep>> {
        let path = self.folder.join(STEPS);
        let text = read_text(&path).with_context(|| format!("failed to read {}", path.display()))?;
        let steps: Option<Vec<_>> = text.lines().skip(1).map(step).collect();
        steps.ok_or_else(|| stop::usage(format!("{}: a line of it is no step", path.display())))
    }

    /// The data directories in it: that of all steps, and those of a step that starts a program often.
    pub(super) fn data(&self) -> Vec<PathBuf> {
        let mut all = vec![self.folder.join("data")];
        let beside = fs::read_dir(self.folder.join("data-beside")).into_iter().flatten().flatten();
        all.extend(beside.map(|entry| entry.path()));
        all.retain(|data| data.join("runs").is_dir());
        all.sort();
        all
    }
}

fn step(line: &str) -> Option<DeviceStep> {
    let mut fields = line.split('\t').map(visible_in_line);
    Some(DeviceStep { name: fields.next()?, state: fields.next()?, seconds: fields.next()? })
}

/// The files that were seen so far.
#[derive(Default)]
struct Seen {
    files: usize,
    bytes: u64,
}

impl Seen {
    fn look(&mut self, root: &Path, path: &Path) -> Result<()> {
        let about =
            fs::symlink_metadata(path).with_context(|| format!("failed to read {}", path.display()))?;
        let refused = |why: &str| {
            let name = path.strip_prefix(root).unwrap_or(path).display().to_string();
            Err(stop::usage(format!("{}: {why}; nothing was stored", visible_in_line(&name))))
        };
        self.files += 1;
        if self.files > MOST {
            return refused(&format!("there are more than {MOST} files"));
        }
        if about.is_dir() {
            let entries = fs::read_dir(path).with_context(|| format!("failed to read {}", path.display()))?;
            return entries.into_iter().try_for_each(|entry| self.look(root, &entry?.path()));
        }
        if !about.is_file() {
            return refused("it is neither a file nor a folder, and no step writes such a thing");
        }
        self.bytes += about.len();
        match about.len() {
            size if size > LARGEST_FILE => refused(&format!("it has {size} bytes, which no step writes")),
            _ if self.bytes > LARGEST => refused(&format!("with it there are over {LARGEST} bytes")),
            _ => Ok(()),
        }
    }
}
