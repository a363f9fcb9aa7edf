//! What the coordinator knows and answers: pure, without sockets and without a clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use super::message::{RankMessage, RankReply, VERSION};
use super::{RankFacts, listed};

/// The number of a connection, in the order in which they came.
pub(super) type ConnectionId = u64;

/// Something that rank 0 hears of the others.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RankEvent {
    /// A rank has joined.
    Joined { rank: usize, facts: Box<RankFacts> },
    /// The answer of a rank to a turn.
    Answer { rank: usize, turn: u64, body: String },
    /// A rank has left, and will not come again.
    Left { rank: usize, why: String },
}

/// The outcome of a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HubAct {
    /// Send this.
    Tell(ConnectionId, RankReply),
    /// Hang up, once all has been sent.
    Close(ConnectionId),
    /// Let rank 0 know.
    Report(RankEvent),
}

/// A measuring process that has come for the turn.
#[derive(Debug)]
struct MeasuringRank {
    connection: ConnectionId,
    waits: bool,
    /// Its word, while it waits.
    word: Option<String>,
}

/// A rank at the other end of a connection: the process that runs it, or the one that measures.
#[derive(Clone, Copy, Debug)]
enum KnownRank {
    Member(usize),
    Measuring(usize),
}

/// The state of all ranks.
#[derive(Debug)]
pub(super) struct Hub {
    token: String,
    ranks: usize,
    patience: Duration,
    /// The connection of each rank that has joined. Rank 0 is here itself.
    members: BTreeMap<usize, ConnectionId>,
    /// The rank whose process is at the other end of a connection.
    known: HashMap<ConnectionId, KnownRank>,
    left: BTreeSet<usize>,
    turn: u64,
    measuring: BTreeMap<usize, MeasuringRank>,
    /// The number of those that wait.
    waiting: usize,
    /// Ranks whose measuring process has ended with the turn.
    ended: BTreeMap<usize, Option<String>>,
    /// The moment since which somebody waits.
    since: Option<Duration>,
    /// The reason for which nobody is waited for any more in this turn.
    broken: Option<String>,
}

impl Hub {
    pub(super) fn new(token: String, ranks: usize, patience: Duration) -> Self {
        Self {
            token,
            ranks,
            patience,
            members: BTreeMap::new(),
            known: HashMap::new(),
            left: BTreeSet::new(),
            turn: 0,
            measuring: BTreeMap::new(),
            waiting: 0,
            ended: BTreeMap::new(),
            since: None,
            broken: None,
        }
    }

    /// Tells whether this connection is of somebody who is known.
    pub(super) fn knows(&self, connection: ConnectionId) -> bool {
        self.known.contains_key(&connection)
    }

    /// Tells whether anybody waits for anybody.
    pub(super) fn is_waited_for(&self) -> bool {
        self.since.is_some()
    }

    fn rank_of(&self, connection: ConnectionId) -> Option<usize> {
        match self.known.get(&connection) {
            Some(KnownRank::Member(rank)) => Some(*rank),
            _ => None,
        }
    }

    fn measuring_of(&self, connection: ConnectionId) -> Option<usize> {
        match self.known.get(&connection) {
            Some(KnownRank::Measuring(rank)) => Some(*rank),
            _ => None,
        }
    }

    /// Begins a turn: every member is told. Whoever still waits for the last one is let go.
    pub(super) fn begin(&mut self, turn: u64, body: &str) -> Vec<HubAct> {
        let mut acts = self.break_off("the turn is over");
        for of in std::mem::take(&mut self.measuring).into_values() {
            self.known.remove(&of.connection);
            acts.push(HubAct::Close(of.connection));
        }
        (self.turn, self.since, self.broken) = (turn, None, None);
        self.ended.clear();
        let order = |connection: &ConnectionId| {
            HubAct::Tell(*connection, RankReply::Order { turn, body: body.to_owned() })
        };
        acts.extend(self.members.values().map(order));
        acts
    }

    /// Ends all: every member is told.
    pub(super) fn over(&mut self, why: Option<&str>) -> Vec<HubAct> {
        let mut acts = self.break_off(why.unwrap_or("the run is over"));
        for connection in std::mem::take(&mut self.members).into_values() {
            let why = why.map(str::to_owned);
            acts.extend([HubAct::Tell(connection, RankReply::Over { why }), HubAct::Close(connection)]);
        }
        acts
    }

