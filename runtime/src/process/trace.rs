//! Traces: which kinds there are, how processes are told to make one, and which files are one.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Holds the kind of a trace and the folder for its files, with a colon between them.
const INTO: &str = "WEIGHBRIDGE_TRACE_INTO";

/// So many files of a trace are looked at.
const MOST_FILES: usize = 10_000;

/// A tracer of a case, in a repeat of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceKind {
    /// The profiler of `PyTorch`.
    Torch,
    /// The profiler of JAX.
    Jax,
    /// `perf record`, of all processes of the case.
    Perf,
    /// The memory that Python allocates: its peak, and the places.
    Tracemalloc,
    /// The programs that XLA compiles.
    Hlo,
}

impl TraceKind {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Torch, Self::Jax, Self::Perf, Self::Tracemalloc, Self::Hlo];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Torch => "torch",
            Self::Jax => "jax",
            Self::Perf => "perf",
            Self::Tracemalloc => "tracemalloc",
            Self::Hlo => "hlo",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Tells whether a file is of a trace of this kind, by its name: what else a tool leaves beside is none.
    fn has(self, name: &str) -> bool {
        let ends: &[&str] = match self {
            Self::Torch | Self::Tracemalloc => &[".json"],
            Self::Jax => &[".xplane.pb"],
            Self::Perf => &["perf.data"],
            Self::Hlo => &[".txt", ".pb"],
        };
        ends.iter().any(|end| name.ends_with(end))
    }
}

impl fmt::Display for TraceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A trace that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    pub(crate) kind: TraceKind,
    /// The place where its files go. It is there once somebody has begun to make it.
    pub(crate) folder: PathBuf,
}

impl Trace {
    /// The trace that this process was started for.
    pub(crate) fn from_env() -> Option<Self> {
        let text = std::env::var(INTO).ok()?;
        let (kind, folder) = text.split_once(':')?;
        Some(Self { kind: TraceKind::named(kind)?, folder: folder.into() })
    }

    /// The variable that tells processes of it.
    pub(crate) fn variable(&self) -> (String, String) {
        // What is started with it may be in another directory.
        let folder = std::path::absolute(&self.folder).unwrap_or_else(|_| self.folder.clone());
        (INTO.to_owned(), format!("{}:{}", self.kind, folder.display()))
    }

    /// Its files with their sizes in bytes, relative to its folder; all of them that were made, if one is a
    /// trace. `None` where nobody has begun to make it.
    ///
    /// # Errors
    /// Why there is no trace: in words.
    pub(crate) fn files(&self) -> Result<Option<Vec<(PathBuf, u64)>>, String> {
        if !self.folder.exists() {
            return Ok(None);
        }
        let mut files = Vec::new();
        add(&self.folder, Path::new(""), &mut files)
            .map_err(|error| format!("its files cannot be looked at: {error}"))?;
        files.sort();
        let is_trace =
            |path: &Path| path.file_name().and_then(OsStr::to_str).is_some_and(|name| self.kind.has(name));
        let mut found = false;
        for (path, bytes) in files.iter().filter(|(path, _)| is_trace(path)) {
            found = true;
            let is_empty = *bytes == 0
                || (self.kind == TraceKind::Perf
                    && samples(&self.folder.join(path)).map_err(|error| error.to_string())? == 0);
            if is_empty {
                return Err(format!("the trace `{}` is empty", path.display()));
            }
        }
        match found {
            true => Ok(Some(files)),
            false if self.kind == TraceKind::Hlo => {
                Err("XLA wrote nothing: nothing of it is compiled".to_owned())
            }
            false => Err("no file of a trace was written".to_owned()),
        }
    }
}

/// Adds all files below a directory. Links are none: they would lead elsewhere.
fn add(root: &Path, below: &Path, files: &mut Vec<(PathBuf, u64)>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let (path, kind) = (below.join(entry.file_name()), entry.file_type()?);
        if kind.is_dir() {
            add(root, &path, files)?;
        } else if kind.is_file() {
            if files.len() == MOST_FILES {
                return Err(io::Error::other(format!("there are more than {MOST_FILES}")));
            }
            files.push((path, entry.metadata()?.len()));
        }
    }
    Ok(())
}

