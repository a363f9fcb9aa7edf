//! Marks in queues: whether they were reached, and when.

use std::collections::BTreeMap;

use crate::code::Code;
use crate::work::Id;

/// What an event was last recorded as.
#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    Never,
    /// In a queue, not reached when last looked at.
    Queued(Id),
    /// Reached at this time.
    Reached(u64),
    /// In a capture, behind these nodes.
    Captured {
        capture: usize,
        nodes: Vec<usize>,
    },
}

#[derive(Debug)]
pub struct Event {
    pub timing: bool,
    pub mark: Mark,
    /// Counts recordings: the effect of an earlier one does not reach a later.
    pub serial: u64,
}

#[derive(Debug)]
pub struct Events {
    table: BTreeMap<usize, Event>,
    next: usize,
}

impl Default for Events {
    fn default() -> Self {
        Self { table: BTreeMap::new(), next: 0x30_0000 }
    }
}

impl Events {
    pub fn create(&mut self, timing: bool) -> usize {
        let handle = self.next;
        self.next += 16;
        self.table.insert(handle, Event { timing, mark: Mark::Never, serial: 0 });
        handle
    }

    pub fn destroy(&mut self, handle: usize) -> Result<(), Code> {
        self.table.remove(&handle).map(drop).ok_or(Code::INVALID_HANDLE)
    }

    pub fn get(&mut self, handle: usize) -> Result<&mut Event, Code> {
        self.table.get_mut(&handle).ok_or(Code::INVALID_HANDLE)
    }

    /// The queue reached a recording.
    pub fn reach(&mut self, handle: usize, serial: u64, time: u64) {
        if let Some(event) = self.table.get_mut(&handle).filter(|event| event.serial == serial) {
            event.mark = Mark::Reached(time);
        }
    }

    /// Milliseconds between two events, in steps of the quantum.
    ///
    /// # Errors
    ///
    /// As the driver's: 400 for an event that keeps no time or was never recorded, 600 for one that is not
    /// reached.
    pub fn elapsed(&self, from: usize, to: usize, quantum: u64) -> Result<f32, Code> {
        let event = |handle| self.table.get(&handle).ok_or(Code::INVALID_HANDLE);
        let (from, to) = (event(from)?, event(to)?);
        if !(from.timing && to.timing) {
            return Err(Code::INVALID_HANDLE);
        }
        let time = |event: &Event| match event.mark {
            Mark::Never | Mark::Captured { .. } => Err(Code::INVALID_HANDLE),
            Mark::Queued(_) => Err(Code::NOT_READY),
            Mark::Reached(time) => Ok((time / quantum.max(1) * quantum.max(1)) as i64),
        };
        // Both are asked first: an event that was never recorded is the worse mistake.
        let times = (time(from), time(to));
        if let (Err(Code::INVALID_HANDLE), _) | (_, Err(Code::INVALID_HANDLE)) = times {
            return Err(Code::INVALID_HANDLE);
        }
        Ok(((times.1? - times.0?) as f64 / 1e6) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elapsed_time_has_the_quantum_of_the_stamps() {
        let mut events = Events::default();
        let (a, b) = (events.create(true), events.create(true));
        events.reach(a, 0, 1_000);
        events.reach(b, 0, 2_050);
        // 992 and 2048.
        assert_eq!(events.elapsed(a, b, 32), Ok(1_056e-6));
        assert_eq!(events.elapsed(b, a, 1), Ok(-1_050e-6));
    }

    #[test]
    fn what_has_no_time_is_told_apart() {
        let mut events = Events::default();
        let (timed, untimed, never, queued) =
            (events.create(true), events.create(false), events.create(true), events.create(true));
        events.reach(timed, 0, 5);
        events.reach(untimed, 0, 5);
        events.get(queued).unwrap().mark = Mark::Queued(3);
        assert_eq!(events.elapsed(timed, untimed, 1), Err(Code::INVALID_HANDLE));
        assert_eq!(events.elapsed(timed, never, 1), Err(Code::INVALID_HANDLE));
        assert_eq!(events.elapsed(timed, queued, 1), Err(Code::NOT_READY));
        assert_eq!(events.elapsed(queued, never, 1), Err(Code::INVALID_HANDLE));
    }

    #[test]
    fn a_new_recording_is_not_reached_by_an_old_one() {
        let mut events = Events::default();
        let event = events.create(true);
        events.get(event).unwrap().serial = 1;
        events.reach(event, 0, 5);
        assert_eq!(events.get(event).unwrap().mark, Mark::Never);
    }
}
