//! What `strace` wrote, as changes of files below a directory.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use weighbridge::{Error, Result, skip};

/// A change of the files below a directory. Paths are relative to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::checkpoint) enum LoggedChange {
    /// A directory is made.
    MakeDirectory(PathBuf),
    /// A file is made where there is none; what it holds goes where it is `cut`.
    Open { path: PathBuf, cut: bool },
    /// Bytes are written.
    Write { path: PathBuf, at: u64, bytes: Vec<u8> },
    /// A file gets this length, or at least this length.
    Length { path: PathBuf, bytes: u64, at_least: bool },
    /// Something gets another name.
    Rename { from: PathBuf, to: PathBuf },
    /// A file gets another name beside the one that it has.
    Link { from: PathBuf, to: PathBuf },
    /// A file or a directory is removed.
    Remove(PathBuf),
    /// A file's or a directory's contents are synced to the disk; all, where there is no path.
    Sync(Option<PathBuf>),
}

/// The changes below `root`, in the order in which the calls ended.
///
/// # Errors
/// A skip for a way to write that cannot be followed. A failure for a line that is none.
pub(in crate::checkpoint) fn parse(text: &str, root: &Path) -> Result<Vec<LoggedChange>> {
    let mut reader = LogReader { root, places: HashMap::new(), lengths: HashMap::new(), changes: Vec::new() };
    let mut begun: HashMap<&str, &str> = HashMap::new();
    for line in text.lines() {
        let (thread, call) = line.split_once(' ').unwrap_or((line, ""));
        let call = call.trim_start();
        // A call that was under way when the recording ended has changed nothing in it.
        if call.starts_with("+++") || call.starts_with("---") || call.ends_with("<detached ...>") {
            continue;
        }
        if let Some(first) = call.strip_suffix("<unfinished ...>") {
            begun.insert(thread, first);
        } else if call.starts_with("<... ") {
            let rest = call.split_once(" resumed>").map_or("", |(_, rest)| rest);
            let first = begun.remove(thread).unwrap_or_default();
            reader.call(&format!("{}{rest}", first.trim_end()))?;
        } else {
            reader.call(call)?;
        }
    }
    Ok(reader.changes)
}

struct LogReader<'a> {
    root: &'a Path,
    /// The offset of the next `write` to a descriptor, by its number and path.
    places: HashMap<(String, PathBuf), u64>,
    /// The lengths of files, for those that are appended to.
    lengths: HashMap<PathBuf, u64>,
    changes: Vec<LoggedChange>,
}

