//! What parent and child say to each other: frames of JSON on a private socket. Both ends are written against this file.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Failure, How, Outcome};
use crate::bencher::{Limits, PerIteration, Phase, Purpose, Work};
use crate::device::Platform;
use crate::json;
use crate::metric::{Block, Mode, Observation};
use crate::registry::Point;

/// The version of the protocol: the first thing that a child says.
pub(super) const VERSION: u32 = 3;

/// The argument that makes a bench binary a child.
pub const CHILD_FLAG: &str = "--weighbridge-child";

/// A frame longer than this is not one of ours.
const LONGEST: u32 = 256 << 20;

/// What the parent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Tell {
    /// Run this repeat.
    Repeat(Box<Ask>),
    /// Run a block of so many iterations: to a paced repeat that has said that it is ready.
    Block(u64),
}

/// What the parent asks for: one repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The scenario's id.
    pub scenario: String,
    /// The values of its axes.
    pub point: Point,
    /// The adapter's name.
    pub adapter: Option<String>,
    /// What the repeat is for.
    pub purpose: Purpose,
    /// How much it measures.
    pub limits: Limits,
    /// The run's seed.
    pub seed: u64,
    /// Draws the batches that are held back.
    pub hold_seed: u64,
    /// The repeat's own directory; made on demand, removed by the parent.
    pub scratch: PathBuf,
    /// The most bytes of data that the process may have.
    pub memory: Option<u64>,
    /// Where a verifying repeat writes the hashes of all elements, sorted.
    pub hashes: Option<PathBuf>,
    /// Whether the parent says how many iterations each block has. A scenario without blocks runs as ever.
    pub paced: bool,
    /// Where it runs.
    pub platform: Platform,
    /// How bodies are timed on a device, whatever their scenario says.
    pub mode: Option<Mode>,
}

/// What a child says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Say {
    /// It has started and speaks this version.
    Hello { version: u32 },
    /// The repeat has passed into this phase.
    Phase(Phase),
    /// A paced repeat has come to its blocks.
    Ready(PerIteration),
    /// The block that was asked for has run.
    Block(Block),
    /// The repeat has ended.
    Done(Box<Answer>),
}

/// How a repeat ended, as far as the process that ran it can tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// It ran to its end.
    Measured {
        /// What it saw.
        seen: Box<Observation>,
        /// Its work ticket.
        work: Option<Work>,
        /// Hashes of the elements of the held-back batches, as hexadecimal digits; empty when verifying.
        held: Vec<String>,
    },
    /// It failed, and could still say how.
    Failed(Failure),
    /// It cannot run here.
    Skipped(String),
}

impl Answer {
    /// Whether the process that says so can do nothing more on its device.
    pub(super) fn has_lost_its_device(&self) -> bool {
        matches!(self, Self::Failed(Failure { how: How::Device, .. }))
    }

    /// The answer as an outcome, and the held-back hashes that came with it.
    pub(super) fn into_outcome(self) -> (Outcome, Vec<String>) {
        match self {
            Self::Measured { seen, work, held } => (Outcome::Measured { seen, work }, held),
            Self::Failed(failure) => (Outcome::Failed(failure), Vec::new()),
            Self::Skipped(why) => (Outcome::Skipped { why }, Vec::new()),
        }
    }
}

/// Writes one frame: its length as a little-endian `u32`, then its JSON.
pub(super) fn send<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let mut frame = (body.len() as u32).to_le_bytes().to_vec();
    frame.extend_from_slice(&body);
    to.write_all(&frame)
}

/// Puts bytes together into frames, however they arrive.
#[derive(Debug, Default)]
pub(super) struct Frames(Vec<u8>);

impl Frames {
    /// Takes in bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next whole frame, if it has arrived.
    ///
    /// # Errors
    /// When what has arrived is no frame of ours.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(length) = self.0.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length);
        if length > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
        }
        let end = 4 + length as usize;
        if self.0.len() < end {
            return Ok(None);
        }
        let message = json::read(&self.0[4..end])?;
        self.0.drain(..end);
        Ok(Some(message))
    }
}

/// Reads one frame and waits for it; `None` at the end of the stream.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut frames = Frames::default();
    let mut length = [0; 4];
    if let Err(error) = from.read_exact(&mut length) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
    }
    frames.feed(&length);
    let mut body = vec![0; u32::from_le_bytes(length).min(LONGEST) as usize];
    from.read_exact(&mut body)?;
    frames.feed(&body);
    frames.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_being_cut_anywhere() {
        let says = [Say::Hello { version: VERSION }, Say::Phase(Phase::Timed)];
        let mut bytes = Vec::new();
        for say in &says {
            send(&mut bytes, say).unwrap();
        }
        for cut in 0..bytes.len() {
            let (mut frames, mut got) = (Frames::default(), Vec::new());
            for part in [&bytes[..cut], &bytes[cut..]] {
                frames.feed(part);
                while let Some(say) = frames.next::<Say>().unwrap() {
                    got.push(say);
                }
            }
            assert_eq!(got, says, "cut at {cut}");
        }
    }

    #[test]
    fn garbage_is_an_error_and_never_a_huge_allocation() {
        let mut frames = Frames::default();
        frames.feed(b"hello, I am no frame");
        assert!(frames.next::<Say>().is_err());
        let mut frames = Frames::default();
        frames.feed(&[2, 0, 0, 0, b'{', b'{']);
        assert!(frames.next::<Say>().is_err());
    }

    #[test]
    fn the_end_of_the_stream_is_no_frame() {
        assert!(receive::<Say>(&mut &b""[..]).unwrap().is_none());
        assert!(receive::<Say>(&mut &[9, 0, 0, 0, 1][..]).is_err());
    }
}
