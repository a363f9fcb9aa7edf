//! By which Python a framework of Python runs.

use std::fmt;
use std::str::FromStr;

/// By which Python a framework of Python runs. For others it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interpreter {
    /// The one that the framework is installed for.
    #[default]
    Default,
    /// One without the global lock, where workers are threads if a system has such. One whose lock is on all the same, since something
    /// that it imports asks for it, is a skip.
    FreeThreaded,
}

impl fmt::Display for Interpreter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::FreeThreaded => "free_threaded",
        })
    }
}

impl FromStr for Interpreter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "default" => Ok(Self::Default),
            "free_threaded" => Ok(Self::FreeThreaded),
            _ => Err(format!("`{text}` is neither `default` nor `free_threaded`")),
        }
    }
}
