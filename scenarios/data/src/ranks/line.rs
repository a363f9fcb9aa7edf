//! A line between two processes of a launch: one asks, and the other answers.

use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, TcpStream};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weighbridge::{Error, ErrorKind, Result};

/// An end of a line.
#[derive(Debug)]
pub struct RankLine {
    stream: BufReader<TcpStream>,
    /// The name by which the other end is told.
    other: String,
}

/// Something that is asked for, or the answer to it: a word, what belongs to it, and bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineMessage {
    /// The word; empty in an answer.
    pub word: String,
    /// The things that belong to it.
    pub with: Value,
    /// Numbers as they lie in memory.
    pub bytes: Vec<u8>,
}

impl LineMessage {
    /// An answer that has no bytes.
    ///
    /// # Errors
    /// What cannot be written as JSON.
    pub fn of(with: impl Serialize) -> Result<Self> {
        Ok(Self { with: serde_json::to_value(with).map_err(broken)?, ..Self::default() })
    }

    /// The same with bytes.
    #[must_use]
    pub fn and(self, bytes: Vec<u8>) -> Self {
        Self { bytes, ..self }
    }

    /// Reads what belongs to it.
    ///
    /// # Errors
    /// What is something else.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T> {
        T::deserialize(&self.with).map_err(broken)
    }
}

/// The head of a message; its bytes follow.
#[derive(Debug, Serialize, Deserialize)]
struct LineHead {
    word: String,
    with: Value,
    bytes: u64,
    /// The failure that is answered.
    failed: Option<(FailureKind, String)>,
}

/// The kind of a failure, as it is told over a line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum FailureKind {
    Skip,
    Timeout,
    Protocol,
    Exit(i32),
    Signal(String),
    NoRoom,
    Other,
}

/// Bytes that go with their head.
const SHORT: usize = 16 << 10;

/// A head is no longer than this.
const LONGEST: u32 = 64 << 20;

impl RankLine {
    /// Takes a connection for a line.
    pub(super) fn new(stream: TcpStream, other: String) -> Self {
        Self { stream: BufReader::new(stream), other }
    }

    /// The address by which the other end reaches this machine.
    pub(super) fn own_address(&self) -> io::Result<IpAddr> {
        Ok(self.stream.get_ref().local_addr()?.ip())
    }

    /// The same with another name for the other end.
    pub(super) fn named(self, other: String) -> Self {
        Self { other, ..self }
    }

    /// The name by which the other end is told.
    pub fn other(&self) -> &str {
        &self.other
    }

    /// Waits no longer than this for an answer; `None` for ever.
    pub(super) fn wait_at_most(&self, most: Option<std::time::Duration>) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(most)
    }

    /// The same line once more: only one of both may be spoken over.
    pub(super) fn again(&self) -> io::Result<Self> {
        Ok(Self::new(self.stream.get_ref().try_clone()?, self.other.clone()))
    }

    /// Asks for something, and waits for the answer.
    ///
    /// # Errors
    /// What the other end says, of the same kind; that it is gone.
    pub fn ask(&mut self, word: &str, with: impl Serialize, bytes: &[u8]) -> Result<LineMessage> {
        self.order(word, with, bytes)?;
        self.answer()
    }

    /// Asks for something whose answer is waited for later.
    pub(super) fn order(&mut self, word: &str, with: impl Serialize, bytes: &[u8]) -> Result<()> {
        let with = serde_json::to_value(with).map_err(broken)?;
        let head = LineHead { word: word.to_owned(), with, bytes: bytes.len() as u64, failed: None };
        self.send(&head, bytes).map_err(|error| self.gone(&error))
    }

    /// Waits for the answer to an order.
    pub(super) fn answer(&mut self) -> Result<LineMessage> {
        let told = self.receive().map_err(|error| self.gone(&error))?;
        let (head, bytes) = told.ok_or_else(|| self.gone(&io::ErrorKind::UnexpectedEof.into()))?;
        match head.failed {
            None => Ok(LineMessage { word: head.word, with: head.with, bytes }),
            Some((kind, what)) => {
                let what =
                    if kind == FailureKind::Skip { what } else { format!("on {}: {what}", self.other) };
                Err(Error::of(kind.into(), what))
            }
        }
    }

    /// The next thing that is asked for; `None` once the other end has hung up.
    pub(super) fn asked(&mut self) -> Option<LineMessage> {
        let (head, bytes) = self.receive().ok().flatten()?;
        Some(LineMessage { word: head.word, with: head.with, bytes })
    }

    /// Answers.
    pub(super) fn tell(&mut self, answer: Result<LineMessage>) -> io::Result<()> {
        let (told, failed) = match answer {
            Ok(told) => (told, None),
            Err(error) => (LineMessage::default(), Some((error.kind().into(), error.to_string()))),
        };
        let LineMessage { word, with, bytes } = told;
        self.send(&LineHead { word, with, bytes: bytes.len() as u64, failed }, &bytes)
    }

    fn send(&mut self, head: &LineHead, bytes: &[u8]) -> io::Result<()> {
        let head = serde_json::to_vec(head)?;
        let mut all = Vec::with_capacity(4 + head.len());
        all.extend((head.len() as u32).to_le_bytes());
        all.extend(head);
        // What is short goes in one packet: a step is waited for.
        if bytes.len() < SHORT {
            all.extend(bytes);
            return self.stream.get_mut().write_all(&all);
        }
        self.stream.get_mut().write_all(&all)?;
        self.stream.get_mut().write_all(bytes)
    }

    fn receive(&mut self) -> io::Result<Option<(LineHead, Vec<u8>)>> {
        let mut length = [0; 4];
        match self.stream.read_exact(&mut length) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let length = u32::from_le_bytes(length);
        if length > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it says more than any rank does"));
        }
        let mut head = vec![0; length as usize];
        self.stream.read_exact(&mut head)?;
        let head: LineHead = serde_json::from_slice(&head)?;
        let mut bytes = Vec::new();
        (&mut self.stream).take(head.bytes).read_to_end(&mut bytes)?;
        match bytes.len() as u64 == head.bytes {
            true => Ok(Some((head, bytes))),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn gone(&self, error: &io::Error) -> Error {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                "it hung up".to_owned()
            }
            _ => error.to_string(),
        };
        Error::of(ErrorKind::Ranks, format!("{} is gone: {why}", self.other))
    }
}

fn broken(error: serde_json::Error) -> Error {
    Error::of(ErrorKind::Protocol, format!("ranks of a launch do not understand each other: {error}"))
}

impl From<&ErrorKind> for FailureKind {
    fn from(kind: &ErrorKind) -> Self {
        match kind {
            ErrorKind::Skip | ErrorKind::NoData => Self::Skip,
            ErrorKind::Timeout => Self::Timeout,
            ErrorKind::Protocol => Self::Protocol,
            ErrorKind::Exit(code) => Self::Exit(*code),
            ErrorKind::Signal(name) => Self::Signal(name.clone()),
            ErrorKind::NoRoom => Self::NoRoom,
            _ => Self::Other,
        }
    }
}

impl From<FailureKind> for ErrorKind {
    fn from(kind: FailureKind) -> Self {
        match kind {
            FailureKind::Skip => Self::Skip,
            FailureKind::Timeout => Self::Timeout,
            FailureKind::Protocol => Self::Protocol,
            FailureKind::Exit(code) => Self::Exit(code),
            FailureKind::Signal(name) => Self::Signal(name),
            FailureKind::NoRoom => Self::NoRoom,
            FailureKind::Other => Self::Failure,
        }
    }
}
