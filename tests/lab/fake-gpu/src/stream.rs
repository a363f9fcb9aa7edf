//! Queues, and the order between them: the NULL stream waits for all blocking ones, and they for it.

use std::collections::BTreeMap;
use std::thread::ThreadId;

use crate::code::Code;
use crate::work::{Id, Work};

/// A queue's place in the table; of a created stream, its handle.
pub type Key = usize;

/// The NULL stream, which waits for others and has others wait.
pub const LEGACY: Key = 1;
/// The handle of the calling thread's own stream.
const PER_THREAD: usize = 2;
const CREATED: usize = 0x10_0000;
const OF_THREADS: usize = 0x20_0000;

#[derive(Debug, Default)]
pub struct Stream {
    pub blocking: bool,
    pub priority: i32,
    pub last: Option<Id>,
    /// Ids of operations that were not done when last looked at, for the finite queue.
    pub waiting: std::collections::VecDeque<Id>,
    destroyed: bool,
}

#[derive(Debug)]
pub struct Streams {
    table: BTreeMap<Key, Stream>,
    threads: Vec<(ThreadId, Key)>,
    next: usize,
}

impl Default for Streams {
    fn default() -> Self {
        let legacy = Stream { blocking: true, ..Stream::default() };
        Self { table: BTreeMap::from([(LEGACY, legacy)]), threads: Vec::new(), next: CREATED }
    }
}

impl Streams {
    pub fn create(&mut self, blocking: bool, priority: i32) -> Key {
        let key = self.next;
        self.next += 16;
        self.table.insert(key, Stream { blocking, priority, ..Stream::default() });
        key
    }

    /// A busy stream is gone for its owner at once; what is in it goes on.
    pub fn destroy(&mut self, handle: usize) -> Result<(), Code> {
        let stream = self.table.get_mut(&handle).filter(|stream| handle >= CREATED && !stream.destroyed);
        stream.ok_or(Code::INVALID_HANDLE)?.destroyed = true;
        Ok(())
    }

    /// The queue that a handle means in the calling thread.
    pub fn key(&mut self, handle: usize) -> Result<Key, Code> {
        match handle {
            0 | LEGACY => Ok(LEGACY),
            PER_THREAD => {
                let thread = std::thread::current().id();
                if let Some((_, key)) = self.threads.iter().find(|(known, _)| *known == thread) {
                    return Ok(*key);
                }
                let key = OF_THREADS + 16 * self.threads.len();
                self.threads.push((thread, key));
                self.table.insert(key, Stream { blocking: true, ..Stream::default() });
                Ok(key)
            }
            _ => {
                let alive = self.table.get(&handle).is_some_and(|stream| !stream.destroyed);
                alive.then_some(handle).ok_or(Code::INVALID_HANDLE)
            }
        }
    }

    pub fn get(&self, key: Key) -> &Stream {
        &self.table[&key]
    }

    pub fn get_mut(&mut self, key: Key) -> &mut Stream {
        self.table.get_mut(&key).expect("keys come from `key`, and queues stay in the table")
    }

    /// What an operation in this queue waits for, and what a wait for this queue waits for: its own last
    /// operation, and what the NULL stream's rule adds.
    pub fn ahead(&self, key: Key, work: &Work) -> Vec<Id> {
        let rule = |other: &Key, stream: &Stream| {
            *other == key
                || (key == LEGACY && stream.blocking)
                || (*other == LEGACY && self.table[&key].blocking)
        };
        let ahead = self.table.iter().filter(|(other, stream)| rule(other, stream));
        ahead.filter_map(|(_, stream)| stream.last).filter(|id| !work.is_done(*id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::Task;

    #[test]
    fn the_null_stream_and_blocking_streams_wait_for_each_other_and_for_no_others() {
        let (mut streams, mut work) = (Streams::default(), Work::default());
        let blocking = streams.create(true, 0);
        let free = streams.create(false, 0);
        for key in [LEGACY, blocking, free] {
            let id = work.push(vec![], 0, Task::JOIN);
            streams.get_mut(key).last = Some(id);
        }
        let ahead = |key| streams.ahead(key, &work);
        assert_eq!((ahead(LEGACY), ahead(blocking), ahead(free)), (vec![0, 1], vec![0, 1], vec![2]));
    }

    #[test]
    fn every_thread_has_a_stream_of_its_own_behind_one_handle() {
        let mut streams = Streams::default();
        let here = streams.key(PER_THREAD).unwrap();
        let there =
            std::thread::scope(|scope| scope.spawn(|| streams.key(PER_THREAD).unwrap()).join().unwrap());
        assert_ne!(here, there);
        assert_eq!(streams.key(PER_THREAD), Ok(here));
    }

    #[test]
    fn a_destroyed_stream_has_no_handle() {
        let mut streams = Streams::default();
        let stream = streams.create(false, 0);
        streams.destroy(stream).unwrap();
        assert_eq!(
            (streams.key(stream), streams.destroy(stream)),
            (Err(Code::INVALID_HANDLE), Err(Code::INVALID_HANDLE))
        );
        assert_eq!(streams.destroy(LEGACY), Err(Code::INVALID_HANDLE));
    }
}
