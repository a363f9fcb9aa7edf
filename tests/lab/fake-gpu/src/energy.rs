//! When the device was busy, and what that took.

/// Merged spans of busy time, oldest first.
#[derive(Debug, Default)]
pub struct Busy {
    spans: Vec<(u64, u64)>,
    /// Time in spans that were forgotten, all of which end before `horizon`.
    forgotten: u64,
    horizon: u64,
}

impl Busy {
    /// An operation occupies the device from `start` to `end`.
    pub fn add(&mut self, start: u64, end: u64) {
        if end <= start {
            return;
        }
        let first = self.spans.partition_point(|span| span.1 < start);
        let last = self.spans.partition_point(|span| span.0 <= end);
        let merged = self.spans[first..last]
            .iter()
            .fold((start, end), |merged, span| (merged.0.min(span.0), merged.1.max(span.1)));
        self.spans.splice(first..last, [merged]);
        if self.spans.len() > 4096 {
            let old: Vec<_> = self.spans.drain(..2048).collect();
            self.forgotten += old.iter().map(|span| span.1 - span.0).sum::<u64>();
            self.horizon = old[old.len() - 1].1;
        }
    }

    /// Busy time between two times; of what is forgotten, all or nothing.
    pub fn between(&self, from: u64, until: u64) -> u64 {
        let seen: u64 =
            self.spans.iter().map(|span| span.1.min(until).saturating_sub(span.0.max(from))).sum();
        seen + if from < self.horizon { self.forgotten } else { 0 }
    }

    pub fn at(&self, time: u64) -> bool {
        self.spans.iter().any(|span| span.0 <= time && time < span.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_spans_count_once() {
        let mut busy = Busy::default();
        busy.add(100, 200);
        busy.add(300, 400);
        busy.add(150, 350);
        busy.add(400, 400);
        assert_eq!(busy.spans, [(100, 400)]);
        assert_eq!((busy.between(0, 1000), busy.between(150, 160), busy.between(390, 500)), (300, 10, 10));
        assert!(busy.at(100) && busy.at(399) && !busy.at(400));
    }

    #[test]
    fn what_is_forgotten_still_counts_in_the_whole() {
        let mut busy = Busy::default();
        for span in 0..5000 {
            busy.add(span * 10, span * 10 + 5);
        }
        assert_eq!(busy.between(0, u64::MAX), 25_000);
        assert!(busy.spans.len() < 4096);
    }
}
