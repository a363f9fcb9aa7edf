//! Where ranks meet: a file in a folder that all see, or the address of rank 0.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::RankFacts;
use super::RankSeat;
use super::address::own_addresses;
use super::link::{JoinError, RankLink};
use crate::device::Clock;
use crate::json;

/// A place at which the ranks of a launch find each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rendezvous {
    /// This file, which rank 0 writes.
    Told(PathBuf),
    /// This address, at which rank 0 listens.
    Fixed(String),
}

/// The content of the file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct MeetingPoint {
    token: String,
    addresses: Vec<SocketAddr>,
}

/// The reason why a rank could not join.
#[derive(Debug, thiserror::Error)]
pub enum NoRendezvous {
    /// Nobody was found.
    #[error(
        "rank {rank} of {ranks} did not find rank 0 within {} s {place}: {last}. Rank 0 has not started, or \
         it cannot be reached from here: name a folder that all ranks see, or rank 0's `host:port`, in \
         WEIGHBRIDGE_RENDEZVOUS; --rank-patience waits for longer",
        patience.as_secs_f64()
    )]
    Nobody {
        /// The rank.
        rank: usize,
        /// The number of ranks.
        ranks: usize,
        /// The place where it looked.
        place: String,
        /// The time that it waited.
        patience: Duration,
        /// The outcome of the last look.
        last: String,
    },
    /// Rank 0 has refused it.
    #[error("rank 0 has refused rank {rank}: {why}")]
    Refused {
        /// The rank.
        rank: usize,
        /// The reason.
        why: String,
    },
    /// The user asked for an end.
    #[error("interrupted")]
    Interrupted,
}

/// The time that one address is tried for.
const TRY: Duration = Duration::from_secs(2);

/// Between two looks, at first and later.
const PAUSES: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));

impl Rendezvous {
    /// The place for a suite of a launch: below the folder that was named, at the address that was named, or
    /// below a folder that all have anyway.
    pub(crate) fn of(seat: &RankSeat, suite: &str, folder: &Path) -> Self {
        match &seat.rendezvous {
            Some(place) if is_address(place) => Self::Fixed(place.clone()),
            named => {
                let folder = named.as_ref().map_or_else(|| folder.to_owned(), PathBuf::from);
                let file = format!("{}.rendezvous", harmless(suite));
                Self::Told(folder.join(harmless(&seat.launch)).join(file))
            }
        }
    }

    /// Opens it, as rank 0: a listener, the token that only ranks of this launch know, and the address by
    /// which rank 0's own processes reach it. A file that an earlier launch of the same id has left is
    /// replaced.
    ///
    /// # Errors
    /// When nobody may listen there, or the file cannot be written.
    pub(crate) fn open(&self, seat: &RankSeat) -> io::Result<(TcpListener, String, SocketAddr)> {
        match self {
            Self::Fixed(place) => {
                let port = place.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
                // By whatever name others reach it: rank 0's own machine may not know that.
                let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port.unwrap_or_default()))?;
                let own = SocketAddr::new(own_addresses()[0], listener.local_addr()?.port());
                Ok((listener, token_of(seat), own))
            }
            Self::Told(file) => {
                let _ = fs::remove_file(file);
                let (from, own) = match seat.is_local() {
                    true => (Ipv4Addr::LOCALHOST, vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]),
                    false => (Ipv4Addr::UNSPECIFIED, own_addresses()),
                };
                let listener = TcpListener::bind((from, 0))?;
                let port = listener.local_addr()?.port();
                let token = drawn();
                let addresses: Vec<SocketAddr> =
                    own.into_iter().map(|address| SocketAddr::new(address, port)).collect();
                let first = addresses[0];
                write(file, &MeetingPoint { token: token.clone(), addresses })?;
                Ok((listener, token, first))
            }
        }
    }

    /// Joins rank 0, as another rank.
    ///
    /// # Errors
    /// That nobody is there within the patience, or that rank 0 refuses it.
    pub(crate) fn join(
        &self,
        seat: &RankSeat,
        facts: &RankFacts,
        patience: Duration,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<RankLink, NoRendezvous> {
        let clock = Clock::monotonic();
        let mut last = "nothing was there yet".to_owned();
        let mut pause = PAUSES.0;
        loop {
            if !goes_on() {
                return Err(NoRendezvous::Interrupted);
            }
            match self.look(seat) {
                Ok(point) => {
                    for address in point.addresses {
                        match RankLink::join(address, &point.token, seat, facts, TRY) {
                            Ok(link) => return Ok(link),
                            Err(JoinError::Refused(why)) => {
                                return Err(NoRendezvous::Refused { rank: seat.rank, why });
                            }
                            Err(JoinError::Nobody(why)) => last = format!("{address}: {why}"),
                        }
                    }
                }
                Err(error) => last = error.to_string(),
            }
            if clock.now() >= patience {
                let (rank, ranks, place) = (seat.rank, seat.ranks, self.to_string());
                return Err(NoRendezvous::Nobody { rank, ranks, place, patience, last });
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    fn look(&self, seat: &RankSeat) -> io::Result<MeetingPoint> {
        match self {
            Self::Fixed(place) => {
                let addresses: Vec<SocketAddr> = place.to_socket_addrs()?.collect();
                Ok(MeetingPoint { token: token_of(seat), addresses })
            }
            Self::Told(file) => json::read(&fs::read(file)?).map_err(io::Error::from),
        }
    }

    /// Removes what was left for others to find: all have come.
    pub(crate) fn close(&self) {
        if let Self::Told(file) = self {
            let _ = fs::remove_file(file);
            let _ = file.parent().map(fs::remove_dir); // it may not be empty
        }
    }
}

impl std::fmt::Display for Rendezvous {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Told(file) => write!(f, "by {}", file.display()),
            Self::Fixed(place) => write!(f, "at {place}"),
        }
    }
}

/// Tells whether a place is `host:port`, and no folder.
fn is_address(place: &str) -> bool {
    let port = place.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>()));
    !place.contains('/') && matches!(port, Some((host, Ok(1..))) if !host.is_empty())
}

/// The token where nobody can hand one on: it keeps launches apart that meet by accident.
fn token_of(seat: &RankSeat) -> String {
    format!("{:032x}", xxhash_rust::xxh3::xxh3_128(seat.launch.as_bytes()))
}

/// A token that nobody can guess.
fn drawn() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("every system that we run on gives random bytes");
    format!("{:032x}", u128::from_le_bytes(bytes))
}

/// A name as that of one file or folder.
fn harmless(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let name: String = name.chars().map(letter).collect();
    format!("ranks-{name}")
}

/// Writes the file whole or not at all.
fn write(file: &Path, point: &MeetingPoint) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let temporary = folder.join(format!(".{}.tmp", drawn()));
    let mut written = File::create_new(&temporary)?;
    let content = json::write(point)?;
    written.write_all(content.as_bytes()).and_then(|()| written.sync_all())?;
    fs::rename(&temporary, file).inspect_err(|_| drop(fs::remove_file(&temporary)))
}
