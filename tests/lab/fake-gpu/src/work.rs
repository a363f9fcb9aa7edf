//! Operations: when each may begin, when it ends, and which are due.
//!
//! An operation waits for earlier ones only, so one pass in the order of enqueueing resolves all that can be
//! resolved. What a held stream waits for is the host, who writes a word and calls nobody: the word is looked
//! at in every call.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::config::Config;
use crate::energy::Busy;
use crate::ptx::Launch;
use crate::speed::Speed;

/// An operation, in the order of enqueueing.
pub type Id = u64;

/// A copy engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Engine {
    Up,
    Down,
}

/// What decides how long an operation takes.
#[derive(Clone, Debug)]
pub enum Cost {
    /// No time: events, waits, joins.
    Nothing,
    /// Work of the multiprocessors, at their clock.
    Work(u64),
    /// Work by the device's timer, or of its memory, at no clock.
    Time(u64),
    /// One copy at a time in each direction.
    Copy(Engine, u64),
    /// Until the host writes the word at `flag`, at most `timeout` long; then a 1 is written at `expired`.
    Hold { flag: u64, timeout: Option<u64>, expired: Option<u64> },
}

/// What an operation does when it ends.
#[derive(Clone, Debug)]
pub enum Effect {
    Nothing,
    Copy {
        to: u64,
        from: u64,
        len: u64,
    },
    /// From staging memory.
    Put {
        to: u64,
        bytes: Arc<[u8]>,
    },
    Fill {
        to: u64,
        count: u64,
        value: u32,
        width: u64,
    },
    Release(u64),
    Stamp {
        event: usize,
        serial: u64,
    },
    Kernel(Arc<Launch>),
    Host {
        function: usize,
        data: usize,
    },
}

/// An operation before it has a place in time.
#[derive(Clone, Debug)]
pub struct Task {
    pub cost: Cost,
    pub effect: Effect,
}

impl Task {
    /// A mark that other operations wait for.
    pub const JOIN: Self = Self { cost: Cost::Nothing, effect: Effect::Nothing };
}

#[derive(Debug)]
struct Op {
    after: Vec<Id>,
    /// The earliest start: when it had reached the device.
    ready: u64,
    task: Task,
    end: Option<u64>,
    done: bool,
}

/// All operations that are not done, and the engines they share.
#[derive(Debug, Default)]
pub struct Work {
    ops: VecDeque<Op>,
    /// The id of the first of `ops`.
    first: Id,
    unresolved: Vec<Id>,
    /// Resolved ones by their end.
    due: BTreeSet<(u64, Id)>,
    engines: BTreeMap<Engine, Vec<(u64, u64)>>,
}

impl Work {
    pub fn push(&mut self, after: Vec<Id>, ready: u64, task: Task) -> Id {
        let id = self.first + self.ops.len() as u64;
        self.ops.push_back(Op { after, ready, task, end: None, done: false });
        self.unresolved.push(id);
        id
    }

    fn op(&self, id: Id) -> Option<&Op> {
        self.ops.get(id.checked_sub(self.first)? as usize)
    }

    /// When an operation ends: `None` while nobody knows, 0 when it is long done.
    pub fn end(&self, id: Id) -> Option<u64> {
        self.op(id).map_or(Some(0), |op| op.end)
    }

    /// Whether an operation's effect was applied.
    pub fn is_done(&self, id: Id) -> bool {
        self.op(id).is_none_or(|op| op.done)
    }

    /// Every operation that is not done.
    pub fn open(&self) -> Vec<Id> {
        (self.first..).zip(&self.ops).filter(|(_, op)| !op.done).map(|(id, _)| id).collect()
    }

    /// When an operation can begin, when that is known.
    fn start(&self, op: &Op) -> Option<u64> {
        op.after.iter().try_fold(op.ready, |start, id| Some(start.max(self.end(*id)?)))
    }

    /// Gives a place in time to all operations that can have one. `word` reads what the host wrote at an
    /// address. Answers where holds expired.
    pub fn resolve(
        &mut self,
        now: u64,
        config: &Config,
        speed: &Speed,
        busy: &mut Busy,
        word: impl Fn(u64) -> u32,
    ) -> Vec<u64> {
        let mut expirations = Vec::new();
        for id in std::mem::take(&mut self.unresolved) {
            let Some(op) = self.op(id) else { continue };
            let end = self.start(op).and_then(|start| match op.task.cost {
                Cost::Nothing => Some((start, start)),
                Cost::Work(nominal) => {
                    let start = start + config.gap_ns;
                    Some((start, speed.finish(config, busy, start, nominal)))
                }
                Cost::Time(ns) => Some((start, start + ns)),
                Cost::Copy(engine, ns) => {
                    let start = place(self.engines.get(&engine).map_or(&[], Vec::as_slice), start, ns);
                    Some((start, start + ns))
                }
                Cost::Hold { flag, timeout, expired } => {
                    let limit = timeout.map(|timeout| start + timeout).filter(|limit| *limit <= now);
                    if let Some(limit) = limit {
                        expirations.extend(expired);
                        Some((start, limit))
                    } else {
                        (word(flag) != 0).then_some((start, start.max(now) + config.release_ns))
                    }
                }
            });
            let Some((start, end)) = end else {
                self.unresolved.push(id);
                continue;
            };
            let cost = self.op(id).map(|op| op.task.cost.clone());
            match cost {
                Some(Cost::Copy(engine, _)) => {
                    let spans = self.engines.entry(engine).or_default();
                    spans.retain(|span| span.1 > now);
                    spans.push((start, end));
                    spans.sort_unstable();
                    busy.add(start, end);
                }
                Some(Cost::Nothing) | None => {}
                Some(_) => busy.add(start, end),
            }
            self.ops[(id - self.first) as usize].end = Some(end);
            self.due.insert((end, id));
        }
        expirations
    }

