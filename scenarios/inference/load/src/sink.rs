//! The thread that writes raw records: no thread that reads a socket waits for a disk.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::exchange::Exchange;
use crate::record;

/// A core hands its records on when it has so many bytes of them.
const BLOCK: usize = 1 << 18;

/// The bytes on their way to the disk.
#[derive(Debug, Default)]
struct Underway {
    bytes: AtomicUsize,
    lost: AtomicU64,
}

/// The end of the writer that a core holds.
#[derive(Debug)]
pub(crate) struct SinkEnd {
    block: Vec<u8>,
    records: u64,
    limit: usize,
    underway: Arc<Underway>,
    sender: Sender<Vec<u8>>,
}

impl SinkEnd {
    /// Takes an exchange. What the disk is too slow for is counted as lost: memory has a bound.
    pub(crate) fn take(&mut self, exchange: &Exchange) {
        record::write(exchange, &mut self.block);
        self.records += 1;
        if self.block.len() >= BLOCK {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        let block = std::mem::take(&mut self.block);
        let records = std::mem::take(&mut self.records);
        let bytes = block.len();
        let before = self.underway.bytes.fetch_add(bytes, Ordering::Relaxed);
        let is_taken = before <= self.limit && self.sender.send(block).is_ok();
        if !is_taken {
            self.underway.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.underway.lost.fetch_add(records, Ordering::Relaxed);
        }
    }
}

impl Drop for SinkEnd {
    fn drop(&mut self) {
        if !self.block.is_empty() {
            // The last block of a core is small, and the run is over.
            self.limit = usize::MAX;
            self.hand_on();
        }
    }
}

/// The writer of one file.
#[derive(Debug)]
pub(crate) struct Sink {
    writer: JoinHandle<io::Result<()>>,
    underway: Arc<Underway>,
}

impl Sink {
    /// Makes the file, and as many ends as there are cores.
    pub(crate) fn create(path: &Path, ends: usize, limit: usize) -> io::Result<(Self, Vec<SinkEnd>)> {
        let mut file = File::create(path)?;
        file.write_all(record::MARK)?;
        let (sender, receiver) = channel();
        let underway = Arc::new(Underway::default());
        let of = Arc::clone(&underway);
        let writer = std::thread::Builder::new()
            .name("load-records".to_owned())
            .spawn(move || write_all(file, &receiver, &of))?;
        let end = |_| SinkEnd {
            block: Vec::new(),
            records: 0,
            limit,
            underway: Arc::clone(&underway),
            sender: sender.clone(),
        };
        let ends = (0..ends).map(end).collect();
        Ok((Self { writer, underway }, ends))
    }

    /// Waits until all is written, and tells how many records were lost. All ends are to be dropped before.
    pub(crate) fn finish(self) -> io::Result<u64> {
        let written = self.writer.join();
        written.unwrap_or_else(|_| Err(io::Error::other("the thread that writes records panicked")))?;
        Ok(self.underway.lost.load(Ordering::Relaxed))
    }
}

fn write_all(mut file: File, blocks: &Receiver<Vec<u8>>, underway: &Underway) -> io::Result<()> {
    while let Ok(block) = blocks.recv() {
        file.write_all(&block)?;
        underway.bytes.fetch_sub(block.len(), Ordering::Relaxed);
    }
    Ok(())
}
