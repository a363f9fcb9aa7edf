//! The thread of the coordinator: sockets on one side, the [`Hub`] on the other.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::hub::{ConnectionId, Hub, HubAct, RankEvent};
use super::message::{LONGEST, LONGEST_OF_STRANGERS, RankMessage, RankReply};
use crate::device::Clock;
use crate::json::{Frames, send};

/// The longest between two looks at who has waited for too long, in milliseconds; while nobody waits, the
/// thread sleeps for longer, since others may be measured.
const LOOK: u16 = 100;
const LONG_LOOK: u16 = 5_000;

/// Who does not say who it is for so long is hung up on.
const STRANGER: Duration = Duration::from_secs(10);

/// The time that is left for sending when all is over.
const FAREWELL: Duration = Duration::from_secs(5);

/// A word of rank 0 to its coordinator.
#[derive(Debug)]
pub(super) enum HubCommand {
    Order { turn: u64, body: String },
    Ended { turn: u64, why: Option<String> },
    Over { why: Option<String> },
}

/// Somebody at the other end of a socket.
struct Connection {
    stream: TcpStream,
    frames: Frames,
    /// Bytes that are still to be sent.
    out: Vec<u8>,
    since: Duration,
    is_known: bool,
    /// True if it is hung up on once all is sent.
    ends: bool,
}

/// The thread's own state.
pub(super) struct HubThread {
    pub(super) hub: Hub,
    pub(super) listener: TcpListener,
    pub(super) commands: Receiver<HubCommand>,
    pub(super) wake: UnixStream,
    pub(super) events: Sender<RankEvent>,
    pub(super) clock: Clock,
}

impl HubThread {
    /// Serves until rank 0 says that all is over, or is gone.
    pub(super) fn serve(mut self) {
        let mut connections: BTreeMap<ConnectionId, Connection> = BTreeMap::new();
        let (mut next, mut over) = (0, None);
        loop {
            let Ok(ready) = self.wait(&connections) else { return };
            if ready.wake {
                let mut bytes = [0; 64];
                let gone = matches!(self.wake.read(&mut bytes), Ok(0));
                while let Ok(command) = self.commands.try_recv() {
                    let acts = match command {
                        HubCommand::Order { turn, body } => self.hub.begin(turn, &body),
                        HubCommand::Ended { turn, why } => self.hub.ended(0, turn, why),
                        HubCommand::Over { why } => {
                            over.get_or_insert(self.clock.now());
                            self.hub.over(why.as_deref())
                        }
                    };
                    self.act(acts, &mut connections);
                }
                if gone {
                    over.get_or_insert(self.clock.now());
                }
            }
            if ready.listener && over.is_none() {
                while let Ok((stream, _)) = self.listener.accept() {
                    if stream.set_nonblocking(true).is_ok() {
                        let _ = stream.set_nodelay(true);
                        let connection = Connection {
                            stream,
                            frames: Frames::up_to(LONGEST_OF_STRANGERS),
                            out: Vec::new(),
                            since: self.clock.now(),
                            is_known: false,
                            ends: false,
                        };
                        connections.insert(next, connection);
                        next += 1;
                    }
                }
            }
            for id in ready.readable {
                self.read(id, &mut connections);
            }
            let acts = self.hub.look(self.clock.now());
            self.act(acts, &mut connections);
            self.sweep(&mut connections);
            let is_done = connections.values().all(|one| one.out.is_empty());
            if over.is_some_and(|over| is_done || self.clock.now() - over >= FAREWELL) {
                return;
            }
        }
    }

