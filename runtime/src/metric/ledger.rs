//! Where the life of a repeat went.

use serde::{Deserialize, Serialize};

/// A part of the life of a repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// From the start of the process until it was asked.
    Start,
    /// Importing a system that is not written in Rust.
    Import,
    /// Bringing data into a system's own format.
    Convert,
    /// Making and mapping the data, and all else before the body that is none of the others.
    Data,
    /// Making the adapter and opening its pipeline.
    Open,
    /// An epoch without a stop, from before it was begun.
    Unstopped,
    /// Going to before the first item.
    Begin,
    /// Time that is left out as warm-up, calibration with it.
    WarmUp,
    /// Time of items that are left out since they may have been made while the clock stood.
    CaughtUp,
    /// The clock ran.
    Measured,
    /// The clock stood: copies, counters, yardsticks.
    Stopped,
    /// Hashing what was copied.
    Verify,
    /// All that comes after the last sample.
    TearDown,
    /// Handing over what was seen, after the repeat was over.
    Tell,
}

/// Times of all parts, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of `Entry`")]
pub struct Ledger {
    pub start: u64,
    pub import: u64,
    pub convert: u64,
    pub data: u64,
    pub open: u64,
    pub unstopped: u64,
    pub begin: u64,
    pub warm_up: u64,
    pub caught_up: u64,
    pub measured: u64,
    pub stopped: u64,
    pub verify: u64,
    pub tear_down: u64,
    #[serde(default)]
    pub tell: u64,
}

impl Ledger {
    /// Every entry, in the order of a repeat's life.
    pub const ENTRIES: [(Entry, &'static str); 14] = [
        (Entry::Start, "start"),
        (Entry::Import, "import"),
        (Entry::Convert, "convert"),
        (Entry::Data, "data"),
        (Entry::Open, "open"),
        (Entry::Unstopped, "unstopped"),
        (Entry::Begin, "begin"),
        (Entry::WarmUp, "warm_up"),
        (Entry::CaughtUp, "caught_up"),
        (Entry::Measured, "measured"),
        (Entry::Stopped, "stopped"),
        (Entry::Verify, "verify"),
        (Entry::TearDown, "tear_down"),
        (Entry::Tell, "tell"),
    ];

    /// The time of an entry.
    pub fn get(&self, entry: Entry) -> u64 {
        let mut copy = *self;
        *copy.of(entry)
    }

    /// Adds time to an entry. What a subject says cannot overflow it.
    pub fn add(&mut self, entry: Entry, nanoseconds: u64) {
        let of = self.of(entry);
        *of = of.saturating_add(nanoseconds);
    }

    /// Moves time from one entry to another, as far as there is some.
    pub fn move_to(&mut self, from: Entry, to: Entry, nanoseconds: u64) {
        let moved = nanoseconds.min(self.get(from));
        *self.of(from) -= moved;
        self.add(to, moved);
    }

    /// The sum of all entries.
    pub fn sum(&self) -> u64 {
        Self::ENTRIES.iter().fold(0, |sum, (entry, _)| sum.saturating_add(self.get(*entry)))
    }

    fn of(&mut self, entry: Entry) -> &mut u64 {
        match entry {
            Entry::Start => &mut self.start,
            Entry::Import => &mut self.import,
            Entry::Convert => &mut self.convert,
            Entry::Data => &mut self.data,
            Entry::Open => &mut self.open,
            Entry::Unstopped => &mut self.unstopped,
            Entry::Begin => &mut self.begin,
            Entry::WarmUp => &mut self.warm_up,
            Entry::CaughtUp => &mut self.caught_up,
            Entry::Measured => &mut self.measured,
            Entry::Stopped => &mut self.stopped,
            Entry::Verify => &mut self.verify,
            Entry::TearDown => &mut self.tear_down,
            Entry::Tell => &mut self.tell,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_has_a_place_of_its_own_and_all_are_in_the_sum() {
        let mut ledger = Ledger::default();
        for (power, (entry, _)) in Ledger::ENTRIES.iter().enumerate() {
            ledger.add(*entry, 1 << power);
        }
        for (power, (entry, name)) in Ledger::ENTRIES.iter().enumerate() {
            assert_eq!(ledger.get(*entry), 1 << power, "{name}");
        }
        assert_eq!(ledger.sum(), (1 << 14) - 1);
        ledger.move_to(Entry::Open, Entry::Convert, u64::MAX);
        assert_eq!((ledger.open, ledger.sum()), (0, (1 << 14) - 1), "what is moved is not made");
        ledger.add(Entry::Measured, u64::MAX);
        assert_eq!(ledger.sum(), u64::MAX, "what is absurd does not wrap");
    }
}