impl LogReader<'_> {
    /// Takes a whole call: `name(arguments) = result`.
    fn call(&mut self, call: &str) -> Result<()> {
        let parts = call.split_once('(').and_then(|(name, rest)| Some((name, rest.rsplit_once(" = ")?)));
        let Some((name, (arguments, result))) = parts else {
            return Err(Error::new(format!("strace wrote a line that is no call: {}", shorten(call))));
        };
        if result.starts_with('-') || result.starts_with('?') {
            return Ok(()); // it failed, or never ended
        }
        let arguments = arguments.trim_end().strip_suffix(')').unwrap_or(arguments);
        let arguments = split(arguments);
        let argument = |index: usize| arguments.get(index).copied().unwrap_or_default();
        match name {
            "open" | "creat" => self.opened(
                None,
                argument(0),
                if name == "creat" { "O_CREAT|O_TRUNC" } else { argument(1) },
                result,
            ),
            "openat" => self.opened(Some(argument(0)), argument(1), argument(2), result),
            "lseek" => {
                if let Some((number, path)) = self.descriptor(argument(0)) {
                    self.places.insert((number, path), parsed(result)?);
                }
            }
            "write" | "writev" => {
                if let Some((number, path)) = self.descriptor(argument(0)) {
                    let key = (number, path.clone());
                    let at = self.places.get(&key).copied().unwrap_or(0);
                    self.places.insert(key, at + parsed(result)?);
                    self.written(path, at, argument(1), result)?;
                }
            }
            "pwrite64" | "pwritev" | "pwritev2" => {
                if let Some((_, path)) = self.descriptor(argument(0)) {
                    // The place is behind the count; `pwritev` has it split into two halves of which the
                    // lower comes first.
                    self.written(path, parsed(argument(3))?, argument(1), result)?;
                }
            }
            "ftruncate" | "truncate" => {
                let path = if name == "truncate" {
                    self.path(None, argument(0))
                } else {
                    self.descriptor(argument(0)).map(|(_, path)| path)
                };
                if let Some(path) = path {
                    let bytes = parsed(argument(1))?;
                    self.lengths.insert(path.clone(), bytes);
                    self.changes.push(LoggedChange::Length { path, bytes, at_least: false });
                }
            }
            "fallocate" => {
                if let Some((_, path)) = self.descriptor(argument(0)) {
                    let bytes = parsed(argument(2))? + parsed(argument(3))?;
                    if !argument(1).contains("KEEP_SIZE") {
                        self.changes.push(LoggedChange::Length { path, bytes, at_least: true });
                    }
                }
            }
            "rename" => self.two(self.path(None, argument(0)), self.path(None, argument(1)), false)?,
            "renameat" | "renameat2" => {
                let (from, to) =
                    (self.path(Some(argument(0)), argument(1)), self.path(Some(argument(2)), argument(3)));
                self.two(from, to, false)?;
            }
            "link" => self.two(self.path(None, argument(0)), self.path(None, argument(1)), true)?,
            "linkat" => {
                let (from, to) =
                    (self.path(Some(argument(0)), argument(1)), self.path(Some(argument(2)), argument(3)));
                self.two(from, to, true)?;
            }
            "unlink" | "rmdir" => self.changes.extend(self.path(None, argument(0)).map(LoggedChange::Remove)),
            "unlinkat" => {
                self.changes.extend(self.path(Some(argument(0)), argument(1)).map(LoggedChange::Remove));
            }
            "mkdir" => self.changes.extend(self.path(None, argument(0)).map(LoggedChange::MakeDirectory)),
            "mkdirat" => {
                self.changes
                    .extend(self.path(Some(argument(0)), argument(1)).map(LoggedChange::MakeDirectory));
            }
            "fsync" | "fdatasync" => {
                self.changes
                    .extend(self.descriptor(argument(0)).map(|(_, path)| LoggedChange::Sync(Some(path))));
            }
            "syncfs" | "sync" => self.changes.push(LoggedChange::Sync(None)),
            // Of a file that is mapped to be written nobody sees what is written, and when.
            "mmap" => {
                let writes = argument(2).contains("PROT_WRITE") && argument(3).contains("MAP_SHARED");
                if writes && self.descriptor(argument(4)).is_some() {
                    return Err(unfollowed("a mapping of a file"));
                }
            }
            "sendfile" | "splice" | "copy_file_range"
                if arguments.iter().any(|argument| self.descriptor(argument).is_some()) =>
            {
                return Err(unfollowed(name));
            }
            "io_uring_enter" => return Err(unfollowed("io_uring")),
            "symlink" | "symlinkat"
                if arguments.iter().any(|argument| self.path(None, argument).is_some()) =>
            {
                return Err(unfollowed("symbolic links"));
            }
            // `sync_file_range` is a hint that promises nothing; the others touch no file here.
            _ => {}
        }
        Ok(())
    }

    fn opened(&mut self, folder: Option<&str>, path: &str, flags: &str, result: &str) {
        let (Some(path), Some((number, now))) = (self.path(folder, path), self.descriptor(result)) else {
            return;
        };
        let cut = flags.contains("O_TRUNC");
        if cut {
            self.lengths.insert(path.clone(), 0);
        }
        let at = if flags.contains("O_APPEND") { self.lengths.get(&path).copied().unwrap_or(0) } else { 0 };
        self.places.insert((number, now), at);
        if flags.contains("O_CREAT") || cut {
            self.changes.push(LoggedChange::Open { path, cut });
        }
    }

    fn written(&mut self, path: PathBuf, at: u64, said: &str, result: &str) -> Result<()> {
        let mut bytes: Vec<u8> = texts(said).concat();
        let written = parsed(result)? as usize;
        if bytes.len() < written {
            return Err(Error::new("strace tells of fewer bytes than were written"));
        }
        bytes.truncate(written);
        let length = self.lengths.entry(path.clone()).or_default();
        *length = (*length).max(at + written as u64);
        self.changes.push(LoggedChange::Write { path, at, bytes });
        Ok(())
    }

    fn two(&mut self, from: Option<PathBuf>, to: Option<PathBuf>, link: bool) -> Result<()> {
        match (from, to) {
            (Some(from), Some(to)) if link => self.changes.push(LoggedChange::Link { from, to }),
            (Some(from), Some(to)) => {
                // Descriptors are told with the new name from now on.
                let moved = |path: &Path| {
                    path.strip_prefix(&from)
                        .ok()
                        .map(|rest| if rest == Path::new("") { to.clone() } else { to.join(rest) })
                };
                let places = self.places.drain().map(|((number, path), at)| {
                    let path = moved(&path).unwrap_or(path);
                    ((number, path), at)
                });
                self.places = places.collect();
                let lengths =
                    self.lengths.drain().map(|(path, length)| (moved(&path).unwrap_or(path), length));
                self.lengths = lengths.collect();
                self.changes.push(LoggedChange::Rename { from, to });
            }
            (None, None) => {}
            _ => {
                return Err(unfollowed(
                    "files from elsewhere that are given a name among those of the checkpoint",
                ));
            }
        }
        Ok(())
    }

    /// The number and the path of a descriptor that is below the root.
    fn descriptor(&self, said: &str) -> Option<(String, PathBuf)> {
        let (number, path) = said.split_once('<')?;
        Some((number.to_owned(), self.below(&unescaped(path.rsplit_once('>')?.0))?))
    }

    /// A path that is below the root, in a folder where it is relative.
    fn path(&self, folder: Option<&str>, said: &str) -> Option<PathBuf> {
        let path = texts(said).into_iter().next()?;
        let path = PathBuf::from(OsString::from_vec(path));
        if path.is_absolute() {
            return self.below(path.as_os_str().as_encoded_bytes());
        }
        let (_, folder) = folder?.split_once('<')?;
        let folder = PathBuf::from(OsString::from_vec(unescaped(folder.rsplit_once('>')?.0)));
        self.below(folder.join(path).as_os_str().as_encoded_bytes())
    }

    fn below(&self, path: &[u8]) -> Option<PathBuf> {
        let path = PathBuf::from(OsString::from_vec(path.to_vec()));
        Some(path.strip_prefix(self.root).ok()?.to_owned())
    }
}