    /// Takes in a message.
    pub(super) fn take(&mut self, from: ConnectionId, message: RankMessage, now: Duration) -> Vec<HubAct> {
        match message {
            RankMessage::Ping => {
                vec![HubAct::Tell(from, RankReply::Pong { at: now.as_nanos() as u64 })]
            }
            RankMessage::Join { version, token, rank, ranks, facts } => {
                self.join(from, version, &token, (rank, ranks), facts)
            }
            RankMessage::Measure { token, rank, turn } => self.measure(from, &token, rank, turn),
            RankMessage::Arrive { word } => self.arrive(from, word, now),
            RankMessage::Ended { turn, why } => match self.rank_of(from) {
                Some(rank) => self.ended(rank, turn, why),
                None => vec![HubAct::Close(from)],
            },
            RankMessage::Answer { turn, body } => match self.rank_of(from) {
                Some(rank) => vec![HubAct::Report(RankEvent::Answer { rank, turn, body })],
                None => vec![HubAct::Close(from)],
            },
        }
    }

    fn join(
        &mut self,
        from: ConnectionId,
        version: u32,
        token: &str,
        (rank, ranks): (usize, usize),
        facts: Box<RankFacts>,
    ) -> Vec<HubAct> {
        let stranger = token != self.token;
        let why = if stranger {
            "it is of another launch".to_owned()
        } else if version != VERSION {
            format!("it speaks version {version} of what ranks say, and rank 0 version {VERSION}")
        } else if ranks != self.ranks {
            format!("it is one of {ranks} ranks, and rank 0 one of {}", self.ranks)
        } else if rank == 0 || rank >= self.ranks {
            format!("there is no rank {rank} to join: they are 1 to {}", self.ranks - 1)
        } else if self.members.contains_key(&rank) || self.left.contains(&rank) {
            format!("another process has joined as rank {rank}")
        } else {
            self.members.insert(rank, from);
            self.known.insert(from, KnownRank::Member(rank));
            return vec![
                HubAct::Tell(from, RankReply::Welcome),
                HubAct::Report(RankEvent::Joined { rank, facts }),
            ];
        };
        vec![HubAct::Tell(from, RankReply::Refused { why, stranger }), HubAct::Close(from)]
    }

    fn measure(&mut self, from: ConnectionId, token: &str, rank: usize, turn: u64) -> Vec<HubAct> {
        let is_known = rank == 0 || self.members.contains_key(&rank);
        let why = if token != self.token || !is_known {
            "it is of another launch"
        } else if turn != self.turn || self.ended.contains_key(&rank) || self.measuring.contains_key(&rank) {
            "its turn is over"
        } else {
            self.measuring.insert(rank, MeasuringRank { connection: from, waits: false, word: None });
            self.known.insert(from, KnownRank::Measuring(rank));
            return vec![HubAct::Tell(from, RankReply::Welcome)];
        };
        let refused = RankReply::Refused { why: why.to_owned(), stranger: false };
        vec![HubAct::Tell(from, refused), HubAct::Close(from)]
    }

    fn arrive(&mut self, from: ConnectionId, word: Option<String>, now: Duration) -> Vec<HubAct> {
        let Some(rank) = self.measuring_of(from) else { return vec![HubAct::Close(from)] };
        if let Some(why) = self.reason_of_none() {
            return vec![HubAct::Tell(from, RankReply::Broken { why })];
        }
        self.since.get_or_insert(now);
        let before = self.measuring.insert(rank, MeasuringRank { connection: from, waits: true, word });
        self.waiting += usize::from(before.is_none_or(|before| !before.waits));
        if self.waiting < self.ranks {
            return Vec::new();
        }
        (self.since, self.waiting) = (None, 0);
        let word = self.measuring.get_mut(&0).and_then(|first| first.word.take());
        let release = |of: &mut MeasuringRank| {
            of.waits = false;
            HubAct::Tell(of.connection, RankReply::Release { word: word.clone() })
        };
        self.measuring.values_mut().map(release).collect()
    }

    /// The reason for which not all can come any more.
    fn reason_of_none(&self) -> Option<String> {
        let failed = self.ended.iter().find_map(|(rank, why)| Some((rank, why.as_ref()?)));
        let ended = || self.ended.keys().next().map(|rank| format!("rank {rank} has ended"));
        let left = || self.left.iter().next().map(|rank| format!("rank {rank} has left"));
        let of_failed = failed.map(|(rank, why)| format!("rank {rank} has failed: {why}"));
        self.broken.clone().or(of_failed).or_else(left).or_else(ended)
    }

    /// Lets all go who wait, in vain.
    fn break_off(&mut self, why: &str) -> Vec<HubAct> {
        (self.since, self.waiting) = (None, 0);
        let broken = |of: &mut MeasuringRank| {
            let told = HubAct::Tell(of.connection, RankReply::Broken { why: why.to_owned() });
            std::mem::take(&mut of.waits).then_some(told)
        };
        self.measuring.values_mut().filter_map(broken).collect()
    }

