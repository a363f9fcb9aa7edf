//! Where ranks of one case meet: processes of a framework that know of each other.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use serde::Serialize;
use weighbridge::{Error, Result};
use weighbridge_data::ranks::LaunchPlace;

/// The place of a rank among several, and the address at which it meets the others.
#[derive(Debug, Serialize)]
pub struct RankMessage {
    index: usize,
    of: usize,
    /// The way in which trainers exchange gradients.
    #[serde(skip_serializing_if = "Option::is_none")]
    communication: Option<String>,
    /// An address of the first rank's machine that was free a moment ago: the first rank listens there.
    meet: SocketAddr,
    /// The address by which others reach this rank's machine.
    own: IpAddr,
    /// Time that a rank waits for the others, in nanoseconds.
    patience: u64,
}

/// Time that a rank waits for the others before it says that it failed: the one that does not come is then
/// the one that says nothing.
const PATIENCE: Duration = Duration::from_mins(1);

impl RankMessage {
    /// The `index`-th of so many that meet at this address of this machine.
    pub fn new(index: usize, of: usize, meet: SocketAddr) -> Self {
        let patience = PATIENCE.as_nanos() as u64;
        Self { index, of, communication: None, meet, own: meet.ip(), patience }
    }

    /// The same where they meet at the place of a launch.
    #[must_use]
    pub fn placed(self, place: Option<LaunchPlace>) -> Self {
        match place {
            Some(LaunchPlace { meet, own, .. }) => Self { meet, own, ..self },
            None => self,
        }
    }

    /// The same for trainers, which exchange gradients so.
    #[must_use]
    pub fn exchanging(self, gradients: &dyn Display) -> Self {
        Self { communication: Some(gradients.to_string()), ..self }
    }
}

/// An address of this machine alone at which nobody listens.
///
/// # Errors
/// That there is none.
pub fn free_address() -> Result<SocketAddr> {
    let listens = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listens.map_err(|error| {
        Error::new(format!("there is no free port of this machine for ranks to meet at: {error}"))
    })
}
