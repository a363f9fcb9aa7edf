//! One request and its answer, as they were on the wire. Nothing of it is parsed but the head.

use crate::clock::Stamp;
use crate::failure::Failure;
use crate::workload::Ask;

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Due before the measured time: no figure has it.
    WarmUp,
    /// Measured.
    Measured,
    /// Of the probe for caches.
    Probe,
}

/// The bytes of an answer that came by one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The moment at which `read` returned.
    pub at: Stamp,
    /// The length of the body with these bytes.
    pub upto: u32,
}

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The prompt and the lengths.
    pub ask: Ask,
    /// The purpose.
    pub class: Class,
    /// The moment at which it was due. All latencies count from here.
    pub due: Stamp,
    /// The moment at which the client took it up.
    pub started: Stamp,
    /// The nanoseconds that a new connection took, where one was opened for it.
    pub connecting: Option<u64>,
    /// The moment at which the kernel had taken the first of the request: for the rest of a long one the
    /// server may have to make room.
    pub sent: Option<Stamp>,
    /// The moment at which the first bytes of the answer had been read.
    pub first_byte: Option<Stamp>,
    /// The moment at which the answer was complete, or at which it failed.
    pub end: Stamp,
    /// The status of HTTP; 0 without an answer.
    pub status: u16,
    /// The failure that shows on the wire.
    pub failure: Option<Failure>,
    /// The answer says that it is a stream of events.
    pub is_stream: bool,
    /// The reads that the body came by.
    pub reads: Vec<Read>,
    /// The body.
    pub body: Vec<u8>,
    /// The bytes that it takes while it is read. No record has them.
    pub(crate) room: usize,
}

impl Exchange {
    /// An exchange that is taken up now.
    pub(crate) fn begin(ask: Ask, class: Class, due: Stamp) -> Self {
        let now = Stamp::now();
        Self {
            ask,
            class,
            due,
            started: now,
            connecting: None,
            sent: None,
            first_byte: None,
            end: now,
            status: 0,
            failure: None,
            is_stream: false,
            reads: Vec::new(),
            body: Vec::new(),
            room: 0,
        }
    }

    /// The nanoseconds by which the client was late: from the due time until the kernel had its first bytes,
    /// without the time that the connection took.
    pub fn delay(&self) -> u64 {
        let taken = self.sent.unwrap_or(self.started).since(self.due);
        taken.saturating_sub(self.connecting.unwrap_or(0))
    }

    /// The stamp of the read that brought the byte at `offset - 1`, and the number of that read.
    pub fn read_of(&self, offset: usize) -> Option<(usize, Stamp)> {
        let place = self.reads.partition_point(|read| (read.upto as usize) < offset);
        self.reads.get(place).map(|read| (place, read.at))
    }

    /// Notes bytes of the body that came by the read with this stamp; `is_new` tells whether it is another
    /// read than that of the bytes before.
    pub(crate) fn take(&mut self, bytes: &[u8], at: Stamp, is_new: bool) {
        self.body.extend_from_slice(bytes);
        let upto = self.body.len() as u32;
        match self.reads.last_mut() {
            Some(last) if !is_new => last.upto = upto,
            _ => self.reads.push(Read { at, upto }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange() -> Exchange {
        let ask = Ask { number: 0, words: 1, tokens: None };
        Exchange::begin(ask, Class::Measured, Stamp(10))
    }

    #[test]
    fn a_byte_has_the_stamp_of_the_read_that_brought_it() {
        let mut exchange = exchange();
        exchange.take(b"abc", Stamp(1), true);
        exchange.take(b"de", Stamp(1), false);
        exchange.take(b"f", Stamp(2), true);
        assert_eq!(exchange.read_of(5), Some((0, Stamp(1))));
        assert_eq!(exchange.read_of(6), Some((1, Stamp(2))));
        assert_eq!(exchange.read_of(7), None);
    }

    #[test]
    fn the_time_of_a_new_connection_is_no_delay_of_the_client() {
        let mut exchange = exchange();
        exchange.sent = Some(Stamp(110));
        exchange.connecting = Some(70);
        assert_eq!(exchange.delay(), 30);
    }
}