fn unfollowed(what: &str) -> Error {
    skip(format!("it writes by {what}, whose changes cannot be followed"))
}

fn shorten(call: &str) -> String {
    call.chars().take(80).collect()
}

fn parsed(number: &str) -> Result<u64> {
    number.parse().map_err(|_| Error::new(format!("strace has `{}` where a number is due", shorten(number))))
}

/// Arguments between commas, but for those in brackets. Texts are hexadecimal and have neither.
fn split(arguments: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in arguments.bytes().enumerate() {
        match letter {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => depth -= 1,
            b',' if depth == 0 => {
                found.push(arguments[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(arguments[start..].trim());
    found
}

/// The texts within an argument: of one write, or of each part of several.
fn texts(said: &str) -> Vec<Vec<u8>> {
    said.split('"').skip(1).step_by(2).map(unescaped).collect()
}

/// Bytes that are written as `\x2f`.
fn unescaped(text: &str) -> Vec<u8> {
    let digit = |letter: u8| (letter as char).to_digit(16).unwrap_or(0) as u8;
    text.as_bytes().chunks_exact(4).map(|four| digit(four[2]) << 4 | digit(four[3])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> String {
        text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
    }

    #[test]
    fn calls_of_several_threads_become_changes_in_the_order_in_which_they_ended() {
        let fd = |path: &str| format!("3<{}>", hex(path));
        let lines = [
            format!("7 mkdirat(AT_FDCWD<{}>, \"{}\", 0777) = 0", hex("/r"), hex("d")),
            format!(
                "7 openat(AT_FDCWD<{}>, \"{}\", O_WRONLY|O_CREAT|O_TRUNC, 0666 <unfinished ...>",
                hex("/"),
                hex("/r/d/a")
            ),
            "8 sync_file_range(9, 0, 1, 2) = 0".to_owned(),
            format!("7 <... openat resumed>) = {}", fd("/r/d/a")),
            format!("7 write({}, \"{}\", 5) = 3", fd("/r/d/a"), hex("hello")),
            format!(
                "7 writev({}, [{{iov_base=\"{}\", iov_len=1}}, {{iov_base=\"{}\", iov_len=2}}], 2) = 3",
                fd("/r/d/a"),
                hex("1"),
                hex("22")
            ),
            format!("8 pwrite64({}, \"{}\", 1, 9) = 1", fd("/r/d/a"), hex("z")),
            format!("8 write(1<{}>, \"{}\", 1) = 1", hex("/elsewhere"), hex("z")),
            format!("8 mkdir(\"{}\", 0777) = -1 EEXIST (File exists)", hex("/r/d")),
            format!("8 fsync({}) = 0", fd("/r/d/a")),
            format!("8 rename(\"{}\", \"{}\") = 0", hex("/r/d"), hex("/r/e")),
            format!("8 write({}, \"{}\", 1) = 1", fd("/r/e/a"), hex("!")),
            "8 +++ exited with 0 +++".to_owned(),
            format!("9 openat(AT_FDCWD<{}>, \"{}\" <detached ...>", hex("/"), hex("/r/late")),
        ];
        let path = |path: &str| PathBuf::from(path);
        let write = |file: &str, at, bytes: &[u8]| LoggedChange::Write {
            path: path(file),
            at,
            bytes: bytes.to_vec(),
        };
        let expected = [
            LoggedChange::MakeDirectory(path("d")),
            LoggedChange::Open { path: path("d/a"), cut: true },
            write("d/a", 0, b"hel"),
            write("d/a", 3, b"122"),
            write("d/a", 9, b"z"),
            LoggedChange::Sync(Some(path("d/a"))),
            LoggedChange::Rename { from: path("d"), to: path("e") },
            write("e/a", 6, b"!"),
        ];
        assert_eq!(parse(&lines.join("\n"), Path::new("/r")).unwrap(), expected);
    }

    #[test]
    fn ways_to_write_that_cannot_be_followed_are_named() {
        let mapped =
            format!("7 mmap(NULL, 9, PROT_READ|PROT_WRITE, MAP_SHARED, 3<{}>, 0) = 0x7f", hex("/r/a"));
        for (line, words) in [(&*mapped, "a mapping of a file"), ("7 io_uring_enter(9, 1) = 1", "io_uring")] {
            let why = parse(line, Path::new("/r")).unwrap_err();
            assert!(why.is_skip() && why.to_string().contains(words), "{why}");
        }
        assert!(parse("7 nonsense", Path::new("/r")).is_err());
        // Of files elsewhere nothing is said.
        assert_eq!(parse(&mapped, Path::new("/q")).unwrap(), []);
    }
}
