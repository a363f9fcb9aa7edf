//! Ground: several processes that measure as one run. Who they are, where they meet, and how they leave at
//! the same time.
//!
//! [`detect`] finds out from what launchers set which rank this process is. Ranks meet at a [`Rendezvous`]: a
//! file in a folder that all see, or an address. Rank 0 has the [`Coordinator`], a thread that hears
//! everybody and decides nothing but who is waited for; the other ranks have a [`RankLink`] to it. A process
//! that measures has a [`Meeting`] of its own: there it waits, right before the measured part, until all have
//! come.
//!
//! A rank that ends, leaves or never comes keeps nobody waiting: whoever waits is told which one it was.

mod address;
mod coordinator;
mod detect;
mod facts;
mod hub;
mod launcher;
mod link;
mod meeting;
mod message;
mod rendezvous;
mod serving;

pub(crate) use address::host;
pub(crate) use coordinator::{Coordinator, RankEvent};
pub use detect::LaunchError;
pub(crate) use detect::{RankSeat, detect, variables_of_launch};
pub(crate) use facts::{RankDifference, RankFacts};
pub(crate) use link::{LinkEnd, RankLink};
pub(crate) use meeting::ReleasedRank;
pub use meeting::{Meeting, MeetingPlace};
pub use rendezvous::NoRendezvous;
pub(crate) use rendezvous::Rendezvous;

/// The ranks of a list as people read them: `1, 3`.
pub(crate) fn listed(ranks: &[usize]) -> String {
    let each: Vec<String> = ranks.iter().map(usize::to_string).collect();
    each.join(", ")
}

#[cfg(test)]
mod tests;
