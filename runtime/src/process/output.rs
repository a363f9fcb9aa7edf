//! What a child prints: read at once, so that nobody who writes much has to wait; both ends of it are kept.

use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The number of bytes that are kept of the beginning, and of the end.
const KEPT: usize = 64 << 10;

/// The time that a pipe is waited for whose writer has ended: somebody else may hold it open.
const GRACE: Duration = Duration::from_millis(500);

/// Output that has come out of one pipe, or of several in the order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    shared: Arc<SharedOutput>,
    /// True if it is handed on to this process's own standard error as well.
    handed_on: bool,
}

#[derive(Debug, Default)]
struct SharedOutput {
    kept: Mutex<KeptOutput>,
    closed: Condvar,
}

#[derive(Debug, Default)]
struct KeptOutput {
    head: Vec<u8>,
    end: Vec<u8>,
    /// Bytes between the two that are kept no more.
    dropped: usize,
    /// Pipes that somebody may still write to.
    open: usize,
}

impl Output {
    /// Output that this process's own standard error gets as well, where the parent keeps it.
    #[cfg(feature = "worker")]
    pub(crate) fn handed_on() -> Self {
        Self { handed_on: true, ..Self::default() }
    }

    /// Empties a pipe for as long as somebody writes to it, in a thread of its own.
    ///
    /// # Errors
    /// When there can be no thread.
    pub(crate) fn drain(&self, mut pipe: impl Read + Send + 'static) -> io::Result<()> {
        let of = self.clone();
        self.kept().open += 1;
        let drained = thread::Builder::new().spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                match pipe.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => break,
                    Ok(read) => {
                        if of.handed_on {
                            let _ = io::stderr().write_all(&buffer[..read]); // the parent may have gone
                        }
                        of.kept().add(&buffer[..read]);
                    }
                }
            }
            of.close();
        });
        drained.map(drop).inspect_err(|_| self.close())
    }

    /// Both ends of what came, once its pipes are closed. One that outlives its writer (somebody left the
    /// process group) is not waited for long.
    pub(crate) fn take(&self) -> Vec<u8> {
        let kept = self.kept();
        let is_open = |kept: &mut KeptOutput| kept.open > 0;
        let waited = self.shared.closed.wait_timeout_while(kept, GRACE, is_open);
        waited.unwrap_or_else(PoisonError::into_inner).0.both_ends()
    }

    /// The same, without waiting for more.
    #[cfg(test)]
    pub(crate) fn so_far(&self) -> Vec<u8> {
        self.kept().both_ends()
    }

    fn close(&self) {
        self.kept().open -= 1;
        self.shared.closed.notify_all();
    }

    fn kept(&self) -> MutexGuard<'_, KeptOutput> {
        self.shared.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptOutput {
    fn both_ends(&self) -> Vec<u8> {
        let mut all = self.head.clone();
        if self.dropped > 0 {
            all.extend_from_slice(format!("\n... {} bytes left out ...\n", self.dropped).as_bytes());
        }
        all.extend_from_slice(&self.end);
        all
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = (KEPT - self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.end.extend_from_slice(&bytes[room..]);
        if self.end.len() > 2 * KEPT {
            let over = self.end.len() - KEPT;
            self.dropped += over;
            self.end.drain(..over);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_output_are_kept_and_the_cut_is_told() {
        let output = Output::default();
        let text: Vec<u8> = (0..100_000).flat_map(|line| format!("{line}\n").into_bytes()).collect();
        output.drain(io::Cursor::new(text.clone())).unwrap();
        let kept = String::from_utf8(output.take()).unwrap();
        assert!(kept.starts_with("0\n1\n") && kept.ends_with("\n99999\n"), "{} bytes", kept.len());
        assert!(kept.contains(" bytes left out ...") && kept.len() < 4 * KEPT);
        let short = Output::default();
        short.drain(io::Cursor::new(b"one".to_vec())).unwrap();
        assert_eq!(short.take(), b"one");
    }

    #[test]
    fn a_pipe_that_somebody_holds_open_is_given_up_and_what_came_is_kept() {
        let (reader, mut writer) = io::pipe().unwrap();
        let output = Output::default();
        output.drain(reader).unwrap();
        writer.write_all(b"last words").unwrap();
        assert_eq!(output.take(), b"last words");
        drop(writer);
    }
}
