//! What can go wrong with files and names.

use std::io;
use std::path::{Path, PathBuf};

use crate::record::{RunId, SchemaError};
use crate::tool::tool;

/// The reason why the store could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system refused.
    #[error("failed to {attempt} `{}`: {source}{}", path.display(), mend(path, source))]
    Io {
        /// The attempt, as a verb: `make`, `lock`.
        attempt: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The lock that keeps two measuring runs apart cannot be taken.
    #[error(
        "failed to open the lock `{}`: {source}: {}, or add `--no-lock`, which does not wait for other runs",
        path.display(), mend_lock(path, source)
    )]
    Lock {
        /// Its file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("failed to read `{}`: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: SchemaError,
    },
    /// A record could not be put into a form that can be read again.
    #[error("refused to write `{}`: {source}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: SchemaError,
    },
    /// A sound file lies where another belongs.
    #[error(
        "failed to read `{}`: it holds {found} where {expected} belongs: was it renamed or copied by hand?",
        path.display()
    )]
    Misplaced {
        /// The file.
        path: PathBuf,
        /// The content that it has.
        found: String,
        /// The content that belongs there.
        expected: String,
    },
    /// A run that came to its end lacks files of it.
    #[error(
        "run {run} is damaged: files of it are gone ({gone}); `cargo bench --bench {target} -- --resume \
         {run}` derives records of cases from the journal again and measures lost repeats again; or remove \
         the run"
    )]
    Damaged {
        /// The run.
        run: RunId,
        /// The files that are gone, in words.
        gone: String,
        /// The bench target that measured it.
        target: String,
    },
    /// There is no such run.
    #[error(
        "there is no run `{run}` in `{}`: `{} runs list` shows those that are there",
        data.display(), tool()
    )]
    NoRun {
        /// The run that was asked for.
        run: RunId,
        /// The data directory.
        data: PathBuf,
    },
    /// Two runs of one name: they started in the same second and drew the same salt.
    #[error("there is a run `{0}` already")]
    RunExists(RunId),
    /// A name that is no baseline's.
    #[error(
        "`{0}` is no name for a baseline: use letters, digits, `.`, `_` and `-`, at most 100, none a \
         leading `.`"
    )]
    BadName(String),
    /// There is no such baseline.
    #[error(
        "there is no baseline `{name}` of {suite}{}: make one with `cargo bench -- --save-baseline {name}` \
         or `{} baseline set {name}`",
        did_you_mean(nearest.as_deref()), tool()
    )]
    NoBaseline {
        /// The name that was asked for.
        name: String,
        /// The suite that was asked for.
        suite: String,
        /// The nearest name that is there.
        nearest: Option<String>,
    },
    /// A run that may not be judged by.
    #[error("run {run} cannot become baseline `{name}`: {why}")]
    NotPromoted {
        /// The run.
        run: RunId,
        /// The name that it should have had.
        name: String,
        /// The reason.
        why: String,
    },
    /// A committed baseline that would weigh down the repository.
    #[error(
        "baseline `{name}` takes {bytes} bytes and a committed one may take {limit}: promote a run of fewer \
         cases"
    )]
    TooBig {
        /// Its name.
        name: String,
        /// The size that it has, in bytes.
        bytes: usize,
        /// The size that it may have, in bytes.
        limit: usize,
    },
    /// A folder of the data directory leads elsewhere.
    #[error("`{}` is a link, and nothing is removed through one: remove what lies behind it by \
        hand", .0.display())]
    Link(PathBuf),
    /// A committed baseline was asked for where there is no workspace to commit it to.
    #[error("there is no workspace to commit baseline `{0}` to: run this inside one")]
    NoWorkspace(String),
}

impl StoreError {
    /// Turns an error of the file system into ours.
    pub(super) fn io(attempt: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { attempt, path, source }
    }

    /// Turns an error of the file system about a lock into ours.
    pub(super) fn lock(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Lock { path, source }
    }

    /// Tells whether a file or directory that was asked for is not there.
    pub(super) fn absent(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Returns advice about a lock that cannot be opened.
fn mend_lock(path: &Path, source: &io::Error) -> String {
    let folder = path.parent().unwrap_or(path).display();
    if path.is_symlink() {
        return "it is a link, and none is followed: remove it".to_owned();
    }
    match source.kind() {
        io::ErrorKind::NotFound => {
            let why = in_the_way(path).unwrap_or_else(|| format!("make `{folder}`"));
            format!("the folder for temporary files is not there: {why}, or name another in TMPDIR")
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            format!("`{folder}` cannot be written: name another folder for temporary files in TMPDIR")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!("`{folder}` is full: free some space")
        }
        _ => "remove what lies there".to_owned(),
    }
}

/// Says what stands in the way of a folder: a link to nothing, or what is no folder.
fn in_the_way(path: &Path) -> Option<String> {
    let there = path.ancestors().find(|above| above.symlink_metadata().is_ok())?;
    let name = there.display();
    match std::fs::read_link(there) {
        Ok(to) if !there.exists() => {
            Some(format!("`{name}` is a link to `{}`, which is not there: make that", to.display()))
        }
        _ if !there.is_dir() => Some(format!("`{name}` is no folder: remove it")),
        _ => None,
    }
}

/// Returns advice about an error of the file system.
fn mend(path: &Path, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => in_the_way(path)
            .map_or_else(String::new, |why| format!(": {why}, or name another place with `--data`")),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            format!(
                ": free some space (`{} runs prune` removes old runs) or name another place with `--data`",
                tool()
            )
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ": name a directory that can be written with `--data`".to_owned()
        }
        _ => String::new(),
    }
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}
