//! A socket that notes when its reads returned and when its writes were taken.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::clock::Stamp;

/// The notes on a socket.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WireLog {
    /// The number of reads that brought something.
    pub(crate) reads: u64,
    /// The end of the last of them.
    pub(crate) last_read: Stamp,
    /// The end of the first of them since [`WireNotes::begin`].
    pub(crate) first_read: Option<Stamp>,
    /// The end of the first write since then.
    pub(crate) first_write: Option<Stamp>,
}

/// The notes, as the connection's owner sees them.
#[derive(Clone, Debug, Default)]
pub(crate) struct WireNotes(Rc<Cell<WireLog>>);

impl WireNotes {
    pub(crate) fn get(&self) -> WireLog {
        self.0.get()
    }

    /// Forgets the first read and write: another exchange begins.
    pub(crate) fn begin(&self) {
        self.update(|log| (log.first_read, log.first_write) = (None, None));
    }

    fn update(&self, change: impl FnOnce(&mut WireLog)) {
        let mut log = self.0.get();
        change(&mut log);
        self.0.set(log);
    }
}

/// The socket.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: TcpStream,
    notes: WireNotes,
}

impl Wire {
    pub(crate) fn new(socket: TcpStream, notes: WireNotes) -> Self {
        Self { socket, notes }
    }

    fn wrote(&self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(1..)) = written {
            self.notes.update(|log| log.first_write = log.first_write.or_else(|| Some(Stamp::now())));
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.socket).poll_read(context, buffer);
        if read.is_ready() && buffer.filled().len() > before {
            // Taken as soon as `read` has returned: nothing has been parsed yet.
            let at = Stamp::now();
            self.notes.update(|log| {
                log.reads += 1;
                log.last_read = at;
                log.first_read = log.first_read.or(Some(at));
            });
        }
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.wrote(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, parts);
        self.wrote(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
