//! How what is written is compressed.

use weighbridge_data::either;

/// Compression of the bytes of a checkpoint in its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// By zstd, at the level that the system has for it.
    Zstd,
}

either!(Compression, None = "none", Zstd = "zstd");
