//! The place in the source where something is registered.

use std::fmt::{self, Display};

/// The place where something is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The file, as the compiler was given it.
    pub file: &'static str,
    /// The line of the attribute.
    pub line: u32,
    /// The module path.
    pub module: &'static str,
}

impl Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
