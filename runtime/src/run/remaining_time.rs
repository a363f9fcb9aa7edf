//! About how long what is left of a run takes: each case by its own repeats, as soon as there is one.

use std::time::Duration;

use crate::plan::{PlannedCase, RepeatTimes};

/// From so many cases on, or from half of them, those that have run tell of those that have not.
const ENOUGH: usize = 3;

/// The factor for a repeat that has taken longer than was thought, and has not ended: it takes so many times
/// the time that it has taken.
const LONGER: f64 = 1.5;

/// Times of the repeats of one kind of one case.
#[derive(Clone, Copy, Debug, Default)]
struct Slots {
    finished: u32,
    spent: Duration,
}

impl Slots {
    fn each(&self) -> Option<Duration> {
        self.spent.checked_div(self.finished)
    }
}

/// Times of repeats: those that verify go through everything, those that measure do not.
#[derive(Debug)]
pub(super) struct RemainingTime {
    cases: Vec<CaseSlots>,
}

#[derive(Debug)]
struct CaseSlots {
    seen: [Slots; 2],
    /// The times in an earlier run.
    before: RepeatTimes,
    /// The time of a repeat if nothing is known.
    guess: Duration,
    /// A time that one of them takes at least, where it had to be ended.
    ended_after: Option<Duration>,
    /// The system that its process starts anew each time, which takes most of it.
    resident: Option<&'static str>,
}

impl CaseSlots {
    fn known(&self, number: u32) -> Option<Duration> {
        self.ended_after.max(self.seen[kind(number)].each().or(self.before.of(number)))
    }
}

/// A repeat that runs: its case, its number, and for how long it has.
pub(super) type RunningRepeat = (usize, u32, Duration);

impl RemainingTime {
    pub(super) fn new(cases: &[PlannedCase]) -> Self {
        let of = |case: &PlannedCase| CaseSlots {
            seen: [Slots::default(); 2],
            before: case.took,
            guess: case.guess(),
            ended_after: None,
            resident: case.adapter.filter(|adapter| adapter.resident).map(|adapter| adapter.name),
        };
        Self { cases: cases.iter().map(of).collect() }
    }

    /// Takes in what a repeat of that number took.
    pub(super) fn ended(&mut self, case: usize, number: u32, slot: Duration) {
        let slots = &mut self.cases[case].seen[kind(number)];
        slots.finished += 1;
        slots.spent += slot;
    }

    /// Takes in that a repeat was ended after so long: the case takes longer than that.
    pub(super) fn takes_longer(&mut self, case: usize, slot: Duration) {
        self.cases[case].ended_after = Some(slot.mul_f64(LONGER));
    }

    /// Repeats that have ended.
    pub(super) fn finished(&self) -> usize {
        self.cases.iter().flat_map(|case| case.seen).map(|slots| slots.finished as usize).sum()
    }

    /// About how long a repeat takes, as far as it was seen: of this case, else of others of its system.
    fn known(&self, case: usize, number: u32) -> Option<Duration> {
        let slots = &self.cases[case];
        let own = slots.known(number);
        let Some(system) = slots.resident else { return own };
        let other = 1 - number.min(1);
        own.or(slots.known(other)).or_else(|| {
            let alike = || self.cases.iter().filter(|other| other.resident == Some(system));
            middle(alike().filter_map(|of| of.known(number)).collect())
                .or_else(|| middle(alike().filter_map(|of| of.known(other)).collect()))
        })
    }

    /// Tells whether a repeat of the case has run, now or in an earlier run.
    pub(super) fn has_run(&self, case: usize) -> bool {
        [0, 1].iter().any(|number| self.cases[case].known(*number).is_some())
    }

    /// Tells whether more is known of how long a repeat takes than a guess about all systems.
    pub(super) fn knows(&self, case: usize, number: u32) -> bool {
        self.cases[case].resident.is_none() || self.known(case, number).is_some()
    }

    /// About how long a repeat takes.
    pub(super) fn each(&self, case: usize, number: u32) -> Duration {
        self.known(case, number).or(self.unknown(number, ENOUGH)).unwrap_or(self.cases[case].guess)
    }

