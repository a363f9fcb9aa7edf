//! A line of the user's, as it is named and as it reads.

use std::fs;
use std::path::Path;

use serde::Serialize;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct SourceLine {
    /// The file, below the working folder where it lies there.
    pub(crate) file: String,
    /// The number of the line.
    pub(crate) line: u32,
    /// The line itself, where it can be read.
    pub(crate) text: String,
}

impl SourceLine {
    /// Reads `FILE:LINE`, as the hook names one; `None` for none.
    pub(crate) fn read(told: &str) -> Option<Self> {
        let (file, line) = told.rsplit_once(':')?;
        let line: u32 = line.parse().ok()?;
        let source = fs::read_to_string(file).unwrap_or_default();
        let text = source.lines().nth((line as usize).checked_sub(1)?).unwrap_or_default().trim().to_owned();
        let here = std::env::current_dir().unwrap_or_default();
        let file = Path::new(file).strip_prefix(here).unwrap_or(Path::new(file)).display().to_string();
        Some(Self { file, line, text })
    }

    /// The file and the number, as editors take them.
    pub(crate) fn named(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_named_and_read_and_one_that_is_none_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a:b.py");
        fs::write(&file, "one\n  two\n").unwrap();
        let line = SourceLine::read(&format!("{}:2", file.display())).unwrap();
        assert_eq!((line.text.as_str(), line.line), ("two", 2));
        assert_eq!(SourceLine::read(&format!("{}:9", file.display())).unwrap().text, "");
        for none in ["", "x", "x:y"] {
            assert_eq!(SourceLine::read(none), None, "{none}");
        }
    }
}