    /// The next operation that has ended, with its end and what it does; it is done with the answer.
    pub fn next_due(&mut self, now: u64) -> Option<(u64, Effect)> {
        let (end, id) = self.due.first().copied().filter(|(end, _)| *end <= now)?;
        self.due.pop_first();
        let op = &mut self.ops[(id - self.first) as usize];
        op.done = true;
        let effect = op.task.effect.clone();
        while self.ops.front().is_some_and(|op| op.done) {
            self.ops.pop_front();
            self.first += 1;
        }
        Some((end, effect))
    }

    /// When the first hold that has a timeout expires.
    pub fn next_timeout(&self) -> Option<u64> {
        let limits = self.unresolved.iter().filter_map(|id| {
            let op = self.op(*id)?;
            let Cost::Hold { timeout, .. } = op.task.cost else { return None };
            Some(self.start(op)? + timeout?)
        });
        limits.min()
    }

    /// Forgets everything: the context is dead.
    pub fn abort(&mut self) {
        self.first += self.ops.len() as u64;
        self.ops.clear();
        self.unresolved.clear();
        self.due.clear();
    }
}

/// The first gap of an engine from `ready` on that is long enough.
fn place(spans: &[(u64, u64)], ready: u64, ns: u64) -> u64 {
    let mut start = ready;
    for span in spans {
        if start + ns <= span.0 {
            break;
        }
        start = start.max(span.1);
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(work: &mut Work, now: u64, word: u32) -> Vec<u64> {
        work.resolve(now, &Config::default(), &Speed::default(), &mut Busy::default(), |_| word)
    }

    fn task(cost: Cost) -> Task {
        Task { cost, effect: Effect::Nothing }
    }

    #[test]
    fn an_operation_begins_when_all_it_waits_for_has_ended() {
        let mut work = Work::default();
        let long = work.push(vec![], 0, task(Cost::Time(100)));
        let short = work.push(vec![], 10, task(Cost::Time(20)));
        let both = work.push(vec![long, short], 50, task(Cost::Time(5)));
        resolve(&mut work, 0, 0);
        assert_eq!([long, short, both].map(|id| work.end(id)), [Some(100), Some(30), Some(105)]);
    }

    #[test]
    fn copies_share_an_engine_for_each_direction_and_use_its_gaps() {
        let mut work = Work::default();
        let late = work.push(vec![], 1000, task(Cost::Copy(Engine::Down, 100)));
        let early = work.push(vec![], 0, task(Cost::Copy(Engine::Down, 100)));
        let pressed = work.push(vec![], 950, task(Cost::Copy(Engine::Down, 100)));
        let other = work.push(vec![], 950, task(Cost::Copy(Engine::Up, 100)));
        resolve(&mut work, 0, 0);
        let ends = [late, early, pressed, other].map(|id| work.end(id).unwrap());
        assert_eq!(ends, [1100, 100, 1200, 1050]);
    }

    #[test]
    fn a_hold_ends_with_the_hosts_word_or_with_its_timeout() {
        let hold = || task(Cost::Hold { flag: 1, timeout: Some(500), expired: Some(2) });
        let mut work = Work::default();
        let held = work.push(vec![], 0, hold());
        let behind = work.push(vec![held], 0, task(Cost::Time(10)));
        assert!(resolve(&mut work, 100, 0).is_empty());
        assert_eq!((work.end(behind), work.next_timeout()), (None, Some(500)));
        resolve(&mut work, 200, 1);
        assert_eq!(work.end(behind), Some(200 + 700 + 10));
        let late = work.push(vec![], 0, hold());
        assert_eq!((resolve(&mut work, 500, 0), work.end(late)), (vec![2], Some(500)));
    }

    #[test]
    fn effects_come_in_the_order_of_their_ends() {
        let mut work = Work::default();
        let fill = |to| Task { cost: Cost::Time(to), effect: Effect::Release(to) };
        work.push(vec![], 0, fill(300));
        work.push(vec![], 0, fill(100));
        resolve(&mut work, 0, 0);
        let mut due = || work.next_due(200).map(|(end, _)| end);
        assert_eq!((due(), due()), (Some(100), None));
        assert_eq!(work.next_due(300).map(|(end, _)| end), Some(300));
        assert!(work.open().is_empty());
    }
}
