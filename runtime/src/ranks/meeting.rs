//! The meeting of the processes that measure: each waits, right before what is measured, until all have come.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::message::{RankMessage, RankReply};
use crate::device::Clock;
use crate::json::{Frames, send};

/// The facts that a measuring process must know to meet the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeetingPlace {
    /// The address of the coordinator, as it is reached from here.
    pub(crate) address: SocketAddr,
    /// The token, which ranks of this launch alone know.
    pub(crate) token: String,
    /// The rank of this process.
    pub(crate) rank: usize,
    /// The number of ranks.
    pub(crate) ranks: usize,
    /// Its rank among those of its machine.
    pub(crate) local_rank: usize,
    /// The turn that it measures in.
    pub(crate) turn: u64,
    /// True if all ranks do one thing together, and not each the whole by itself.
    pub(crate) collective: bool,
}

/// A process among those of other ranks, which it meets again and again.
pub struct Meeting {
    place: MeetingPlace,
    stream: TcpStream,
    frames: Frames,
    clock: Clock,
    /// The coordinator's clock less this one, in nanoseconds, and how far off that may be.
    offset: i64,
    unsure: u64,
}

/// The end of a wait for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReleasedRank {
    /// The word of rank 0.
    pub(crate) word: Option<String>,
    /// The time that it waited, in nanoseconds.
    pub(crate) waited: u64,
    /// The moment at which it went on, in nanoseconds by the coordinator's clock.
    pub(crate) left: u64,
    /// By how much that may be off.
    pub(crate) unsure: u64,
}

/// Round trips that the clocks are held against each other by.
const ROUND_TRIPS: usize = 16;

/// The coordinator answers within this time, or is gone.
const REPLY: Duration = Duration::from_secs(30);

impl Meeting {
    /// Comes to the place, and holds the clocks against each other.
    ///
    /// # Errors
    /// When the coordinator cannot be reached, or takes this process for none of its.
    pub(crate) fn come(place: &MeetingPlace, clock: &Clock) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&place.address, REPLY)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(REPLY))?;
        let frames = Frames::up_to(1 << 20);
        let (place, clock) = (place.clone(), clock.clone());
        let mut own = Self { place, stream, frames, clock, offset: 0, unsure: 0 };
        let MeetingPlace { token, rank, turn, .. } = own.place.clone();
        match own.ask(&RankMessage::Measure { token, rank, turn })? {
            RankReply::Welcome => {}
            RankReply::Refused { why, .. } => return Err(io::Error::other(why)),
            other => return Err(strange(&other)),
        }
        own.compare_clocks()?;
        own.stream.set_read_timeout(None)?;
        Ok(own)
    }

    fn ask(&mut self, message: &RankMessage) -> io::Result<RankReply> {
        send(&mut self.stream, message)?;
        let gone = || io::Error::new(io::ErrorKind::UnexpectedEof, "rank 0 is gone");
        self.frames.receive(&mut self.stream)?.ok_or_else(gone)
    }

    /// Of several round trips the shortest tells best.
    fn compare_clocks(&mut self) -> io::Result<()> {
        let mut best = u64::MAX;
        for _ in 0..ROUND_TRIPS {
            let before = self.now();
            let RankReply::Pong { at } = self.ask(&RankMessage::Ping)? else {
                return Err(io::Error::other("the coordinator does not tell the time"));
            };
            let trip = self.now() - before;
            if trip < best {
                best = trip;
                self.offset = at as i64 - (before + trip / 2) as i64;
            }
        }
        self.unsure = best / 2;
        Ok(())
    }

    fn now(&self) -> u64 {
        self.clock.now().as_nanos() as u64
    }

    /// Waits until all have come. Rank 0's word is handed to all.
    ///
    /// # Errors
    /// That not all will come, and which one.
    pub(crate) fn meet(&mut self, word: Option<String>) -> io::Result<ReleasedRank> {
        let came = self.now();
        match self.ask(&RankMessage::Arrive { word })? {
            RankReply::Release { word } => {
                let now = self.now();
                let left = (now as i64 + self.offset).max(0) as u64;
                Ok(ReleasedRank { word, waited: now - came, left, unsure: self.unsure })
            }
            RankReply::Broken { why } => Err(io::Error::other(why)),
            other => Err(strange(&other)),
        }
    }

    /// The place at which it meets the others.
    pub(crate) fn place(&self) -> &MeetingPlace {
        &self.place
    }

    /// The address of rank 0's machine, as it is reached from here.
    pub(crate) fn host_of_first(&self) -> IpAddr {
        self.place.address.ip()
    }
}

fn strange(reply: &RankReply) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the coordinator said {reply:?}"))
}

impl fmt::Debug for Meeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MeetingPlace { rank, ranks, turn, .. } = self.place;
        write!(f, "rank {rank} of {ranks} in turn {turn}")
    }
}
