//! What fits the time of a repeat: a slow body gets fewer samples than were asked for, and says so.

use std::time::Duration;

use super::{Budget, ClockFault};
use crate::metric::Note;

/// A repeat may take so long for its samples where the profile asks for less. (Criterion's target for a body,
/// too.)
const LEAST: Duration = Duration::from_secs(5);

/// The part of what is left until the deadline that samples may take: an iteration may be slower than the
/// first, and there is a tear-down to come.
const BEFORE_THE_DEADLINE: f64 = 0.8;

/// Warm-up is one in so many of the samples that fit.
const WARM_UP: u64 = 5;

/// The part of a budget that fits the time of a repeat, by its first iteration.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fit {
    /// All that was asked for.
    All,
    /// Less: this much, and why.
    Less(Budget, Note),
    /// Nothing beside the first iteration itself, and why.
    First(Note),
}

/// Looks at the first iteration. `passed` is how long the repeat has taken with it, and `deadline` the
/// longest that it may.
pub(super) fn fit(budget: Budget, first: Duration, passed: Duration, deadline: Option<Duration>) -> Fit {
    let asked = budget.warmup + budget.batches + 1; // one more calibrates
    let time = time(budget);
    let left = deadline.map(|deadline| deadline.saturating_sub(passed).mul_f64(BEFORE_THE_DEADLINE));
    let room = time.saturating_sub(first).min(left.unwrap_or(time));
    if takes(first, asked) <= room {
        return Fit::All;
    }
    if let (Some(left), Some(deadline)) = (left, deadline)
        && first > left
    {
        return Fit::First(Note::OneSample(ClockFault::nanoseconds(deadline)));
    }
    let fits = (room.as_nanos() / first.as_nanos().max(1)) as u64;
    let warmup = budget.warmup.min(fits / WARM_UP);
    let batches = (fits - warmup).clamp(1, budget.batches);
    let wanted = round_up(takes(first, asked + 1).as_secs_f64());
    let is_too_short = deadline.is_some_and(|deadline| wanted >= deadline.as_secs_f64());
    let timeout = is_too_short.then_some(2.0 * wanted);
    let note = Note::FewSamples {
        asked: budget.batches,
        time: ClockFault::nanoseconds(time),
        needed: wanted,
        timeout,
    };
    // A pass fills the time: there is no second one.
    Fit::Less(Budget { warmup, batches, min_time: budget.min_time.min(first), ..budget }, note)
}

/// The number of iterations a sample may have so that all samples fit the time, where one of so many took
/// longer than its share with the set-up and the drop of its results; `None` where it did not.
pub(super) fn most_iterations(budget: Budget, iterations: u64, whole: Duration) -> Option<u64> {
    let share = time(budget) / u32::try_from(budget.warmup + budget.batches + 1).unwrap_or(u32::MAX);
    let most = iterations as f64 * share.as_secs_f64() / whole.as_secs_f64();
    (iterations > 1 && whole > share).then_some(most as u64)
}

/// The time that the samples of a repeat may take, whatever is done between them: as long as was asked for.
pub(super) fn time(budget: Budget) -> Duration {
    budget.max_time.unwrap_or_else(|| budget.min_time.max(LEAST))
}

/// Tells whether all that was asked for fits after all: the first iteration was slow, and this one is not.
pub(super) fn is_misjudged(budget: Budget, took: Duration) -> bool {
    takes(took, budget.warmup + budget.batches + 1) <= time(budget) / 2
}

fn takes(one: Duration, count: u64) -> Duration {
    one.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

/// To one digit, so that repeats that differ a little say the same.
fn round_up(seconds: f64) -> f64 {
    let step = 10f64.powf(seconds.log10().floor());
    (seconds / step).ceil() * step
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Budget =
        Budget { warmup: 3, batches: 20, min_time: Duration::from_millis(100), max_time: None };
    const DEADLINE: Option<Duration> = Some(Duration::from_mins(5));

    fn fits(budget: Budget, first: Duration) -> (u64, u64) {
        match fit(budget, first, first, DEADLINE) {
            Fit::All => (budget.warmup, budget.batches),
            Fit::Less(budget, _) => (budget.warmup, budget.batches),
            Fit::First(_) => (0, 0),
        }
    }

    #[test]
    fn a_slow_body_gets_what_fits_its_time_and_one_sample_at_least() {
        for (milliseconds, expected) in
            [(1, (3, 20)), (190, (3, 20)), (300, (3, 12)), (1_000, (0, 4)), (3_000, (0, 1)), (30_000, (0, 1))]
        {
            assert_eq!(fits(ASKED, Duration::from_millis(milliseconds)), expected, "{milliseconds} ms");
        }
    }

    #[test]
    fn whoever_asks_for_more_time_gets_all_samples_and_the_words_say_how() {
        let Fit::Less(_, note) = fit(ASKED, Duration::from_secs(3), Duration::from_secs(3), DEADLINE) else {
            panic!("a body of 3 s does not fit")
        };
        let why = note.to_string();
        assert!(
            why.contains("fewer than 20 samples fit into 5s") && why.contains("--measurement-time 80 takes"),
            "{why}"
        );
        assert_eq!(
            fits(Budget { min_time: Duration::from_secs(80), ..ASKED }, Duration::from_secs(3)),
            (3, 20)
        );
        let Fit::Less(_, note) = fit(ASKED, Duration::from_secs(30), Duration::from_secs(30), DEADLINE)
        else {
            panic!("a body of 30 s does not fit")
        };
        let why = note.to_string();
        assert!(why.contains("--measurement-time 800 --timeout 1600 takes"), "{why}");
    }

    #[test]
    fn where_a_second_iteration_would_run_into_the_deadline_the_first_is_the_sample() {
        assert!(matches!(
            fit(ASKED, Duration::from_secs(100), Duration::from_secs(101), DEADLINE),
            Fit::Less(Budget { batches: 1, .. }, _)
        ));
        let first = fit(ASKED, Duration::from_secs(160), Duration::from_secs(161), DEADLINE);
        assert!(matches!(first, Fit::First(note) if note.to_string().contains("the timeout of 300s")));
    }

    #[test]
    fn a_sample_has_no_more_iterations_than_its_set_up_leaves_time_for() {
        assert_eq!(most_iterations(ASKED, 100, Duration::from_secs(1)), Some(20));
        assert_eq!(most_iterations(ASKED, 10, Duration::from_millis(100)), None, "it fits, and more may");
        assert_eq!(most_iterations(ASKED, 1, Duration::from_secs(1)), None, "there are no fewer");
    }

    #[test]
    fn a_body_that_was_slow_only_at_first_is_misjudged() {
        assert!(is_misjudged(ASKED, Duration::from_millis(100)));
        assert!(!is_misjudged(ASKED, Duration::from_millis(900)));
    }
}
