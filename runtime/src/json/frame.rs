//! Messages between processes: frames of JSON on a stream of bytes, each its length (`u32`, little-endian)
//! and a body.

use std::io::{self, Read, Write};

use serde::{Serialize, de::DeserializeOwned};

use super::{read, write};

/// The room that is kept for the next frame, in bytes.
const KEPT: usize = 1 << 20;

/// Writes one frame.
///
/// # Errors
/// What the stream says; a message of 4 GiB.
pub(crate) fn send<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    let body = write(message)?.into_bytes();
    let length = u32::try_from(body.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a message of 4 GiB or more"))?;
    let mut frame = length.to_le_bytes().to_vec();
    frame.extend_from_slice(&body);
    to.write_all(&frame)
}

/// Puts bytes together into frames, however they arrive.
#[derive(Debug)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
    longest: u32,
    /// Bytes that have arrived since whoever sends them was asked last.
    arrived: u64,
}

/// Whoever is asked once answers with no more bytes than this many frames of the longest kind have.
const ANSWERS: u64 = 2;

impl Frames {
    /// Frames of which none is longer than this many bytes: a longer one is none of ours.
    pub(crate) fn up_to(longest: u32) -> Self {
        Self { bytes: Vec::new(), longest, arrived: 0 }
    }

    /// Begins to count anew what arrives: the other end is asked for something.
    pub(crate) fn begin(&mut self) {
        self.arrived = 0;
    }

    /// Takes in bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.arrived += bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, if it has arrived.
    ///
    /// # Errors
    /// When what has arrived is no frame of ours, or more than an answer has.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let most = ANSWERS * u64::from(self.longest);
        if self.arrived > most {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("an answer of over {most} bytes"),
            ));
        }
        let Some(length) = self.bytes.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length);
        if length > self.longest {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes")));
        }
        let end = 4 + length as usize;
        if self.bytes.len() < end {
            return Ok(None);
        }
        let message = read(&self.bytes[4..end])?;
        self.bytes.drain(..end);
        // The room of a large one is not kept for small ones.
        self.bytes.shrink_to(end.min(KEPT));
        Ok(Some(message))
    }

    /// Reads one frame and waits for it; `None` at the end of the stream.
    ///
    /// # Errors
    /// As [`Frames::next`]; what the stream says; that it ends within the frame.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self, from: &mut impl Read) -> io::Result<Option<T>> {
        self.begin(); // one is waited for, and none after it
        let mut length = [0; 4];
        if let Err(error) = from.read_exact(&mut length) {
            return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
        }
        self.feed(&length);
        let mut body = vec![0; u32::from_le_bytes(length).min(self.longest) as usize];
        from.read_exact(&mut body)?;
        self.feed(&body);
        self.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_being_cut_anywhere() {
        let says = ["hello".to_owned(), "timed".to_owned()];
        let mut bytes = Vec::new();
        for say in &says {
            send(&mut bytes, say).unwrap();
        }
        for cut in 0..bytes.len() {
            let (mut frames, mut got) = (Frames::up_to(99), Vec::new());
            for part in [&bytes[..cut], &bytes[cut..]] {
                frames.feed(part);
                while let Some(say) = frames.next::<String>().unwrap() {
                    got.push(say);
                }
            }
            assert_eq!(got, says, "cut at {cut}");
        }
    }

    #[test]
    fn garbage_is_an_error_and_never_a_huge_allocation() {
        let mut frames = Frames::up_to(1 << 20);
        frames.feed(b"hello, I am no frame");
        assert!(frames.next::<String>().is_err());
        let mut frames = Frames::up_to(99);
        frames.feed(&[2, 0, 0, 0, b'{', b'{']);
        assert!(frames.next::<String>().is_err());
    }

    #[test]
    fn who_is_asked_once_does_not_answer_for_ever() {
        let mut frame = Vec::new();
        send(&mut frame, &"tick").unwrap();
        let mut frames = Frames::up_to(99);
        let mut heard = 0;
        let error = loop {
            frames.feed(&frame);
            match frames.next::<String>() {
                Ok(said) => heard += usize::from(said.is_some()),
                Err(error) => break error.to_string(),
            }
            assert!(heard < 100, "it is heard for ever");
        };
        assert_eq!((heard, &*error), (198 / frame.len(), "an answer of over 198 bytes"));
        frames.begin();
        assert!(frames.next::<String>().unwrap().is_some(), "the next answer counts anew");
    }

    #[test]
    fn the_end_of_the_stream_is_no_frame() {
        assert!(Frames::up_to(99).receive::<String>(&mut &b""[..]).unwrap().is_none());
        assert!(Frames::up_to(99).receive::<String>(&mut &[9, 0, 0, 0, 1][..]).is_err());
    }
}
