//! The program that children run: held fast, so that one run is of one program whatever is built meanwhile.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use xxhash_rust::xxh3::Xxh3;

use super::ChildFault;
use crate::device::Platform;
use crate::process::ChildPlace;

/// The program of this process, by a name that leads to the very file that was started, though another one
/// may be in its place.
const OWN: &str = "/proc/self/exe";

/// The way in which children are started.
#[derive(Clone, Debug)]
pub struct Program {
    /// The place where the executable was when it was first looked at.
    pub path: PathBuf,
    /// Variables set for every child.
    pub variables: Vec<(String, String)>,
    /// True if the parent is to look at the machine's use while a child measures.
    pub samples: bool,
    /// The folder in which children are started; `None` for that of this process.
    directory: Option<PathBuf>,
    /// The stamp of the file then; `None` where children are started as what this very process runs.
    stamp: Option<FileStamp>,
}

/// Stamp that tells a file from another one in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    length: u64,
    written: (i64, i64),
}

impl FileStamp {
    fn of(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        let written = (found.mtime(), found.mtime_nsec());
        Ok(Self { device: found.dev(), inode: found.ino(), length: found.len(), written })
    }
}

impl Program {
    /// Returns the program of this very process. Children run the same, even where another program has been
    /// built in its place.
    ///
    /// # Errors
    /// When the system does not say what this process runs.
    pub fn own() -> io::Result<Self> {
        let path = std::env::current_exe()?;
        let stamp = if Path::new(OWN).exists() { None } else { Some(FileStamp::of(&path)?) };
        Ok(Self { path, variables: Vec::new(), samples: true, directory: None, stamp })
    }

    /// The fault of a child that could not be started.
    pub(super) fn not_started(&self, error: &io::Error) -> ChildFault {
        ChildFault::NotStarted { program: self.path.display().to_string(), why: error.to_string() }
    }

    /// The same variables, for the program at this path. A child is refused once another one is there.
    ///
    /// # Errors
    /// When there is none.
    pub fn at(self, path: PathBuf) -> io::Result<Self> {
        Ok(Self { stamp: Some(FileStamp::of(&path)?), path, ..self })
    }

    /// Returns the program at this path, whose children are started in this folder. A child is refused once
    /// another one is there.
    ///
    /// # Errors
    /// When there is none.
    pub fn apart(path: &Path, directory: &Path) -> io::Result<Self> {
        let (path, directory) = (path.to_owned(), Some(directory.to_owned()));
        Ok(Self { stamp: Some(FileStamp::of(&path)?), path, variables: Vec::new(), samples: true, directory })
    }

    /// Returns the digest that tells this program from any other: the 128-bit XXH3 hash of its file, in
    /// hexadecimal.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn digest(&self) -> io::Result<String> {
        let mut file = File::open(if self.stamp.is_none() { Path::new(OWN) } else { &self.path })?;
        let mut hash = Xxh3::new();
        let mut part = vec![0; 1 << 20];
        loop {
            match file.read(&mut part)? {
                0 => return Ok(format!("{:032x}", hash.digest128())),
                bytes => hash.update(&part[..bytes]),
            }
        }
    }

    /// A command that starts it.
    ///
    /// # Errors
    /// When another program is in its place.
    pub fn command(&self) -> io::Result<Command> {
        let Some(stamp) = &self.stamp else {
            // The link is followed in the child between fork and exec, when that is still what the parent is.
            let mut command = Command::new(OWN);
            command.arg0(&self.path);
            return Ok(command);
        };
        if FileStamp::of(&self.path)? != *stamp {
            return Err(io::Error::other("another program was built in its place since the run began"));
        }
        let mut command = Command::new(&self.path);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        Ok(command)
    }

    /// The same, with a folder in which systems under test find what an earlier child has kept for the run.
    #[must_use]
    pub fn keeping(mut self, folder: &Path) -> Self {
        self.variables.push(ChildPlace::keeping(folder));
        self
    }

    /// The same, for this platform.
    #[must_use]
    pub(super) fn on(mut self, platform: Platform) -> Self {
        self.variables.push(ChildPlace::on(platform));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_built_anew_is_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bench");
        fs::write(&path, "#!/bin/sh\nexit 0\n").unwrap();
        let program = Program::own().unwrap().at(path.clone()).unwrap();
        let before = program.digest().unwrap();
        program.command().unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
        let said = program.command().unwrap_err().to_string();
        assert!(said.contains("another program was built in its place"), "{said}");
        assert_ne!(program.digest().unwrap(), before);
        assert!(Program::own().unwrap().at(folder.path().join("none")).is_err());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn children_run_what_this_process_runs() {
        let own = Program::own().unwrap();
        assert_eq!(own.command().unwrap().get_program(), OWN);
        assert_eq!(own.digest().unwrap(), own.clone().at(own.path.clone()).unwrap().digest().unwrap());
    }
}