    fn wait(&self, connections: &BTreeMap<ConnectionId, Connection>) -> io::Result<Ready> {
        let mut waits = vec![
            PollFd::new(self.wake.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.listener.as_fd(), PollFlags::POLLIN),
        ];
        for one in connections.values() {
            let wants = if one.out.is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT };
            waits.push(PollFd::new(one.stream.as_fd(), PollFlags::POLLIN | wants));
        }
        let is_still = !self.hub.is_waited_for() && connections.values().all(|one| one.is_known && !one.ends);
        match poll(&mut waits, PollTimeout::from(if is_still { LONG_LOOK } else { LOOK })) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |wait: &PollFd<'_>| wait.any().unwrap_or(true);
        let of = waits[2..].iter().zip(connections.keys());
        let readable = of.filter(|(wait, _)| is_ready(wait)).map(|(_, id)| *id).collect();
        Ok(Ready { wake: is_ready(&waits[0]), listener: is_ready(&waits[1]), readable })
    }

    /// Reads and sends what can be.
    fn read(&mut self, id: ConnectionId, connections: &mut BTreeMap<ConnectionId, Connection>) {
        let mut buffer = vec![0; 64 << 10];
        loop {
            let Some(one) = connections.get_mut(&id) else { return };
            if one.flush().is_err() {
                return self.gone(id, "it hung up", connections);
            }
            match one.stream.read(&mut buffer) {
                Ok(0) => return self.gone(id, "it hung up", connections),
                Ok(bytes) => one.frames.feed(&buffer[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return self.gone(id, &error.to_string(), connections),
            }
            while let Some(one) = connections.get_mut(&id).filter(|one| !one.ends) {
                match one.frames.next::<RankMessage>() {
                    Ok(None) => break,
                    Ok(Some(message)) => {
                        let acts = self.hub.take(id, message, self.clock.now());
                        self.act(acts, connections);
                        self.note_known(id, connections);
                    }
                    Err(error) => {
                        let why = format!("it said what no rank says: {error}");
                        return self.gone(id, &why, connections);
                    }
                }
            }
        }
    }

    /// Who is known may say more at once than a stranger.
    fn note_known(&self, id: ConnectionId, connections: &mut BTreeMap<ConnectionId, Connection>) {
        let Some(one) = connections.get_mut(&id) else { return };
        one.frames.begin();
        if !one.is_known && self.hub.knows(id) {
            // It waits for an answer before it says anything more.
            (one.is_known, one.frames) = (true, Frames::up_to(LONGEST));
        }
    }

    fn gone(&mut self, id: ConnectionId, why: &str, connections: &mut BTreeMap<ConnectionId, Connection>) {
        connections.remove(&id);
        let acts = self.hub.gone(id, why);
        self.act(acts, connections);
    }

    fn act(&mut self, acts: Vec<HubAct>, connections: &mut BTreeMap<ConnectionId, Connection>) {
        for act in acts {
            match act {
                HubAct::Tell(to, reply) => {
                    if let Some(one) = connections.get_mut(&to) {
                        one.tell(&reply);
                    }
                }
                HubAct::Close(of) => {
                    if let Some(one) = connections.get_mut(&of) {
                        one.ends = true;
                    }
                }
                // Nobody to hear it: rank 0 is on its way out.
                HubAct::Report(event) => drop(self.events.send(event)),
            }
        }
    }

    /// Hangs up on those that are done, and on strangers that say nothing.
    fn sweep(&mut self, connections: &mut BTreeMap<ConnectionId, Connection>) {
        let now = self.clock.now();
        let is_stranger = |one: &Connection| !one.is_known && now - one.since >= STRANGER;
        let is_done = |one: &Connection| one.ends && one.out.is_empty();
        connections.retain(|_, one| !is_stranger(one) && !is_done(one));
    }
}

struct Ready {
    wake: bool,
    listener: bool,
    readable: Vec<ConnectionId>,
}

impl Connection {
    /// Sends a reply: at once, as far as the system takes it.
    fn tell(&mut self, reply: &RankReply) {
        // To memory: what cannot be written is a reply of 4 GiB.
        if send(&mut self.out, reply).is_ok() {
            let _ = self.flush(); // whoever has hung up is noticed when it is read from
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.out.is_empty() {
            match self.stream.write(&self.out) {
                Ok(bytes) => drop(self.out.drain(..bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
