//! Loads onto several replicas: for how many of them the files are read.

#[cfg(test)]
mod tests;

use std::fmt;

use weighbridge::{Bencher, Direction, Error, Result, Unit, skip};
use weighbridge_data::ExecutedWork;

use super::watched::ProcessWatch;
use crate::contract::{LoadedTensor, LookedPart, StoredCheckpoint, TensorHeader};
use crate::workload::Placement;

/// The way in which replicas come to a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// It is read for one of them, and the others get a copy.
    Broadcast,
    /// As the system does it without being asked.
    Each,
}

impl Sharing {
    /// The error for two replicas that have one piece of memory: a broadcast has failed, and who was not
    /// asked for copies has none.
    pub(super) fn of_one_memory(self) -> fn(String) -> Error {
        match self {
            Self::Broadcast => |what| Error::new(what),
            Self::Each => |what| skip(what),
        }
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broadcast => "broadcast",
            Self::Each => "each",
        })
    }
}

/// A checkpoint whose loads are watched: what they read from files, by calls.
pub(super) struct ReplicaReads<'a> {
    stored: &'a mut dyn StoredCheckpoint,
    /// Bytes of the checkpoint's files.
    files: u64,
    sharing: Sharing,
    /// The bytes that each load has read, where the system tells it.
    read: Vec<Option<u64>>,
}

/// The share of the files that a broadcast reads at least: what was not read was kept, or came by a mapping,
/// which no call shows.
const LEAST: f64 = 0.8;

/// The most that it reads, beside what is none of its files. What two replicas read is twice the files.
const MOST: f64 = 1.3;

/// Bytes that a process may read beside the files. One load of Orbax in a process was seen to read 5 MB more
/// than the others.
const BESIDE: u64 = 8_000_000;

impl<'a> ReplicaReads<'a> {
    pub(super) fn new(stored: &'a mut dyn StoredCheckpoint, files: u64, sharing: Sharing) -> Self {
        Self { stored, files, sharing, read: Vec::new() }
    }

    /// Tells how often the files were read by a load, as metrics.
    ///
    /// # Errors
    /// A skip where the system does not tell what is read.
    pub(super) fn tell(&self, bencher: &Bencher) -> Result<()> {
        let read: Option<Vec<f64>> = self.read.iter().map(|read| Some(self.times((*read)?))).collect();
        let read = read.ok_or_else(|| skip("the system does not tell what was read from files"))?;
        let tell = |name: &str, share: f64| bencher.metric(name, share, Unit::RATIO, Direction::Information);
        tell("read_share/min", read.iter().copied().fold(f64::INFINITY, f64::min));
        tell("read_share/max", read.iter().copied().fold(0.0, f64::max));
        Ok(())
    }

    fn times(&self, read: u64) -> f64 {
        read as f64 / self.files.max(1) as f64
    }
}

impl StoredCheckpoint for ReplicaReads<'_> {
    fn headers(&self) -> &[TensorHeader] {
        self.stored.headers()
    }

    fn place(&mut self, onto: &Placement) -> Result<()> {
        self.stored.place(onto)
    }

    fn load(&mut self) -> Result<()> {
        let watched = ProcessWatch::begin(self.stored.processes());
        self.stored.load()?;
        let read = watched.end().bytes[0];
        self.read.push(read);
        let Some(read) = read.filter(|_| self.sharing == Sharing::Broadcast) else { return Ok(()) };
        if self.times(read) >= LEAST && self.times(read.saturating_sub(BESIDE)) <= MOST {
            return Ok(());
        }
        let (read, files) = (read / 1000, self.files / 1000);
        Err(Error::new(format!(
            "a broadcast has read {read} kB by calls, of files with {files} kB: one replica reads them once, \
             from {LEAST} to {MOST} times and {} kB",
            BESIDE / 1000
        )))
    }

    fn loaded(&mut self, tensor: usize) -> Result<LoadedTensor> {
        self.stored.loaded(tensor)
    }

    fn part(&mut self, tensor: usize, device: usize) -> Result<LoadedTensor> {
        self.stored.part(tensor, device)
    }

    fn look(&mut self, parts: &[LookedPart]) -> Result<Vec<u8>> {
        self.stored.look(parts)
    }

    fn share(&mut self, once: bool) -> Result<()> {
        self.stored.share(once)
    }

    fn fill(&mut self, tensor: usize, device: usize, byte: u8) -> Result<()> {
        self.stored.fill(tensor, device, byte)
    }

    fn release(&mut self) -> Result<()> {
        self.stored.release()
    }

    fn processes(&self) -> Vec<u32> {
        self.stored.processes()
    }

    fn executed(&self) -> ExecutedWork {
        self.stored.executed()
    }
}