    /// About how long these repeats take, by case.
    pub(super) fn by_case<'a>(&self, left: impl Iterator<Item = &'a (usize, u32)>) -> Vec<Duration> {
        let mut sums = vec![Duration::ZERO; self.cases.len()];
        let unknown = [0, 1].map(|number| self.unknown(number, ENOUGH));
        for (case, number) in left {
            let known = self.known(*case, *number).or(unknown[kind(*number)]);
            sums[*case] += known.unwrap_or(self.cases[*case].guess);
        }
        sums
    }

    /// About how long these repeats take, in the order of cases and numbers. One of them may be running.
    pub(super) fn of<'a>(
        &self,
        left: impl Iterator<Item = &'a (usize, u32)>,
        running: Option<RunningRepeat>,
    ) -> Duration {
        let unknown = [0, 1].map(|number| self.unknown(number, ENOUGH.min(self.cases.len().div_ceil(2))));
        let mut sum = Duration::ZERO;
        for (case, number) in left {
            let slots = &self.cases[*case];
            let each = self.known(*case, *number).or(unknown[kind(*number)]).unwrap_or(slots.guess);
            sum += match running {
                Some((of, now, passed)) if of == *case && kind(now) == kind(*number) => {
                    let each = if passed > each { passed.mul_f64(LONGER) } else { each };
                    if now == *number { each - passed } else { each }
                }
                _ => each,
            };
        }
        sum
    }

    /// Returns the time of a repeat of a case that has had none: the median of the others, once so many are
    /// known. One alone may be a hundred times slower than all the rest, and one that was ended says nothing
    /// of others.
    fn unknown(&self, number: u32, enough: usize) -> Option<Duration> {
        let ended = self.cases.iter().filter(|case| case.ended_after.is_none());
        let known: Vec<Duration> = ended.filter_map(|case| case.known(number)).collect();
        if known.len() < enough { None } else { middle(known) }
    }
}

/// The lower median: of two, one may be a hundred times slower than all the rest.
fn middle(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 2).copied()
}

/// Verifying is 0, measuring 1.
fn kind(number: u32) -> usize {
    usize::from(number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::plan::CaseOrder;
    use crate::plan::fixtures::plan;

    const GUESS: Duration = Duration::from_millis(300);
    const SLOW: Duration = Duration::from_mins(1);

    /// So many cases, of which nothing is known.
    fn unknown(cases: usize) -> RemainingTime {
        let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let mut remaining = RemainingTime::new(&plan(&ids[..cases], 2, CaseOrder::Declared).cases);
        remaining.cases.iter_mut().for_each(|case| case.guess = GUESS);
        remaining
    }

    #[test]
    fn a_system_that_its_process_starts_anew_takes_as_long_in_another_case() {
        let mut remaining = unknown(10);
        remaining.cases[..2].iter_mut().for_each(|case| case.resident = Some("Far"));
        assert!(!remaining.knows(1, 0) && remaining.knows(2, 0));
        remaining.ended(0, 0, SLOW);
        let each = [(0, 1), (1, 0), (1, 1), (2, 0)].map(|(case, number)| remaining.each(case, number));
        assert_eq!((each, remaining.knows(1, 1)), ([SLOW, SLOW, SLOW, GUESS], true));
        assert_eq!(
            remaining.by_case([(1, 0), (2, 1), (1, 1)].iter())[..3],
            [Duration::ZERO, SLOW * 2, GUESS]
        );
    }

    #[test]
    fn a_case_that_ran_before_is_expected_to_take_what_it_took_until_it_takes_something_else() {
        let mut remaining = unknown(2);
        remaining.cases[0].before = RepeatTimes { verifying: None, measuring: Some(SLOW) };
        remaining.cases[1].before = RepeatTimes { verifying: Some(SLOW * 2), measuring: Some(SLOW * 3) };
        let left = [(1, 0), (0, 1), (1, 1)];
        assert_eq!(remaining.of(left.iter(), None), SLOW * 6);
        remaining.ended(1, 1, SLOW * 9);
        assert_eq!(remaining.of(left.iter(), None), SLOW * 12);
    }

    #[test]
    fn a_slow_case_tells_of_itself_and_not_of_the_others() {
        let mut remaining = unknown(10);
        remaining.ended(0, 1, SLOW);
        let left: Vec<(usize, u32)> = (0..10).map(|case| (case, 2)).collect();
        assert_eq!(remaining.of(left.iter(), None), SLOW + GUESS * 9);
        for case in 1..4 {
            remaining.ended(case, 1, Duration::from_secs(2));
        }
        assert_eq!(remaining.of(left.iter(), None), SLOW + Duration::from_secs(2) * 9);
    }

    #[test]
    fn a_repeat_that_takes_longer_than_was_thought_corrects_what_is_left_while_it_runs() {
        let remaining = unknown(2);
        let left = [(0, 1), (1, 1), (0, 2)];
        let of = |passed| remaining.of(left.iter(), Some((0, 1, passed)));
        assert_eq!(of(Duration::from_millis(100)), GUESS * 3 - Duration::from_millis(100));
        let passed = Duration::from_secs(20);
        assert_eq!(of(passed), Duration::from_secs(10) + GUESS + Duration::from_secs(30));
    }
}
