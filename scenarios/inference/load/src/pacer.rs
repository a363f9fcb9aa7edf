//! The thread that keeps the time: it hands each request to a core when it is due, and reads no socket.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use crate::arrivals::Arrival;
use crate::clock::Stamp;

/// The time before a moment from which the pacer spins, where a processor is free for it: a sleep that the
/// kernel ends comes tens of microseconds late.
pub(crate) const SPIN: Duration = Duration::from_micros(60);

/// Every core is asked so often how late it is.
const TICK: Duration = Duration::from_millis(10);

/// A message to a core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Due {
    /// A request of a schedule.
    Request { number: u64, at: Stamp, arrival: Arrival },
    /// A user has thought enough.
    User { at: Stamp },
    /// Nothing but the moment at which it was sent.
    Tick { at: Stamp },
    /// No more is due.
    End,
}

/// A user of a core who will be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wish {
    pub(crate) at: Stamp,
    pub(crate) core: usize,
}

/// The pacer, before it starts.
pub(crate) struct Pacer {
    /// The moment from which a schedule counts.
    pub(crate) start: Stamp,
    /// The moment after which no more is due; `None` ends with the schedule.
    pub(crate) end: Option<Stamp>,
    pub(crate) schedule: Box<dyn Iterator<Item = Arrival> + Send>,
    pub(crate) wishes: Receiver<Wish>,
    pub(crate) cores: Vec<UnboundedSender<Due>>,
    /// The time before a moment in which it spins: none where it would take a processor from those who read.
    pub(crate) spin: Duration,
    /// Set by whoever wants an early end.
    pub(crate) stop: Arc<AtomicBool>,
}

impl Pacer {
    /// Runs until nothing more is due.
    pub(crate) fn run(mut self) {
        // The kernel may end a sleep 50 us late to save power; not for this thread. An older kernel does
        // it all the same, and the delay is measured.
        #[cfg(target_os = "linux")]
        let _ = nix::sys::prctl::set_timerslack(1);
        let mut users: BinaryHeap<Reverse<Wish>> = BinaryHeap::new();
        let mut next = self.schedule.next();
        let mut number = 0;
        let mut tick = self.start;
        loop {
            let request = next.map(|arrival| Stamp(self.start.0 + arrival.at));
            let user = users.peek().map(|wish| wish.0.at);
            let is_over = request.is_none() && self.end.is_none_or(|end| end <= tick);
            if is_over || self.stop.load(Ordering::Relaxed) {
                break;
            }
            let soonest = [request, user, Some(tick)].into_iter().flatten().min().unwrap_or(tick);
            if self.wait_until(soonest, &mut users) {
                continue; // there may be an earlier one now
            }
            let now = Stamp::now();
            if tick <= now {
                self.tell_all(Due::Tick { at: tick });
                // One for each time that it looks: lost ones would only say again that this thread was late.
                tick = tick.max(Stamp(now.0 - TICK.as_nanos() as u64)).after(TICK);
            }
            while let Some(Reverse(wish)) = users.peek().copied().filter(|wish| wish.0.at <= now) {
                users.pop();
                self.tell(wish.core, Due::User { at: wish.at });
            }
            while let Some(arrival) = next
                && self.start.0 + arrival.at <= now.0
            {
                let core = (number % self.cores.len() as u64) as usize;
                self.tell(core, Due::Request { number, at: Stamp(self.start.0 + arrival.at), arrival });
                number += 1;
                next = self.schedule.next();
            }
        }
        self.tell_all(Due::End);
    }

    /// Tells a core. One that has ended needs to know nothing.
    fn tell(&self, core: usize, due: Due) {
        let _ = self.cores[core].send(due);
    }

    fn tell_all(&self, due: Due) {
        (0..self.cores.len()).for_each(|core| self.tell(core, due));
    }

    /// Waits; true if a wish came instead.
    fn wait_until(&self, at: Stamp, users: &mut BinaryHeap<Reverse<Wish>>) -> bool {
        let left = Duration::from_nanos(at.since(Stamp::now()));
        if left > self.spin {
            match self.wishes.recv_timeout(left - self.spin) {
                Ok(wish) => {
                    users.push(Reverse(wish));
                    users.extend(self.wishes.try_iter().map(Reverse));
                    return true;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(left - self.spin),
            }
        }
        while Stamp::now() < at {
            std::hint::spin_loop();
        }
        users.extend(self.wishes.try_iter().map(Reverse));
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_come_in_order_from_core_to_core_and_none_before_its_time() {
        let arrival = |at| Arrival { at, words: None, tokens: None };
        let (sender, mut first) = tokio::sync::mpsc::unbounded_channel();
        let (other, mut second) = tokio::sync::mpsc::unbounded_channel();
        let (wish, wishes) = std::sync::mpsc::channel();
        let start = Stamp::now();
        wish.send(Wish { at: start.after(Duration::from_millis(1)), core: 1 }).unwrap();
        let pacer = Pacer {
            start,
            end: None,
            schedule: Box::new([0, 1_000, 2_000_000].map(arrival).into_iter()),
            wishes,
            cores: vec![sender, other],
            spin: SPIN,
            stop: Arc::default(),
        };
        pacer.run();
        let mut found: [Vec<(u64, bool)>; 2] = Default::default();
        let mut users = 0;
        for (core, receiver) in [&mut first, &mut second].into_iter().enumerate() {
            while let Ok(due) = receiver.try_recv() {
                match due {
                    Due::Request { number, at, .. } => found[core].push((number, at <= Stamp::now())),
                    Due::User { .. } => users += core,
                    Due::Tick { .. } | Due::End => {}
                }
            }
        }
        assert_eq!(found, [vec![(0, true), (2, true)], vec![(1, true)]]);
        assert_eq!(users, 1);
    }
}
