//! What was attached to a case beside its figures: traces, each of a repeat of its own that counts nowhere.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

use crate::bencher::visible_in_line;
use crate::process::TraceKind;

/// A trace of a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// The tracer.
    pub kind: TraceKind,
    /// The outcome.
    pub status: AttachmentStatus,
    /// Its files, those beside it included.
    pub files: Vec<AttachedFile>,
    /// The allocations of Python, operation by operation; of `tracemalloc` alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocations: Vec<Allocations>,
}

/// The outcome of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AttachmentStatus {
    /// It is there, and not empty.
    Attached,
    /// The case has nothing that could be traced so, and why.
    Absent(String),
    /// There should be a trace, and there is none: why.
    Failed(String),
}

/// A file of a trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedFile {
    /// The place where it lies in the folder of its run.
    pub path: PathBuf,
    /// Its length in bytes.
    pub bytes: u64,
}

/// The allocations of Python in an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocations {
    /// The operation: `save`.
    pub operation: String,
    /// The most that was allocated at a time beyond what was at its beginning, in bytes.
    pub peak: u64,
    /// The lines whose allocations live on at its end: those that changed most first.
    pub sites: Vec<AllocationSite>,
}

/// A line of Python that allocates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllocationSite {
    /// The file and the line.
    pub place: String,
    /// The source text of the line.
    pub source: String,
    /// The number of bytes more that are allocated from there than before.
    pub bytes: i64,
    /// The number of allocations more.
    pub allocations: i64,
}

/// The longest text of an operation that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// So many lines of an operation are kept, and so many letters of each text.
const SITES: usize = 15;
const LETTERS: usize = 300;

impl Attachment {
    /// A trace that is not there.
    pub fn missing(kind: TraceKind, status: AttachmentStatus) -> Self {
        Self { kind, status, files: Vec::new(), allocations: Vec::new() }
    }
}

impl Allocations {
    /// Reads what a worker has written of an operation.
    ///
    /// # Errors
    /// Why that cannot be read, in words.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let wrong = |why: String| format!("`{}` cannot be read: {why}", path.display());
        let text = content(path).map_err(|error| wrong(error.to_string()))?;
        let read: Self = crate::json::read(&text).map_err(|error| wrong(error.to_string()))?;
        let shown = |text: &str| visible_in_line(&text.chars().take(LETTERS).collect::<String>());
        let sites = read.sites.into_iter().take(SITES).map(|site| AllocationSite {
            place: shown(&site.place),
            source: shown(&site.source),
            ..site
        });
        Ok(Self { operation: shown(&read.operation), peak: read.peak, sites: sites.collect() })
    }
}

/// The content of a file that a worker has written: it may have put a pipe there, or write on.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut content = Vec::new();
    if file.take(LONGEST + 1).read_to_end(&mut content)? as u64 > LONGEST {
        return Err(io::Error::other(format!("it has more than {LONGEST} bytes")));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Allocations, String> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("save.json");
        std::fs::write(&path, text).unwrap();
        Allocations::read(&path)
    }

    #[test]
    fn what_a_worker_writes_of_allocations_is_read_bounded_and_made_visible() {
        let site = r#"{"place": "a\u001b[2J.py:1", "source": "x = 1", "bytes": -5, "allocations": 2}"#;
        let sites = vec![site; 1_000].join(",");
        let found = read(&format!(r#"{{"operation": "save", "peak": 7, "sites": [{sites}]}}"#)).unwrap();
        assert_eq!((found.peak, found.sites.len(), found.sites[0].bytes), (7, SITES, -5));
        assert_eq!(found.sites[0].place, r"a\u{1b}[2J.py:1");
    }

    #[test]
    fn what_is_no_account_of_allocations_says_why() {
        let negative = r#"{"operation": "save", "peak": -1, "sites": []}"#;
        for text in ["", "{}", "[1]", negative, &" ".repeat(2 << 20)] {
            assert!(read(text).unwrap_err().contains("cannot be read"), "{text:.20}");
        }
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("save.json");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(Allocations::read(&pipe).unwrap_err().ends_with("it is no file"));
    }
}
