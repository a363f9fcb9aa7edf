//! Fair shares of a run's time: everybody gets what he needs, as long as nobody gets more who still lacks.
//!
//! That is max-min fairness (Bertsekas and Gallager, *Data Networks*, 1992, section 6.5.2). What a case needs
//! is an estimate. Where it does not fit, or where nobody knows it, the case waits for the second turn, in
//! which what is left goes to one after the other, so that a slow one costs no quick one its figure.

use std::collections::HashSet;
use std::time::Duration;

/// A repeat that was looked at: its case, its number, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextRepeat {
    pub(super) case: usize,
    pub(super) number: u32,
    /// About what it takes to a figure: a verifying one with the first that measures.
    pub(super) takes: Duration,
    /// True if its case has run, now or in an earlier run; else that is a guess.
    pub(super) has_run: bool,
    /// False if that is a guess about a system of which nobody knows how slow it is.
    pub(super) is_known: bool,
    /// True if others can be compared with nothing without it.
    pub(super) is_needed: bool,
}

/// The shares of one run.
#[derive(Debug)]
pub(super) struct TimeShares {
    time: Duration,
    /// Time that each case has taken.
    spent: Vec<Duration>,
    waiting: Vec<(usize, u32)>,
    /// Cases that have a repeat among those.
    held: HashSet<usize>,
    second_turn: bool,
    /// Repeats that did not fit in the end.
    left_out: Vec<(usize, u32)>,
}

impl TimeShares {
    pub(super) fn new(time: Duration, cases: usize) -> Self {
        Self {
            time,
            spent: vec![Duration::ZERO; cases],
            waiting: Vec::new(),
            held: HashSet::new(),
            second_turn: false,
            left_out: Vec::new(),
        }
    }

    /// Takes in what a repeat took.
    pub(super) fn took(&mut self, case: usize, slot: Duration) {
        self.spent[case] += slot;
    }

    /// The time that no repeat has taken yet.
    pub(super) fn left(&self) -> Duration {
        self.time.saturating_sub(self.spent.iter().sum())
    }

    /// Repeats that wait for the second turn.
    pub(super) fn waiting(&self) -> &[(usize, u32)] {
        &self.waiting
    }

    /// Repeats that did not fit.
    pub(super) fn left_out(&self) -> &[(usize, u32)] {
        &self.left_out
    }

    /// The most that a repeat may take, or `None` where it has to wait or is left out. `needs` is by case
    /// about how long all takes that is still to come, `passed` the time of the run. One that is slower than
    /// was thought may take its own share, or what the others do not need.
    pub(super) fn admit(
        &mut self,
        next: NextRepeat,
        needs: &[Duration],
        passed: Duration,
    ) -> Option<Duration> {
        let passed = passed.max(self.spent.iter().sum());
        let end = self.time.saturating_sub(passed);
        if next.is_needed && !end.is_zero() {
            return Some(end);
        }
        if self.second_turn {
            if !self.held.contains(&next.case) && next.takes <= end {
                return Some(end);
            }
            self.leave_out(next.case, next.number);
            return None;
        }
        let level = self.level(needs, passed);
        let fits = self.spent[next.case] + next.takes <= level;
        if !fits || !next.is_known || self.held.contains(&next.case) {
            self.held.insert(next.case);
            self.waiting.push((next.case, next.number));
            return None;
        }
        let share = |case: usize| level.saturating_sub(self.spent[case]);
        let others = (0..needs.len()).filter(|case| *case != next.case);
        let theirs: Duration = others.map(|case| needs[case].min(share(case))).sum();
        let unclaimed = end.saturating_sub(theirs);
        // Of what has never run all may be wrong, that of the others too.
        let unclaimed = if next.has_run { unclaimed } else { unclaimed.min(self.time / needs.len() as u32) };
        let own = if level == Duration::MAX { Duration::ZERO } else { share(next.case) };
        Some(unclaimed.max(own).max(next.takes * SLOWER).max(self.time / LEAST).min(end))
    }

    /// Notes that a repeat was ended since its time was over: its case is not tried again.
    pub(super) fn leave_out(&mut self, case: usize, number: u32) {
        self.held.insert(case);
        self.left_out.push((case, number));
    }

    /// Those that waited, in the order of the second turn: case by case to a first figure, the quickest
    /// first, and then the rest round by round. Empty once they have had it.
    pub(super) fn second_turn(&mut self, takes: &dyn Fn(usize) -> Duration) -> Vec<(usize, u32)> {
        self.second_turn = true;
        self.held.clear();
        let (mut first, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|(_, number)| *number <= 1);
        first.sort_by_key(|(case, number)| (takes(*case), *case, *number));
        first.into_iter().chain(rest).collect()
    }