    /// Notes that the measuring process of a rank has ended: whoever waits for it waits in vain.
    pub(super) fn ended(&mut self, rank: usize, turn: u64, why: Option<String>) -> Vec<HubAct> {
        if turn != self.turn {
            return Vec::new();
        }
        let own = self.forget_measuring(rank);
        self.ended.insert(rank, why);
        let why = self.reason_of_none().unwrap_or_default();
        let mut acts = self.break_off(&why);
        acts.extend(own.map(HubAct::Close));
        acts
    }

    fn forget_measuring(&mut self, rank: usize) -> Option<ConnectionId> {
        let own = self.measuring.remove(&rank)?;
        self.known.remove(&own.connection);
        self.waiting -= usize::from(own.waits);
        Some(own.connection)
    }

    /// Notes that a connection is gone.
    pub(super) fn gone(&mut self, connection: ConnectionId, why: &str) -> Vec<HubAct> {
        if let Some(rank) = self.measuring_of(connection) {
            // The process that has started it says why it has ended.
            self.forget_measuring(rank);
        }
        let Some(rank) = self.rank_of(connection) else { return Vec::new() };
        self.known.remove(&connection);
        self.members.remove(&rank);
        self.left.insert(rank);
        let mut acts = self.break_off(&format!("rank {rank} has left: {why}"));
        acts.push(HubAct::Report(RankEvent::Left { rank, why: why.to_owned() }));
        acts
    }

