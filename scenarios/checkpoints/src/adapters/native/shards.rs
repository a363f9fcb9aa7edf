//! The files of a state: each written and read by a thread of its own, piece by piece, with a digest of each.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};

use nix::errno::Errno;
use nix::fcntl::{OFlag, PosixFadviseAdvice, posix_fadvise, posix_fallocate};

use super::packing::{Packer, Unpacker};
use super::pieces::{TensorPiece, cut, digest};
use crate::workload::Compression;

/// A piece, and its place in memory.
type ShardPlace<'a> = (&'a TensorPiece, &'a mut [u8]);

fn shard_file(shard: usize) -> String {
    format!("shard-{shard}.bin")
}

/// Options for writing files.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShardWriting<'a> {
    /// `true` if they are on the disk in the end.
    pub(super) durable: bool,
    /// `true` if pieces get digests.
    pub(super) digests: bool,
    /// Compression of the pieces.
    pub(super) compression: Compression,
    /// `true` if it is to end before it is complete.
    pub(super) cancelled: &'a AtomicBool,
}

/// A save that nobody cancels.
static NEVER: AtomicBool = AtomicBool::new(false);

impl ShardWriting<'_> {
    /// With digests, as it is in memory, and to its end.
    pub(super) fn plain(durable: bool) -> Self {
        Self { durable, digests: true, compression: Compression::None, cancelled: &NEVER }
    }
}

/// Writes a state, of which each of the writers has all bytes: a file for each, by a thread of its own; the
/// pieces, in order. Where it is cancelled, it ends before the next piece as [`io::ErrorKind::Interrupted`],
/// which no write does: it is begun again then.
///
/// # Panics
/// Without a writer.
pub(super) fn write(
    directory: &Path,
    writers: &[&[u8]],
    how: ShardWriting<'_>,
) -> io::Result<Vec<TensorPiece>> {
    let written: Vec<io::Result<Vec<TensorPiece>>> = thread::scope(|scope| {
        let shards = cut(writers[0].len(), writers.len()).into_iter();
        let threads: Vec<_> = shards
            .zip(writers)
            .map(|(pieces, bytes)| scope.spawn(move || write_shard(directory, pieces, bytes, how)))
            .collect();
        let end = |thread: ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        };
        threads.into_iter().map(end).collect()
    });
    let mut pieces = Vec::new();
    for shard in written {
        pieces.extend(shard?);
    }
    Ok(pieces)
}

/// Writes one file, and gives its pieces with their digests.
fn write_shard(
    directory: &Path,
    mut pieces: Vec<TensorPiece>,
    bytes: &[u8],
    how: ShardWriting<'_>,
) -> io::Result<Vec<TensorPiece>> {
    let ShardWriting { durable, digests, compression, cancelled } = how;
    let Some(first) = pieces.first() else { return Ok(pieces) };
    let path = directory.join(shard_file(first.shard));
    let length: usize = pieces.iter().map(|piece| piece.bytes).sum();
    let mut packer = match compression {
        Compression::None => None,
        Compression::Zstd => Some(Packer::new()?),
    };
    // What is compressed is no whole number of pages, as a write past the page cache must be.
    let file = create(&path, durable && packer.is_none())?;
    // Where room is taken beforehand, a full disk is told before anything is written. Not every file system
    // can.
    if packer.is_none() && posix_fallocate(&file, 0, length as i64) == Err(Errno::ENOSPC) {
        return Err(Errno::ENOSPC.into());
    }
    let mut end = 0;
    for piece in &mut pieces {
        if cancelled.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let run = &bytes[piece.offset..][..piece.bytes];
        if digests {
            piece.digest = digest(run);
        }
        let run = match &mut packer {
            None => run,
            Some(packer) => {
                let packed = packer.pack(run)?;
                (piece.at, piece.zstd) = (end, Some(packed.len()));
                packed
            }
        };
        file.write_all_at(run, piece.at)?;
        end = piece.at + run.len() as u64;
    }
    if durable {
        file.sync_all()?;
    }
    Ok(pieces)
}

/// A new file; past the page cache where it is to be durable and the file system can: what waits for the disk
/// anyway need not be copied first.
fn create(path: &Path, durable: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if durable {
        let direct = options.clone().custom_flags(OFlag::O_DIRECT.bits()).open(path);
        match direct {
            Err(error) if error.raw_os_error() == Some(Errno::EINVAL as i32) => {
                let _ = fs::remove_file(path); // some file systems make it and refuse then
            }
            other => return other,
        }
    }
    options.open(path)
}

/// The pieces of so many bytes that lie in so many files, without digests.
pub(super) fn pieces(bytes: usize, shards: usize) -> Vec<TensorPiece> {
    cut(bytes, shards).concat()
}

/// Reads all pieces to their places, on as many threads as there are files, and holds them against their
/// `digests` where they have some; what is wrong in words.
pub(super) fn read(
    directory: &Path,
    pieces: &[TensorPiece],
    room: &mut [u8],
    digests: bool,
) -> Result<(), String> {
    let mut rest = room;
    let (mut shards, mut next): (Vec<Vec<ShardPlace<'_>>>, usize) = (Vec::new(), 0);
    for piece in pieces {
        if piece.offset != next || piece.bytes > rest.len() {
            return Err("has a manifest whose pieces are not those of its layout".to_owned());
        }
        let (place, after) = rest.split_at_mut(piece.bytes);
        (rest, next) = (after, next + piece.bytes);
        match shards.last_mut() {
            Some(shard) if shard[0].0.shard == piece.shard => shard.push((piece, place)),
            _ => shards.push(vec![(piece, place)]),
        }
    }
    if !rest.is_empty() {
        return Err("has a manifest whose pieces are not those of its layout".to_owned());
    }
    thread::scope(|scope| {
        let read = |shard| scope.spawn(move || read_shard(directory, shard, digests));
        let threads: Vec<_> = shards.into_iter().map(read).collect();
        let end = |thread: ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err("could not be read: a thread panicked".to_owned()))
        };
        threads.into_iter().try_for_each(end)
    })
}

fn read_shard(directory: &Path, pieces: Vec<ShardPlace<'_>>, digests: bool) -> Result<(), String> {
    let Some((first, _)) = pieces.first() else { return Ok(()) };
    let name = shard_file(first.shard);
    let told = |error: io::Error| format!("has no `{name}` that can be read: {error}");
    let file = File::open(directory.join(&name)).map_err(told)?;
    let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_SEQUENTIAL); // advice
    let mut unpacker = None;
    for (piece, place) in pieces {
        let damaged = || {
            let (from, bytes) = (piece.at, piece.zstd.unwrap_or(piece.bytes));
            format!("is damaged: {bytes} bytes of `{name}` from {from} on are not those that were saved")
        };
        if let Some(bytes) = piece.zstd {
            let unpacker = match &mut unpacker {
                Some(unpacker) => unpacker,
                none => none.insert(Unpacker::new().map_err(|error| format!("is compressed by {error}"))?),
            };
            let packed = unpacker.room(bytes, piece.bytes).ok_or_else(damaged)?;
            file.read_exact_at(packed, piece.at).map_err(told)?;
            if !unpacker.unpack(place) {
                return Err(damaged());
            }
        } else {
            file.read_exact_at(place, piece.at).map_err(told)?;
        }
        if digests && digest(place) != piece.digest {
            return Err(damaged());
        }
    }
    Ok(())
}