    /// The time that nobody gets more of who needs more: at it, all together take what there is.
    fn level(&self, needs: &[Duration], passed: Duration) -> Duration {
        let all: Duration = self.spent.iter().sum();
        // What passes between repeats is nobody's.
        let mut left = self.time.saturating_sub(passed.saturating_sub(all));
        let mut cases: Vec<(Duration, Duration)> =
            needs.iter().zip(&self.spent).map(|(need, spent)| (*spent + *need, *spent)).collect();
        cases.sort_unstable();
        loop {
            let level = level(left, cases.iter().map(|(total, _)| *total));
            // Who has had more already has had it: the others share what is left.
            let Some(over) = cases.iter().position(|(_, spent)| *spent > level) else { return level };
            left = left.saturating_sub(cases.remove(over).1);
        }
    }
}

/// The level for cases that need so much, in ascending order; no end where there is enough for all.
fn level(mut left: Duration, needs: impl ExactSizeIterator<Item = Duration>) -> Duration {
    let count = needs.len();
    for (at, need) in needs.enumerate() {
        let each = left / (count - at) as u32;
        if need > each {
            return each;
        }
        left -= need;
    }
    Duration::MAX
}

/// This part of the time any repeat may take: on a busy machine all are many times slower than was thought.
const LEAST: u32 = 12;

/// So much slower than was thought a repeat may be at any rate.
const SLOWER: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: &[u64]) -> Vec<Duration> {
        seconds.iter().copied().map(Duration::from_secs).collect()
    }

    fn next(case: usize, number: u32, takes: u64) -> NextRepeat {
        let takes = Duration::from_secs(takes);
        NextRepeat { case, number, takes, has_run: true, is_known: true, is_needed: false }
    }

    #[test]
    fn whoever_needs_less_than_his_share_leaves_the_rest_to_the_others() {
        let shares = TimeShares::new(Duration::from_mins(1), 3);
        let level = |needs: &[u64]| shares.level(&seconds(needs), Duration::ZERO);
        assert_eq!(level(&[10, 20, 90]), Duration::from_secs(30));
        assert_eq!(level(&[90, 10, 90]), Duration::from_secs(25));
        assert_eq!(level(&[10, 20, 30]), Duration::MAX, "all fit");
        assert_eq!(shares.level(&seconds(&[90, 90, 90]), Duration::from_secs(6)), Duration::from_secs(18));
        let mut shares = shares;
        shares.took(2, Duration::from_secs(50));
        let level = shares.level(&seconds(&[12, 20, 10]), Duration::from_secs(50));
        assert_eq!(level, Duration::from_secs(5), "the others share what is left");
    }

    #[test]
    fn a_repeat_may_take_what_the_others_do_not_need_and_no_more() {
        let mut shares = TimeShares::new(Duration::from_mins(1), 3);
        let needs = seconds(&[10, 12, 6]);
        let may =
            |shares: &mut TimeShares, next, passed| shares.admit(next, &needs, Duration::from_secs(passed));
        let may_take = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(may(&mut shares, next(0, 1, 3), 0), may_take(42));
        assert_eq!(may(&mut shares, NextRepeat { has_run: false, ..next(0, 1, 3) }, 0), may_take(20));
        assert_eq!(may(&mut shares, next(0, 1, 3), 30), may_take(12));
        assert_eq!(may(&mut shares, next(1, 1, 3), 40), may_take(7), "it has its share");
        assert_eq!(may(&mut shares, next(1, 1, 1), 57), may_take(3), "no more than there is");
        shares.took(0, Duration::from_secs(40));
        assert_eq!(may(&mut shares, next(0, 2, 3), 40), None, "it has had its share");
    }

    #[test]
    fn what_does_not_fit_or_is_not_known_waits_for_the_second_turn_and_is_left_out_if_it_does_not_fit_there()
    {
        let mut shares = TimeShares::new(Duration::from_mins(1), 4);
        let needs = seconds(&[10, 50, 4, 90]);
        let now = Duration::ZERO;
        assert!(shares.admit(next(0, 0, 5), &needs, now).is_some());
        assert!(shares.admit(next(1, 0, 40), &needs, now).is_none());
        assert!(shares.admit(NextRepeat { is_known: false, ..next(2, 0, 2) }, &needs, now).is_none());
        assert!(shares.admit(NextRepeat { is_needed: true, ..next(3, 0, 70) }, &needs, now).is_some());
        assert!(shares.admit(next(1, 1, 1), &needs, now).is_none(), "one that waits keeps its order");
        assert!(shares.admit(next(2, 1, 1), &needs, now).is_none());
        let takes = |case: usize| Duration::from_secs([0, 40, 2, 0][case]);
        assert_eq!(shares.second_turn(&takes), [(2, 0), (2, 1), (1, 0), (1, 1)]);
        let later = Duration::from_secs(10);
        assert_eq!(shares.admit(next(2, 0, 2), &needs, later), Some(Duration::from_secs(50)));
        assert_eq!(shares.admit(next(1, 0, 51), &needs, later), None);
        assert_eq!(
            shares.admit(next(1, 1, 1), &needs, later),
            None,
            "nothing is measured that was not verified"
        );
        assert_eq!(shares.left_out(), [(1, 0), (1, 1)]);
        assert!(shares.second_turn(&takes).is_empty());
    }
}