/// The number of samples a file of `perf` has: none where `perf` was ended before it had written the header.
/// It holds other records even where nothing was sampled.
fn samples(path: &Path) -> io::Result<u64> {
    const MAGIC: &[u8] = b"PERFILE2";
    /// Offset at which the header holds the place and the length of the records: after the magic, two lengths
    /// and a section.
    const AT: usize = 40;
    /// The type of a record that is a sample.
    const SAMPLE: u32 = 9;
    let mut file = BufReader::new(File::open(path)?);
    let mut header = [0; AT + 16];
    match file.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
        read => read?,
    }
    if !header.starts_with(MAGIC) {
        return Ok(0);
    }
    let number =
        |at: usize| header[at..].iter().take(8).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    let (place, mut left) = (number(AT), number(AT + 8));
    file.seek(SeekFrom::Start(place))?;
    let mut found = 0;
    let mut record = [0; 8]; // its type, its flags, its length with these
    while left >= 8 && file.read_exact(&mut record).is_ok() {
        let kind = u32::from_le_bytes([record[0], record[1], record[2], record[3]]);
        let length = u64::from(u16::from_le_bytes([record[6], record[7]]));
        if length < 8 {
            break;
        }
        found += u64::from(kind == SAMPLE);
        left = left.saturating_sub(length);
        file.seek_relative(length.cast_signed() - 8)?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(kind: TraceKind, files: &[(&str, &[u8])]) -> (tempfile::TempDir, Trace) {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("trace");
        for (name, content) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        (place, Trace { kind, folder })
    }

    /// A file of `perf` with a record of another kind, and records of this type.
    fn perf(kind: u32, records: u64) -> Vec<u8> {
        let record =
            |kind: u32| [kind.to_le_bytes().as_slice(), &[0, 0], &24_u16.to_le_bytes(), &[7; 16]].concat();
        let data = [record(1), record(kind).repeat(records as usize)].concat();
        let lengths = [56_u64, data.len() as u64].map(u64::to_le_bytes).concat();
        [b"PERFILE2".as_slice(), &[1; 32], &lengths, &data].concat()
    }

    #[test]
    fn a_trace_that_is_there_has_all_files_beside_it() {
        let written: [(&str, &[u8]); 2] = [("save/host.xplane.pb", b"x"), ("save/note", b"")];
        let (_place, trace) = trace(TraceKind::Jax, &written);
        assert_eq!(trace.files(), Ok(Some(vec![("save/host.xplane.pb".into(), 1), ("save/note".into(), 0)])));
    }

    #[test]
    fn an_empty_trace_and_one_that_is_not_there_are_told_apart_from_none_that_was_begun() {
        let (_place, begun) = trace(TraceKind::Torch, &[("run.json", b"{}"), ("save.json", b"")]);
        assert_eq!(begun.files(), Err("the trace `save.json` is empty".to_owned()));
        let (_place, other) = trace(TraceKind::Torch, &[("README", b"no trace")]);
        assert_eq!(other.files(), Err("no file of a trace was written".to_owned()));
        assert_eq!(trace(TraceKind::Torch, &[]).1.files(), Ok(None));
    }

    #[test]
    fn perf_that_was_ended_before_it_had_written_its_header_has_no_trace() {
        let of_no_length = [perf(9, 0), vec![0; 100]].concat();
        for (content, is_trace) in [
            (perf(9, 1), true),
            (perf(9, 1_000), true),
            (perf(9, 0), false),
            (perf(10, 5), false),
            (b"PERFILE2".to_vec(), false),
            (vec![1; 200], false),
            (of_no_length, false),
        ] {
            let (_place, trace) = trace(TraceKind::Perf, &[("perf.data", &content)]);
            assert_eq!(trace.files().is_ok(), is_trace);
        }
    }

    #[test]
    fn a_link_is_no_file_of_a_trace() {
        let (_place, trace) = trace(TraceKind::Hlo, &[("README", b"x")]);
        std::os::unix::fs::symlink("/etc/passwd", trace.folder.join("module.txt")).unwrap();
        assert_eq!(trace.files(), Err("XLA wrote nothing: nothing of it is compiled".to_owned()));
    }

    #[test]
    fn every_kind_has_its_name() {
        for kind in TraceKind::ALL {
            assert_eq!(TraceKind::named(kind.name()), Some(*kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        assert_eq!(TraceKind::named("strace"), None);
    }
}
