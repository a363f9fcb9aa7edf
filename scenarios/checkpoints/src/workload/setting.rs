//! One option of a system: as the system has it, or set.

use std::fmt;
use std::str::FromStr;

/// An option of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting<T> {
    /// As the system has it itself.
    Own,
    /// Set to this.
    Set(T),
}

impl<T> Setting<T> {
    /// Returns the value that it is set to; `None` where the system has its own.
    pub fn set(self) -> Option<T> {
        match self {
            Self::Own => None,
            Self::Set(value) => Some(value),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.write_str("own"),
            Self::Set(value) => value.fmt(f),
        }
    }
}

impl<T: FromStr> FromStr for Setting<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "own" => Ok(Self::Own),
            _ => text.parse().map(Self::Set).map_err(|_| format!("`{text}` is no such setting, nor `own`")),
        }
    }
}
