//! How a run of bytes is cut: shards, which are files, and pieces of them, each with a digest.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::layout::PAGE;

/// Bytes of a piece: large enough for a disk, and small enough to be in a cache when it is hashed.
pub(super) const PIECE: usize = 4 << 20;

/// A piece of a state, and where it lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TensorPiece {
    /// The number of its file.
    pub(super) shard: usize,
    /// Its place in the state.
    pub(super) offset: usize,
    /// Its place in the file.
    pub(super) at: u64,
    pub(super) bytes: usize,
    /// Its bytes in the file, if zstd has compressed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) zstd: Option<usize>,
    /// `xxh3-128` of the bytes of the state, 32 hexadecimal digits; empty before it is known.
    pub(super) digest: String,
}

/// The pieces of so many bytes, a whole number of pages, in as many files, whose sizes differ by a page at
/// most.
pub(super) fn cut(bytes: usize, shards: usize) -> Vec<Vec<TensorPiece>> {
    let pages = bytes / PAGE;
    let begin = |shard: usize| pages * shard / shards * PAGE;
    let pieces = |shard: usize| {
        let (start, end) = (begin(shard), begin(shard + 1));
        let piece = |offset: usize| TensorPiece {
            shard,
            offset,
            at: (offset - start) as u64,
            bytes: PIECE.min(end - offset),
            zstd: None,
            digest: String::new(),
        };
        (start..end).step_by(PIECE).map(piece).collect()
    };
    (0..shards).map(pieces).collect()
}

/// The digest of a piece.
pub(super) fn digest(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_byte_once_in_order() {
        for (bytes, shards) in [(PAGE, 1), (PAGE, 2), (10 * PIECE + PAGE, 3), (PIECE, 2)] {
            let mut next = 0;
            for (shard, pieces) in cut(bytes, shards).iter().enumerate() {
                let mut at = 0;
                for piece in pieces {
                    assert_eq!((piece.shard, piece.offset, piece.at), (shard, next, at));
                    assert!(piece.bytes > 0 && piece.bytes.is_multiple_of(PAGE));
                    next += piece.bytes;
                    at += piece.bytes as u64;
                }
            }
            assert_eq!(next, bytes);
        }
    }
}
