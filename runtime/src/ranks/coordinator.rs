//! The coordinator, as rank 0 holds it: a thread of its own that hears all ranks.

use std::io::{self, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::hub::Hub;
pub(crate) use super::hub::RankEvent;
use super::serving::{HubCommand, HubThread};
use crate::device::Clock;

/// The coordinator of a run. All ranks are told that it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Coordinator {
    commands: Sender<HubCommand>,
    wake: Option<UnixStream>,
    events: Receiver<RankEvent>,
    thread: Option<JoinHandle<()>>,
}

impl Coordinator {
    /// Begins to hear ranks at a listener. Who does not know the token is none of them.
    ///
    /// # Errors
    /// When there can be no thread or no socket.
    pub(crate) fn start(
        listener: TcpListener,
        token: String,
        ranks: usize,
        patience: Duration,
    ) -> io::Result<Self> {
        let (commands, to_do) = channel();
        let (told, events) = channel();
        let (wake, woken) = UnixStream::pair()?;
        listener.set_nonblocking(true)?;
        woken.set_nonblocking(true)?;
        let serving = HubThread {
            hub: Hub::new(token, ranks, patience),
            listener,
            commands: to_do,
            wake: woken,
            events: told,
            clock: Clock::monotonic(),
        };
        let thread = thread::Builder::new().name("ranks".to_owned()).spawn(move || serving.serve())?;
        Ok(Self { commands, wake: Some(wake), events, thread: Some(thread) })
    }

    fn say(&self, command: HubCommand) {
        // A thread that is gone has been told that all is over.
        let _ = self.commands.send(command);
        if let Some(wake) = &self.wake {
            let _ = (&mut &*wake).write_all(&[1]);
        }
    }

    /// Begins a turn on all ranks.
    pub(crate) fn order(&self, turn: u64, body: String) {
        self.say(HubCommand::Order { turn, body });
    }

    /// Says that the measuring process of rank 0 has ended with the turn; why, where it failed.
    pub(crate) fn ended(&self, turn: u64, why: Option<String>) {
        self.say(HubCommand::Ended { turn, why });
    }

    /// The next thing that is heard of another rank, within this time.
    pub(crate) fn next(&self, within: Duration) -> Option<RankEvent> {
        match self.events.recv_timeout(within) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(within); // as if nobody had said anything
                None
            }
        }
    }

    /// Tells all ranks that the run is over; why, where it did not come to its end. Returns when all that was
    /// said has been sent.
    pub(crate) fn end(&mut self, why: Option<String>) {
        if let Some(thread) = self.thread.take() {
            self.say(HubCommand::Over { why });
            self.wake = None;
            let _ = thread.join();
        }
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.end(Some("rank 0 has ended".to_owned()));
    }
}