    /// Looks at whether somebody has waited for too long.
    pub(super) fn look(&mut self, now: Duration) -> Vec<HubAct> {
        if self.since.is_none_or(|since| now.saturating_sub(since) < self.patience) {
            return Vec::new();
        }
        let came = |rank: &usize| self.measuring.get(rank).is_some_and(|of| of.waits);
        let missing: Vec<usize> = (0..self.ranks).filter(|rank| !came(rank)).collect();
        let why = format!(
            "ranks that did not come within {} s: [{}]",
            self.patience.as_secs_f64(),
            listed(&missing)
        );
        self.broken = Some(why.clone());
        self.break_off(&why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1);

    fn joined(ranks: usize) -> Hub {
        let mut hub = Hub::new("token".to_owned(), ranks, Duration::from_mins(1));
        for rank in 1..ranks {
            let acts = join(&mut hub, "token", rank, ranks);
            assert_eq!(acts[0], HubAct::Tell(rank as u64, RankReply::Welcome));
            assert!(
                matches!(&acts[1], HubAct::Report(RankEvent::Joined { rank: joined, .. }) if *joined == rank)
            );
        }
        hub
    }

    fn join(hub: &mut Hub, token: &str, rank: usize, ranks: usize) -> Vec<HubAct> {
        let (version, token, facts) = (VERSION, token.to_owned(), Box::default());
        hub.take(rank as u64, RankMessage::Join { version, token, rank, ranks, facts }, NOW)
    }

    /// The connection of the measuring process of a rank.
    fn of(rank: usize) -> ConnectionId {
        100 + rank as u64
    }

    fn measure(hub: &mut Hub, rank: usize, turn: u64) -> Vec<HubAct> {
        hub.take(of(rank), RankMessage::Measure { token: "token".to_owned(), rank, turn }, NOW)
    }

    fn arrive(hub: &mut Hub, rank: usize, word: Option<&str>) -> Vec<HubAct> {
        hub.take(of(rank), RankMessage::Arrive { word: word.map(str::to_owned) }, NOW)
    }

    /// All ranks are there for a turn.
    fn at_turn(ranks: usize) -> Hub {
        let mut hub = joined(ranks);
        assert_eq!(hub.begin(1, "go").len(), ranks - 1);
        for rank in 0..ranks {
            assert_eq!(measure(&mut hub, rank, 1), [HubAct::Tell(of(rank), RankReply::Welcome)]);
        }
        hub
    }

    fn broken(rank: usize, why: &str) -> HubAct {
        HubAct::Tell(of(rank), RankReply::Broken { why: why.to_owned() })
    }

    #[test]
    fn nobody_is_let_go_before_all_have_come_and_all_get_the_word_of_rank_0_again_and_again() {
        let mut hub = at_turn(3);
        for round in ["one", "two"] {
            assert!(arrive(&mut hub, 2, Some("mine")).is_empty());
            assert!(arrive(&mut hub, 0, Some(round)).is_empty());
            let release = |rank| HubAct::Tell(of(rank), RankReply::Release { word: Some(round.to_owned()) });
            assert_eq!(arrive(&mut hub, 1, None), [0, 1, 2].map(release));
        }
    }

    #[test]
    fn who_waits_for_a_rank_that_fails_ends_or_leaves_is_told_which_and_who_comes_later_as_well() {
        let mut hub = at_turn(3);
        arrive(&mut hub, 0, None);
        let acts = hub.take(2, RankMessage::Ended { turn: 1, why: Some("it panicked".to_owned()) }, NOW);
        assert_eq!(acts, [broken(0, "rank 2 has failed: it panicked"), HubAct::Close(of(2))]);
        assert_eq!(arrive(&mut hub, 1, None), [broken(1, "rank 2 has failed: it panicked")]);

        let mut hub = at_turn(2);
        arrive(&mut hub, 0, None);
        assert_eq!(hub.gone(1, "it hung up")[0], broken(0, "rank 1 has left: it hung up"));
        assert_eq!(arrive(&mut hub, 0, None), [broken(0, "rank 1 has left")]);

        let mut hub = at_turn(2);
        arrive(&mut hub, 1, None);
        assert_eq!(hub.ended(0, 1, None)[0], broken(1, "rank 0 has ended"));
    }

    #[test]
    fn a_rank_that_does_not_come_is_named_after_the_patience_and_not_before() {
        let mut hub = at_turn(4);
        for rank in [0, 3] {
            arrive(&mut hub, rank, None);
        }
        assert!(hub.look(NOW + Duration::from_secs(59)).is_empty());
        let why = "ranks that did not come within 60 s: [1, 2]";
        assert_eq!(hub.look(NOW + Duration::from_mins(1)), [broken(0, why), broken(3, why)]);
        assert_eq!(arrive(&mut hub, 1, None), [broken(1, why)]);
        hub.begin(2, "go");
        measure(&mut hub, 1, 2);
        assert!(arrive(&mut hub, 1, None).is_empty(), "the next turn begins anew");
    }

    #[test]
    fn who_is_of_another_launch_version_or_number_or_there_twice_is_refused() {
        let mut hub = joined(3);
        let mut refused = |token: &str, rank, ranks| match &join(&mut hub, token, rank, ranks)[..] {
            [HubAct::Tell(_, RankReply::Refused { why, stranger }), HubAct::Close(_)] => {
                (why.clone(), *stranger)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(refused("other", 2, 3), ("it is of another launch".to_owned(), true));
        assert_eq!(refused("token", 2, 3), ("another process has joined as rank 2".to_owned(), false));
        assert_eq!(refused("token", 2, 4), ("it is one of 4 ranks, and rank 0 one of 3".to_owned(), false));
        assert_eq!(refused("token", 0, 3), ("there is no rank 0 to join: they are 1 to 2".to_owned(), false));
        assert_eq!(refused("token", 3, 3), ("there is no rank 3 to join: they are 1 to 2".to_owned(), false));
        let older = RankMessage::Join {
            version: 0,
            token: "token".to_owned(),
            rank: 1,
            ranks: 3,
            facts: Box::default(),
        };
        assert!(matches!(&hub.take(9, older, NOW)[0], HubAct::Tell(9, RankReply::Refused { .. })));
    }

    #[test]
    fn who_left_may_not_join_again_and_a_process_of_another_turn_is_none_of_this_one() {
        let mut hub = joined(2);
        hub.gone(1, "it hung up");
        assert!(matches!(&join(&mut hub, "token", 1, 2)[0], HubAct::Tell(_, RankReply::Refused { .. })));

        let mut hub = at_turn(2);
        assert!(!hub.begin(2, "go").is_empty());
        assert!(matches!(&measure(&mut hub, 1, 1)[0], HubAct::Tell(_, RankReply::Refused { .. })));
        assert!(hub.ended(1, 1, None).is_empty(), "what ended was of the turn before");
        assert_eq!(measure(&mut hub, 1, 2), [HubAct::Tell(of(1), RankReply::Welcome)]);
    }

    #[test]
    fn a_stranger_can_neither_wait_nor_answer_nor_end_anything() {
        let mut hub = at_turn(2);
        for message in [
            RankMessage::Arrive { word: None },
            RankMessage::Ended { turn: 1, why: None },
            RankMessage::Answer { turn: 1, body: String::new() },
        ] {
            assert_eq!(hub.take(77, message, NOW), [HubAct::Close(77)]);
        }
        assert!(!hub.knows(77) && hub.knows(1) && hub.knows(of(0)));
    }
}
