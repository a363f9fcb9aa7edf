//! How what is written is compressed.

use std::fmt;
use std::str::FromStr;

/// How the bytes of a checkpoint are compressed in its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// By zstd, at the level that the system has for it.
    Zstd,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Zstd => "zstd",
        })
    }
}

impl FromStr for Compression {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "zstd" => Ok(Self::Zstd),
            _ => Err(format!("`{text}` is no compression: `none` or `zstd`")),
        }
    }
}
