//! The end of the line to rank 0, as another rank holds it.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::message::{LONGEST, RankMessage, RankReply, VERSION};
use super::{RankFacts, RankSeat};
use crate::json::{Frames, send};

/// The longest that rank 0 may leave something unread.
const UNREAD: Duration = Duration::from_mins(2);

/// The next turn that rank 0 asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RankTurn {
    pub(crate) turn: u64,
    pub(crate) body: String,
}

/// The end of the run, as rank 0 tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LinkEnd {
    /// It came to its end.
    Complete,
    /// It did not, and why.
    BrokenOff(String),
    /// Rank 0 is gone.
    Lost(String),
}

/// The line to rank 0.
#[derive(Debug)]
pub(crate) struct RankLink {
    stream: Mutex<TcpStream>,
    /// The address by which rank 0 is reached from here.
    pub(crate) address: SocketAddr,
    /// The token by which its measuring processes are known.
    pub(crate) token: String,
    turns: Receiver<Result<RankTurn, LinkEnd>>,
    stop: Arc<StopSign>,
}

/// The word of the thread that listens to rank 0 to whoever runs a turn.
#[derive(Debug, Default)]
struct StopSign {
    /// The newest turn that was asked for; the greatest number there is once all is over.
    newest: AtomicU64,
    /// Set with it: whatever runs is to be broken off.
    stopped: Arc<AtomicBool>,
}

/// The reason why an address is none of rank 0.
#[derive(Debug)]
pub(super) enum JoinError {
    /// Nobody who counts is there.
    Nobody(String),
    /// Rank 0 is there, and refuses.
    Refused(String),
}

impl RankLink {
    /// Joins rank 0 at an address.
    pub(super) fn join(
        address: SocketAddr,
        token: &str,
        seat: &RankSeat,
        facts: &RankFacts,
        within: Duration,
    ) -> Result<Self, JoinError> {
        let nobody = |error: io::Error| JoinError::Nobody(error.to_string());
        let mut stream = TcpStream::connect_timeout(&address, within).map_err(nobody)?;
        let set_up = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(within)))
            .and_then(|()| stream.set_write_timeout(Some(UNREAD)));
        set_up.map_err(nobody)?;
        let join = RankMessage::Join {
            version: VERSION,
            token: token.to_owned(),
            rank: seat.rank,
            ranks: seat.ranks,
            facts: Box::new(facts.clone()),
        };
        send(&mut stream, &join).map_err(nobody)?;
        match Frames::up_to(1 << 16).receive::<RankReply>(&mut stream).map_err(nobody)? {
            Some(RankReply::Welcome) => {}
            Some(RankReply::Refused { why, stranger: false }) => return Err(JoinError::Refused(why)),
            Some(RankReply::Refused { why, .. }) => return Err(JoinError::Nobody(why)),
            _ => return Err(JoinError::Nobody("it is no rank 0".to_owned())),
        }
        stream.set_read_timeout(None).map_err(nobody)?;
        let reader = stream.try_clone().map_err(nobody)?;
        let stop = Arc::new(StopSign::default());
        let turns = listen(reader, stop.clone()).map_err(nobody)?;
        Ok(Self { stream: Mutex::new(stream), address, token: token.to_owned(), turns, stop })
    }

    /// The next turn, within this time; `None` where nothing was said.
    ///
    /// # Errors
    /// The end of the run.
    pub(crate) fn next(&self, within: Duration) -> Result<Option<RankTurn>, LinkEnd> {
        match self.turns.recv_timeout(within) {
            Ok(turn) => turn.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(LinkEnd::Lost("it hung up".to_owned())),
        }
    }

    /// The number of the newest turn that rank 0 has asked for: one that is older is to be broken off.
    pub(crate) fn newest(&self) -> u64 {
        self.stop.newest.load(Ordering::Acquire)
    }

    /// Set as soon as rank 0 asks for something else, or the run is over: whatever runs is to be broken off.
    /// Whoever begins a turn takes it back, and looks afterwards whether the turn is still the newest.
    pub(crate) fn stopped(&self) -> Arc<AtomicBool> {
        self.stop.stopped.clone()
    }

    /// Says that the measuring process has ended with the turn; why, where it failed.
    ///
    /// # Errors
    /// When rank 0 does not take it.
    pub(crate) fn ended(&self, turn: u64, why: Option<String>) -> io::Result<()> {
        self.say(&RankMessage::Ended { turn, why })
    }

    /// Says what came of the turn.
    ///
    /// # Errors
    /// When rank 0 does not take it.
    pub(crate) fn answer(&self, turn: u64, body: String) -> io::Result<()> {
        self.say(&RankMessage::Answer { turn, body })
    }

    fn say(&self, message: &RankMessage) -> io::Result<()> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        send(&mut *stream, message)
    }
}

impl Drop for RankLink {
    fn drop(&mut self) {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.shutdown(std::net::Shutdown::Both); // the thread that reads ends with it
    }
}

/// Listens to rank 0 in a thread of its own: what runs here must be broken off when it says so.
fn listen(mut stream: TcpStream, stop: Arc<StopSign>) -> io::Result<Receiver<Result<RankTurn, LinkEnd>>> {
    let (heard, turns) = channel();
    thread::Builder::new().name("rank".to_owned()).spawn(move || {
        let mut frames = Frames::up_to(LONGEST);
        loop {
            let turn = match frames.receive::<RankReply>(&mut stream) {
                Ok(Some(RankReply::Order { turn, body })) => Ok(RankTurn { turn, body }),
                Ok(Some(RankReply::Over { why: None })) => Err(LinkEnd::Complete),
                Ok(Some(RankReply::Over { why: Some(why) })) => Err(LinkEnd::BrokenOff(why)),
                Ok(Some(other)) => Err(LinkEnd::Lost(format!("it said {other:?}"))),
                Ok(None) => Err(LinkEnd::Lost("it hung up".to_owned())),
                Err(error) => Err(LinkEnd::Lost(error.to_string())),
            };
            let is_over = turn.is_err();
            stop.newest.store(turn.as_ref().map_or(u64::MAX, |turn| turn.turn), Ordering::Release);
            stop.stopped.store(true, Ordering::Release);
            if heard.send(turn).is_err() || is_over {
                return;
            }
        }
    })?;
    Ok(turns)
}
