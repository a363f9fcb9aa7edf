//! Answers that are not made in the call that gives them: when somebody reads them, by a thread, or never,
//! since another one was remembered.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use weighbridge::prelude::*;

/// Numbers of a call.
const LEN: u64 = 2_000;

/// Sorts numbers, and gives them back in whatever shows them.
trait Sorter {
    fn sort(&mut self, numbers: Vec<u64>) -> Box<dyn fmt::Debug>;
}

/// Sort drawn numbers.
#[scenario(id = "ANSWER-1", equivalence = exact)]
fn answers(bencher: &mut Bencher, sorter: &mut dyn Sorter) {
    let draw = |drawn: u64| -> Vec<u64> {
        (1..=LEN).map(|i| (drawn ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
    };
    bencher.elements(LEN as usize).iter_verified(draw, |numbers| sorter.sort(numbers));
}

fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers
}

#[derive(Default)]
struct Reference;

#[adapter(tier = 0, name = "Reference")]
impl Sorter for Reference {
    fn sort(&mut self, numbers: Vec<u64>) -> Box<dyn fmt::Debug> {
        Box::new(sorted(numbers))
    }
}

/// Another algorithm, with memory of its own that it takes again.
#[derive(Default)]
struct Stable(Vec<u64>);

#[adapter(name = "stable-sort", tier = 1)]
impl Sorter for Stable {
    fn sort(&mut self, mut numbers: Vec<u64>) -> Box<dyn fmt::Debug> {
        self.0.clone_from(&numbers);
        numbers.clear();
        self.0.sort();
        numbers.extend(&self.0);
        Box::new(numbers)
    }
}

/// Sorts by two threads, and waits for both.
#[derive(Default)]
struct Halves;

#[adapter(name = "two-threads", tier = 1)]
impl Sorter for Halves {
    fn sort(&mut self, mut numbers: Vec<u64>) -> Box<dyn fmt::Debug> {
        let (one, other) = numbers.split_at_mut(LEN as usize / 2);
        std::thread::scope(|scope| {
            scope.spawn(|| one.sort_unstable());
            other.sort_unstable();
        });
        numbers.sort();
        Box::new(numbers)
    }
}

/// Numbers that are sorted when somebody reads them.
struct WhenRead(Vec<u64>, OnceCell<Vec<u64>>);

impl fmt::Debug for WhenRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1.get_or_init(|| sorted(self.0.clone())).fmt(f)
    }
}

#[derive(Default)]
struct Lazy;

#[adapter(name = "made-when-read", tier = 1)]
impl Sorter for Lazy {
    fn sort(&mut self, numbers: Vec<u64>) -> Box<dyn fmt::Debug> {
        Box::new(WhenRead(numbers, OnceCell::new()))
    }
}

/// Numbers that are sorted anew by each who reads them.
struct EachTime(Vec<u64>);

impl fmt::Debug for EachTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        sorted(self.0.clone()).fmt(f)
    }
}

#[derive(Default)]
struct Unkept;

#[adapter(name = "made-each-time", tier = 1)]
impl Sorter for Unkept {
    fn sort(&mut self, numbers: Vec<u64>) -> Box<dyn fmt::Debug> {
        Box::new(EachTime(numbers))
    }
}

/// Gives what it gave last for numbers at the same place.
#[derive(Default)]
struct ByAddress(HashMap<usize, Vec<u64>>);

#[adapter(name = "last-by-address", tier = 1)]
impl Sorter for ByAddress {
    fn sort(&mut self, numbers: Vec<u64>) -> Box<dyn fmt::Debug> {
        let known = self.0.entry(numbers.as_ptr().addr()).or_insert_with(|| sorted(numbers.clone()));
        Box::new(known.clone())
    }
}

/// An answer that a thread makes.
struct FromThread(Arc<OnceLock<Vec<u64>>>);

impl fmt::Debug for FromThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.wait().fmt(f)
    }
}

struct Task(Vec<u64>, Arc<OnceLock<Vec<u64>>>);

struct Handed(Sender<Task>);

impl Default for Handed {
    fn default() -> Self {
        let (sender, tasks): (_, Receiver<Task>) = channel();
        std::thread::spawn(move || {
            for Task(numbers, answer) in tasks {
                let _ = answer.set(sorted(numbers));
            }
        });
        Self(sender)
    }
}

#[adapter(name = "handed-to-a-thread", tier = 1)]
impl Sorter for Handed {
    fn sort(&mut self, numbers: Vec<u64>) -> Box<dyn fmt::Debug> {
        let answer = Arc::new(OnceLock::new());
        let _ = self.0.send(Task(numbers, answer.clone()));
        Box::new(FromThread(answer))
    }
}

/// Sorts in every second call, and gives that answer once more in the others.
#[derive(Default)]
struct EverySecond(Vec<u64>, bool);

#[adapter(name = "every-second-call", tier = 1)]
impl Sorter for EverySecond {
    fn sort(&mut self, numbers: Vec<u64>) -> Box<dyn fmt::Debug> {
        self.1 = !self.1;
        if self.1 {
            self.0 = sorted(numbers);
        }
        Box::new(self.0.clone())
    }
}

/// Sorts if nobody has called for a while, as whoever checks an answer may.
#[derive(Default)]
struct AfterAPause(Vec<u64>, Option<Instant>);

#[adapter(name = "after-a-pause", tier = 1)]
impl Sorter for AfterAPause {
    fn sort(&mut self, numbers: Vec<u64>) -> Box<dyn fmt::Debug> {
        if self.1.is_none_or(|last| last.elapsed() > Duration::from_micros(3)) {
            self.0 = sorted(numbers);
        }
        self.1 = Some(Instant::now());
        Box::new(self.0.clone())
    }
}
