//! Where every file of a launch lies, below the shared folder.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{LaunchError, Result};

/// The folder of all launches, below the one that hosts share.
const LAUNCHES: &str = "weighbridge-launches";

/// The folder of one launch. Ranks write one file each for every kind below it, and for each stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaunchFolder {
    root: PathBuf,
}

impl LaunchFolder {
    /// The folder of a launch below the shared one.
    pub(crate) fn of(shared: &Path, launch: &str) -> Self {
        Self { root: shared.join(LAUNCHES).join(launch) }
    }

    /// The folder of all launches below a shared one.
    pub(crate) fn all(shared: &Path) -> PathBuf {
        shared.join(LAUNCHES)
    }

    /// A folder that a rank was told of.
    pub(crate) fn at(root: PathBuf) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn spec(&self) -> PathBuf {
        self.root.join("spec.json")
    }

    /// Programs and what travels with them.
    pub(crate) fn bundle(&self) -> PathBuf {
        self.root.join("bundle")
    }

    /// This tool, for the hosts.
    pub(crate) fn tool(&self) -> PathBuf {
        self.bundle().join("tool")
    }

    pub(crate) fn program(&self) -> PathBuf {
        self.bundle().join("program")
    }

    /// The other side of a comparison.
    pub(crate) fn baseline(&self) -> PathBuf {
        self.bundle().join("baseline")
    }

    /// The words of the engine's commands, and its files.
    pub(crate) fn engine(&self) -> PathBuf {
        self.root.join("engine")
    }

    pub(crate) fn job_file(&self, name: &str) -> PathBuf {
        self.engine().join(name)
    }

    /// The files of the ranks in one attempt of the engine: it may start a job again.
    pub(crate) fn attempt(&self, attempt: u32) -> RankFiles {
        RankFiles { root: self.root.join(format!("attempt-{attempt}")) }
    }

    /// The data directory of a rank. Attempts share it, so that one goes on where another ended.
    pub(crate) fn data(&self, stage: &str, rank: u32) -> PathBuf {
        self.root.join("data").join(stage).join(rank_name(rank))
    }

    /// The number of attempts that left files.
    pub(crate) fn attempts(&self) -> u32 {
        (0..u32::MAX).find(|attempt| !self.attempt(*attempt).root.exists()).unwrap_or(u32::MAX)
    }

    /// The scratch folder in which ranks of one stage find each other.
    pub(crate) fn rendezvous(&self, stage: &str, attempt: u32) -> PathBuf {
        self.root.join("rendezvous").join(format!("{stage}-{attempt}"))
    }

    /// A sign of life of the process that follows.
    pub(crate) fn follower(&self) -> PathBuf {
        self.root.join("follower")
    }

    pub(crate) fn stall(&self) -> PathBuf {
        self.root.join("stall.json")
    }

    /// The summary of the launch.
    pub(crate) fn summary(&self) -> PathBuf {
        self.root.join("summary.json")
    }
}

/// The files of the ranks in one attempt.
#[derive(Clone, Debug)]
pub(crate) struct RankFiles {
    root: PathBuf,
}

impl RankFiles {
    /// Facts of a rank and of its host.
    pub(crate) fn report(&self, rank: u32) -> PathBuf {
        self.root.join("reports").join(rank_name(rank)).with_extension("json")
    }

    pub(crate) fn beat(&self, rank: u32) -> PathBuf {
        self.root.join("beats").join(rank_name(rank)).with_extension("json")
    }

    pub(crate) fn result(&self, stage: &str, rank: u32) -> PathBuf {
        self.root.join("results").join(stage).join(rank_name(rank)).with_extension("json")
    }

    pub(crate) fn comparison(&self, stage: &str, rank: u32) -> PathBuf {
        self.root.join("comparisons").join(stage).join(rank_name(rank)).with_extension("json")
    }

    pub(crate) fn log(&self, stage: &str, rank: u32) -> PathBuf {
        self.root.join("logs").join(stage).join(rank_name(rank)).with_extension("log")
    }

    pub(crate) fn verdict(&self, stage: &str) -> PathBuf {
        self.root.join("verdicts").join(stage).with_extension("json")
    }
}

fn rank_name(rank: u32) -> String {
    format!("rank-{rank:05}")
}

/// Writes a document beside its place and renames it, so that nobody on any host reads a part.
pub(crate) fn write_json(path: &Path, document: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(document).expect("our documents are text and numbers");
    put(path, text.as_bytes()).map_err(LaunchError::io("write", path))
}

fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.flush()?;
    // Without a wait for the disk: a sign of life every few seconds may not slow down what is measured.
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Reads a document that may not be there yet; `None` where it is not.
///
/// # Errors
/// When it is there and cannot be read.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    // Opened by name each time: on a network's file system a look at the folder alone may be old.
    let text = match File::open(path).and_then(io::read_to_string) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LaunchError::io("read", path)(error)),
    };
    let bad = |error: serde_json::Error| LaunchError::Content { path: path.into(), why: error.to_string() };
    serde_json::from_str(&text).map(Some).map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_there_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/er/one.json");
        assert_eq!(read_json::<u32>(&file).unwrap(), None);
        write_json(&file, &7).unwrap();
        assert_eq!(read_json::<u32>(&file).unwrap(), Some(7));
        assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
        fs::write(&file, "7 7").unwrap();
        assert!(read_json::<u32>(&file).unwrap_err().to_string().contains("one.json"));
    }

    #[test]
    fn no_two_files_of_a_launch_have_one_place() {
        let folder = LaunchFolder::of(Path::new("/s"), "id");
        let files = folder.attempt(0);
        let mut all = vec![
            files.report(0),
            files.report(1),
            files.beat(0),
            files.result("gate", 0),
            files.result("full", 0),
            files.comparison("full", 0),
            files.log("full", 0),
            files.verdict("full"),
            folder.attempt(1).report(0),
            folder.data("full", 0),
            folder.spec(),
            folder.tool(),
            folder.program(),
            folder.baseline(),
            folder.summary(),
            folder.stall(),
            folder.follower(),
        ];
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|file| file.starts_with("/s/weighbridge-launches/id")));
    }
}
