//! The state of the mock server, and its account of what it served.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use super::behaviour::Behaviour;
use crate::clock::Stamp;

/// The server's account of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// The first word of its prompt, which no other prompt has.
    pub prompt: String,
    /// The moment at which it had been read.
    pub received: Stamp,
    /// The moments before each write with tokens.
    pub writes: Vec<Stamp>,
}

/// The state that the connections of a server share.
pub(super) struct MockState {
    pub(super) behaviour: Behaviour,
    pub(super) seen: HashSet<String>,
    pub(super) requests: u64,
    /// The moment of the first request: a stall counts from it.
    pub(super) first: Option<Stamp>,
    /// The moment from which the server has time for another, where it does one at a time.
    pub(super) free: Stamp,
    pub(super) served: Arc<Mutex<Vec<Served>>>,
}

pub(super) type SharedState = Rc<RefCell<MockState>>;

impl MockState {
    pub(super) fn new(behaviour: Behaviour, served: Arc<Mutex<Vec<Served>>>) -> Self {
        Self { behaviour, seen: HashSet::new(), requests: 0, first: None, free: Stamp(0), served }
    }
}
