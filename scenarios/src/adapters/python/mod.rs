//! Frameworks of Python, each in a process of its own.

mod peer;

pub use peer::{Installed, PEERS, PYTHONS, Peer, State, find, home, requirements};
