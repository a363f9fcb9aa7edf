//! Raw exchanges as they lie on disk: a mark, then one record after another, all numbers little-endian.
//!
//! No header of a request is in them, so no key is.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::clock::Stamp;
use crate::exchange::{Class, Exchange, Read};
use crate::failure::Failure;
use crate::workload::Ask;

/// The first bytes of a file, with the version of its form.
pub(crate) const MARK: &[u8; 8] = b"wbload\x00\x01";

/// The bytes of a record before its reads and its body.
const FIXED: usize = 84;

/// The most bytes that a record may claim: a file that is damaged is not believed.
const MOST: usize = 1 << 30;

/// No such number.
const NONE: u64 = u64::MAX;

/// The reason that records cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be read.
    #[error("failed to read the raw records {}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The words of the system.
        error: io::Error,
    },
    /// The file has something else in it.
    #[error("{} has no raw records of this version, or is cut", path.display())]
    Form {
        /// The file.
        path: PathBuf,
    },
}

/// Appends an exchange.
pub(crate) fn write(exchange: &Exchange, to: &mut Vec<u8>) {
    let stamp = |stamp: Option<Stamp>| stamp.map_or(NONE, |stamp| stamp.0);
    let numbers = [
        exchange.ask.number,
        exchange.due.0,
        exchange.started.0,
        exchange.connecting.unwrap_or(NONE),
        stamp(exchange.sent),
        stamp(exchange.first_byte),
        exchange.end.0,
    ];
    for number in numbers {
        to.extend_from_slice(&number.to_le_bytes());
    }
    let small = [
        exchange.ask.words,
        exchange.ask.tokens.unwrap_or(u32::MAX),
        exchange.reads.len() as u32,
        exchange.body.len() as u32,
    ];
    for number in small {
        to.extend_from_slice(&number.to_le_bytes());
    }
    to.extend_from_slice(&exchange.status.to_le_bytes());
    let class = match exchange.class {
        Class::WarmUp => 0,
        Class::Measured => 1,
        Class::Probe => 2,
    };
    // The place of a kind counts from 1.
    let failure = exchange.failure.map_or(0, |kind| kind as u8 + 1);
    to.extend_from_slice(&[class, failure, u8::from(exchange.is_stream), 0, 0, 0, 0, 0, 0, 0]);
    for read in &exchange.reads {
        to.extend_from_slice(&read.at.0.to_le_bytes());
        to.extend_from_slice(&read.upto.to_le_bytes());
    }
    to.extend_from_slice(&exchange.body);
}

/// The exchanges of a file, one after another.
#[derive(Debug)]
pub struct Records {
    path: PathBuf,
    file: BufReader<File>,
}

impl Records {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read or is none of these.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let failed = |error| RecordError::File { path: path.to_owned(), error };
        let mut file = BufReader::with_capacity(1 << 18, File::open(path).map_err(failed)?);
        let mut mark = [0; 8];
        let read = file.read_exact(&mut mark);
        let records = Self { path: path.to_owned(), file };
        match read {
            Ok(()) if mark == *MARK => Ok(records),
            _ => Err(records.form()),
        }
    }

    fn form(&self) -> RecordError {
        RecordError::Form { path: self.path.clone() }
    }

    fn bytes(&mut self, count: usize) -> Result<Vec<u8>, RecordError> {
        let mut bytes = vec![0; count];
        self.file.read_exact(&mut bytes).map_err(|_| self.form())?;
        Ok(bytes)
    }

    /// The next one; `None` at the end of the file.
    fn read(&mut self) -> Result<Option<Exchange>, RecordError> {
        let mut fixed = [0; FIXED];
        match self.file.read(&mut fixed[..1]) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => return self.read(),
            Err(error) => return Err(RecordError::File { path: self.path.clone(), error }),
        }
        self.file.read_exact(&mut fixed[1..]).map_err(|_| self.form())?;
        let number = |place: usize| u64_at(&fixed, place * 8);
        let small = |place: usize| u32_at(&fixed, 56 + place * 4);
        let some = |number: u64| (number != NONE).then_some(number);
        let (reads, body) = (small(2) as usize, small(3) as usize);
        if reads.saturating_mul(12).saturating_add(body) > MOST {
            return Err(self.form());
        }
        let failure = match fixed[75] {
            0 => None,
            kind => Some(*Failure::ALL.get(kind as usize - 1).ok_or_else(|| self.form())?),
        };
        let class = match fixed[74] {
            0 => Class::WarmUp,
            1 => Class::Measured,
            _ => Class::Probe,
        };
        let reads = self.bytes(reads * 12)?;
        let read = |part: &[u8]| Read { at: Stamp(u64_at(part, 0)), upto: u32_at(part, 8) };
        Ok(Some(Exchange {
            ask: Ask {
                number: number(0),
                words: small(0),
                tokens: Some(small(1)).filter(|tokens| *tokens != u32::MAX),
            },
            class,
            due: Stamp(number(1)),
            started: Stamp(number(2)),
            connecting: some(number(3)),
            sent: some(number(4)).map(Stamp),
            first_byte: some(number(5)).map(Stamp),
            end: Stamp(number(6)),
            status: u16::from_le_bytes([fixed[72], fixed[73]]),
            failure,
            is_stream: fixed[76] == 1,
            reads: reads.chunks_exact(12).map(read).collect(),
            body: self.bytes(body)?,
            room: 0,
        }))
    }
}

impl Iterator for Records {
    type Item = Result<Exchange, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// The number that begins there: the bytes are ours, and there.
fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let part = bytes.get(at..at + 8).and_then(|part| part.try_into().ok());
    u64::from_le_bytes(part.unwrap_or_default())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let part = bytes.get(at..at + 4).and_then(|part| part.try_into().ok());
    u32::from_le_bytes(part.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(failure: Option<Failure>) -> Exchange {
        Exchange {
            ask: Ask { number: 1 << 50, words: 3, tokens: failure.map(|_| 9) },
            class: Class::Measured,
            due: Stamp(1),
            started: Stamp(2),
            connecting: Some(0),
            sent: Some(Stamp(3)),
            first_byte: None,
            end: Stamp(4),
            status: 200,
            failure,
            is_stream: true,
            reads: vec![Read { at: Stamp(7), upto: 2 }, Read { at: Stamp(8), upto: 3 }],
            body: b"abc".to_vec(),
            room: 0,
        }
    }

    fn file(bytes: &[u8]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn an_exchange_is_read_as_it_was_written() {
        let mut bytes = MARK.to_vec();
        let written = [exchange(None), exchange(Some(Failure::NeverSent)), exchange(Some(Failure::Refused))];
        for exchange in &written {
            write(exchange, &mut bytes);
        }
        let read: Vec<Exchange> =
            Records::open(file(&bytes).path()).unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(read, written);
    }

    #[test]
    fn a_file_that_is_cut_or_damaged_is_an_error_and_takes_no_memory() {
        let mut bytes = MARK.to_vec();
        write(&exchange(None), &mut bytes);
        for cut in 9..bytes.len() {
            let file = file(&bytes[..cut]);
            assert!(Records::open(file.path()).unwrap().any(|record| record.is_err()), "{cut}");
        }
        bytes[8 + 64..8 + 72].fill(0xff);
        assert!(Records::open(file(&bytes).path()).unwrap().next().unwrap().is_err());
        assert!(Records::open(file(b"other").path()).is_err());
    }
}
