//! Places for connections, and the jobs that wait for one.

use std::collections::VecDeque;
use std::task::{Poll, Waker};

/// The way of a job that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// A slot takes it.
    Taken,
    /// A new slot of this number is to take it.
    Opens(usize),
    /// All slots have one, and no more may be opened.
    Waits,
}

/// The slots of a core and their jobs.
#[derive(Debug)]
pub(crate) struct Slots<J> {
    jobs: VecDeque<J>,
    /// Slots that wait for a job. The last to come is the first to go: its connection is warm.
    idle: Vec<(usize, Waker)>,
    /// For each slot: it is among those.
    is_idle: Vec<bool>,
    /// Slots that have a job.
    busy: usize,
    most: usize,
    is_over: bool,
}

impl<J> Slots<J> {
    /// At most so many.
    pub(crate) fn new(most: usize) -> Self {
        Self { jobs: VecDeque::new(), idle: Vec::new(), is_idle: Vec::new(), busy: 0, most, is_over: false }
    }

    /// Takes a job, and wakes a slot for it.
    pub(crate) fn offer(&mut self, job: J) -> Offer {
        self.jobs.push_back(job);
        if let Some((slot, waker)) = self.idle.pop() {
            self.is_idle[slot] = false;
            waker.wake();
            return Offer::Taken;
        }
        // Those that were woken, or opened, and have not looked yet.
        let looking = self.is_idle.len() - self.busy;
        if self.jobs.len() <= looking {
            return Offer::Taken;
        }
        if self.is_idle.len() == self.most {
            return Offer::Waits;
        }
        self.is_idle.push(false);
        Offer::Opens(self.is_idle.len() - 1)
    }

    /// Takes a job from a slot that is about to take one itself.
    pub(crate) fn follow(&mut self, job: J) {
        self.jobs.push_back(job);
    }

    /// The number of jobs that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.jobs.len()
    }

    /// The next job of a slot; none once all is over. A slot may ask again before it was woken: its
    /// connection wakes it as well.
    pub(crate) fn take(&mut self, slot: usize, waker: &Waker) -> Poll<Option<J>> {
        if std::mem::take(&mut self.is_idle[slot]) {
            self.idle.retain(|(idle, _)| *idle != slot);
        }
        if let Some(job) = self.jobs.pop_front() {
            self.busy += 1;
            return Poll::Ready(Some(job));
        }
        if self.is_over {
            return Poll::Ready(None);
        }
        self.is_idle[slot] = true;
        self.idle.push((slot, waker.clone()));
        Poll::Pending
    }

    /// A slot has done its job.
    pub(crate) fn done(&mut self) {
        self.busy -= 1;
    }

    /// Nothing more is offered: slots end when no job is left.
    pub(crate) fn end(&mut self) {
        self.is_over = true;
        for (_, waker) in self.idle.drain(..) {
            waker.wake();
        }
        self.is_idle.fill(false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Slots of two jobs that were done, idle now, with the number of times that each was woken.
    fn two_idle() -> (Slots<u8>, [Arc<Woken>; 2]) {
        let woken: [Arc<Woken>; 2] = Default::default();
        let mut slots = Slots::new(2);
        assert_eq!([slots.offer(0), slots.offer(1)], [Offer::Opens(0), Offer::Opens(1)]);
        for (slot, woken) in woken.iter().enumerate() {
            assert!(slots.take(slot, &woken.clone().into()).is_ready());
        }
        for (slot, woken) in woken.iter().enumerate() {
            slots.done();
            assert!(slots.take(slot, &woken.clone().into()).is_pending());
        }
        (slots, woken)
    }

    #[test]
    fn a_slot_that_looks_again_by_itself_does_not_take_the_place_of_another() {
        let (mut slots, woken) = two_idle();
        for _ in 0..3 {
            assert!(slots.take(1, &woken[1].clone().into()).is_pending());
        }
        assert_eq!([slots.offer(2), slots.offer(3)], [Offer::Taken, Offer::Taken]);
        let woken = woken.map(|woken| woken.0.load(Ordering::Relaxed));
        assert_eq!(woken, [1, 1]);
    }

    #[test]
    fn a_slot_that_finds_a_job_by_itself_is_woken_for_no_other() {
        let (mut slots, woken) = two_idle();
        slots.follow(2);
        assert_eq!(slots.take(1, &woken[1].clone().into()), Poll::Ready(Some(2)));
        assert_eq!(slots.offer(3), Offer::Taken);
        assert_eq!(woken[0].0.load(Ordering::Relaxed), 1);
        assert_eq!(slots.take(0, &woken[0].clone().into()), Poll::Ready(Some(3)));
        assert_eq!(slots.offer(4), Offer::Waits);
        assert_eq!(slots.waiting(), 1);
    }

    #[test]
    fn all_end_once_no_job_is_left() {
        let (mut slots, woken) = two_idle();
        slots.follow(2);
        slots.end();
        assert_eq!(slots.take(0, &woken[0].clone().into()), Poll::Ready(Some(2)));
        assert_eq!(slots.take(1, &woken[1].clone().into()), Poll::Ready(None));
    }
}
